"""Broken ledgers that a run once took for correct ones: each is convicted of what it does wrong."""

from __future__ import annotations

from pathlib import Path

from admitone.scenarios.plan import Plan
from tests.harness_world import conducted


def codes_of(target: str, folder: Path, *params: str) -> set[str]:
    """What schedules of the crash family, by their parameters, convict the target of."""
    name = f"py:tests.lying_ledgers:{target}"
    with conducted(name, folder) as (conductor, _):
        played = [
            conductor.play(Plan(name, "crash", tuple(each.split(".")), 1, "idempotent", 0)).result
            for each in params
        ]
    return {finding.code for result in played for finding in result.findings}


def test_a_recovery_that_finds_nothing(scratch: Path) -> None:
    assert codes_of("RecoversNothing", scratch, "FP8.kill.gone") == {"AO301"}
