"""A unit is left at FP8, and whoever recovers it is somebody else, or lives on another day.

Recovery is anybody's, at any time. A key that is made of who sends, or of a date, is right for as
long as the holder itself does that, within the minutes that a test takes; then the sink sees a new
request. Only recovery is different; the rest of the budget is used by those who began, as they did.

``stranger``  the one that recovers connects as another executor;
``later``     its clock shows another day, hour and minute. The approval outlives that, for a ledger
              may well write down what has expired when it recovers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from ..client import approve
from ..plan import Plan
from ..scene import Scene
from . import Subjects, budgets_of
from .crash_elsewhere import left_at
from .crash_pipeline import reach, stands, twist_of

LATER: Final = "later"
STRANGER: Final = "stranger"
TOPICS: Final = (STRANGER, LATER)
ANOTHER: Final = "executor-7"
"""Who recovers as a stranger: nobody else in the schedule is called so."""

LIVES_S: Final = 4 * 86_400.0
"""For how long the approval is good then, seconds."""

LATER_S: Final = 86_400.0 + 3_600.0 + 60.0 + 1.0
"""How much later, seconds: nothing that a clock or a calendar shows is as it was."""


def shapes(subject: Subjects) -> tuple[tuple[str, ...], ...]:
    """Those that fit a ledger which promises recovery. Not later where a unit that is held lapses
    with time, or a record is kept for a while only: what becomes of it then is declared."""
    facts = subject.declaration.facts
    if not subject.declaration.claims_that("recover") or left_at(subject) is None:
        return ()
    timeless = facts.clock == "injected" and facts.lapse == "none" and facts.retention_s is None
    return ((STRANGER,), (LATER,)) if timeless else ((STRANGER,),)


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """One plan of each, with a unit left to be used where there may be more than one."""
    budget = budgets_of(subject.declaration)[-1]
    for shape in shapes(subject):
        yield Plan(subject.target, family, shape, budget, "idempotent", 0)


def run(plan: Plan, scene: Scene) -> None:
    """Play one plan."""
    place = left_at(Subjects(plan.target, scene.declaration, scene.survey))
    assert place is not None
    stage, late = scene.stage, plan.params == (LATER,)
    expires_s = time.time() + LIVES_S if late else None
    trust = stage.setting.trust
    client = approve(stage, scene.facts, trust, scene.draws, plan.budget, expires_s=expires_s)
    node = scene.victim(client.executor)
    scene.phase("hurt")
    pending, use = reach(client, node, place, 0, twist_of(place, "kill"))
    if stands(pending):
        stage.tally.fired.append((place.name, f"kill {place.shown}"))
    else:
        scene.idle = f"{place.name} was never reached"
    stage.kill(node, pending)
    use.unknown = use.unknown or pending.op == "execute"
    scene.phase("heal")
    healer, _ = scene.healer(client, "after_fault")
    scene.phase("recover")
    other = scene.helper(client.executor, skew_s=LATER_S) if late else scene.helper(ANOTHER)
    client.recover(other)
    stage.dismiss(other)
    client.recover(healer)
    scene.drain(client, healer, plan.budget)
    scene.end(client, healer)
