"""A unit is left at FP8, and whoever recovers it is another interpreter.

All nodes of a schedule are forks of one warm parent: they have its hash seed, and whatever the
target drew when it was imported. A restarted service has neither. A key or a credential that is
made of such a thing means nothing to it: it sends again under another key, or turns its users away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..placement import Place, places
from ..plan import Plan, PlanProblem
from ..scene import Scene
from . import Subjects, budgets_of, crash_pipeline

TOPIC: Final = "elsewhere"


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """One plan, with a unit left to be used after the recovery where there may be more than one."""
    if left_at(subject) is not None:
        budget = budgets_of(subject.declaration)[-1]
        yield Plan(subject.target, family, (TOPIC,), budget, "idempotent", 0)


def run(plan: Plan, scene: Scene) -> None:
    """Play one plan."""
    place = left_at(Subjects(plan.target, scene.declaration, scene.survey))
    if place is None:
        raise PlanProblem(f"{plan.id}: this target has no FP8 now, where the unit would be left")
    crash_pipeline.run(plan, scene, place, "kill", "recover", apart=True)


def left_at(subject: Subjects) -> Place | None:
    """Where the unit is left: its effect stands, and nobody was told. None: no such place."""
    return next((place for place in places(subject.survey) if place.name == "FP8"), None)
