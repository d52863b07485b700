"""Budgets: b of 1, 2, 5 and 10 in seven ways of use, and budgets that are none.

The seven ways: a full drain; b + 1 requests at once; a crash with slots in every state; the rest
revoked; effects and commits in another order than the admissions; issued again between uses; two
nodes in turn. Each ends in a drain that wants exactly the rest, and no more. One budget is larger
(``budgets_many``). A budget that is no whole number of uses must be refused, or never grant more
than its most generous reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from ...chaos.handle import NodeHandle
from ...targets.declaration import Declaration
from ...targets.terms import Budget
from ..calls import Arm, Twist
from ..client import Client, Use
from ..history import SinkKind
from ..moves import reissue, revoke
from ..placement import Survey
from ..plan import Plan, PlanProblem
from ..race import HOLD_S
from ..scene import DRAIN_EXTRA, Scene
from ..story.labels import bound_of
from ..uses import LEAVING
from . import Subjects, budgets_many

SIZES: Final = (1, 2, 5, 10)
WAYS: Final = ("drain", "over", "crash", "revoke", "order", "reissue", "alternate")
SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
ODD: Final[dict[str, Budget]] = {
    "zero": 0,
    "negative": -1,
    "fraction": 1.5,
    "nan": float("nan"),
    "infinite": float("inf"),
    "true": True,
    "text": "1",
    "huge": 2**70,
}
PREPARED: Final = 2
"""Units that a crash leaves prepared."""

ODD_USES: Final = 3
"""Uses that are tried under a budget whose reading has no bound, or a huge one."""


@dataclass(frozen=True, slots=True)
class Play:
    """One way of use being played: who uses what, from which node."""

    scene: Scene
    client: Client
    node: NodeHandle
    budget: int


class BudgetsFamily:
    """See the module."""

    name = "budgets"
    tries = "budgets of 1 to 10 in seven ways of use, one of 40, and budgets that are none"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    topics: tuple[str, ...] = (
        "drain",
        "over",
        "crash",
        "revoke",
        "order",
        "reissue",
        "alternate",
        budgets_many.TOPIC,
        "odd",
    )
    rows: tuple[str, ...] = (
        *("BU01", "BU02", "BU04", "BU05", "BU06", "BU07", "BU08"),
        *("CM08", "IS09", "PR12", "RQ14"),
    )

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every way x size, sinks in turn; then every odd budget, where Issue can refuse it."""
        turn = 0
        for number, way in enumerate(_ways(subject.survey, subject.declaration)):
            for budget in _sizes(subject.declaration):
                turn += 1
                sink = SINKS[(turn + number) % len(SINKS)]
                yield Plan(subject.target, self.name, (way,), budget, sink, 0)
        yield from budgets_many.placed(subject, self.name)
        if "issue" in subject.survey.operations:
            for name in ODD:
                yield Plan(subject.target, self.name, ("odd", name), 1, "idempotent", 0)

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        if plan.params[0] == "odd" and plan.params[-1] in ODD and len(plan.params) == 2:
            _odd(scene, ODD[plan.params[1]])
            return
        subject = Subjects(plan.target, scene.declaration, scene.survey)
        if replace(plan, seed=0) in budgets_many.placed(subject, self.name):
            budgets_many.run(scene)
            return
        ways, sizes = _ways(scene.survey, scene.declaration), _sizes(scene.declaration)
        if plan.params not in {(way,) for way in ways} or plan.budget not in sizes:
            raise PlanProblem(f"{plan.id}: this target has no such schedule now")
        client = scene.approve(plan.budget)
        node = scene.victim(client.executor)
        scene.survivor = node
        scene.phase("hurt")
        client.issue(node)
        if client.authorization is None:
            scene.end(client, node)
            return
        node = _USED[plan.params[0]](Play(scene, client, node, plan.budget))
        scene.phase("recover")
        client.recover(node)
        scene.drain(client, node, plan.budget)
        scene.end(client, node)


def _sizes(declaration: Declaration) -> tuple[int, ...]:
    return SIZES if declaration.claims_that("multi_budget") else SIZES[:1]


def _ways(survey: Survey, declaration: Declaration) -> tuple[str, ...]:
    """A guarded ledger admits and sends in one step: nothing of it can be put in another order."""
    without = {"over", "order"} if survey.guarded else set()
    if not declaration.claims_that("revoke") or "revoke" not in survey.operations:
        without.add("revoke")
    if "issue" not in survey.operations:
        without.add("reissue")
    return tuple(way for way in WAYS if way not in without)


def _drain(play: Play) -> NodeHandle:
    """Nothing before the drain, which has the whole budget."""
    return play.node


