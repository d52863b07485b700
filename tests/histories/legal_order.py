"""Legal: admitted before a Revoke or t_e and carried on after it; answers that look odd."""

from __future__ import annotations

from admitone.chaos.events import Note
from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Admission, Validity

from ..historybuilder import GUARDED, Builder

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
TAKES_OVER = Facts(slot_identity=True, attempt_identity=True, key="derived", lapse="takeover")
REVOKES = ["multi_budget", "revoke", "revoke_counts", "recover"]
EXPIRES = ["expiry", "revoke", "recover"]


def admitted_while_revoke_was_on_its_way() -> History:
    h = Builder(claims=REVOKES, facts=SLOTS)
    h.issue()
    revoke = h.begin("revoke", "n2")
    use = h.prepare("r1", slot="s1", key="k1")
    h.end(revoke, "granted", None)
    h.effect(use)
    h.commit(use)
    h.read(slots={"s1": "committed"})
    return h.history()


def retry_after_revoke_of_what_was_admitted_before() -> History:
    h = Builder(claims=REVOKES, facts=SLOTS)
    h.issue()
    h.prepare("r1", unknown="dropped", said=Admission("R", "s1", "k1"))
    h.revoke((), ("s1",))
    h.read("after_revoke", slots={"s1": "prepared"})
    use = h.prepare("r1", slot="s1", key="k1")
    h.effect(use)
    h.commit(use)
    h.read(slots={"s1": "committed"})
    return h.history()


def unknown_before_revoke_and_admitted_after_all() -> History:
    h = Builder(claims=REVOKES, facts=Facts(attempt_identity=True, recovery="resend"))
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.revoke(0)
    h.use("r1", node="n2")
    h.read(committed=1)
    return h.history()


def recovery_goes_on_after_revoke() -> History:
    h = Builder(claims=REVOKES, facts=SLOTS, budget=2)
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.kill()
    h.revoke(("s2",), ("s1",))
    h.read("after_revoke", slots={"s1": "prepared", "s2": "revoked"})
    h.recover(use.admission)
    h.effect(use, node="n9")
    h.commit(use, node="n9")
    h.read(slots={"s1": "committed", "s2": "revoked"})
    return h.history()


def takeover_after_revoke() -> History:
    h = Builder(claims=REVOKES, facts=TAKES_OVER)
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.revoke((), ("s1",))
    h.read("after_revoke", slots={"s1": "prepared"})
    h.use("r2", slot="s1", key="k1", node="n2")
    return h.history()


def second_revoke_says_nothing_or_the_same() -> History:
    h = Builder(claims=REVOKES, budget=3)
    h.issue()
    h.use("r1")
    h.revoke(2)
    h.revoke(0)
    h.revoke(2)
    h.prepare("r2", refused="exhausted")
    return h.history()


def committed_units_are_none_of_revokes_business() -> History:
    h = Builder(claims=REVOKES, facts=SLOTS, budget=2)
    h.issue()
    h.use("r1", slot="s1", key="k1")
    h.revoke(("s2",), ())
    h.read(slots={"s1": "committed", "s2": "revoked"})
    return h.history()


def revoke_counts_an_admission_that_nobody_heard_of() -> History:
    h = Builder(claims=REVOKES, budget=2)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.revoke(1, 1)
    h.read(prepared=1, revoked=1)
    return h.history()


def revoke_stops_what_was_given_back() -> History:
    h = Builder(claims=[*REVOKES, "release"], facts=SLOTS)
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.effect(use, how="refused")
    h.release(use)
    h.revoke(("s1",), ())
    h.read(slots={"s1": "revoked"})
    return h.history()


def revoke_that_nobody_acknowledged() -> History:
    h = Builder(claims=REVOKES)
    h.issue()
    h.unknown(h.begin("revoke", "n2"))
    h.use("r1")
    h.read(committed=1)
    return h.history()


