"""Histories that must be convicted: delegation (AO5xx), and AO403 and AO703 of children."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Context

from ..historybuilder import Builder

CHILD = Context("E2", "S/part", "T/part")
BINDS = Facts(binds=("executor", "session", "task", "policy_epoch", "budget"))
CLAIMS = ["delegate", "revoke", "multi_budget"]


def ao501_another_session() -> History:
    h = Builder(claims=CLAIMS, facts=BINDS)
    h.issue()
    h.delegate(Context("E2", "S2", "T"), 1)
    return h.history()


def ao501_another_epoch() -> History:
    h = Builder(claims=CLAIMS, facts=BINDS)
    h.issue()
    h.delegate(Context("E2", "S", "T", policy_epoch=2), 1)
    return h.history()


def ao501_grandchild_with_more_than_its_parent() -> History:
    h = Builder(claims=CLAIMS, facts=BINDS, budget=3)
    h.issue()
    h.delegate(CHILD, 1)
    h.delegate(Context("E3", "S/part", "T/part"), 2, executor="E2")
    return h.history()


def ao502_not_reserved() -> History:
    h = Builder(claims=CLAIMS)
    h.issue()
    h.delegate(CHILD, 1)
    h.use("r1")
    return h.history()


def ao502_two_children_of_one_unit() -> History:
    h = Builder(claims=CLAIMS)
    h.issue()
    first = h.begin("delegate", context=CHILD, budget=1)
    h.delegate(Context("E3", "S", "T"), 1, node="n2")
    h.end(first, "granted", h.authorization("C", 1))
    return h.history()


def ao503_child_admitted_after_its_parent_was_revoked() -> History:
    h = Builder(claims=CLAIMS)
    h.issue()
    h.delegate(CHILD, 1)
    h.revoke()
    h.prepare("r1", context=CHILD)
    return h.history()


def ao503_grandchild_of_a_revoked_child() -> History:
    h = Builder(claims=CLAIMS, budget=2)
    h.issue()
    h.delegate(CHILD, 1)
    h.delegate(Context("E3", "S/part", "T/part"), 1, executor="E2")
    h.revoke(context=CHILD)
    h.prepare("r1", context=Context("E3", "S/part", "T/part"))
    return h.history()


def ao504_nothing_came_back() -> History:
    h = Builder(claims=CLAIMS, facts=Facts(child_refund="on_close"))
    h.issue()
    h.delegate(CHILD, 1)
    h.close(CHILD)
    h.phase("drain")
    h.prepare("r1", refused="exhausted")
    h.phase("end")
    return h.history()


def ao504_used_units_came_back() -> History:
    h = Builder(claims=CLAIMS, facts=Facts(child_refund="on_close"), budget=2)
    h.issue()
    h.delegate(CHILD, 1)
    h.use("r1", context=CHILD)
    h.close(CHILD)
    h.use("r2")
    h.use("r3")
    return h.history()


def ao504_came_back_although_it_never_does() -> History:
    h = Builder(claims=CLAIMS, facts=Facts(child_refund="never"))
    h.issue()
    h.delegate(CHILD, 1)
    h.close(CHILD)
    h.use("r1")
    return h.history()


COUNTS = [*CLAIMS, "revoke_counts"]
CHAIN = [*CLAIMS, "audit"]
GIVES_BACK = Facts(child_refund="on_close")


def ao403_what_a_child_had_is_left_out() -> History:
    h = Builder(claims=COUNTS, budget=3)
    h.issue()
    h.delegate(CHILD, 2)
    h.use("r1", context=CHILD)
    h.revoke(1)
    return h.history()


def ao403_what_a_child_used_is_counted_as_stopped() -> History:
    h = Builder(claims=COUNTS, budget=2)
    h.issue()
    h.delegate(CHILD, 1)
    h.use("r1", context=CHILD)
    h.revoke(2, 0)
    return h.history()


def ao403_what_a_child_holds_is_not_too_late() -> History:
    h = Builder(claims=COUNTS, budget=2)
    h.issue()
    h.delegate(CHILD, 1)
    h.prepare("r1", context=CHILD)
    h.revoke(1, 0)
    return h.history()


def ao403_what_a_child_has_not_used_is_too_late() -> History:
    h = Builder(claims=COUNTS, budget=2)
    h.issue()
    h.delegate(CHILD, 1)
    h.revoke(2, 1)
    return h.history()


def ao703_a_child_without_a_record() -> History:
    h = Builder(claims=CHAIN)
    h.audit(0)
    h.issue()
    h.delegate(CHILD, 1)
    h.audit(1)
    return h.history()


def ao703_closed_without_a_record() -> History:
    h = Builder(claims=CHAIN, facts=GIVES_BACK, budget=2)
    h.issue()
    h.delegate(CHILD, 2)
    h.use("r1", context=CHILD)
    h.audit(4)
    h.close(CHILD)
    h.audit(4)
    return h.history()


def ao502_a_child_used_more_than_it_was_given() -> History:
    h = Builder(budget=3, claims=CLAIMS)
    h.issue()
    h.delegate(CHILD, 1)
    h.use("r1", context=CHILD)
    h.use("r2", context=CHILD)
    return h.history()
