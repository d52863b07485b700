"""A unit is left at FP8, and whoever recovers it lives on another day, at another hour.

A key that is made of a date, or a unit that is looked for among those of today, is right for as
long as a test takes. Recovery has no such limit: neither expiry nor the passing of time stops it.
Only recovery lives later; the rest of the budget is used by the clock of those who began.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..placement import Place, places
from ..plan import Plan, PlanProblem
from ..scene import Scene
from . import Subjects, budgets_of
from .crash_pipeline import reach, stands, twist_of

TOPIC: Final = "later"
LATER_S: Final = 86_400.0 + 3_600.0 + 60.0 + 1.0
"""How much later, seconds: nothing that a clock or a calendar shows is as it was."""


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """One plan, where the ledger reads the clock that it is told, and promises recovery."""
    if _place(subject) is not None:
        budget = budgets_of(subject.declaration)[-1]
        yield Plan(subject.target, family, (TOPIC,), budget, "idempotent", 0)


def run(plan: Plan, scene: Scene) -> None:
    """Play one plan."""
    place = _place(Subjects(plan.target, scene.declaration, scene.survey))
    if place is None:
        raise PlanProblem(f"{plan.id}: this target has no FP8 now that it would recover later")
    client = scene.approve(plan.budget)
    node = scene.victim(client.executor)
    scene.phase("hurt")
    pending, use = reach(client, node, place, 0, twist_of(place, "kill"))
    if stands(pending):
        scene.stage.tally.fired.append((place.name, f"kill {place.shown}"))
    else:
        scene.idle = f"{place.name} was never reached"
    scene.stage.kill(node, pending)
    use.unknown = use.unknown or pending.op == "execute"
    scene.phase("heal")
    healer, _ = scene.healer(client, "after_fault")
    scene.phase("recover")
    later = scene.helper(client.executor, skew_s=LATER_S)
    client.recover(later)
    scene.stage.dismiss(later)
    scene.drain(client, healer, plan.budget)
    scene.end(client, healer)


def _place(subject: Subjects) -> Place | None:
    """Not where a unit that is held lapses with time, or a record is kept for a while only: what
    becomes of it then is declared."""
    facts = subject.declaration.facts
    timeless = facts.clock == "injected" and facts.lapse == "none" and facts.retention_s is None
    if not timeless or not subject.declaration.claims_that("recover"):
        return None
    return next((place for place in places(subject.survey) if place.name == "FP8"), None)
