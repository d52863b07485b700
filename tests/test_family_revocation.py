"""Revocation: correct ledgers are acquitted at every moment, seeded ones convicted by code."""

from __future__ import annotations

from pathlib import Path

import pytest

from admitone.scenarios.families import Subjects
from admitone.scenarios.families.revocation import MOMENTS, RevocationFamily
from tests.harness_world import conducted
from tests.played import acquitted, codes, played

MR1 = "py:tests.order_ledgers:MR1"
FEW = (
    "before.b1.idem.s0",
    "orphaned.b2.idem.s0",
    "unanswered.b1.ctrl.s0",
    "twice.b2.idem.s0",
    "reissued.b1.idem.s0",
    "cached.b2.ctrl.s0",
)


@pytest.mark.parametrize("name", ["caplease-sqlite", "correct/counter", "correct/guarded"])
def test_a_correct_ledger_is_acquitted(name: str, scratch: Path) -> None:
    results = played(f"builtin:{name}", "revocation", scratch, FEW)
    acquitted(results, "AO401", "AO405", "AO801")
    # of a view of counts nobody can say which unit was stopped
    named = name != "correct/guarded"
    assert any(result.opportunities["AO404"] for result in results) is named


@pytest.mark.parametrize("name", ["caplease-sqlite", "correct/lease"])
def test_whoever_is_held_or_waits_is_not_accused(name: str, scratch: Path) -> None:
    plans = (
        "waiter.b2.idem.s0",
        "race.revoke.write1.before.b1.ctrl.s0",
        "cut.reply.kill.b1.idem.s0",
    )
    results = played(f"builtin:{name}", "revocation", scratch, plans)
    acquitted(results, "AO401", "AO403")
    assert [result.races_overlapped for result in results] == [1, 1, 0]
    assert results[2].points[0].name == "RV-after"
    assert results[2].points[0].fired == 1


def test_a_check_in_an_earlier_statement_is_convicted(scratch: Path) -> None:
    plans = ("race.prepare.statement1.after.b2.ctrl.s0", "race.prepare.statement3.after.b1.idem.s0")
    results = played(MR1, "revocation", scratch, plans)
    assert all("AO401" in codes([result]) for result in results)
    assert codes(results) <= {"AO401", "AO403", "AO405"}


def test_the_reading_behind_the_answer_is_what_convicts(scratch: Path) -> None:
    [result] = played(MR1, "revocation", scratch, ["race.prepare.statement3.after.b1.idem.s0"])
    [finding] = [f for f in result.findings if f.code == "AO401"]
    assert "after_revoke" in finding.seen, "by intervals alone this waiter is legal"


def test_a_revoke_that_writes_over_everything_is_convicted(scratch: Path) -> None:
    plans = ("admitted.b1.ctrl.s0", "orphaned.b1.idem.s0", "before.b1.idem.s0")
    admitted, orphaned, before = played("builtin:broken/MR2", "revocation", scratch, plans)
    assert {"AO403", "AO404"} <= codes([admitted]) & codes([orphaned])
    assert "AO401" not in codes([admitted, orphaned])
    assert before.verdict == "passed", "nothing was admitted that could be lost"


def test_every_moment_and_both_sides_of_the_race_are_placed(scratch: Path) -> None:
    with conducted("builtin:caplease-sqlite", scratch) as (_, fitting):
        subject = Subjects(fitting.target, fitting.greeting.declaration, fitting.survey)
        plans = list(RevocationFamily().placed(subject))
    assert len({plan.id for plan in plans}) == len(plans)
    assert {plan.params[0] for plan in plans} == {*MOMENTS, "race", "cut"}
    assert {plan.params[1] for plan in plans if plan.params[0] == "race"} == {"prepare", "revoke"}
    assert {plan.sink for plan in plans} == {"idempotent", "control"}
    assert {plan.budget for plan in plans} == {1, 2}
