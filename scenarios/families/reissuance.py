"""Reissuance: the same confirmation is presented again, and must not open anything new.

At every stage of a use (issued, prepared, committed, its process killed, revoked) the decision is
presented once more: as it was, from another node, session, task, executor or epoch, for a larger
or a smaller budget, or for another action. Then honest clients use what is left, with the new
artifact and with the old one. A genuinely new confirmation, in contrast, must be served.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from ...chaos.handle import NodeHandle
from ...targets.identity import confirm
from ...targets.terms import Authorization
from ..attacker import Attacker
from ..calls import PLAIN, Arm, Pending, Twist
from ..client import Client, Use, approve
from ..history import SinkKind
from ..moves import reissue, revoke
from ..plan import Plan, PlanProblem
from ..scene import Scene
from ..uses import LEAVING
from . import Subjects, budgeted, budgets_of
from .variations import CALLS, CONTEXTS

MOMENTS: Final = ("issued", "prepared", "committed", "killed", "revoked")
WAYS: Final = ("again", "node", *CONTEXTS, "more", "less", "action", "fresh")
BESIDE: Final = "beside"
"""Confirmed anew, and issued, before the first one is revoked: that is none of its business."""
EXPIRED: Final = (("validity", "past"), ("expired", "again"))
SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
AGAIN: Final = 3
"""How often the plain repetition is asked."""

PAST_S: Final = 100.0
EXPIRES_S: Final = 60.0
LATER_S: Final = 3600.0
"""A clock that is so far ahead is past t_e, and nobody's clock error explains it."""


