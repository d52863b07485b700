"""Crash: the failure points, with every way of being hurt there.

The first parameter of a plan is the failure point, and the others say where exactly, and how:

* ``crash_pipeline``: one request is killed, dropped or given an error at FP1 to FP10;
* ``crash_standing``: it stands there while others act, and is killed, or goes on;
* ``crash_recoverer``: FP11 and FP12, where the one that recovers is killed;
* ``crash_gap``: FP7, where the sink is killed;
* ``crash_beside``: the four points of Revoke and Delegate;
* ``crash_statement``: a change fails inside a transaction of SQLite's, or on its way to a file;
* ``crash_several``: two units are left, and with one of them recovery can come to no end;
* ``crash_elsewhere``: whoever recovers is an interpreter of its own;
* ``crash_later``: whoever recovers is somebody else, or lives on another day;
* ``crash_loop``: whoever takes the unit up dies of it, one after another.

Every schedule is hurt, then healed, recovered, drained by honest clients, and read.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ..facts import FAILURE_POINTS
from ..history import SinkKind
from ..placement import RAISES, Place, places
from ..plan import Plan, PlanProblem
from ..scene import Scene
from . import (
    Subjects,
    budgeted,
    budgets_of,
    crash_beside,
    crash_elsewhere,
    crash_gap,
    crash_later,
    crash_loop,
    crash_pipeline,
    crash_recoverer,
    crash_several,
    crash_standing,
    crash_statement,
)

VARIANTS: Final = ("kill", "drop")
ORDERS: Final = ("retry", "recover", "gone")
"""What comes first after the fault. *gone*: whoever was hurt never comes back, and nobody asks
again in its place, so that nothing but recovery brings its unit to an end."""

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")

SAMPLED_BUDGETS: Final = (2, 2, 2, 2, 5, 10)
"""What a sample draws from. A schedule of ten units takes nearly twice the time of one of two, and
a crash leaves one or two of them unfinished; what the larger budgets show needs few of them."""


class CrashFamily:
    """See the module."""

    name = "crash"
    tries = "the twelve failure points and four beside them: kills, lost replies, pauses, errors"
    points: tuple[str, ...] = tuple(FAILURE_POINTS)
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    topics: tuple[str, ...] = (
        *(*points, *crash_beside.NAMES),
        *(crash_statement.TOPIC, crash_several.TOPIC, crash_elsewhere.TOPIC),
        *(*crash_later.TOPICS, crash_loop.TOPIC),
    )
    rows: tuple[str, ...] = (
        "FI01",
        "FI02",
        "FI03",
        "FI04",
        "FI08",
        "RC01",
        "RC02",
        "RC03",
        "RC04",
        "RC06",
        "RC12",
        "RC13",
        "RC14",
        "RC16",
        "RC17",
        "RC18",
        "PR06",
        "PR07",
        "PR08",
        "IS07",
        "CM01",
        "CM06",
        "CM07",
        "BU04",
        "AU01",
    )

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every place, in every way that it can be hurt."""
        mine = [place for place in places(subject.survey) if place.who == "executor"]
        budgets = budgets_of(subject.declaration)
        for place in mine:
            for variant in VARIANTS:
                for order in ORDERS:
                    for sink in SINKS[:1] if order == "gone" else SINKS:
                        for budget in budgets:
                            yield self._plan(subject, place, variant, order, budget, sink)
        for turn, (place, variant, order) in enumerate(_more(subject, mine)):
            budget, sink = budgets[turn % len(budgets)], SINKS[turn // 2 % 2]
            yield self._plan(subject, place, variant, order, budget, sink)
        yield from crash_gap.placed(subject, self.name)
        yield from crash_recoverer.placed(subject, self.name)
        yield from crash_beside.placed(subject, self.name)
        yield from crash_statement.placed(subject, self.name)
        yield from crash_several.placed(subject, self.name)
        yield from crash_elsewhere.placed(subject, self.name)
        yield from crash_later.placed(subject, self.name)
        yield from crash_loop.placed(subject, self.name)

    def sampled(self, plan: Plan, chance: random.Random) -> Plan:
        """A sample may have any budget where the placed plans have more than one."""
        if plan.budget == 1 or plan.params[0] in self.topics[len(self.points) :]:
            return plan
        return replace(plan, budget=chance.choice(SAMPLED_BUDGETS))

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        budgeted(plan, scene.declaration)
        if plan.params[0] == crash_statement.TOPIC:
            crash_statement.run(plan, scene)
            return
        if plan.params == (crash_elsewhere.TOPIC,):
            crash_elsewhere.run(plan, scene)
            return
        name, rest = plan.params[0], plan.params[1:]
        subject = Subjects(plan.target, scene.declaration, scene.survey)
        if plan.params in crash_several.shapes(subject):
            crash_several.run(plan, scene)
            return
        if plan.params in crash_later.shapes(subject):
            crash_later.run(plan, scene)
            return
        if plan.params in crash_loop.shapes(subject):
            crash_loop.run(plan, scene)
            return
        for place in (*places(scene.survey), *crash_beside.all_places(subject)):
            tokens = (place.token,) if place.token else ()
            if place.name == name and rest[: len(tokens)] == tokens:
                how = rest[len(tokens) :]
                if _played(plan, scene, place, how):
                    return
        raise PlanProblem(
            f"{plan.id}: this target has no such place now. Its places are those that a fresh "
            "run shows; a changed target needs a fresh run."
        )

    def _plan(
        self, subject: Subjects, place: Place, variant: str, order: str, budget: int, sink: SinkKind
    ) -> Plan:
        tokens = (place.name, place.token) if place.token else (place.name,)
        return Plan(subject.target, self.name, (*tokens, variant, order), budget, sink, 0)


def _more(subject: Subjects, mine: list[Place]) -> Iterator[tuple[Place, str, str]]:
    """The further variants, each at every place where it makes sense, with one order each."""
    for turn, place in enumerate(mine):
        for number, variant in enumerate(crash_standing.STANDING):
            yield place, variant, ORDERS[(turn + number) % 2]
        if place.point is None or place.point.kind != "write":
            continue
        for variant, (side, _) in RAISES.items():
            if side == place.point.side and variant in subject.survey.raises:
                yield place, variant, "retry"
                yield place, variant, "recover"
        for variant in crash_standing.CROWDED if place.name in ("FP3", "FP4") else ():
            revocable = subject.declaration.claims_that("revoke")
            if revocable or variant == "second":
                yield place, variant, "recover"


def _played(plan: Plan, scene: Scene, place: Place, how: tuple[str, ...]) -> bool:
    """Play the plan at this place, if there is such a way of being hurt there."""
    match place.who, how:
        case "sink", ("kill", ("retry" | "recover") as order):
            crash_gap.run(plan, scene, place, order)
        case "recoverer", (("sent" | "unsent") as left, ("kill" | "twice") as times):
            crash_recoverer.run(plan, scene, place, left, times)
        case "executor", (variant,) if place.name in crash_beside.NAMES and variant in VARIANTS:
            crash_beside.run(plan, scene, place, variant)
        case "executor", (variant, order) if order in ORDERS:
            return _at_a_place(plan, scene, place, variant, order)
        case _:
            return False
    return True


def _at_a_place(plan: Plan, scene: Scene, place: Place, variant: str, order: str) -> bool:
    if order == "gone" and variant not in VARIANTS:
        return False
    side = place.point.side if place.point is not None and place.point.kind == "write" else ""
    raises = RAISES.get(variant, ("", ""))[0]
    if variant in VARIANTS or (raises and raises == side):
        crash_pipeline.run(plan, scene, place, variant, order)
    elif variant in (*crash_standing.STANDING, *crash_standing.CROWDED):
        crash_standing.run(plan, scene, place, variant, order)
    else:
        return False
    return True
