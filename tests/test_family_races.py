"""Delegate, Close and Release in races, a child past its parent's end, and a guarded release in
doubt: what looks in one transaction and acts in the next is convicted, and no correct ledger is."""

from __future__ import annotations

from pathlib import Path

import pytest

from admitone.scenarios.families import Subjects, family
from tests.harness_world import conducted
from tests.played import codes

LEDGERS = "py:tests.raced_ledgers:"


def _all_of(target: str, name: str, topics: set[str], folder: Path) -> tuple[set[str], set[str]]:
    """Every code that the plans of these topics find, and their verdicts."""
    with conducted(target, folder) as (conductor, fitting):
        subject = Subjects(target, fitting.greeting.declaration, fitting.survey)
        plans = [p for p in family(name).placed(subject) if p.params[0] in topics]
        assert {plan.params[0] for plan in plans} == topics
        results = [conductor.play(plan, virgin=True).result for plan in plans]
    return codes(results), {result.verdict for result in results}


@pytest.mark.parametrize(
    ("target", "name", "topics", "found"),
    [
        ("RevokeListsFirst", "delegation", {"withdrawn"}, {"AO503"}),
        ("RevokeSparesTheBusy", "delegation", {"begun"}, {"AO503"}),
        ("CloseCountsFirst", "delegation", {"closing"}, {"AO104", "AO504"}),
        ("ReleaseLooksFirst", "release", {"releases"}, {"AO102"}),
        ("ReleaseLooksFirst", "release", {"recovered"}, {"AO103"}),
        ("TakesBackInDoubt", "release", {"doubtful"}, {"AO102", "AO103"}),
        ("RunsOnAfterRevoke", "release", {"withdrawn"}, {"AO401"}),
        ("ChildWithoutEnd", "expiry", {"delegated"}, {"AO402"}),
    ],
)
def test_a_ledger_that_looks_too_early_or_too_little_is_convicted(
    target: str, name: str, topics: set[str], found: set[str], scratch: Path
) -> None:
    seen, _ = _all_of(LEDGERS + target, name, topics, scratch)
    assert found <= seen


@pytest.mark.parametrize(
    ("target", "name", "topics"),
    [
        ("builtin:caplease-sqlite", "delegation", {"withdrawn", "closing", "closings", "begun"}),
        ("builtin:caplease-sqlite", "expiry", {"delegated"}),
        ("builtin:correct/counter", "release", {"releases", "recovered", "withdrawn"}),
        ("py:tests.small_ledger:SmallTarget", "release", {"releases", "recovered"}),
        ("builtin:correct/guarded", "release", {"doubtful", "withdrawn"}),
        ("py:tests.small_ledger:SmallAsyncTarget", "release", {"doubtful"}),
    ],
)
def test_a_correct_ledger_is_acquitted(
    target: str, name: str, topics: set[str], scratch: Path
) -> None:
    seen, verdicts = _all_of(target, name, topics, scratch)
    assert seen == set()
    assert verdicts <= {"passed", "not_exercised"}
    assert "passed" in verdicts
