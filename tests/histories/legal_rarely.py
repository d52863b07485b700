"""Legal: what stands beside that which a check says seldom (see ``convicting_rarely``)."""

from __future__ import annotations

from admitone.chaos.events import FaultOff, FaultOn
from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Admission, Validity

from ..historybuilder import GUARDED, SPLIT, Builder, Use

BINDS = Facts(binds=("tool", "args", "principal", "executor", "confirmation"))
OF_ANOTHER = "credential of another authorization"
ITSELF = tuple(op for op in SPLIT if op != "recover")


def bearer_of_a_token_that_says_nothing_of_the_call() -> History:
    h = Builder(facts=Facts(binds=("executor", "session")))
    h.issue("R")
    h.attack(Admission("Q"), forged=OF_ANOTHER)
    return h.history()


def owner_is_given_its_own_unit_after_all() -> History:
    h = Builder(facts=BINDS)
    h.issue("R")
    h.attack(Admission("R"), forged=OF_ANOTHER)
    return h.history()


def guarded_ledger_does_not_say_whose_unit_it_took() -> History:
    h = Builder(facts=BINDS, operations=GUARDED)
    h.issue("R")
    call = h.begin("execute", request="x1", attempt="x1", forged=OF_ANOTHER)
    h.sink_gets(call, "k1", request="x1")
    h.end(call, effects=1)
    return h.history()


def another_holder_where_none_is_bound() -> History:
    h = Builder(facts=Facts(binds=("args",)))
    h.issue("R")
    h.attack(Admission("R"), forged="credential of another holder")
    return h.history()


def lease_of_a_ledger_that_recovers_by_itself() -> History:
    h = Builder(claims=["recover"], operations=ITSELF, facts=Facts(lapse="takeover"))
    h.issue()
    h.prepare("r1")
    h.kill()
    h.phase("recover")
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def asked_for_while_the_sink_refuses_another() -> History:
    """It may concern this one as well, as long as somebody asks for a use of it."""
    h = Builder(budget=2, claims=["recover", "multi_budget"])
    h.approve("M")
    h.issue("R")
    h.issue("Q", label="M")
    h.prepare("r1")
    h.kill()
    h.recover()
    call = h.begin("effect", "n9", label="M", admission=Admission("Q"))
    h.sink_gets(call, "k2", "refused", label="M", node="n9")
    h.end(call, "refused")
    h.prepare("r2", node="n2", refused="held")
    h.phase("end")
    h.read(prepared=1, issued=1)
    return h.history()


def _refused_at(wall_s: float, *, error_s: float = 0.0, code: str = "expired") -> Builder:
    h = Builder(
        claims=["expiry", "precise_codes"],
        validity=Validity(0.0, 60.0),
        facts=Facts(clock="injected", clock_error_s=error_s),
    )
    h.issue()
    h.clock(wall_s=wall_s)
    h.prepare("r1", refused=code)
    return h


def expired_is_said_when_it_is_over() -> History:
    return _refused_at(60.5).history()


def expired_is_said_within_the_error_of_the_clock() -> History:
    return _refused_at(58.0, error_s=5.0).history()


def another_word_before_it_is_over() -> History:
    return _refused_at(10.0, code="held").history()


def expired_is_said_where_no_clock_was_shown() -> History:
    h = Builder(claims=["expiry", "precise_codes"], validity=Validity(0.0, 60.0))
    h.issue()
    h.prepare("r1", refused="expired")
    return h.history()


def _sent(h: Builder, request: str) -> Use:
    use = h.prepare(request)
    h.effect(use)
    return use


def one_doubtful_commit() -> History:
    h = Builder()
    h.issue()
    h.commit(_sent(h, "r1"), unknown="classified")
    return h.history()


def doubtful_commits_and_one_that_stands() -> History:
    h = Builder(budget=3, claims=["multi_budget"])
    h.issue()
    for request in ("r1", "r2"):
        h.commit(_sent(h, request), unknown="classified")
    h.commit(_sent(h, "r3"))
    return h.history()


def doubtful_commits_of_two_processes() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    for number in (1, 2):
        h.commit(_sent(h, f"r{number}"), unknown="classified", node=f"n{number}")
    return h.history()


def doubtful_commits_while_the_server_is_down() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    uses = [_sent(h, request) for request in ("r1", "r2")]
    h.add(FaultOn("down", "postgres"))
    for use in uses:
        h.commit(use, unknown="classified")
    h.add(FaultOff("down", "postgres"))
    return h.history()


def doubtful_commits_of_a_ledger_whose_worker_commits() -> History:
    h = Builder(budget=2, claims=["multi_budget"], operations=(*SPLIT, "work"))
    h.issue()
    for request in ("r1", "r2"):
        h.commit(_sent(h, request), unknown="classified")
    h.end(h.begin("work", "n7", label=None))
    return h.history()


def busy_behind_a_recovery_that_came_before() -> History:
    """It was over when the fault struck, or it was not granted."""
    h = Builder(claims=["recover"])
    h.issue()
    h.recover()
    h.prepare("r1")
    h.kill()
    h.end(h.begin("recover", "n9", "E9"), "busy")
    h.phase("drain")
    h.prepare("r2", node="n2", busy="in_flight")
    h.prepare("r2", node="n2", busy="in_flight")
    return h.history()
