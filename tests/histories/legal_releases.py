"""Legal: units given back, and Commits that come again, that a naive check would accuse."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Admission

from ..historybuilder import Builder

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
ATTEMPTS = Facts(attempt_identity=True, recovery="resend")
EVERYTHING = ["multi_budget", "recover", "durable_process", "audit"]


def released_and_admitted_again() -> History:
    facts = Facts(slot_identity=True, after_not_applied="free")
    h = Builder(facts=facts, claims=["release"])
    h.issue()
    first = h.prepare("r1", slot="s1")
    h.effect(first, how="refused")
    h.release(first)
    h.use("r2", slot="s1")
    h.read(slots={"s1": "committed"})
    return h.history()


def released_and_admitted_under_a_new_key() -> History:
    facts = Facts(key="stored", slot_identity=True, after_not_applied="free")
    h = Builder(facts=facts, claims=["release"])
    h.issue()
    first = h.prepare("r1", slot="s1", key="k1")
    h.effect(first, how="refused")
    h.release(first)
    h.use("r2", slot="s1", key="k2")
    h.read(slots={"s1": "committed"})
    return h.history()


def released_twice_and_done_once() -> History:
    """The second Release is answered as done, and takes nothing from whoever has the slot now."""
    facts = Facts(key="stored", slot_identity=True, after_not_applied="free")
    h = Builder(facts=facts, claims=["release"])
    h.issue()
    first = h.prepare("r1", slot="s1", key="k1")
    h.effect(first, how="refused")
    h.release(first)
    second = h.prepare("r2", slot="s1", key="k2")
    h.release(first)
    h.effect(second)
    h.commit(second)
    h.read(slots={"s1": "committed"})
    return h.history()


def released_admitted_again_and_recovered() -> History:
    h = Builder(facts=ATTEMPTS, claims=["release", "recover"])
    h.issue()
    use = h.prepare("r1", slot="s1")
    h.effect(use, how="refused")
    h.release(use)
    h.prepare("r2", slot="s1", unknown="dropped")
    h.recover(Admission("R", "s1"))
    return h.history()


def released_while_a_recoverer_has_it_too() -> History:
    """It was handed out twice, and one of the two gives back: the other one goes on."""
    h = Builder(facts=ATTEMPTS, claims=["release", "recover"])
    h.issue()
    use = h.prepare("r1", slot="s1")
    h.effect(use, how="refused")
    h.recover(use.admission)
    h.release(use)
    h.recover(use.admission)
    return h.history()


def released_while_another_waits() -> History:
    h = Builder(facts=Facts(slot_identity=True, after_not_applied="free"), claims=["release"])
    h.issue()
    first = h.prepare("r1", slot="s1")
    h.effect(first, how="refused")
    waiting = h.begin("prepare", "n2", request="r2", attempt="a2")
    h.release(first)
    h.end(waiting, "granted", Admission("R", "s1"))
    return h.history()


def release_that_nobody_heard_of() -> History:
    h = Builder(facts=Facts(slot_identity=True, after_not_applied="free"), claims=["release"])
    h.issue()
    first = h.prepare("r1", slot="s1")
    h.effect(first, how="refused")
    h.release(first, unknown="dropped")
    h.read("after_fault", slots={"s1": "prepared"})
    h.prepare("r2", slot="s1", node="n2")
    return h.history()


def a_repeated_commit_on_another_receipt_is_refused() -> History:
    """The sink looks at no keys, and gave two receipts: which of them was shown is not told."""
    h = Builder(claims=["repeat_commit"], sink="control")
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use)
    h.commit(use)
    h.effect(use)
    h.commit(use, refused="receipt_mismatch")
    return h.history()


def a_repeated_commit_is_refused_where_none_was_answered() -> History:
    h = Builder(claims=["repeat_commit"])
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use)
    h.commit(use, refused="not_prepared")
    h.commit(use, refused="not_prepared")
    return h.history()


def a_commit_whose_answer_was_lost_is_repeated() -> History:
    h = Builder(claims=["repeat_commit"])
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use)
    h.commit(use, unknown="dropped")
    h.read("after_fault", committed=1)
    h.commit(use)
    return h.history()
