"""The order in which placed plans are played: in layers, first one of every place.

A *place* is what plans have in common that differ in their variant alone: in the order in which it
is healed, what was left, the budget (but for the family of budgets), the sink. The first layer has
each place once; it is what the profile ``quick`` requires.

A caller that is held under the store's lock keeps everybody else waiting, wherever in its
transaction it stands. So the first and the last such point of a transaction are places, and those
between them come with the later layers: at the last one everything that was looked at is as old as
it can become, and at the first one nothing is written yet.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ..chaos.events import Point
from .placement import Survey, held_points, settling_points
from .plan import Plan
from .race import locks, tokens_of

VARIANT_TOKENS: Final = frozenset(
    {
        *("kill", "retry", "recover", "gone", "sent", "unsent"),
        *("detour", "flapping", "jitter", "barrier"),
    }
)
"""Parameters of a plan that say in which order a place is healed or left, and not what happens
there: who meets whom, and whether a process dies or a message is lost, make places of their own."""

_Tokens = tuple[str, ...]


def in_layers(plans: Iterable[Plan], survey: Survey, seed: int) -> tuple[Plan, ...]:
    """The plans under this seed, shuffled by it, first one of every place, then a second one of
    each, and so on."""
    shuffled = list(plans)
    random.Random(f"order {seed}").shuffle(shuffled)  # reproducible, no secret
    inside = _inside(survey)
    met: Counter[_Tokens] = Counter()
    layers: list[tuple[int, int, Plan]] = []
    for number, plan in enumerate(shuffled):
        met[_place(plan)] += 1
        layers.append((met[_place(plan)] + (plan.params[-3:] in inside), number, plan))
    return tuple(replace(plan, seed=seed) for _, _, plan in sorted(layers, key=_by_layer))


def first_layer(plans: Sequence[Plan], survey: Survey) -> tuple[Plan, ...]:
    """Those of the plans, which are in layers, that make the first one."""
    inside = _inside(survey)
    places = {_place(plan) for plan in plans if plan.params[-3:] not in inside}
    return tuple(plans[: len(places)])


def _place(plan: Plan) -> _Tokens:
    place = (plan.family, *(token for token in plan.params if token not in VARIANT_TOKENS))
    # where budgets are what is tried, each of them is a place
    return (*place, f"b{plan.budget}") if plan.family == "budgets" else place


def _by_layer(entry: tuple[int, int, Plan]) -> tuple[int, int]:
    return entry[0], entry[1]


def _inside(survey: Survey) -> set[_Tokens]:
    """The points under a lock that are neither the first nor the last one of their transaction."""
    return {tokens_of(p) for op in survey.steps for run in _held(survey, op) for p in run[1:-1]}


def _held(survey: Survey, op: str) -> Iterator[list[Point]]:
    """The points of an operation at which it has the lock, a transaction each: between two of them
    the lock is anybody's, and what the first one looked at may be old in the second."""
    run: list[Point] = []
    settling = settling_points(survey) if op == "execute" else ()
    for point in (*held_points(survey, op), *settling):
        if locks(survey, point):
            run.append(point)
        if point.kind == "write" or not locks(survey, point):
            yield run
            run = []
    yield run
