"""Legal: children of whom nobody heard, or for whom units are missing for another reason."""

from __future__ import annotations

from admitone.chaos.events import FaultOff, FaultOn
from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Context, Validity

from ..historybuilder import Builder

CHILD = Context("E2", "S/part", "T/part")
OTHER = Context("E3", "S/part/a", "T/part")
CLAIMS = ["delegate", "revoke", "multi_budget"]
GIVES_BACK = Facts(child_refund="on_close")


def _closed(
    budget: int = 1, *, facts: Facts = GIVES_BACK, expires_s: float | None = None
) -> Builder:
    h = Builder(claims=CLAIMS, facts=facts, budget=budget, validity=Validity(0.0, expires_s))
    h.issue()
    h.delegate(CHILD, 1)
    h.close(CHILD)
    return h


def child_that_was_made_anew_after_its_end() -> History:
    h = _closed()
    h.delegate(CHILD, 1)
    h.phase("drain")
    h.prepare("r1", refused="exhausted")
    h.phase("end")
    return h.history()


def child_of_which_nobody_heard_has_the_rest() -> History:
    h = _closed(2)
    h.unknown(h.begin("delegate", context=OTHER, budget=1))
    h.kill()
    h.phase("drain")
    h.use("r1", node="n2")
    h.prepare("r2", node="n2", refused="exhausted")
    h.phase("end")
    return h.history()


def close_of_which_nobody_heard_gave_back() -> History:
    h = Builder(claims=CLAIMS, facts=GIVES_BACK, budget=2)
    h.issue()
    h.delegate(CHILD, 1)
    h.delegate(OTHER, 1)
    h.close(CHILD)
    h.unknown(h.begin("close", context=OTHER))
    h.kill()
    h.phase("drain")
    h.use("r1", node="n2")
    h.use("r2", node="n2")
    h.phase("end")
    return h.history()


def grandchild_of_a_child_of_which_nobody_heard() -> History:
    h = Builder(claims=CLAIMS, facts=Facts(binds=("executor", "session")), budget=2)
    h.issue()
    h.unknown(h.begin("delegate", context=CHILD, budget=2))
    h.delegate(OTHER, 1, executor="E2")
    h.use("r1", context=OTHER)
    return h.history()


def refused_after_a_close_when_it_is_over() -> History:
    h = _closed(expires_s=60.0)
    h.phase("drain")
    h.prepare("r1", refused="expired")
    h.phase("end")
    return h.history()


def refused_after_a_close_while_the_server_is_down() -> History:
    h = _closed()
    h.phase("drain")
    h.add(FaultOn("down", "postgres"))
    h.prepare("r1", refused="unspecified")
    h.add(FaultOff("down", "postgres"))
    h.phase("end")
    return h.history()


def refused_after_a_close_though_only_an_attack() -> History:
    h = _closed()
    h.phase("drain")
    h.attack()
    h.phase("end")
    return h.history()


def refused_after_a_close_because_one_may_have_it() -> History:
    h = _closed()
    h.prepare("r1", unknown="classified")
    h.phase("drain")
    h.prepare("r2", refused="exhausted")
    h.phase("end")
    return h.history()


def refused_after_a_close_because_one_is_blocked() -> History:
    """The sink turned the first use away, and this ledger keeps its unit."""
    h = _closed(2, facts=Facts(child_refund="on_close", after_not_applied="free"))
    use = h.prepare("r1")
    h.effect(use, how="refused")
    h.release(use, unknown="classified")
    h.phase("drain")
    h.use("r2")
    h.prepare("r3", refused="exhausted")
    h.phase("end")
    return h.history()


def refused_child_after_the_close_of_another() -> History:
    h = _closed()
    h.phase("drain")
    h.prepare("r1", context=CHILD, refused="revoked")
    h.use("r2")
    h.phase("end")
    return h.history()


def child_that_was_made_anew_after_its_revoke() -> History:
    h = Builder(claims=CLAIMS, facts=Facts(child_refund="on_revoke"), budget=2)
    h.issue()
    h.delegate(CHILD, 1)
    h.revoke(context=CHILD)
    h.delegate(CHILD, 1)
    h.use("r1", context=CHILD)
    return h.history()


def child_that_was_made_anew_and_wider() -> History:
    """It is as wide as its parent, and so is its own child."""
    h = _closed(3, facts=Facts(child_refund="on_close", binds=("session",)))
    h.delegate(Context("E2", "S", "T"), 2)
    h.delegate(Context("E3", "S", "T"), 2, executor="E2")
    return h.history()


def child_admitted_after_a_revoke_of_which_nobody_heard() -> History:
    h = Builder(claims=CLAIMS)
    h.issue()
    h.delegate(CHILD, 1)
    h.unknown(h.begin("revoke", context=CHILD))
    h.use("r1", context=CHILD)
    return h.history()


def child_of_a_ledger_that_claims_no_revoke() -> History:
    h = Builder(claims=["delegate"])
    h.issue()
    h.delegate(CHILD, 1)
    h.revoke(context=CHILD)
    h.use("r1", context=CHILD)
    return h.history()