class ReissuanceFamily:
    """See the module."""

    name = "reissuance"
    tries = "the same confirmation presented again, at every stage and in every context"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ("issue",)
    claims: tuple[str, ...] = ()
    topics: tuple[str, ...] = (
        "issued",
        "prepared",
        "committed",
        "killed",
        "revoked",
        "validity",
        "expired",
    )
    rows: tuple[str, ...] = (
        *("IS01", "IS05", "IS06", "IS08", "ID01", "ID06", "ID07", "ID08", "ID09"),
        *("ID10", "ID11", "ID12", "CF05", "CF06", "CF07", "AR14", "FX11", "FX12"),
    )

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every moment x way; budgets and sinks in turn, so that each moment has all of them."""
        declared, budgets = subject.declaration, budgets_of(subject.declaration)
        pairs = [(m, w) for m in _moments(subject) for w in _ways(subject, m)]
        if declared.claims_that("expiry"):
            pairs += [
                p for p in EXPIRED if p[0] == "validity" or declared.facts.clock == "injected"
            ]
        for turn, pair in enumerate(pairs):
            budget = budgets[turn % len(budgets)]
            sink = SINKS[turn // len(budgets) % len(SINKS)]
            yield Plan(subject.target, self.name, pair, budget, sink, 0)

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        budgeted(plan, scene.declaration)
        moment, way = plan.params if len(plan.params) == 2 else ("", "")
        if (moment, way) in EXPIRED:
            _past_expiry(scene, plan.budget, moment)
            return
        subject = Subjects(plan.target, scene.declaration, scene.survey)
        if moment not in _moments(subject) or way not in _ways(subject, moment):
            raise PlanProblem(f"{plan.id}: this target has no such schedule now")
        client = scene.approve(plan.budget)
        first = scene.victim(client.executor)
        scene.phase("hurt")
        client.issue(first)
        beside = scene.confirmed_anew(client) if way == BESIDE else None
        if beside is not None:
            beside.issue(first)
        use = _until(scene, client, first, moment, named=beside is not None)
        scene.phase("heal")
        healer = scene.helper(client.executor)
        scene.survivor = healer
        scene.stage.inspect(healer, client.known, client.label, "after_heal")
        old = client.authorization
        if beside is not None:
            later = beside
        elif way == "fresh":
            later = scene.confirmed_anew(client)
            later.issue(healer)
        else:
            later = client
            _again(scene, client, first if first.alive else healer, healer, way)
            scene.stage.inspect(healer, client.known, client.label, "after_reissue")
        if moment != "committed":
            _finish_first(scene, client, use, first, healer)
        scene.phase("recover")
        client.recover(healer)
        scene.stage.dismiss(first)
        scene.drain(later, healer, plan.budget)
        if moment == "committed":  # not before: the retry would take back what was set free
            _finish_first(scene, client, use, first, healer)
        if way not in ("fresh", BESIDE) and old is not None and client.authorization is not None:
            client.authorization = old  # the first artifact opens nothing that the second did not
            client.finish(healer, client.new_use())
        scene.end(later, healer)


def _moments(subject: Subjects) -> tuple[str, ...]:
    """The moments that this ledger has: a guarded one is never left between two steps."""
    without = {"prepared"} if subject.survey.guarded else set()
    if not subject.declaration.claims_that("revoke") or "revoke" not in subject.survey.operations:
        without.add("revoked")
    return tuple(moment for moment in MOMENTS if moment not in without)


def _ways(subject: Subjects, moment: str) -> tuple[str, ...]:
    """How it is presented then. Where Issue leaves the record in its client's hand, nobody can know
    before the first use that one decision is said to be about two actions."""
    if moment == "issued" and subject.declaration.facts.issues == "held":
        return tuple(way for way in WAYS if way != "action")
    return (*WAYS, BESIDE) if moment == "revoked" else WAYS


def _until(
    scene: Scene, client: Client, node: NodeHandle, moment: str, *, named: bool
) -> Use | None:
    """Bring the first use to its stage. ``named``: whose record is revoked must be told."""
    if moment == "issued":
        return None
    use = client.new_use() if moment != "revoked" else None
    if use is None:
        revoke(client, node, named=named)
        scene.stage.inspect(node, client.known, client.label, "after_revoke")
    elif moment == "committed":
        client.finish(node, use)
    elif not scene.survey.guarded:
        client.prepare(node, use)
        if moment == "killed":
            scene.stage.kill(node)
    else:
        standing = client.execute(node, use, Twist(Arm("hold", LEAVING)))
        if standing.answer is None:
            scene.stage.kill(node, standing)
            client.executed(use, standing)
        else:
            scene.idle = "the effect was never entered"
    return use


def _again(scene: Scene, client: Client, first: NodeHandle, healer: NodeHandle, way: str) -> None:
    """Present the confirmation once more, and try to use what is answered."""
    attacker, approval = Attacker(client), client.approval
    if way in CONTEXTS:
        context = CONTEXTS[way](approval.context)
        node = scene.helper(context.executor) if way == "executor" else healer
        answered = _answered(reissue(client, node, context=context))
        if answered is not None and scene.facts.context_update in ("narrow", "replace"):
            reissue(client, healer)  # the user's own context again: the update is theirs to make
        attacker.present(node, context=context, authorization=answered)
    elif way == "action":
        call = CALLS["amount"](approval.call)
        again = confirm(
            scene.stage.setting.trust.confirmation_key,
            approval.confirmation.event,
            call,
            approval.budget,
        )
        answered = _answered(
            reissue(client, healer, call=call, confirmation=again, forged="event of another action")
        )
        attacker.present(healer, call=call, authorization=answered)
    elif way in ("more", "less"):
        assert isinstance(approval.budget, int)
        budget = approval.budget + 3 if way == "more" else approval.budget - 1
        answered = _answered(reissue(client, healer, budget=budget))
        client.authorization = answered or client.authorization
    else:
        for _ in range(AGAIN):
            answered = _answered(reissue(client, first if way == "again" else healer))
            client.authorization = answered or client.authorization


def _answered(pending: Pending) -> Authorization | None:
    value = pending.answer.value if pending.answer else None
    return value if isinstance(value, Authorization) else None


def _finish_first(
    scene: Scene, client: Client, use: Use | None, first: NodeHandle, healer: NodeHandle
) -> None:
    """The use that was under way: its client goes on, and asks again where attempts are known."""
    if use is None:
        return
    if use.admission is not None and first.alive and not use.done:
        client.carry_out(first, use, use.admission)
    if scene.facts.attempt_identity and client.authorization is not None:
        client.finish(healer, use)


def _past_expiry(scene: Scene, budget: int, moment: str) -> None:
    """Issue for a time that is over, or again when it is over."""
    ends_s = time.time() + (-PAST_S if moment == "validity" else EXPIRES_S)
    trust = scene.stage.setting.trust
    client = approve(scene.stage, scene.facts, trust, scene.draws, budget, expires_s=ends_s)
    first = scene.victim(client.executor)
    late = first
    scene.phase("hurt")
    client.issue(first, PLAIN)
    if moment == "expired":
        late = scene.helper(client.executor, skew_s=LATER_S)
        client.authorization = _answered(reissue(client, late)) or client.authorization
    scene.survivor = late if late is first else None
    if client.authorization is not None:
        Attacker(client).present(late)
    scene.end(client, late)
