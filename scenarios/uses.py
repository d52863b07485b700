"""Steps of an honest use that families share, alike for split and for guarded ledgers."""

from __future__ import annotations

from ..chaos.events import Point
from ..chaos.handle import NodeHandle
from .calls import PLAIN, Arm, Pending, Twist
from .client import Client, Use
from .placement import Survey
from .race import RACE
from .scene import Scene


def admitting(survey: Survey) -> str:
    """The operation by which this ledger admits."""
    return "execute" if survey.guarded else "prepare"


def ask(client: Client, node: NodeHandle, use: Use, twist: Twist = PLAIN) -> Pending:
    """Ask for one use to be admitted (of a guarded ledger: to be carried out)."""
    if "execute" in node.operations:
        return client.execute(node, use, twist)
    return client.prepare(node, use, twist)


def admit(client: Client, node: NodeHandle) -> tuple[Use, Pending]:
    """Admitted, and nothing sent: a guarded ledger stands right before its effect."""
    use = client.new_use()
    if "execute" not in node.operations:
        return use, client.prepare(node, use)
    leaving = Point("execute", "effect", "before", 1)
    return use, client.execute(node, use, Twist(Arm(RACE, leaving)))


def unanswered(client: Client, node: NodeHandle) -> Use:
    """Admitted, and its client never hears of it: the reply is lost."""
    use = client.new_use()
    op = "execute" if "execute" in node.operations else "prepare"
    pending = ask(client, node, use, Twist(Arm(RACE, Point(op, "reply", "before", 1))))
    client.stage.lose_reply(pending)
    if pending.ask is not None:
        client.stage.go(pending)
    use.unknown = True
    return use


def carry_on(scene: Scene, client: Client, node: NodeHandle, use: Use, pending: Pending) -> None:
    """Whoever was admitted carries it out; whoever was told to try again does."""
    if pending.answer is None and node.alive:
        scene.stage.settle(pending)
    learn = client.executed if pending.op == "execute" else client.prepared
    learn(use, pending)
    if not node.alive:
        return
    if use.admission is not None:
        client.carry_out(node, use, use.admission)
    elif pending.answer and pending.answer.outcome == "busy":
        client.finish(node, use)
