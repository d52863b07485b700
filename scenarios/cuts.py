"""The own commits of Revoke, Delegate and Close, cut. Those of the first two are the four points
that are reported beside the twelve.

Before a durable write the operation has not happened; after it, and before the reply, it has, and
nobody was told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ..chaos.events import Point
from .calls import Arm, Pending, Twist
from .placement import BESIDE, Survey
from .plan import Plan, PlanProblem
from .race import RACE
from .scene import Scene

HOWS: Final = ("kill", "drop")


def cuts_of(survey: Survey, op: str) -> Iterator[tuple[str, ...]]:
    """Every cut of one operation, as tokens of a plan: ``write1.before.kill``, ``reply.drop``."""
    for how in HOWS:
        for nth in range(1, survey.writes(op) + 1):
            yield f"write{nth}", "before", how
            yield f"write{nth}", "after", how
        yield "reply", how


def cut(
    plan: Plan, scene: Scene, op: str, tokens: tuple[str, ...], ask: Callable[[Twist], Pending]
) -> Pending:
    """Make the call, and cut it where the tokens say. Its node may be dead afterwards."""
    if tokens not in set(cuts_of(scene.survey, op)):
        raise PlanProblem(
            f"{plan.id}: this target has no such commit now. Its commits are those that a fresh "
            "run shows; a changed target needs a fresh run."
        )
    *place, how = tokens
    before = place[-1] == "before"
    name = BESIDE[op][0 if before else 1] if op in BESIDE else RACE
    if place == ["reply"]:
        point = Point(op, "reply", "before", 1)
    else:
        point = Point(op, "write", "before" if before else "after", int(place[0][len("write") :]))
    pending = ask(Twist(Arm(name, point)))
    if pending.answer is not None:
        scene.idle = f"{op} never came to its {' '.join(place)}"
        return pending
    if op in BESIDE:
        scene.stage.tally.fired.append((name, f"{how} {' '.join(place)}"))
    if how == "kill":
        scene.stage.kill(pending.node, pending)
    else:
        scene.stage.lose_reply(pending)
        scene.stage.go(pending)
    return pending
