"""Consumers, held: one caller stands between two of its statements while another runs through.

Check-then-act is found in the first seconds, every time, and replays, because nothing is left to
chance: for every statement and every durable write of an operation, one node is held there, a
second node makes the same call, and only then the first goes on. A second caller that waits for
the first one's lock is given ``HOLD_S``, then the first is released (design, section 4). Rows:
PR02, PR11, PR12, IS02, BU03, FX09 of the requirements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...chaos.events import Point
from ...chaos.handle import NodeHandle
from ..calls import Arm, Pending, Twist
from ..client import Client, Use
from ..history import SinkKind
from ..placement import Survey, held_points
from ..plan import Plan, PlanProblem
from ..scene import Scene
from . import Subjects, budgeted, budgets_of

HOLD_S: Final = 0.25
"""How long the second caller may take before the first one is released, seconds: longer than the
lock lifetimes that a library would set for one statement, shorter than anybody's patience."""

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")


class HeldFamily:
    """See the module."""

    name = "consumers"
    tries = "one caller held between two statements while another runs through"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    topics: tuple[str, ...] = ("held",)
    rows: tuple[str, ...] = ("PR02", "PR11", "PR12", "IS02", "BU03", "FX09")

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every point of issue and of the admitting operation x budget; sinks in turn."""
        budgets = budgets_of(subject.declaration)
        turn = 0
        for op in ("issue", _admitting(subject.survey)):
            for point in held_points(subject.survey, op):
                for budget in budgets:
                    turn += 1
                    params = ("held", op, f"{point.kind}{point.nth}", point.side)
                    yield Plan(
                        subject.target, self.name, params, budget, SINKS[turn % len(SINKS)], 0
                    )

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        point = self._parsed(plan, scene)
        client = scene.approve(plan.budget)
        first = scene.victim(client.executor)
        second = scene.helper(client.executor)
        scene.survivor = second
        scene.phase("hurt")
        if point.op == "issue":
            self._issue_race(scene, client, first, second, point)
            scene.phase("heal")
        else:
            client.issue(first)
            self._admission_race(scene, client, first, second, point)
        scene.phase("recover")
        client.recover(second)
        scene.stage.dismiss(first)
        scene.drain(client, second, plan.budget)
        scene.end(client, second)

    def _parsed(self, plan: Plan, scene: Scene) -> Point:
        budgeted(plan, scene.declaration)
        for op in ("issue", _admitting(scene.survey)):
            for point in held_points(scene.survey, op):
                if plan.params == ("held", op, f"{point.kind}{point.nth}", point.side):
                    return point
        raise PlanProblem(
            f"{plan.id}: this target has no such point now. Its points are those that a fresh run "
            "shows; a changed target needs a fresh run."
        )

    def _issue_race(
        self, scene: Scene, client: Client, first: NodeHandle, second: NodeHandle, point: Point
    ) -> None:
        """The same confirmation is presented twice at once."""
        held = client.issue(first, Twist(Arm("hold", point)))
        if held is None:
            return
        other = client.issue(second, Twist(patience_s=HOLD_S))
        self._release(scene, held, other)
        for pending in (held, other):
            if pending is not None:
                client.issued(pending)

    def _admission_race(
        self, scene: Scene, client: Client, first: NodeHandle, second: NodeHandle, point: Point
    ) -> None:
        """Two requests under one authorization."""
        one, two = client.new_use(), client.new_use()
        hold, wait = Twist(Arm("hold", point)), Twist(patience_s=HOLD_S)
        if point.op == "execute":
            held = client.execute(first, one, hold)
            other = client.execute(second, two, wait)
        else:
            held = client.prepare(first, one, hold)
            other = client.prepare(second, two, wait)
        self._release(scene, held, other)
        scene.phase("heal")
        for node, use, pending in ((first, one, held), (second, two, other)):
            self._carry_on(client, node, use, pending)

    def _release(self, scene: Scene, held: Pending, other: Pending | None) -> None:
        """Let the held one go on, and hear both out."""
        scene.races_started += 1
        if held.answer is None:
            scene.races_overlapped += 1
            scene.stage.tally.pauses += 1
            scene.stage.go(held, patience_s=HOLD_S)
        scene.stage.settle(held, *([other] if other else []))

    def _carry_on(self, client: Client, node: NodeHandle, use: Use, pending: Pending) -> None:
        """Whoever was admitted carries it out; whoever was told to try again does."""
        if pending.op == "execute":
            client.executed(use, pending)
            if pending.answer and pending.answer.outcome == "busy" and node.alive:
                client.finish(node, use)
            return
        client.prepared(use, pending)
        if use.admission is not None and node.alive:
            client.carry_out(node, use, use.admission)
        elif pending.answer and pending.answer.outcome == "busy" and node.alive:
            client.finish(node, use)


def _admitting(survey: Survey) -> str:
    return "execute" if survey.guarded else "prepare"
