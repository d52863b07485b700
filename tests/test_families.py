"""What every family owes: topics that cover its plans, rows that exist, plans that parse."""

from __future__ import annotations

import pytest

from admitone.ledger_bench import LedgerBench
from admitone.scenarios.campaign import placed_plans
from admitone.scenarios.families import FAMILIES, family
from admitone.scenarios.layers import first_layer
from admitone.scenarios.plan import Plan
from admitone.scenarios.requirements import requirements

TARGETS = ("caplease-sqlite", "correct/counter", "correct/guarded")


@pytest.mark.parametrize("target", TARGETS)
def test_every_plan_belongs_to_a_topic_and_is_its_id(target: str) -> None:
    bench = LedgerBench(target)
    try:
        plans = placed_plans(bench.fitting, tuple(FAMILIES), 7)
    finally:
        bench.close()
    assert {plan.family for plan in plans} >= {"crash", "consumers"}
    for plan in plans:
        assert plan.params[0] in family(plan.family).topics, plan.id
        assert Plan.parse(plan.id) == plan
    assert len({plan.id for plan in plans}) == len(plans), "an id names one plan"
    first = first_layer(plans, bench.fitting.survey)
    assert {plan.family for plan in first} == {plan.family for plan in plans}
    points = {plan.params[0] for plan in plans if plan.family == "crash"}
    assert points == {plan.params[0] for plan in first if plan.family == "crash"}


def test_families_name_requirements_that_exist() -> None:
    known = {row.id for row in requirements()}
    for name in FAMILIES:
        each = family(name)
        assert each.name == name
        assert set(each.rows) <= known, name
        assert each.rows, name
