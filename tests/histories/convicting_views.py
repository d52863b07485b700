"""Histories that must be convicted by what stands in a view, or comes after it (AO1xx to AO8xx)."""

from __future__ import annotations

from admitone.chaos.events import Note
from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Admission, Context

from ..historybuilder import Builder

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
ATTEMPTS = Facts(attempt_identity=True, recovery="resend")
TAKES_OVER = Facts(slot_identity=True, key="derived", lapse="takeover")


def ao104_taken_over_after_it_was_free() -> History:
    h = Builder(budget=2, facts=TAKES_OVER, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.read("after_fault", slots={"s1": "issued", "s2": "issued"})
    h.prepare("r2", slot="s1", key="k1", node="n2")
    return h.history()


def ao104_taken_over_after_it_was_stopped() -> History:
    h = Builder(facts=TAKES_OVER)
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.revoke(("s1",))
    h.prepare("r2", slot="s1", key="k1", node="n2")
    return h.history()


def ao105_free_beside_one_that_was_never_sent() -> History:
    """As many are taken as effects stand; the one that stands is free."""
    h = Builder(budget=2, facts=SLOTS, claims=["multi_budget"])
    h.issue()
    h.effect(h.prepare("r1", slot="s1", key="k1"))
    h.prepare("r2", slot="s2", key="k2")
    h.read("after_heal", slots={"s1": "issued", "s2": "prepared"})
    return h.history()


def ao105_revoked_beside_one_that_was_never_sent() -> History:
    h = Builder(budget=2, facts=SLOTS, claims=["multi_budget"])
    h.issue()
    h.effect(h.prepare("r1", slot="s1", key="k1"))
    h.prepare("r2", slot="s2", key="k2")
    h.read("after_heal", slots={"s1": "revoked", "s2": "prepared"})
    return h.history()


def ao301_left_though_its_lease_had_lapsed() -> History:
    h = Builder(claims=["recover"], facts=Facts(lapse="takeover"), lease_s=0.01)
    h.issue()
    h.prepare("r1")
    h.kill()
    h.add(Note("time", "passes"), after_ms=20)
    h.phase("drain")
    h.prepare("r2", node="n2", busy="in_flight")
    h.recover()
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def ao301_asked_for_again_after_recovery_and_left() -> History:
    h = Builder(claims=["recover"], facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.phase("recover")
    h.recover()
    h.prepare("r1", node="n2")
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def ao404_turned_away_after_recovery_handed_it_out() -> History:
    h = Builder(claims=["revoke", "recover"], facts=SLOTS)
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.effect(use)
    h.revoke()
    h.recover(use.admission)
    h.commit(use, refused="revoked")
    return h.history()


def ao502_what_a_grandchild_used_is_no_longer_there() -> History:
    child, grandchild = Context("E2", "S", "T"), Context("E3", "S", "T")
    h = Builder(claims=["delegate", "multi_budget"], budget=2)
    h.issue()
    h.delegate(child, 1)
    h.delegate(grandchild, 1, executor="E2")
    h.use("r1", context=grandchild)
    h.close(child)
    h.use("r2")
    h.use("r3")
    return h.history()


def ao702_refused_before_the_view_that_counts_it() -> History:
    """Another one is asked for while it is read, and is no more than one."""
    h = Builder(budget=3, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", refused="unspecified")
    call = h.begin("prepare", request="r2", attempt="a2")
    h.read("after_heal", prepared=2)
    h.end(call, value=Admission("R"))
    return h.history()


def ao803_two_units_under_one_attempt() -> History:
    """As many units as attempts, and both are of one."""
    h = Builder(budget=3, facts=ATTEMPTS, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", unknown="dead")
    h.prepare("r1")
    h.prepare("r2", unknown="dead")
    h.read(slots={"s1": "prepared", "s2": "prepared"}, attempts={"s1": "a1", "s2": "a1"})
    return h.history()


def ao503_made_anew_though_its_root_is_revoked() -> History:
    child = Context("E2", "S", "T")
    h = Builder(claims=["delegate", "revoke", "multi_budget"], budget=2)
    h.issue()
    h.delegate(child, 1)
    h.revoke(context=child)
    h.revoke()
    h.delegate(child, 1)
    h.prepare("r1", context=child)
    return h.history()


def ao502_revoked_and_given_back_where_it_never_is() -> History:
    child = Context("E2", "S", "T")
    h = Builder(claims=["delegate", "revoke"])
    h.issue()
    h.delegate(child, 1)
    h.revoke(context=child)
    h.use("r1")
    return h.history()
