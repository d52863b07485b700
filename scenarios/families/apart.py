"""Two authorizations at once: the same step of each, one held at a point while the other is made.

They have nothing to do with each other but what all of a ledger share: the head of an audit chain,
a counter, a table's lock, one error of which both are told. Whoever meets it there must not lose
what it had taken. Each is then recovered, drained and judged as if it were alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...chaos.events import Point
from ...chaos.handle import NodeHandle
from ..calls import Pending, Twist
from ..client import Client, Use
from ..plan import Plan
from ..race import meet
from ..scene import Scene
from ..uses import ask, carry_on


@dataclass(slots=True)
class Side:
    """One of the two: a client, its node, and the one use that it makes."""

    scene: Scene
    client: Client
    node: NodeHandle
    use: Use

    def get_ready(self, op: str, issuer: NodeHandle, other: Client) -> None:
        """Come to the step that is to be held; the first node issues for both."""
        if op == "issue":
            return
        self.client.issue(issuer)
        if self.client.authorization is not None:
            other.strange.add(self.client.authorization.record)
        if op != "commit":
            return
        self.client.prepare(self.node, self.use)
        if self.use.admission is not None:
            self.client.send(self.node, self.use, self.use.admission)

    def step(self, op: str, twist: Twist) -> Pending | None:
        """Make it. None: it cannot be made."""
        if op == "issue":
            return self.client.issue(self.node, twist)
        if op != "commit":
            return ask(self.client, self.node, self.use, twist)
        if self.use.admission is None:
            return None
        return self.client.commit(self.node, self.use, self.use.admission, twist)

    def go_on(self, pending: Pending | None) -> None:
        """Learn from the answer, and finish what it allows."""
        if pending is None:
            return
        if pending.op == "issue":
            self.client.issued(pending)
        elif pending.op == "commit":
            self.client.committed(self.use, pending)
        else:
            carry_on(self.client, self.node, self.use, pending)


def run(plan: Plan, scene: Scene, point: Point) -> None:
    """Play one plan."""
    clients = scene.approve(plan.budget), scene.approve(plan.budget)
    first = scene.victim(clients[0].executor)
    second = scene.survivor = scene.helper(clients[1].executor)
    mine = Side(scene, clients[0], first, clients[0].new_use())
    theirs = Side(scene, clients[1], second, clients[1].new_use())
    scene.phase("hurt")
    mine.get_ready(point.op, first, theirs.client)
    theirs.get_ready(point.op, first, mine.client)
    answers = meet(
        scene,
        point,
        lambda twist: mine.step(point.op, twist),
        lambda twist: theirs.step(point.op, twist),
    )
    scene.phase("heal")
    for side, pending in zip((mine, theirs), answers, strict=True):
        side.go_on(pending)
    scene.phase("recover")
    for client in clients:
        client.recover(second)
    scene.stage.dismiss(first)
    scene.drain(mine.client, second, plan.budget)
    scene.use_up(theirs.client, second, plan.budget)
    scene.end(mine.client, second)
    scene.look(theirs.client, second)
