"""Histories that must be convicted: of no use again, left to a worker, not served anew (AO8xx)."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.replies import Unknown
from admitone.targets.terms import Admission

from ..historybuilder import GUARDED, WORKING, Builder


def ao806_opened_once_and_never_again() -> History:
    h = Builder()
    h.opens()
    h.issue()
    h.kill()
    h.cannot_open("n2")
    h.opens("n3")
    for node in ("n4", "n5"):
        h.cannot_open(node)
    return h.history()


def ao806_opened_and_of_no_use_to_anybody() -> History:
    h = Builder()
    h.opens()
    h.issue()
    h.kill()
    for node, op in (("n2", "commit"), ("n3", "recover"), ("n4", "revoke")):
        h.opens(node)
        h.unknown(h.begin(op, node, admission=Admission("R")), "unclassified")
    return h.history()


def ao806_guarded_ledger_runs_nothing_any_more() -> History:
    h = Builder(operations=GUARDED)
    h.opens()
    h.kill()
    h.opens("n2")
    for op in ("issue", "execute", "recover"):
        h.unknown(h.begin(op, "n2"), "unclassified")
    return h.history()


def _left(h: Builder, request: str) -> None:
    """Answered before anything was sent: a worker is to do it."""
    call = h.begin("execute", request=request, attempt="a" + request[1:])
    h.unknown(call, "corrected", Unknown("nothing was sent: left to work()"))


def ao801_left_to_a_worker_that_does_nothing() -> History:
    h = Builder(operations=WORKING)
    h.issue()
    _left(h, "r1")
    h.end(h.begin("work", "n7", label=None))
    return h.history()


def ao802_left_to_a_worker_that_does_one_of_two() -> History:
    h = Builder(budget=2, claims=["multi_budget"], operations=WORKING)
    h.issue()
    h.phase("drain")
    _left(h, "r1")
    _left(h, "r2")
    for number in (1, 2):
        work = h.begin("work", "n7", label=None)
        if number == 1:
            h.sink_gets(work, "k1", node="n7")
        h.end(work)
    h.phase("end")
    h.read(prepared=1, committed=1)
    return h.history()


def ao802_given_back_and_not_to_be_had_again() -> History:
    h = Builder(facts=Facts(after_not_applied="free"), claims=["release"])
    h.issue()
    use = h.prepare("r1", slot="s1")
    h.effect(use, how="refused")
    h.release(use)
    h.phase("drain")
    h.prepare("r2", refused="exhausted")
    return h.history()


def ao804_busy_behind_what_was_given_back() -> History:
    h = Builder(facts=Facts(after_not_applied="free"), claims=["release"])
    h.issue()
    use = h.prepare("r1", slot="s1")
    h.effect(use, how="refused")
    h.release(use)
    h.phase("drain")
    h.prepare("r2", busy="in_flight")
    h.prepare("r2", busy="in_flight")
    return h.history()


def ao805_refused_though_everything_was_settled() -> History:
    h = Builder(facts=Facts(reapproval="refuse"))
    h.issue("R1")
    h.use("r1", record="R1")
    h.approve("L", event="e2")
    h.issue(refused="duplicate")
    h.approve("M")
    return h.history()


def ao805_refused_while_a_unit_is_open_though_it_may_not() -> History:
    h = Builder(facts=Facts(reapproval="separate"))
    h.approve("M")
    h.issue("R1", label="M")
    h.end(h.begin("prepare", label="M", request="r1", attempt="m1"), value=Admission("R1"))
    h.approve("M", event="e2")
    h.issue(label="M", refused="in_doubt")
    return h.history()


def ao805_ended_by_a_revoke_of_the_first_record() -> History:
    h = Builder(claims=["revoke"])
    h.issue("R1")
    h.approve("L", event="e2")
    h.issue("R2")
    h.revoke(admission=Admission("R1"))
    h.prepare("r2", refused="revoked")
    return h.history()
