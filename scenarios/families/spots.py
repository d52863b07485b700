"""Spots: where an operation stands while something around it is struck: a server, or a link.

Every durable write of every operation that takes one, before and after; and, of the operations
that admit and recover, after each statement, where a transaction is half done. The operation then
goes on by itself, and whatever it is answered is what its client knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...chaos.events import Point
from ...chaos.handle import NodeHandle
from ..calls import Arm, Pending, Twist, told
from ..client import Client, Use
from ..moves import as_executor, delegate, revoke
from ..placement import Survey, held_points
from ..plan import Plan, PlanProblem
from ..race import RACE, tokens_of
from ..scene import Scene
from ..uses import admitting, ask, leave_behind
from . import Subjects
from .crash_pipeline import learn

AROUND: Final = RACE
"""The name under which these stops are armed; they are no failure points of the twelve."""


@dataclass(slots=True)
class Reached:
    """A call that was made up to its spot. ``use``: the request that it belongs to, if any."""

    pending: Pending
    use: Use | None = None

    @property
    def stands(self) -> bool:
        """It stands there; else it was answered without ever coming to it."""
        return self.pending.reached and self.pending.answer is None


def spots(subject: Subjects) -> Iterator[Point]:
    """Every spot of this ledger."""
    survey = subject.survey
    admits = admitting(survey)
    for op in operations(subject):
        for nth in range(1, survey.writes(op) + 1):
            yield Point(op, "write", "before", nth)
            yield Point(op, "write", "after", nth)
        if op in (admits, "recover"):
            yield from (p for p in held_points(survey, op) if p.kind == "statement")


def operations(subject: Subjects) -> Iterator[str]:
    """Those in which something may be struck: what a ledger does not promise it need not stand."""
    for op in ("issue", admitting(subject.survey), "commit", "recover", "revoke", "delegate"):
        if op in subject.survey.operations and _is_claimed(subject, op):
            yield op


def _is_claimed(subject: Subjects, op: str) -> bool:
    return op not in ("revoke", "delegate", "recover") or op in subject.declaration.claims


def spot_of(plan: Plan, survey: Survey, tokens: tuple[str, ...]) -> Point:
    """The spot that an id names. Raises ``PlanProblem`` where the ledger has none such."""
    op = tokens[0]
    for step in survey.steps.get(op, ()):
        point = Point(op, step.kind, "before" if step.side == "before" else "after", step.nth)
        if tokens_of(point) == tokens:
            return point
    raise PlanProblem(
        f"{plan.id}: this target has no such point now. Its points are those that a fresh run "
        "shows; a changed target needs a fresh run."
    )


def reach(
    client: Client, scene: Scene, node: NodeHandle, point: Point, name: str = AROUND
) -> Reached | None:
    """Make the calls that lead to the spot, undisturbed, and the one that stands there, armed
    under this name. None: the ledger did not let it come so far."""
    twist = Twist(Arm(name, point))
    if point.op == "issue":
        pending = client.issue(node, twist)
        return Reached(pending) if pending is not None else None
    client.issue(node)
    if client.authorization is None:
        return None
    match point.op:
        case "commit":
            return _commit(client, node, twist)
        case "recover":
            return _recovery(client, scene, node, twist)
        case "revoke":
            return _revocation(client, scene, node, twist)
        case "delegate":
            child = as_executor(client.approval.context, "executor-2")
            return Reached(delegate(client, node, child, 1, twist))
    return _admission(client, scene, node, twist)


def _admission(client: Client, scene: Scene, node: NodeHandle, twist: Twist) -> Reached:
    for _ in range(scene.draws.randrange(int(str(client.approval.budget)))):
        client.finish(node, client.new_use())
    use = client.new_use()
    return Reached(told(lambda: ask(client, node, use, twist)), use)


def _commit(client: Client, node: NodeHandle, twist: Twist) -> Reached | None:
    use = client.new_use()
    told(lambda: client.prepare(node, use))
    if (admission := use.admission) is None:
        return None
    client.send(node, use, admission)
    pending = told(lambda: client.commit(node, use, admission, twist))
    return Reached(pending, use) if pending is not None else None


def _recovery(client: Client, scene: Scene, node: NodeHandle, twist: Twist) -> Reached | None:
    leave_behind(scene, client, scene.helper(client.executor), client.new_use())
    pending = told(lambda: client.recovery(node, twist))
    return Reached(pending) if pending is not None else None


def _revocation(client: Client, scene: Scene, node: NodeHandle, twist: Twist) -> Reached:
    if scene.draws.random() < 0.5:
        client.finish(node, client.new_use())
    return Reached(told(lambda: revoke(client, node, twist)))


def learn_from(client: Client, found: Reached) -> None:
    """What the client makes of the answer of whatever was struck."""
    if found.pending.op == "issue":
        client.issued(found.pending)
    elif found.use is not None:
        learn(client, found.use, found.pending)


def ask_again(scene: Scene, client: Client, found: Reached | None, node: NodeHandle) -> None:
    """The benign retry of whatever was struck: the same attempt, nothing invented."""
    use = found.use if found is not None else None
    if found is None or client.authorization is None:
        return
    if found.pending.op == "revoke" and scene.draws.random() < 0.5:
        revoke(client, node)
    if use is None or use.done:
        return
    if use.admission is not None and not use.unknown:
        if use.receipt is not None:
            client.commit(node, use, use.admission)
        else:
            client.carry_out(node, use, use.admission)
    elif scene.facts.attempt_identity or not use.unknown:
        client.finish(node, use)


def recover_and_drain(
    scene: Scene, client: Client, found: Reached | None, healer: NodeHandle, order: str
) -> None:
    """A fresh process recovers, what was struck is asked for again in the plan's order, and honest
    clients use what is left."""
    if client.authorization is None:
        client.issue(healer)
    scene.phase("recover")
    if order == "retry":
        ask_again(scene, client, found, healer)
    client.recover(healer)
    if order == "recover":
        ask_again(scene, client, found, healer)
    scene.drain(client, healer, int(str(client.approval.budget)))
    scene.end(client, healer)
