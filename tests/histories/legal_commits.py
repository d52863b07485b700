"""Legal: Commits that are asked once more and refused for a reason (AO305), and what is busy."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Admission

from ..historybuilder import Builder

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
REPEATS = ["repeat_commit", "multi_budget"]


def commit_of_what_is_forgotten_by_now() -> History:
    h = Builder(claims=REPEATS, facts=Facts(retention_s=0.0))
    h.issue()
    use = h.use("r1")
    h.commit(use, refused="unknown_record")
    return h.history()


def commit_of_another_unit_is_refused() -> History:
    h = Builder(budget=2, claims=REPEATS, facts=SLOTS)
    h.issue()
    h.use("r1", slot="s1", key="k1")
    use = h.prepare("r2", slot="s2", key="k2")
    h.effect(use)
    h.commit(use, refused="receipt_mismatch")
    return h.history()


def commit_beside_the_first_one() -> History:
    """They overlap: the one that is refused may have come first."""
    h = Builder(claims=REPEATS)
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use)
    first = h.begin("commit", request="r1", attempt="a1", admission=use.admission)
    second = h.begin("commit", "n2", request="r1", attempt="a1", admission=use.admission)
    h.end(first)
    h.end(second, "refused")
    return h.history()


def commit_that_is_not_known_to_stand() -> History:
    h = Builder(claims=REPEATS, facts=SLOTS)
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.effect(use)
    h.commit(use, unknown="dead")
    h.kill()
    h.read("after_fault", slots={"s1": "prepared"})
    h.commit(use, refused="held", node="n2")
    return h.history()


def commit_that_may_be_that_of_the_other_unit() -> History:
    h = Builder(budget=2, claims=REPEATS)
    h.issue()
    h.use("r1", key="k1")
    use = h.prepare("r2", key="k2")
    h.effect(use)
    h.commit(use, unknown="dead")
    h.kill()
    h.read("after_fault", committed=1, prepared=1)
    h.commit(use, refused="held", node="n2")
    return h.history()


def commit_on_a_false_receipt_of_what_is_committed() -> History:
    h = Builder(claims=REPEATS)
    h.issue()
    use = h.use("r1", key="k1")
    h.attack(op="commit", admission=use.admission, forged="receipt with another mac")
    return h.history()


def unit_that_its_holder_had_asked_for_when_recovery_came() -> History:
    """The view is from before: the unit was taken since, and its grant was never heard."""
    h = Builder(claims=["recover"], facts=SLOTS)
    h.issue()
    h.read("before", slots={"s1": "issued"})
    h.prepare("r1", unknown="dead")
    h.kill()
    h.recover(Admission("R", "s1", "k1"))
    return h.history()


def unit_of_one_that_went_silent_before_the_view() -> History:
    h = Builder(claims=["recover"], facts=SLOTS)
    h.issue()
    h.phase("hurt")
    h.prepare("r1", unknown="silent")
    h.read("after_fault", slots={"s1": "issued"})
    h.recover(Admission("R", "s1", "k1"))
    return h.history()
