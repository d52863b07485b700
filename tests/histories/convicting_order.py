"""Histories that must be convicted: order (AO4xx)."""

from __future__ import annotations

from admitone.chaos.events import Note
from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Admission, Validity

from ..historybuilder import GUARDED, Builder

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
REVOKES = ["multi_budget", "revoke", "revoke_counts", "recover"]


def ao401_asked_after_the_answer() -> History:
    h = Builder(claims=REVOKES, budget=2)
    h.issue()
    h.use("r1")
    h.revoke(1)
    h.prepare("r2")
    return h.history()


def ao401_waiter_let_in_behind_the_answer() -> History:
    h = Builder(claims=REVOKES, facts=SLOTS)
    h.issue()
    waits = h.begin("prepare", "n2", request="r1", attempt="a1")
    h.revoke(("s1",))
    h.read("after_revoke", slots={"s1": "issued"})
    h.end(waits, "granted", Admission("R", "s1", "k1"))
    return h.history()


def ao401_waiter_of_a_ledger_that_only_counts() -> History:
    h = Builder(claims=REVOKES, facts=Facts(attempt_identity=True))
    h.issue()
    waits = h.begin("prepare", "n2", request="r1", attempt="a1")
    h.revoke()
    h.read("after_revoke", revoked=1)
    h.end(waits, "granted", Admission("R"))
    h.read(prepared=1)
    return h.history()


def ao401_guarded_ledger_runs_after_the_answer() -> History:
    h = Builder(claims=REVOKES, operations=GUARDED)
    h.issue()
    h.revoke()
    h.execute("r1")
    return h.history()


def ao402_asked_when_it_was_over() -> History:
    h = Builder(claims=["expiry"], validity=Validity(0.0, 60.0), facts=Facts(clock="injected"))
    h.issue()
    h.clock("n2", wall_s=1.0, skew_s=60.0)
    h.prepare("r1", node="n2")
    return h.history()


def ao402_the_machines_clock() -> History:
    h = Builder(claims=["expiry"], validity=Validity(0.0, 60.0), facts=Facts(clock="node"))
    h.issue()
    h.clock("n1", wall_s=61.0)
    h.prepare("r1")
    return h.history()


def ao402_waited_across_it_for_a_lock() -> History:
    h = Builder(claims=["expiry"], validity=Validity(0.0, 60.0), facts=Facts(clock="injected"))
    h.issue()
    h.clock("n2", wall_s=1.0, skew_s=58.9)
    waits = h.begin("prepare", "n2", request="r1", attempt="a1")
    h.add(Note("time", "passes"), after_ms=500)
    h.read("after_expiry", issued=1)
    h.end(waits, "granted", Admission("R"))
    h.read(prepared=1)
    return h.history()


def ao403_stopped_what_ran() -> History:
    h = Builder(claims=REVOKES, facts=SLOTS, budget=2)
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.revoke(("s1", "s2"), ())
    return h.history()


def ao403_too_late_for_what_never_ran() -> History:
    h = Builder(claims=REVOKES, facts=SLOTS, budget=2)
    h.issue()
    h.revoke(("s1",), ("s2",))
    h.read(slots={"s1": "revoked", "s2": "revoked"})
    return h.history()


def ao403_counts_more_than_there_were() -> History:
    h = Builder(claims=REVOKES, budget=2)
    h.issue()
    h.use("r1")
    h.revoke(2)
    return h.history()


def ao403_counts_less_than_there_were() -> History:
    h = Builder(claims=REVOKES, budget=2)
    h.issue()
    h.use("r1")
    h.revoke(0)
    return h.history()


def ao403_forgets_a_holder() -> History:
    h = Builder(claims=REVOKES, budget=2)
    h.issue()
    h.prepare("r1")
    h.revoke(1, 0)
    return h.history()


def ao404_revoke_writes_over_it() -> History:
    h = Builder(claims=REVOKES, facts=SLOTS)
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.revoke((), ("s1",))
    h.read("after_revoke", slots={"s1": "revoked"})
    return h.history()


def ao404_its_commit_is_turned_away() -> History:
    h = Builder(claims=REVOKES, facts=SLOTS)
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.revoke()
    h.effect(use)
    h.commit(use, refused="revoked")
    return h.history()


def ao404_expiry_stops_it() -> History:
    h = Builder(
        claims=["expiry", "recover"],
        validity=Validity(0.0, 60.0),
        facts=Facts(clock="injected", attempt_identity=True),
    )
    h.issue()
    use = h.prepare("r1")
    h.effect(use)
    h.clock("n2", wall_s=1.0, skew_s=60.0)
    h.commit(use, refused="expired", node="n2")
    return h.history()


def ao405_refused_while_a_unit_is_free() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    h.prepare("r1")
    h.prepare("r2", refused="exhausted")
    return h.history()


def ao405_refused_without_a_cause_while_a_unit_is_free() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    h.prepare("r1")
    h.prepare("r2", refused="unspecified")
    return h.history()


def ao405_told_that_it_was_done_while_a_unit_is_free() -> History:
    h = Builder(budget=2, claims=["multi_budget"], facts=Facts(attempt_identity=True))
    h.issue()
    h.use("r1")
    h.prepare("r2", replayed=True)
    return h.history()


def ao405_refused_before_the_unit_was_used() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", refused="exhausted")
    h.use("r2")
    return h.history()


def ao405_revoke_counts_what_was_used() -> History:
    h = Builder(budget=2, claims=REVOKES)
    h.issue()
    h.revoke(1)
    h.prepare("r1", refused="revoked")
    return h.history()


def ao406_exhausted_is_said_and_revoked_is_meant() -> History:
    h = Builder(budget=2, claims=[*REVOKES, "precise_codes"])
    h.issue()
    h.use("r1")
    h.revoke(1)
    h.prepare("r2", refused="exhausted")
    return h.history()


def ao406_revoked_is_said_when_nobody_revoked() -> History:
    h = Builder(claims=["precise_codes"])
    h.issue()
    h.use("r1")
    h.prepare("r2", refused="revoked")
    return h.history()


def ao804_behind_a_refusal() -> History:
    """Nothing was hurt, and nobody has a unit: the one that was refused left its lock behind."""
    h = Builder()
    h.issue()
    h.phase("hurt")
    h.prepare("r1", node="n2", refused="expired")
    h.prepare("r2", busy="contention")
    h.prepare("r2", busy="contention")
    return h.history()


def ao405_refused_while_a_unit_is_free_where_units_may_be_taken_over() -> History:
    h = Builder(budget=2, facts=Facts(slot_identity=True, lapse="takeover"))
    h.issue()
    h.use("r1", slot="s1")
    h.prepare("r2", refused="exhausted")
    return h.history()
