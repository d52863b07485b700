"""Histories that must be convicted by what a check says seldom: a head that is back, a word too
early, a Commit of which nobody ever knows, a credential of another authorization."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Admission, Validity

from ..historybuilder import SPLIT, Builder

BINDS = Facts(binds=("tool", "args", "principal", "executor", "confirmation"))
OF_ANOTHER = "credential of another authorization"


def ao205_credential_of_another_authorization() -> History:
    h = Builder(facts=BINDS)
    h.approve("M")
    h.issue("R")
    h.issue("Q", label="M")
    h.attack(Admission("Q"), forged=OF_ANOTHER)
    return h.history()


def ao301_left_by_a_ledger_that_recovers_by_itself() -> History:
    h = Builder(claims=["recover"], operations=tuple(op for op in SPLIT if op != "recover"))
    h.issue()
    h.prepare("r1")
    h.kill()
    h.phase("recover")
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def ao301_left_though_the_sink_refuses_only_another() -> History:
    h = Builder(claims=["recover"])
    h.approve("M")
    h.issue("R")
    h.issue("Q", label="M")
    h.prepare("r1")
    h.kill()
    h.phase("recover")
    h.recover()
    call = h.begin("effect", "n9", label="M", admission=Admission("Q"))
    h.sink_gets(call, "k2", "refused", label="M", node="n9")
    h.end(call, "refused")
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def ao406_expired_is_said_too_early() -> History:
    h = Builder(
        claims=["expiry", "precise_codes"],
        validity=Validity(0.0, 60.0),
        facts=Facts(clock="injected"),
    )
    h.issue()
    h.clock(wall_s=1.0, skew_s=58.0)
    h.prepare("r1", refused="expired")
    return h.history()


def ao704_an_old_head_is_back() -> History:
    h = Builder(claims=["audit"])
    h.audit(3, head="old")
    h.audit(4, head="new")
    h.audit(5, head="old")
    return h.history()


def ao804_of_no_commit_is_it_known_whether_it_stands() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    for request in ("r1", "r2"):
        use = h.prepare(request)
        h.effect(use)
        h.commit(use, unknown="classified")
    return h.history()


def ao804_busy_behind_what_recovery_had_to_settle() -> History:
    h = Builder(claims=["recover"])
    h.issue()
    h.prepare("r1")
    h.kill()
    h.phase("recover")
    h.recover()
    h.phase("drain")
    h.prepare("r2", node="n2", busy="in_flight")
    h.prepare("r2", node="n2", busy="in_flight")
    return h.history()
