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


def test_a_ledger_that_knows_nothing_after_a_kill(scratch: Path) -> None:
    assert codes_of("KnowsNothingAfterAKill", scratch, "FP3.write1.kill.retry") == {"AO802"}


def test_an_approval_that_is_lost_with_the_answer_of_issue(scratch: Path) -> None:
    assert codes_of("IssuesOnce", scratch, "FP2.reply.drop.retry") == {"AO802"}
