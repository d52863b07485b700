"""Steps of an honest use that families share, alike for split and for guarded ledgers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..chaos.events import Point
from ..chaos.handle import NodeHandle
from ..targets.terms import Admission
from .calls import PLAIN, Arm, Pending, Twist, told
from .client import Client, Use
from .placement import Survey
from .race import RACE
from .scene import Scene

LEAVING: Final = Point("execute", "effect", "before", 1)
"""Where a guarded ledger has admitted, and its effect has not left the process."""


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
    return use, client.execute(node, use, Twist(Arm(RACE, LEAVING)))


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


def carry_on(
    client: Client, node: NodeHandle, use: Use, pending: Pending, *, brief: bool = False
) -> None:
    """Whoever was admitted carries it out; whoever was told to try again does. ``brief``: only a
    few times, see ``Client.finish``."""
    if pending.answer is None and node.alive:
        client.stage.settle(pending)
    learn = client.executed if pending.op == "execute" else client.prepared
    learn(use, pending)
    if not node.alive or pending.answer is None:
        return
    if isinstance(pending.answer.value, Admission):
        client.carry_out(node, use, pending.answer.value)
    elif _again(pending):
        client.finish(node, use, brief=brief)


def carry_all_on(
    client: Client, asked: Iterable[tuple[NodeHandle, Use, Pending]], *, brief: bool = False
) -> None:
    """Each as ``carry_on``; whoever was told to try again comes last, for a ledger may have nobody
    else admitted before the one that was has ended."""
    for node, use, pending in sorted(asked, key=lambda each: _again(each[2])):
        carry_on(client, node, use, pending, brief=brief)


def _again(pending: Pending) -> bool:
    return pending.answer is not None and pending.answer.outcome == "busy"


def leave_behind(
    scene: Scene, client: Client, node: NodeHandle, use: Use, *, sent: bool = False
) -> None:
    """An executor is admitted, and dies: before its effect has left it, or (``sent``) when that
    stands applied and nobody was answered."""
    unanswered = Twist(transit=(RACE, "unanswered"))
    if "execute" in node.operations:
        twist = unanswered if sent else Twist(Arm(RACE, LEAVING))
        pending = told(lambda: client.execute(node, use, twist))
    else:
        pending = told(lambda: client.prepare(node, use))
        if sent and use.admission is not None:
            pending = client.send(node, use, use.admission, unanswered)
    scene.stage.kill(node, pending)
    if pending.op == "execute":
        client.executed(use, pending)