def _over(play: Play) -> NodeHandle:
    """One more than b asked for before anything is sent."""
    uses = [play.client.new_use() for _ in range(play.budget + 1)]
    for use in uses:
        play.client.prepare(play.node, use)
    for use in uses:
        if use.admission is not None:
            play.client.carry_out(play.node, use, use.admission)
    return play.node


def _crash(play: Play) -> NodeHandle:
    """Some committed, two prepared where the budget allows it, the rest issued; then the process
    dies. Two, for a recovery may find the one and forget the other. Of several that were at work
    one comes to its end, and whoever goes by their order writes down the end of another one."""
    client, stage = play.client, play.scene.stage
    for _ in range(play.budget // 3):
        client.finish(play.node, client.new_use())
    if play.scene.survey.guarded:
        _crash_at_the_effect(play)
    else:
        uses = [client.new_use() for _ in range(min(play.budget - play.budget // 3, PREPARED + 1))]
        for use in uses:
            client.prepare(play.node, use)
        ended = uses[len(uses) // 2 - 1] if len(uses) > 1 else None
        if ended is not None and ended.admission is not None:
            client.carry_out(play.node, ended, ended.admission)
        stage.kill(play.node)
    play.scene.phase("heal")
    healer, _ = play.scene.healer(client, "after_fault")
    return healer


def _crash_at_the_effect(play: Play) -> None:
    """A process dies before it sends; where there are units for two, while an older one ends."""
    client, stage, node = play.client, play.scene.stage, play.node
    arm = Arm("hold", LEAVING)
    use = client.new_use()
    standing = client.execute(node, use, Twist(arm))
    if play.budget > 1 and standing.reached and standing.answer is None:
        node, younger = play.scene.helper(client.executor), client.new_use()
        second = client.execute(node, younger, Twist(arm, patience_s=HOLD_S))
        stage.go(standing)
        client.executed(use, standing)
        if second.answer is None and not second.reached:
            stage.drive(second)  # it had waited for the older one
        use, standing = younger, second
        stage.dismiss(play.node)
    stage.kill(node, standing)
    client.executed(use, standing)


def _revoke(play: Play) -> NodeHandle:
    """Some committed, one prepared (it runs on), the rest revoked."""
    for _ in range(play.budget // 3):
        play.client.finish(play.node, play.client.new_use())
    use = play.client.new_use()
    if not play.scene.survey.guarded:
        play.client.prepare(play.node, use)
    revoke(play.client, play.node)
    play.scene.stage.inspect(play.node, play.client.known, play.client.label, "after_revoke")
    if use.admission is not None:
        play.client.carry_out(play.node, use, use.admission)
    return play.node


def _order(play: Play) -> NodeHandle:
    """All admitted; then the effects in another order, and the commits in a third one."""
    uses = [play.client.new_use() for _ in range(play.budget)]
    for use in uses:
        play.client.prepare(play.node, use)
    admitted = [(use, use.admission) for use in uses if use.admission is not None]
    for use, admission in play.scene.draws.sample(admitted, len(admitted)):
        play.client.send(play.node, use, admission)
    for use, admission in play.scene.draws.sample(admitted, len(admitted)):
        play.client.commit(play.node, use, admission)
    return play.node


def _reissue(play: Play) -> NodeHandle:
    """Issued again before every use, with whatever that answers."""
    for _ in range(play.budget):
        play.client.issued(reissue(play.client, play.node))
        play.client.finish(play.node, play.client.new_use())
    play.client.issued(reissue(play.client, play.node))
    return play.node


def _alternate(play: Play) -> NodeHandle:
    """Two nodes of one executor in turn."""
    other = play.scene.helper(play.client.executor)
    for number in range(play.budget - 1):
        play.client.finish(other if number % 2 else play.node, play.client.new_use())
    play.scene.stage.dismiss(play.node)
    play.scene.survivor = other
    return other


_USED: Final = {
    "drain": _drain,
    "over": _over,
    "crash": _crash,
    "revoke": _revoke,
    "order": _order,
    "reissue": _reissue,
    "alternate": _alternate,
}


def _odd(scene: Scene, budget: Budget) -> None:
    """Ask for it, and use whatever is granted: to one more than the generous reading, and on."""
    client = scene.approve(budget)
    node = scene.victim(client.executor)
    scene.survivor = node
    scene.phase("hurt")
    client.issue(node)
    most = bound_of(budget)
    tries = ODD_USES if most is None else min(most, ODD_USES)
    scene.phase("recover")
    client.recover(node)
    scene.phase("drain")
    for _ in range(tries + DRAIN_EXTRA):
        if client.authorization is not None:
            _try(client, node, client.new_use())
    scene.end(client, node)


def _try(client: Client, node: NodeHandle, use: Use) -> None:
    if node.alive:
        client.finish(node, use)
