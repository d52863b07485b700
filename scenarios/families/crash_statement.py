"""One change of an operation fails, for a disk that is full or failing.

In a transaction of SQLite's the error is raised at the statement, and takes the transaction back
with it. Whoever catches it there is in no transaction any more: what it sends next is on its own,
and the driver's commit has nothing to do and says nothing. Of bytes that go out to a plain file
none are written, or a part (``chaos/probes/room.py``), and there is no room until the operation has
ended: whoever catches that error and says "done" has kept nothing. Every change that the operation
makes is struck in turn, each time under an authorization of its own; then everybody is healed,
recovered, drained and read as if alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...chaos.events import Point
from ...chaos.handle import NodeHandle
from ..client import Client
from ..placement import Place
from ..plan import Plan, PlanProblem
from ..race import RACE
from ..scene import Scene
from ..uses import admitting
from ..within import failing_changes
from . import Subjects
from .crash_pipeline import Hurt, ask_again, learn, reach, stands, twist_of

TOPIC: Final = "statement"
VARIANT: Final = "io-lost"


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """Each operation once."""
    for op in _operations(subject):
        yield Plan(subject.target, family, (TOPIC, op), 1, "idempotent", 0)


def _operations(subject: Subjects) -> tuple[str, ...]:
    survey = subject.survey
    tried = ("issue", admitting(survey), "commit") if survey.spoils else ()
    return tuple(op for op in tried if any(True for _ in failing_changes(survey, op)))


def run(plan: Plan, scene: Scene) -> None:
    """Play one plan."""
    op = plan.params[-1]
    if plan.params != (TOPIC, op) or op not in _operations(
        Subjects(plan.target, scene.declaration, scene.survey)
    ):
        raise PlanProblem(f"{plan.id}: this target has no such statements now")
    points = list(failing_changes(scene.survey, op))
    clients = [scene.approve(plan.budget) for _ in points]
    victim = scene.victim(clients[0].executor)
    scene.phase("hurt")
    pairs = zip(clients, points, strict=True)
    hurts = [_struck(scene, client, victim, point) for client, point in pairs]
    if not any(hurt.fired for hurt in hurts):
        scene.idle = f"no error could be raised at a statement of {op}"
    scene.phase("heal")
    healer, _ = scene.healer(clients[0], None)
    records = {c.authorization.record for c in clients if c.authorization is not None}
    for client in clients:
        own = client.authorization
        client.strange |= records - ({own.record} if own is not None else set())
        scene.stage.inspect(healer, client.known, client.label, "after_fault")
    scene.phase("recover")
    for client, hurt in zip(clients, hurts, strict=True):
        if client.authorization is None:
            client.issue(healer)
        client.recover(healer)
        ask_again(scene, client, hurt, victim if victim.alive else healer)
    scene.stage.dismiss(victim)
    scene.drain(clients[0], healer, plan.budget)
    for client in clients[1:]:
        scene.use_up(client, healer, plan.budget)
    scene.end(clients[0], healer)
    for client in clients[1:]:
        scene.look(client, healer)


def _struck(scene: Scene, client: Client, node: NodeHandle, point: Point) -> Hurt:
    """Make one use whose operation fails at the point, as far as it lets it."""
    place = Place(RACE, "", point.op, point, shown=f"statement {point.nth}")
    pending, use = reach(client, node, place, 0, twist_of(place, VARIANT))
    if not stands(pending):
        return Hurt(place, VARIANT, pending, use, fired=False)
    scene.stage.go(pending, raised="io")
    learn(client, use, pending)
    return Hurt(place, VARIANT, pending, use, fired=pending.fired)
