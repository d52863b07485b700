"""Layers: what the quick profile requires, and in which order the rest comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from admitone.ledger_bench import LedgerBench
from admitone.scenarios.families import FAMILIES, Subjects, family
from admitone.scenarios.layers import first_layer, in_layers
from admitone.scenarios.placement import Step, Survey, held_points
from admitone.scenarios.plan import Plan
from admitone.scenarios.preflight import Fitting
from admitone.scenarios.race import tokens_of

REFERENCE = "builtin:caplease-sqlite"
TWO = [  # two transactions, and a look between them
    *(("begin", "BEGIN IMMEDIATE"), ("statement", "SELECT 1"), ("statement", "UPDATE a")),
    *(("statement", "INSERT a"), ("write", "COMMIT"), ("statement", "SELECT 2")),
    *(("begin", "BEGIN IMMEDIATE"), ("statement", "UPDATE b"), ("statement", "INSERT b")),
    ("write", "COMMIT"),
]


@pytest.fixture(scope="module")
def fitting() -> Iterator[Fitting]:
    bench = LedgerBench(REFERENCE)
    yield bench.fitting
    bench.close()


def all_plans(fitting: Fitting) -> list[Plan]:
    subject = Subjects(REFERENCE, fitting.greeting.declaration, fitting.survey)
    return [plan for name in FAMILIES for plan in family(name).placed(subject)]


def test_layers_lose_and_repeat_nothing(fitting: Fitting) -> None:
    plans = all_plans(fitting)
    layered = in_layers(plans, fitting.survey, 3)
    assert {plan.id.replace(".s3@", ".s0@") for plan in layered} == {plan.id for plan in plans}
    assert len(layered) == len(plans)


def test_the_first_layer_is_the_same_places_under_every_seed(fitting: Fitting) -> None:
    plans = all_plans(fitting)
    firsts = [first_layer(in_layers(plans, fitting.survey, s), fitting.survey) for s in (0, 1, 2)]
    held = [{p.params for p in first if p.params[0] == "held"} for first in firsts]
    assert held[0] == held[1] == held[2]
    assert len({len(first) for first in firsts}) == 1
    for first in firsts:
        struck = {p.params[:2] for p in first if p.params[0] == "FP4" and "kill" in p.params}
        lost = {p.params[:2] for p in first if p.params[0] == "FP4" and "drop" in p.params}
        assert struck == lost != set()
        sizes = {p.budget for p in first if p.params == ("drain",)}
        assert sizes == {1, 2, 5, 10}


def test_of_each_transaction_the_first_and_the_last_point_come_first() -> None:
    met: Counter[str] = Counter()
    steps: list[Step] = []
    for kind, text in TWO:
        met[kind] += 1
        steps += [Step(kind, side, met[kind], text) for side in ("before", "after")]
    survey = Survey(("issue", "prepare", "commit"), {"prepare": tuple(steps)})
    held = [tokens_of(point) for point in held_points(survey, "prepare")]
    plans = [Plan(REFERENCE, "consumers", ("held", *t), 1, "idempotent", 0) for t in held]
    layered = in_layers(plans, survey, 0)
    first = {plan.params[2:] for plan in first_layer(layered, survey)}
    rest = {plan.params[2:] for plan in layered} - first
    locked = {("begin1", "after"), ("write1", "before"), ("begin2", "after"), ("write2", "before")}
    assert locked | {("statement4", "after")} <= first
    assert rest == {(f"statement{n}", "after") for n in (1, 2, 3, 5, 6)}
