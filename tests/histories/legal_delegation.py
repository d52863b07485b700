"""Legal: children that were refused, race, give back, or run on after a Revoke."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Context

from ..historybuilder import Builder

CHILD = Context("E2", "S/part", "T/part")
OTHER = Context("E3", "S/part/a", "T/part")
BINDS = Facts(binds=("executor", "session", "task", "policy_epoch", "budget"))
CLAIMS = ["delegate", "revoke", "multi_budget"]


def wider_children_are_refused() -> History:
    h = Builder(claims=CLAIMS, facts=BINDS)
    h.issue()
    h.delegate(Context("E2", "S2", "T"), 1, refused="widened")
    h.delegate(Context("E2", "S", "T"), 2, refused="widened")
    h.use("r1")
    return h.history()


def wider_in_a_field_that_is_not_bound() -> History:
    h = Builder(claims=CLAIMS, facts=Facts(binds=("executor",)))
    h.issue()
    h.delegate(Context("E2", "another", "T", policy_epoch=7), 1)
    h.delegate(Context("E3", "S", "T"), 5, refused="widened")
    return h.history()


def second_level_is_refused() -> History:
    h = Builder(claims=CLAIMS, facts=BINDS)
    h.issue()
    h.delegate(CHILD, 1)
    h.delegate(OTHER, 1, executor="E2", refused="invalid")
    h.use("r1", context=CHILD)
    return h.history()


def asked_again_for_the_same_child() -> History:
    h = Builder(claims=CLAIMS)
    h.issue()
    h.unknown(h.begin("delegate", context=CHILD, budget=1))
    h.delegate(CHILD, 1)
    h.delegate(CHILD, 1)
    h.use("r1", context=CHILD)
    return h.history()


def child_of_a_child_shares_its_units() -> History:
    h = Builder(claims=CLAIMS, facts=BINDS, budget=2)
    h.issue()
    h.delegate(CHILD, 2)
    h.delegate(OTHER, 1, executor="E2")
    h.use("r1", context=OTHER)
    h.use("r2", context=CHILD)
    return h.history()


def parent_uses_what_a_closed_child_left() -> History:
    h = Builder(claims=CLAIMS, facts=Facts(child_refund="on_close"), budget=2)
    h.issue()
    h.delegate(CHILD, 2)
    h.use("r1", context=CHILD)
    h.close(CHILD)
    h.close(CHILD)
    h.phase("drain")
    h.use("r2")
    h.prepare("r3", refused="exhausted")
    h.phase("end")
    return h.history()


def nothing_comes_back_where_it_never_does() -> History:
    h = Builder(claims=CLAIMS, facts=Facts(child_refund="never"))
    h.issue()
    h.delegate(CHILD, 1)
    h.close(CHILD)
    h.phase("drain")
    h.prepare("r1", refused="exhausted")
    h.phase("end")
    return h.history()


def child_admitted_before_the_revoke_runs_on() -> History:
    h = Builder(claims=CLAIMS)
    h.issue()
    h.delegate(CHILD, 1)
    call = h.begin("revoke", "n2")
    use = h.prepare("r1", context=CHILD)
    h.end(call, "granted")
    h.effect(use)
    h.commit(use)
    h.prepare("r2", context=CHILD, refused="revoked")
    return h.history()


def parent_goes_on_when_its_child_is_revoked() -> History:
    h = Builder(claims=CLAIMS, budget=2)
    h.issue()
    h.delegate(CHILD, 1)
    h.revoke(context=CHILD)
    h.prepare("r1", context=CHILD, refused="revoked")
    h.use("r2")
    return h.history()


def revoked_child_gives_back_where_it_does() -> History:
    h = Builder(claims=CLAIMS, facts=Facts(child_refund="on_revoke"))
    h.issue()
    h.delegate(CHILD, 1)
    h.revoke(context=CHILD)
    h.use("r1")
    return h.history()
