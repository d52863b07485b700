"""Release: a unit is given back after a definite non-effect, and by its holder alone.

The other side turns a request away, and what was held can be used again, unless it was revoked in
between. Then the same is asked for when it must not be granted: by a stranger while the holder is
at work, a second time when somebody else has the unit, after the effect is committed, and where the
ledger itself has handed the unit out twice, so that the word of one holder says nothing of the
other's request. At last a Release meets another one, and a recovery.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...targets.declaration import Declaration
from ..history import SinkKind
from ..placement import Survey, held_points
from ..plan import Plan, PlanProblem
from ..race import point_of, tokens_of
from ..scene import Scene
from . import Subjects, budgeted, budgets_of
from .giving_back import GivingBack

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
TURNED_AWAY: Final = "turned_away"
WITHDRAWN: Final = "withdrawn"
OVERTAKEN: Final = "overtaken"
ASKED: Final = ("awaited", "stranger", "twice", "finished", "doubtful")
RACES: Final = ("releases", "recovered")


class ReleaseFamily:
    """See the module."""

    name = "release"
    tries = "giving back after a definite non-effect; by a stranger, twice, too late, in doubt"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ("release",)
    topics: tuple[str, ...] = (TURNED_AWAY, WITHDRAWN, OVERTAKEN, *ASKED, *RACES)
    rows: tuple[str, ...] = ("RC09", "RC10", "PR14", "CM03")

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every topic x budget x sink."""
        for topic in _topics(subject.survey, subject.declaration):
            for budget in budgets_of(subject.declaration):
                for sink in SINKS:
                    yield Plan(subject.target, self.name, (topic,), budget, sink, 0)
        for turn, race in enumerate(_races(subject.survey, subject.declaration)):
            for budget in budgets_of(subject.declaration):
                sink = SINKS[(turn + budget) % len(SINKS)]
                yield Plan(subject.target, self.name, race, budget, sink, 0)

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        budgeted(plan, scene.declaration)
        topic = plan.params[0]
        raced = plan.params in _races(scene.survey, scene.declaration)
        if not raced and (
            topic not in _topics(scene.survey, scene.declaration) or len(plan.params) > 1
        ):
            raise PlanProblem(f"{plan.id}: of this target the family plays no {topic!r}")
        played = GivingBack(scene, plan.budget)
        if raced:
            getattr(played, topic)(point_of(plan, scene.survey, plan.params[1:]))
        else:
            getattr(played, topic)()
        played.heal()


def _topics(survey: Survey, declaration: Declaration) -> tuple[str, ...]:
    """A ledger that releases by itself is never asked to; it may be in doubt all the same."""
    found: tuple[str, ...] = (TURNED_AWAY,)
    if "revoke" in survey.operations and declaration.claims_that("revoke"):
        found = (TURNED_AWAY, WITHDRAWN)
        if "release" in survey.operations:
            found = (*found, OVERTAKEN)
    if "release" in survey.operations:
        return (*found, *ASKED)
    return (*found, "doubtful") if survey.guarded else found


def _races(survey: Survey, declaration: Declaration) -> tuple[tuple[str, ...], ...]:
    """Every point of Release under a second one; every point of it and of Recover where both
    meet."""
    points = held_points(survey, "release")
    found = [("releases", *tokens_of(point)) for point in points]
    if points and declaration.claims_that("recover"):
        points += held_points(survey, "recover")
        found += [("recovered", *tokens_of(point)) for point in points]
    return tuple(found)