def guarded_effect_leaves_after_revoke() -> History:
    h = Builder(claims=REVOKES, operations=GUARDED)
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.revoke()
    h.read("after_revoke", prepared=1)
    h.sink_gets(call, "k1", request="r1")
    h.end(call, effects=1)
    h.read(committed=1)
    return h.history()


def asked_before_te_and_answered_after_it() -> History:
    h = Builder(claims=EXPIRES, validity=Validity(0.0, 60.0), facts=Facts(clock="injected"))
    h.clock("n1", wall_s=59.999)
    h.issue()
    call = h.begin("prepare", request="r1", attempt="a1")
    h.end(call, "granted", Admission("R", attempt="a1"), after_ms=500)
    late = h.begin("prepare", request="r2", attempt="a2")
    h.end(late, "refused")
    return h.history()


def another_nodes_clock_is_behind() -> History:
    h = Builder(claims=EXPIRES, validity=Validity(0.0, 60.0), facts=Facts(clock="injected"))
    h.issue()
    h.clock("n2", wall_s=1.0, skew_s=100.0)
    h.prepare("r1", node="n2", refused="expired")
    h.clock("n3", wall_s=1.0)
    h.prepare("r2", node="n3")
    return h.history()


def within_the_error_of_the_clock() -> History:
    h = Builder(
        claims=EXPIRES,
        validity=Validity(0.0, 60.0),
        facts=Facts(clock="injected", clock_error_s=5.0),
    )
    h.issue()
    h.clock("n2", wall_s=1.0, skew_s=63.0)
    h.prepare("r1", node="n2")
    return h.history()


def retry_and_recovery_after_te() -> History:
    h = Builder(
        claims=EXPIRES,
        validity=Validity(0.0, 60.0),
        facts=Facts(clock="injected", attempt_identity=True, recovery="resend"),
    )
    h.issue()
    h.clock("n1", wall_s=1.0)
    h.prepare("r1", unknown="dead")
    h.kill()
    h.clock("n2", wall_s=1.0, skew_s=100.0)
    use = h.prepare("r1", node="n2")
    h.recover(Admission("R", attempt="a1"))
    h.effect(use, node="n2")
    h.commit(use, node="n2")
    h.read(committed=1)
    return h.history()


def skew_that_the_ledger_does_not_see() -> History:
    h = Builder(claims=EXPIRES, validity=Validity(0.0, 60.0), facts=Facts(clock="node"))
    h.issue()
    h.clock("n1", wall_s=1.0, skew_s=100.0)
    h.prepare("r1")
    return h.history()


def late_commit_of_a_unit_that_another_took_over() -> History:
    h = Builder(claims=REVOKES, facts=TAKES_OVER)
    h.issue()
    first = h.prepare("r1", slot="s1", key="k1")
    second = h.prepare("r2", slot="s1", key="k1", node="n2")
    h.revoke((), ("s1",))
    h.effect(first)
    h.effect(second, how="repeated", node="n2")
    h.commit(second, node="n2")
    h.commit(first, refused="held")
    return h.history()


def refused_because_of_one_that_nobody_heard_of() -> History:
    h = Builder(claims=["precise_codes"])
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.prepare("r2", refused="exhausted")
    return h.history()


def refused_while_the_winner_is_not_answered_yet() -> History:
    h = Builder(claims=["precise_codes"])
    h.issue()
    call = h.begin("prepare", request="r1", attempt="a1")
    h.prepare("r2", node="n2", refused="exhausted")
    h.end(call, "granted", Admission("R", attempt="a1"))
    return h.history()


def exhausted_and_revoked_are_both_true() -> History:
    h = Builder(claims=[*REVOKES, "precise_codes"])
    h.issue()
    h.use("r1")
    h.revoke(0)
    h.prepare("r2", refused="revoked")
    h.prepare("r3", refused="exhausted")
    return h.history()


