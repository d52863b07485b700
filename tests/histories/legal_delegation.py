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


COUNTS = [*CLAIMS, "revoke_counts"]
CHAIN = [*CLAIMS, "audit"]
GIVES_BACK = Facts(child_refund="on_close")


def revoke_answers_for_the_family() -> History:
    h = Builder(claims=COUNTS, budget=4)
    h.issue()
    h.delegate(CHILD, 3)
    h.use("r1", context=CHILD)
    h.prepare("r2", context=CHILD)
    h.revoke(2, 1)
    h.revoke(0, 0)
    return h.history()


def revoke_behind_that_of_a_child_stops_the_rest() -> History:
    h = Builder(claims=COUNTS, budget=3)
    h.issue()
    h.delegate(CHILD, 2)
    h.prepare("r1", context=CHILD)
    h.revoke(1, 1, context=CHILD)
    h.revoke(1, 0)
    return h.history()


def revoke_behind_a_close_that_gave_nothing_back() -> History:
    h = Builder(claims=COUNTS, budget=3)
    h.issue()
    h.delegate(CHILD, 2)
    h.close(CHILD)
    h.revoke(1, 0)
    return h.history()


def revoke_beside_a_delegate() -> History:
    h = Builder(claims=COUNTS, budget=2)
    h.issue()
    gives = h.begin("delegate", "n2", context=CHILD, budget=1)
    h.revoke(1, 0)
    h.end(gives, "granted", h.authorization("C", 1))
    h.prepare("r1", context=CHILD, refused="revoked")
    return h.history()


def revoke_counts_of_a_ledger_that_promises_nothing_of_children() -> History:
    h = Builder(claims=["multi_budget", "revoke", "revoke_counts"], budget=2)
    h.issue()
    h.delegate(CHILD, 1)
    h.revoke(1, 0)
    return h.history()


def one_record_for_a_child_asked_for_twice() -> History:
    h = Builder(claims=CHAIN)
    h.audit(0)
    h.issue()
    h.unknown(h.begin("delegate", context=CHILD, budget=1))
    h.audit(2)
    h.delegate(CHILD, 1)
    h.audit(2)
    h.delegate(CHILD, 1)
    h.audit(2)
    return h.history()


def one_record_for_a_child_closed_twice() -> History:
    h = Builder(claims=CHAIN, facts=GIVES_BACK, budget=2)
    h.audit(0)
    h.issue()
    h.delegate(CHILD, 2)
    h.audit(2)
    h.close(CHILD)
    h.audit(3)
    h.close(CHILD)
    h.audit(3)
    return h.history()


def no_record_for_a_close_that_gave_nothing_back() -> History:
    h = Builder(claims=CHAIN, facts=GIVES_BACK, budget=3)
    h.issue()
    h.delegate(CHILD, 2)
    h.use("r1", context=CHILD)
    h.delegate(OTHER, 1, executor="E2")
    h.audit(5)
    h.close(CHILD)
    h.audit(5)
    return h.history()


def no_record_for_a_close_of_who_was_revoked() -> History:
    h = Builder(claims=CHAIN, facts=GIVES_BACK)
    h.issue()
    h.delegate(CHILD, 1)
    h.revoke(1)
    h.audit(3)
    h.close(CHILD)
    h.audit(3)
    return h.history()


def no_record_for_a_child_whose_token_is_held() -> History:
    h = Builder(claims=CHAIN, facts=Facts(issues="held"))
    h.audit(0)
    h.issue()
    h.delegate(CHILD, 1)
    h.audit(0)
    return h.history()
