"""Two calls that meet: one stands at a point, the other runs through, then both are heard out.

Nothing is left to chance, so the same plan meets at the same place each time. The second call is
listened to for ``HOLD_S``; one that waits for the first one's lock stays open until that goes on.
Where the first one has the store's write lock, nobody who needs it gets through before that one
goes on, however long he is listened to: then it is enough to see him sleep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..chaos.events import Point
from .calls import Arm, Pending, Twist, told
from .placement import Survey, held_points, settling_points
from .plan import Plan, PlanProblem
from .scene import Scene

HOLD_S: Final = 0.25
"""How long the second caller may take before the first one is released, seconds: longer than the
lock lifetimes that a library would set for one statement, shorter than anybody's patience."""

RACE: Final = "hold"
"""The name under which races arm their stops; it is no failure point."""

_WRITING: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE")
_ENDING: Final = ("COMMIT", "END", "RELEASE", *_WRITING)

Ask = Callable[[Twist], Pending | None]
"""Makes one call, with what the plan does to it."""


def meet(
    scene: Scene,
    point: Point,
    first: Ask,
    second: Ask,
    meanwhile: Callable[[Pending | None], None] | None = None,
    listen: Twist | None = None,
) -> tuple[Pending | None, Pending | None]:
    """Hold the first call at the point while the second runs. ``meanwhile`` is done before the
    first goes on, with the second as it stands then. ``listen``: how the second is listened to, if
    not as ``beside`` says."""
    held = told(lambda: first(Twist(Arm(RACE, point))))
    other = second(listen or beside(scene.survey, point))
    if meanwhile is not None:
        meanwhile(other)
    scene.races_started += 1
    if held is not None and held.answer is None:
        scene.races_overlapped += 1
        scene.stage.tally.pauses += 1
        scene.stage.go(held, patience_s=HOLD_S)
    scene.stage.settle(*(pending for pending in (held, other) if pending is not None))
    return held, other


def beside(survey: Survey, point: Point | None) -> Twist:
    """How a second caller is listened to while the first one is held at the point."""
    asleep = point is not None and locks(survey, point)
    return Twist(patience_s=HOLD_S, until="asleep" if asleep else "blocked")


def locks(survey: Survey, point: Point) -> bool:
    """Whether who stands there is in a transaction that has the store's write lock."""
    locked = False
    for step in survey.steps.get(point.op, ()):
        word = step.text.lstrip()[:9].upper()
        if step.kind == "begin" and step.side == "after":
            locked = "IMMEDIATE" in step.text.upper() or "EXCLUSIVE" in step.text.upper()
        elif step.kind == "statement" and step.side == "after" and word.startswith(_WRITING):
            locked = True
        elif step.kind == "write" and word.startswith(_ENDING):
            locked = step.side == "before"
        if (step.kind, step.side, step.nth) == (point.kind, point.side, point.nth):
            break
    return locked


def tokens_of(point: Point) -> tuple[str, str, str]:
    """A point's part of a schedule id: ``prepare.statement2.after``."""
    return point.op, f"{point.kind}{point.nth}", point.side


def point_of(plan: Plan, survey: Survey, tokens: tuple[str, ...]) -> Point:
    """The point that an id names. Raises ``PlanProblem`` where the ledger has none such."""
    points = (*held_points(survey, tokens[0]), *settling_points(survey))
    for point in points if len(tokens) == 3 else ():
        if tokens_of(point) == tokens:
            return point
    raise PlanProblem(
        f"{plan.id}: this target has no such point now. Its points are those that a fresh run "
        "shows; a changed target needs a fresh run."
    )