def revoked_by_one_that_nobody_acknowledged() -> History:
    h = Builder(budget=2, claims=[*REVOKES, "precise_codes"])
    h.issue()
    h.unknown(h.begin("revoke", "n2"))
    h.prepare("r1", refused="revoked")
    h.revoke(0)
    return h.history()


def held_is_no_statement_about_the_budget() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    h.use("r1")
    h.prepare("r2", refused="held")
    h.use("r3")
    h.prepare("r4", refused="exhausted")
    return h.history()


def refused_without_a_cause_when_there_is_one() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    h.use("r1")
    h.use("r2")
    h.prepare("r3", refused="unspecified")
    return h.history()


def refused_without_a_cause_while_somebody_stands() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    stands = h.begin("prepare", request="r1", attempt="a1")
    h.stop("prepare", stands)
    h.prepare("r2", refused="unspecified", node="n3")
    h.go()
    h.end(stands, "granted", Admission("R"))
    return h.history()


def a_token_that_was_turned_away_stays_so() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", busy="contention")
    h.prepare("r1", refused="unspecified")
    h.use("r2")
    return h.history()


def let_in_while_it_waited_and_before_it_was_over() -> History:
    h = Builder(claims=["expiry"], validity=Validity(0.0, 60.0), facts=Facts(clock="injected"))
    h.issue()
    h.clock("n2", wall_s=1.0, skew_s=58.9)
    waits = h.begin("prepare", "n2", request="r1", attempt="a1")
    h.read("before_expiry", issued=1)
    h.add(Note("time", "passes"), after_ms=500)
    h.end(waits, "granted", Admission("R"))
    h.read(prepared=1)
    return h.history()


def imprecise_code_that_nobody_claimed_to_be_precise() -> History:
    h = Builder(budget=2, claims=REVOKES)
    h.issue()
    h.revoke(2)
    h.prepare("r1", refused="exhausted")
    return h.history()


def exhausted_is_refused_and_given_back_later() -> History:
    h = Builder(claims=["release", "precise_codes"])
    h.issue()
    use = h.prepare("r1")
    h.effect(use, how="refused")
    h.prepare("r2", refused="exhausted")
    h.release(use)
    h.use("r3")
    return h.history()


def guarded_takeover_of_a_unit_whose_effect_never_left() -> History:
    facts = Facts(slot_identity=True, key="derived", lapse="takeover", recovery="resend")
    h = Builder(claims=REVOKES, facts=facts, operations=GUARDED)
    h.issue()
    first = h.begin("execute", request="r1", attempt="a1")
    h.read("after_lapse", slots={"s1": "prepared"})
    h.execute("r2", key="k1", node="n2")
    h.read("after_heal", slots={"s1": "committed"})
    h.sink_gets(first, "k1", "repeated", request="r1")
    h.end(first, effects=1)
    h.read(slots={"s1": "committed"})
    return h.history()


def what_is_revoked_is_exhausted_where_no_revoke_is_claimed() -> History:
    h = Builder()
    h.issue()
    h.revoke()
    h.prepare("r1", refused="exhausted")
    h.prepare("r2", refused="exhausted")
    h.read(revoked=1)
    return h.history()


def told_that_it_was_done_when_the_budget_was_used_up() -> History:
    h = Builder(facts=Facts(attempt_identity=True))
    h.issue()
    h.use("r1")
    h.prepare("r2", replayed=True)
    h.prepare("r3", replayed=True)
    return h.history()


def told_that_it_was_done_by_what_had_no_answer() -> History:
    h = Builder(budget=2, claims=["multi_budget"], facts=Facts(attempt_identity=True))
    h.issue()
    use = h.prepare("r1", unknown="dead")
    h.recover(use.admission)
    h.effect(use)
    h.commit(use)
    h.prepare("r1", replayed=True)
    return h.history()


def told_that_it_was_done_where_attempts_are_not_known() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    h.use("r1")
    h.prepare("r2", replayed=True)
    return h.history()
