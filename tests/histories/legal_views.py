"""Legal: views of the ledger that a naive check would hold against it."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.replies import Refused
from admitone.targets.terms import Admission, Validity

from ..historybuilder import GUARDED, Builder, Use

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
ATTEMPTS = Facts(attempt_identity=True, recovery="resend")
DURABLE = ["durable_process"]


# AO102: what is given back after the view is free again


def given_back_after_the_view() -> History:
    h = Builder(facts=Facts(after_not_applied="free"), claims=["release"])
    h.issue()
    use = h.prepare("r1")
    h.effect(use, how="refused")
    h.read("after_fault", prepared=1)
    h.release(use)
    h.prepare("r2")
    return h.history()


def turned_away_by_the_sink_after_the_view() -> History:
    h = Builder(operations=GUARDED, facts=Facts(after_not_applied="free"))
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.hold(call, "k1")
    h.read("while_effect_held", prepared=1)
    h.sink_gets(call, "k1", "refused", request="r1")
    h.end(call, "refused", Refused(), effects=1)
    h.execute("r2")
    return h.history()


def asked_before_the_view_and_admitted_after_it() -> History:
    """The view shows the unit of the one that is not answered yet."""
    h = Builder()
    h.issue()
    call = h.begin("prepare", request="r1", attempt="a1")
    h.read("after_fault", prepared=1)
    h.end(call, value=Admission("R"))
    return h.history()


# AO103, AO105, AO106: effects and what was admitted for them


def sent_when_the_view_was_over() -> History:
    h = Builder()
    h.issue()
    h.read("before", issued=1)
    h.effect(h.prepare("r1"))
    return h.history()


def turned_away_before_the_view() -> History:
    h = Builder(facts=SLOTS)
    h.issue()
    h.effect(h.prepare("r1", slot="s1", key="k1"), how="refused")
    h.read("after_fault", slots={"s1": "revoked"})
    return h.history()


def forgotten_after_its_time() -> History:
    h = Builder(facts=Facts(retention_s=0.0), claims=DURABLE)
    h.issue()
    h.use("r1")
    h.read("after_heal", known=False)
    return h.history()


def lost_by_a_ledger_that_lives_in_memory() -> History:
    h = Builder(facts=SLOTS, claims=["revoke", "recover", "audit"])
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.effect(use)
    h.audit(3)
    h.revoke((), ("s1",))
    h.kill()
    h.read("after_fault", slots={"s1": "revoked"})
    h.audit(1)
    h.commit(use, refused="unknown_record", node="n2")
    return h.history()


def waiter_of_a_ledger_that_forgot_the_revoke() -> History:
    h = Builder(claims=["revoke"], facts=SLOTS)
    h.issue()
    waits = h.begin("prepare", "n2", request="r1", attempt="a1")
    h.revoke(("s1",))
    h.kill("n3")
    h.read("after_fault", slots={"s1": "issued"})
    h.end(waits, value=Admission("R", "s1", "k1"))
    return h.history()


# AO404: Commits that are turned away for a reason of their own


def _revoked(*, sent: bool = True) -> tuple[Builder, Use]:
    h = Builder(claims=["revoke", "recover"], facts=SLOTS)
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    if sent:
        h.effect(use)
    h.revoke()
    return h, use


def commit_on_a_forged_receipt_after_revoke() -> History:
    h, use = _revoked()
    about = {"admission": use.admission, "attempt": use.attempt}
    h.attack(op="commit", forged="receipt that nobody signed", **about)
    h.commit(use)
    return h.history()


def commit_of_what_was_never_sent() -> History:
    h, use = _revoked(sent=False)
    h.commit(use, refused="receipt_mismatch")
    return h.history()


def commit_that_went_through_and_nobody_heard() -> History:
    h, use = _revoked()
    h.commit(use, unknown="dropped")
    h.commit(use, refused="not_prepared")
    return h.history()


# AO403: what Revoke says of units


def revoke_of_what_has_expired_stops_nothing() -> History:
    h = Builder(budget=2, claims=["multi_budget", "revoke_counts"], validity=Validity(0.0, 60.0))
    h.issue()
    h.revoke(0)
    return h.history()


def revoke_behind_a_recovery_is_not_too_late() -> History:
    h = Builder(budget=2, claims=["multi_budget", "revoke_counts", "recover"])
    h.issue()
    use = h.prepare("r1")
    h.effect(use, how="dropped")
    h.recover()
    h.revoke(1, 0)
    return h.history()


# AO701: what was acknowledged


def record_that_is_kept_by_its_client() -> History:
    h = Builder(facts=Facts(issues="held"), claims=DURABLE)
    h.issue("token")
    h.read("after_fault", known=False)
    return h.history()


def record_that_was_not_there_yet() -> History:
    h = Builder(claims=DURABLE)
    h.read("before", known=False)
    h.issue()
    h.read("after", issued=1)
    h.prepare("r1")
    return h.history()


def unit_that_a_lapse_set_free() -> History:
    h = Builder(facts=Facts(lapse="readmit"), claims=DURABLE)
    h.issue()
    h.prepare("r1")
    h.kill()
    h.read("after_fault", issued=1)
    return h.history()


def release_that_nobody_heard_of_was_durable() -> History:
    h = Builder(facts=Facts(slot_identity=True, after_not_applied="free"), claims=DURABLE)
    h.issue()
    use = h.prepare("r1", slot="s1")
    h.effect(use, how="refused")
    h.release(use, executor="E9")
    h.kill()
    h.read("after_fault", slots={"s1": "issued"})
    return h.history()


def view_of_one_of_two_confirmations() -> History:
    h = Builder(claims=DURABLE)
    h.approve("L", event="e2")
    h.issue("R1")
    h.issue("R2")
    h.use("r1", record="R1")
    h.use("r2", record="R2")
    h.read("after_heal", committed=1)
    return h.history()


# AO803: retries that were answered, or went no further


def retry_that_is_refused_where_nothing_ends_it() -> History:
    h = Builder(facts=Facts(attempt_identity=True, recovery="none"))
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.prepare("r1", node="n2", refused="duplicate")
    h.read(prepared=1)
    return h.history()


def retry_that_the_sink_turned_away() -> History:
    h = Builder(facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", unknown="dropped")
    use = h.prepare("r1")
    h.effect(use, how="refused")
    h.commit(use, refused="receipt_mismatch")
    h.read(prepared=1)
    return h.history()


def retry_whose_client_went_no_further() -> History:
    h = Builder(facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", unknown="dropped")
    h.prepare("r1")
    h.read(prepared=1)
    return h.history()


def another_that_the_sink_turned_away_after_the_view() -> History:
    h = Builder(budget=2, facts=ATTEMPTS, claims=["multi_budget"], operations=GUARDED)
    h.issue()
    h.execute("r1", unknown="dropped")
    h.execute("r1", replayed=True)
    call = h.begin("execute", request="r2", attempt="a2")
    h.hold(call, "k2")
    h.read("while_effect_held", prepared=1, committed=1)
    h.sink_gets(call, "k2", "refused", request="r2")
    h.end(call, "refused", Refused(), effects=1)
    return h.history()
