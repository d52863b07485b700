"""Stateful: sequences of steps that nobody planned, drawn by a Hypothesis state machine.

Two kinds of plans. ``search.N`` has Hypothesis draw N sequences (``machine.py``); the first that
violates a rule is shrunk, and reported under an id of the other kind: ``do.I.P1.…``, which plays
exactly these steps and needs no Hypothesis. Rows: IS05, RC03, RC08, PR01, PR04, BU06.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from ..history import SinkKind
from ..plan import Plan, PlanProblem
from ..player import Player, operations
from ..scene import Scene
from ..steps import Step, parse_step
from . import Subjects, budgets_of

EXAMPLES: Final = 8
"""Sequences that one search draws."""

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")


class StatefulFamily:
    """See the module."""

    name = "stateful"
    tries = "sequences of steps drawn by a state machine, and shrunk"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    rows: tuple[str, ...] = ("IS05", "RC03", "RC08", "PR01", "PR04", "BU06")
    topics: tuple[str, ...] = ("search",)

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """A few searches for each budget and sink; every seed is another search."""
        for budget in budgets_of(subject.declaration):
            for sink in SINKS:
                for part in range(3):
                    params = ("search", str(EXAMPLES), f"part{part}")
                    yield Plan(subject.target, self.name, params, budget, sink, 0)

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play the steps of a ``do`` plan."""
        steps = steps_of(plan, guarded=scene.survey.guarded)
        scene.draws = random.Random(f"stateful {plan.budget} {plan.sink} {plan.seed}")
        player = Player(scene, plan.budget)
        for step in steps:
            player.play(step)
        player.finish()


def steps_of(plan: Plan, *, guarded: bool) -> list[Step]:
    """The steps of a plan. Raises ``PlanProblem`` where one is unknown."""
    if not plan.params or plan.params[0] != "do":
        raise PlanProblem(
            f"{plan.id}: a stateful schedule to play begins with do; search is a run's"
        )
    found = []
    for token in plan.params[1:]:
        step = parse_step(token, operations(guarded))
        if step is None:
            raise PlanProblem(f"{plan.id}: {token!r} is no step; copy the id whole from a report")
        found.append(step)
    return found
