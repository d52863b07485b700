"""Broken ledgers that a run once took for correct ones: each is convicted of what it does wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from admitone.chaos.parent import TargetProblem
from admitone.scenarios.frame import required_of, target_facts
from admitone.scenarios.placement import places
from admitone.scenarios.plan import Plan
from tests.harness_world import conducted
from tests.played import codes, played


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
    assert codes_of("KnowsNothingAfterAKill", scratch, "FP3.write3.kill.retry") == {"AO802"}


def test_an_approval_that_is_lost_with_the_answer_of_issue(scratch: Path) -> None:
    assert codes_of("IssuesOnce", scratch, "FP2.reply.drop.retry") == {"AO802"}


@pytest.mark.parametrize(
    ("op", "points"), [("issue", {"FP1"}), ("prepare", {"FP3"}), ("commit", {"FP9"})]
)
def test_a_write_that_no_probe_sees_is_not_excused_by_one_that_is_seen(
    scratch: Path, op: str, points: set[str]
) -> None:
    """As of a store in shared memory, beside a log file."""
    with conducted("builtin:correct/json-flock", scratch) as (_, fitting):
        seen = fitting.survey.steps
        unseen = tuple(step for step in seen[op] if step.kind == "reply")
        blind = replace(fitting, survey=replace(fitting.survey, steps={**seen, op: unseen}))
        assert points & {place.name for place in places(blind.survey)} == set()
        assert points & set(target_facts(blind, ("crash",)).not_applicable) == set()


def test_an_audit_chain_to_which_nothing_is_appended(scratch: Path) -> None:
    assert codes_of("RecordsNothing", scratch, "FP5.kill.retry") == {"AO703"}


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("CommitsNothing", "commits=False, and its ledger has a commit"),
        ("HoldsNothing", "issues='held', and inspect"),
        ("BoundedByNothing", "'limit' names AO1O2, and there is no such check"),
    ],
)
def test_a_declaration_that_would_switch_a_check_off(scratch: Path, target: str, what: str) -> None:
    with (
        pytest.raises(TargetProblem, match=what),
        conducted(f"py:tests.lying_ledgers:{target}", scratch),
    ):
        pass


def test_what_only_inspect_can_show_is_required_to_have_been_seen(scratch: Path) -> None:
    name = "py:tests.lying_ledgers:ShowsNothing"
    with conducted(name, scratch) as (conductor, _):
        plan = Plan(name, "crash", ("FP8", "kill", "retry"), 1, "idempotent", 0)
        result = conductor.play(plan).result
    unseen = {code for code in required_of(("crash",)).checks if not result.opportunities[code]}
    assert (result.verdict, unseen) == ("passed", {"AO105", "AO302"})


def test_a_busy_issue_is_asked_again_and_never_used_without_its_answer(scratch: Path) -> None:
    name = "py:tests.lying_ledgers:BusyAtFirst"
    with conducted(name, scratch) as (conductor, _):
        plan = Plan(name, "crash", ("FP5", "kill", "retry"), 1, "idempotent", 0)
        assert conductor.play(plan).result.verdict == "passed"


def test_a_ledger_that_never_knows_whether_a_commit_stands(scratch: Path) -> None:
    target = "py:tests.lying_ledgers:ShrugsAtCommits"
    assert "AO804" in codes(played(target, "budgets", scratch, ["drain.b2.idem.s0"]))
