"""The state machine on real nodes: what it finds, how it is shrunk, and that it replays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from admitone.scenarios.plan import Plan, PlanProblem
from tests.harness_world import conducted

STEPS = ("I", "P1", "E1", "C1", "J", "P1", "N", "K-use2-write1-after", "R", "V", "T", "M")


@pytest.mark.parametrize("name", ["builtin:caplease-sqlite", "builtin:correct/counter"])
def test_a_correct_ledger_keeps_every_rule(name: str, scratch: Path) -> None:
    with conducted(name, scratch) as (conductor, _):
        plan = Plan(name, "stateful", ("do", *STEPS), 2, "idempotent", 3)
        first, again = (conductor.play(plan, virgin=True) for _ in range(2))
        assert first.result.verdict == "passed", first.result
        assert first.result.kills == 1
        assert first.result.points == (), "its stops are no failure points"
        assert first.result.digest == again.result.digest, "steps replay"
        searched = conductor.play(replace(plan, params=("search", "3", "part0")))
        assert searched.result.verdict == "passed", searched.result
        assert sum(searched.result.opportunities.values()) > 0


def test_a_context_that_issue_replaced_is_given_back_to_its_user(scratch: Path) -> None:
    """Else the honest client would be the one who presents another context."""
    name = "py:tests.odd_ledgers:MovesContext"
    with conducted(name, scratch) as (conductor, _):
        plan = Plan(name, "stateful", ("do", "I", "J", "P1"), 2, "idempotent", 0)
        result = conductor.play(plan, virgin=True).result
    assert (result.verdict, result.findings) == ("passed", ())
    assert result.admits == 2


@pytest.mark.parametrize("steps", ["I.T.T", "I.T.M.T.P1.T", "I.M.M.T"])
def test_attackers_that_a_ledger_admits_are_requests_of_their_own(
    steps: str, scratch: Path
) -> None:
    """It binds nobody and knows no attempts, and says so: two thefts are two uses."""
    name = "builtin:correct/plain"
    with conducted(name, scratch) as (conductor, _):
        for budget in (1, 2, 5):
            plan = Plan(name, "stateful", ("do", *steps.split(".")), budget, "idempotent", 0)
            result = conductor.play(plan, virgin=True).result
            assert (result.verdict, result.findings) == ("passed", ()), budget


def test_a_search_convicts_and_shrinks_to_steps_that_replay(scratch: Path) -> None:
    name = "builtin:broken/MI3"
    with conducted(name, scratch) as (conductor, _):
        search = Plan(name, "stateful", ("search", "8", "part0"), 1, "idempotent", 0)
        found = conductor.play(search)
        assert found.result.verdict == "violation"
        plan = Plan.parse(found.result.id)
        assert plan.params[0] == "do"
        assert len(plan.params) <= 8, "one record, one use, one more Issue, one more use"
        again = conductor.play(plan, virgin=True)
        codes = {finding.code for finding in found.result.findings}
        assert codes == {finding.code for finding in again.result.findings}


def test_unknown_steps_are_said(scratch: Path) -> None:
    name = "builtin:correct/counter"
    with conducted(name, scratch) as (conductor, _):
        played = conductor.play(Plan(name, "stateful", ("do", "I", "Z9"), 1, "idempotent", 0))
        assert played.result.verdict == "could_not_run"
        assert "Z9" in played.result.reason
        with pytest.raises(PlanProblem):
            Plan.parse("stateful:do.I")
