"""Legal: decisions made anew, processes that raise, and workers that come later (AO8xx)."""

from __future__ import annotations

from admitone.chaos.events import FaultOff, FaultOn
from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.replies import Unknown
from admitone.targets.terms import Authorization, Validity

from ..historybuilder import WORKING, Builder


def _decided_anew(h: Builder, budget: object = 1) -> Builder:
    h.issue("R1")
    h.use("r1", record="R1")
    h.approve("L", budget, event="e2")
    return h


def second_decision_of_no_number() -> History:
    h = _decided_anew(Builder(claims=["multi_budget"]), float("nan"))
    h.issue(refused="invalid")
    return h.history()


def second_decision_for_more_than_one_can_have() -> History:
    h = _decided_anew(Builder(), 2)
    h.issue(refused="invalid")
    return h.history()


def second_decision_that_is_over() -> History:
    h = _decided_anew(Builder(validity=Validity(0.0, 60.0), claims=["expiry"]))
    h.issue(refused="expired")
    return h.history()


def second_decision_while_the_server_is_down() -> History:
    h = _decided_anew(Builder())
    h.add(FaultOn("down", "postgres"))
    h.issue(refused="unspecified")
    h.add(FaultOff("down", "postgres"))
    return h.history()


def second_decision_of_which_nobody_knows() -> History:
    h = _decided_anew(Builder())
    h.unknown(h.begin("issue"), "classified")
    h.issue(refused="held")
    h.prepare("r2", busy="contention")
    h.prepare("r3", refused="held")
    return h.history()


def second_decision_that_is_revoked() -> History:
    h = _decided_anew(Builder(claims=["revoke"]))
    h.issue("R2")
    h.revoke()
    h.prepare("r2", refused="revoked")
    return h.history()


def second_decision_while_it_is_not_known_of_the_first() -> History:
    h = Builder(facts=Facts(reapproval="refuse"))
    h.issue("R1")
    h.prepare("r1", unknown="classified")
    h.approve("L", event="e2")
    h.issue(refused="in_doubt")
    return h.history()


def second_decision_that_only_attackers_present() -> History:
    h = _decided_anew(Builder())
    h.attack(op="issue", request="x-issue", forged="confirmation mac")
    h.attack()
    return h.history()


def raises_although_nothing_was_hurt() -> History:
    """What classify() does not name is the adapter's own matter."""
    h = Builder()
    h.opens()
    h.issue()
    for node in ("n2", "n3"):
        h.cannot_open(node)
    return h.history()


def raised_before_anything_was_hurt() -> History:
    h = Builder()
    for node in ("n1", "n2"):
        h.cannot_open(node)
    h.kill()
    for node in ("n3", "n4"):
        h.cannot_open(node)
    return h.history()


def a_process_from_before_the_kill_is_all_that_raises() -> History:
    h = Builder()
    for node in ("n1", "n2"):
        h.opens(node)
    h.issue()
    h.kill()
    for number in (1, 2, 3):
        call = h.begin("prepare", "n2", request=f"r{number}", attempt=f"a{number}")
        h.unknown(call, "unclassified")
    return h.history()


def raises_now_and_then_and_is_of_use() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.opens()
    h.issue()
    h.kill()
    h.opens("n2")
    for number in (1, 2, 3, 4):
        if number == 3:
            h.prepare("r9", node="n2")
        call = h.begin("prepare", "n2", request=f"r{number}", attempt=f"a{number}")
        h.unknown(call, "unclassified")
    return h.history()


def raises_only_while_the_server_is_down() -> History:
    h = Builder()
    h.opens()
    h.issue()
    h.kill()
    h.add(FaultOn("crash killed", "postgres"))
    for node in ("n2", "n3"):
        h.cannot_open(node)
    h.add(FaultOff("crash killed", "postgres"))
    return h.history()


def _left(h: Builder, request: str) -> None:
    call = h.begin("execute", request=request, attempt="a" + request[1:])
    h.unknown(call, "corrected", Unknown("nothing was sent: left to work()"))


def _works(h: Builder, *keys: str) -> None:
    call = h.begin("work", "n7", label=None)
    for key in keys:
        h.sink_gets(call, key, node="n7")
    h.end(call)


def worker_that_passes_only_once() -> History:
    """It may take one use a pass."""
    h = Builder(budget=2, claims=["multi_budget"], operations=WORKING)
    h.issue()
    h.phase("drain")
    _left(h, "r1")
    _left(h, "r2")
    _works(h, "k1")
    h.phase("end")
    h.read(prepared=1, committed=1)
    return h.history()


def worker_that_passed_before_it_was_asked() -> History:
    h = Builder(operations=WORKING)
    h.issue()
    h.phase("drain")
    _works(h)
    _left(h, "r1")
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def worker_that_broke_off() -> History:
    h = Builder(operations=WORKING)
    h.issue()
    h.phase("drain")
    _left(h, "r1")
    h.unknown(h.begin("work", "n7", label=None), "classified")
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def worker_finds_that_too_much_was_queued() -> History:
    h = Builder(operations=WORKING)
    h.issue()
    _left(h, "r1")
    _works(h, "k1")
    h.phase("drain")
    _left(h, "r2")
    _works(h)
    _works(h)
    h.phase("end")
    h.read(committed=1)
    return h.history()


def worker_does_all_that_was_left_to_it() -> History:
    h = Builder(budget=2, claims=["multi_budget"], operations=WORKING)
    h.issue()
    h.phase("drain")
    _left(h, "r1")
    _left(h, "r2")
    _works(h, "k1", "k2")
    _works(h)
    h.phase("end")
    h.read(committed=2)
    return h.history()


def worker_is_kept_from_it_by_the_sink() -> History:
    h = Builder(operations=WORKING)
    h.issue()
    _left(h, "r1")
    h.add(FaultOn("down", "sink"))
    _works(h)
    h.add(FaultOff("down", "sink"))
    return h.history()


def forged_decision_that_opens_nothing() -> History:
    h = _decided_anew(Builder())
    h.issue("R2")
    h.attack(Authorization("R2"), "issue", request="x-issue", forged="confirmation mac")
    h.use("r2", record="R2")
    return h.history()
