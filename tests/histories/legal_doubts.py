"""Legal: what nobody can know, and what somebody else brought to its end meanwhile."""

from __future__ import annotations

from admitone.chaos.events import FaultOff, FaultOn
from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.replies import Recovered, Refused
from admitone.targets.terms import Admission

from ..historybuilder import GUARDED, SPLIT, Builder, Use

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
FREES = Facts(slot_identity=True, after_not_applied="free")


def _released_by_nobody_knows() -> Builder:
    """The process died with the Release: the unit may be prepared still."""
    h = Builder(facts=FREES, claims=["release"])
    h.issue()
    use = h.prepare("r1", slot="s1")
    h.effect(use, how="refused")
    h.release(use, unknown="dead")
    h.kill()
    h.phase("drain")
    return h


def release_that_may_never_have_happened() -> History:
    h = _released_by_nobody_knows()
    h.prepare("r2", node="n2", refused="exhausted")
    h.phase("end")
    h.read(slots={"s1": "prepared"})
    return h.history()


def busy_behind_a_release_that_may_never_have_happened() -> History:
    h = _released_by_nobody_knows()
    h.prepare("r2", node="n2", busy="in_flight")
    h.prepare("r2", node="n2", busy="in_flight")
    h.phase("end")
    h.read(slots={"s1": "prepared"})
    return h.history()


def turned_away_by_the_sink_and_killed_before_it_was_written() -> History:
    h = Builder(operations=("issue", "execute"), facts=Facts(after_not_applied="free"))
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.sink_gets(call, "k1", "refused", request="r1")
    h.kill()
    h.unknown(call)
    h.phase("drain")
    h.execute("r2", sink=None, refused="exhausted", node="n2")
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def turned_away_by_the_sink_and_named_by_recovery() -> History:
    """Refused for the sink's sake, and kept: recovery sends it again, and says whose it is."""
    facts = Facts(key="stored", recovery="resend", attempt_identity=True)
    h = Builder(operations=GUARDED, facts=facts, claims=["recover"])
    h.issue()
    h.add(FaultOn("down", "sink"))
    h.end(h.begin("execute", request="r1", attempt="a1"), "refused", Refused(), effects=1)
    h.add(FaultOff("down", "sink"))
    h.phase("recover")
    resent = h.begin("recover", "n9", "E9")
    h.sink_gets(resent, "k1")
    h.end(resent, value=Recovered(settled=(Admission("R", key="k1", attempt="a1"),)))
    h.phase("end")
    h.read(committed=1)
    return h.history()


def _revoked_after_its_effect() -> tuple[Builder, Use]:
    h = Builder(claims=["revoke", "recover"], facts=SLOTS)
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.effect(use)
    h.revoke()
    return h, use


def recovery_had_settled_it_before_its_own_commit() -> History:
    """It promises nothing of repeated Commits."""
    h, use = _revoked_after_its_effect()
    h.recover(settled=[use.admission])
    h.commit(use, refused="not_prepared")
    h.read(slots={"s1": "committed"})
    return h.history()


def recovery_that_names_nothing_had_settled_it() -> History:
    h, use = _revoked_after_its_effect()
    h.recover()
    h.commit(use, refused="not_prepared")
    h.read(slots={"s1": "committed"})
    return h.history()


def whoever_resumed_it_had_committed_it_perhaps() -> History:
    h, use = _revoked_after_its_effect()
    h.recover(use.admission)
    h.unknown(h.begin("commit", "n9", "E9", admission=use.admission))
    h.commit(use, refused="not_prepared")
    h.read(slots={"s1": "committed"})
    return h.history()


def too_late_for_what_the_sink_turned_away_then() -> History:
    """It was on its way when Revoke came, which could not know that nothing would come of it."""
    facts = Facts(slot_identity=True, after_not_applied="free")
    h = Builder(facts=facts, claims=["revoke_counts"], operations=(*GUARDED, "revoke"))
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.hold(call, "k1")
    h.revoke((), ("s1",))
    h.sink_gets(call, "k1", "refused", request="r1")
    h.end(call, "refused", Refused(), effects=1)
    h.read(slots={"s1": "revoked"})
    return h.history()


def prepared_after_recovery_and_left_so() -> History:
    h = Builder(claims=["recover", "multi_budget"], budget=2)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.phase("recover")
    h.recover()
    h.prepare("r2", node="n2")
    h.phase("end")
    h.read(prepared=1, issued=1)
    return h.history()


def worker_had_committed_it_already() -> History:
    h = Builder(claims=["audit", "repeat_commit"], operations=(*SPLIT, "work"))
    h.issue()
    h.audit(1)
    use = h.prepare("r1")
    h.effect(use)
    h.end(h.begin("work", "n7", label=None))
    h.audit(3)
    h.commit(use)
    h.audit(3)
    return h.history()


def old_request_is_told_so_after_a_new_decision() -> History:
    h = Builder()
    h.issue("R1")
    h.use("r1", record="R1")
    h.approve("L", event="e2")
    h.issue("R2")
    h.prepare("r1", replayed=True)
    return h.history()


def opened_by_one_process_between_two_that_failed() -> History:
    h = Builder()
    h.opens()
    h.issue()
    h.kill()
    h.cannot_open("n2")
    h.opens("n3")
    h.cannot_open("n4")
    return h.history()


def _sink_was_away(h: Builder) -> None:
    """Definitely not applied: it never reached the sink, and its unit is kept."""
    h.add(FaultOn("down", "sink"))
    h.end(h.begin("execute", request="r1", attempt="a1"), "refused", Refused(), effects=1)
    h.add(FaultOff("down", "sink"))


def kept_for_what_never_reached_the_sink() -> History:
    facts = Facts(attempt_identity=True, recovery="resend")
    h = Builder(operations=GUARDED, facts=facts, claims=["recover"])
    h.issue()
    _sink_was_away(h)
    h.phase("recover")
    h.recover()
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def retry_that_never_reached_the_sink() -> History:
    h = Builder(operations=GUARDED, facts=Facts(attempt_identity=True, recovery="resend"))
    h.issue()
    h.execute("r1", sink=None, unknown="dropped")
    _sink_was_away(h)
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def recovery_for_another_had_settled_it() -> History:
    h = Builder(budget=2, claims=["multi_budget", "revoke_counts", "recover"])
    h.approve("M")
    h.issue()
    h.prepare("r1")
    call = h.begin("recover", "n9", "E9", label="M")
    h.sink_gets(call, "k1", node="n9")
    h.end(call, value=Recovered())
    h.revoke(1, 0)
    return h.history()


def same_attempt_under_two_decisions() -> History:
    h = Builder(facts=SLOTS)
    h.issue("R1")
    h.prepare("r1", record="R1", slot="1", key="k1")
    h.approve("L", event="e2")
    h.issue("R2")
    h.prepare("r1", record="R2", slot="1", key="k2")
    return h.history()
