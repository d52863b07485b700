"""Plays a few placed plans of one family, for the tests of families."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from admitone.scenarios.plan import Plan
from admitone.scenarios.results import ScheduleResult
from tests.harness_world import conducted


def played(target: str, family: str, folder: Path, names: Sequence[str]) -> list[ScheduleResult]:
    """The results of the plans with these parameters, budgets, sinks and seeds."""
    shown = target.removeprefix("builtin:")
    plans = [Plan.parse(f"{shown}/{family}:{name}@1") for name in names]
    with conducted(target, folder) as (conductor, _):
        return [conductor.play(plan, virgin=True).result for plan in plans]


def acquitted(results: Sequence[ScheduleResult], *exercised: str) -> None:
    """All of them passed, and these checks had something to judge in at least one."""
    assert [(r.id, r.verdict, r.reason, r.findings) for r in results if r.verdict != "passed"] == []
    for code in exercised:
        assert any(result.opportunities[code] for result in results), f"{code} was idle"


def codes(results: Sequence[ScheduleResult]) -> set[str]:
    """Every code that was found."""
    return {finding.code for result in results for finding in result.findings}
