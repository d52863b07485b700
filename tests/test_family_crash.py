"""Crash: every kind of place and of hurt, on ledgers that stand it and on some that do not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from admitone.chaos.events import SinkApplied
from admitone.scenarios.campaign import LOOP_SHARE, drawn_kills, sampled_plans
from admitone.scenarios.conductor import Conductor, Played
from admitone.scenarios.families import WIDE_BUDGETS, Subjects
from admitone.scenarios.families.crash import CrashFamily
from admitone.scenarios.frame import target_facts
from admitone.scenarios.plan import Plan
from admitone.scenarios.preflight import Fitting
from tests.harness_world import conducted
from tests.played import acquitted, codes, played

REFERENCE = "builtin:caplease-sqlite"
STANDING = (
    "FP1.write1.pause.retry.b1.idem",
    "FP3.write1.hold.recover.b2.ctrl",
    "FP4.reply.pause.recover.b2.idem",
    "FP5.hold.retry.b1.ctrl",
    "FP6.pause.recover.b2.idem",
    "FP8.hold.recover.b1.idem",
    "FP3.write1.second.recover.b1.idem",
    "FP4.write1.revoke.recover.b2.idem",
    "FP3.write1.waiter.recover.b2.ctrl",
)
FAILING = (
    "FP1.write1.io-lost.recover.b2.idem",
    "FP2.write1.io-kept.retry.b1.idem",
    "FP4.write1.io-kept.retry.b2.ctrl",
    "FP9.write1.io-lost.retry.b1.idem",
)
RECOVERERS = (
    "FP11.reply.sent.kill.b1.ctrl",
    "FP11.reply.unsent.twice.b2.idem",
    "FP12.unanswered.unsent.kill.b2.idem",
    "FP12.write1.sent.twice.b2.idem",
)
BESIDE = (
    "RV-before.write1.kill.b1.idem",
    "RV-after.reply.drop.b2.ctrl",
    "DG-before.write1.drop.b2.idem",
    "DG-after.write1.kill.b2.idem",
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Conductor, Fitting]]:
    with conducted(REFERENCE, tmp_path_factory.mktemp("crash"), reference=True) as both:
        yield both


def play(conductor: Conductor, target: str, name: str) -> Played:
    plan = Plan.parse(f"{target.removeprefix('builtin:')}/crash:{name}.s0@1")
    return conductor.play(replace(plan, target=target))


@pytest.mark.parametrize("name", [*STANDING, *FAILING, *RECOVERERS, *BESIDE])
def test_the_reference_stands_it(name: str, reference: tuple[Conductor, Fitting]) -> None:
    result = play(reference[0], REFERENCE, name).result
    assert (result.verdict, result.reason) == ("passed", "")
    point = name.partition(".")[0]
    [use] = [use for use in result.points if use.name == point]
    assert use.fired == use.armed == (2 if ".twice." in name else 1)
    assert result.opportunities["AO102"]


@pytest.mark.parametrize(("sink", "effects"), [("idem", 1), ("ctrl", 2)])
def test_only_the_control_sink_has_a_gap(
    sink: str, effects: int, reference: tuple[Conductor, Fitting]
) -> None:
    played = play(reference[0], REFERENCE, f"FP7.kill.retry.b1.{sink}")
    assert played.result.verdict == "passed"
    assert sum(1 for _ in played.history.events(SinkApplied)) == effects
    assert played.result.relies_on_sink == ("yes" if sink == "ctrl" else "not exercised")


@pytest.mark.parametrize("name", ["FP12.unanswered.unsent.kill.b1", "FP12.write1.sent.kill.b1"])
def test_a_killed_recoverer_doubles_the_effect_on_the_control_sink(
    name: str, reference: tuple[Conductor, Fitting]
) -> None:
    assert play(reference[0], REFERENCE, f"{name}.ctrl").result.relies_on_sink == "yes"


def test_what_the_store_cannot_raise_is_not_exercised(
    reference: tuple[Conductor, Fitting],
) -> None:
    conductor, fitting = reference
    assert "busy" not in fitting.survey.raises  # a write-ahead log is never busy at COMMIT
    result = play(conductor, REFERENCE, "FP3.write1.busy.retry.b1.idem").result
    assert result.verdict == "not_exercised"
    assert "no error could be raised" in result.reason
    assert not any(use.fired for use in result.points)


def test_every_point_is_placed_and_the_required_set_stays_small(
    reference: tuple[Conductor, Fitting],
) -> None:
    _, fitting = reference
    subject = Subjects(REFERENCE, fitting.greeting.declaration, fitting.survey)
    plans = list(CrashFamily().placed(subject))
    assert {plan.params[0] for plan in plans} == set(CrashFamily.topics)
    assert len({plan.id for plan in plans}) == len(plans) < 350
    assert {plan.budget for plan in plans} == {1, 2}


def test_sampling_widens_budgets_and_nothing_else() -> None:
    placed = [Plan(REFERENCE, "crash", ("FP3", "write1", "kill", "retry"), 2, "idempotent", 0)]
    samples = sampled_plans(placed, 0)
    found = [next(samples) for _ in range(40)]
    assert {plan.budget for plan in found} == set(WIDE_BUDGETS[1:])
    assert {plan.params for plan in found} == {placed[0].params}
    one = replace(placed[0], budget=1)
    assert CrashFamily().sampled(one, random.Random(0)) == one


def test_a_third_of_the_kills_that_are_sampled_are_crash_loops(
    reference: tuple[Conductor, Fitting],
) -> None:
    _, fitting = reference
    subject = Subjects(REFERENCE, fitting.greeting.declaration, fitting.survey)
    placed = list(CrashFamily().placed(subject))
    for leases in (False, True):
        drawn = drawn_kills(placed, leases=leases)
        assert all("kill" in plan.params for plan in drawn)
        share = sum(plan.params[0] == "loop" for plan in drawn) / len(drawn)
        assert share < 0.1 if leases else abs(share - LOOP_SHARE) < 0.05


@pytest.mark.parametrize(
    ("target", "name", "code"),
    [
        ("builtin:broken/MV3", "FP11.reply.unsent.kill.b2.idem", "AO301"),
        ("py:tests.lying_ledgers:RecoversNothing", "FP5.drop.gone.b1.idem", "AO301"),
        ("py:tests.lying_ledgers:Hashing", "elsewhere.b2.idem", "AO103"),
        ("py:tests.lying_ledgers:Drawing", "elsewhere.b2.idem", "AO802"),
        ("py:tests.voucher_bugs:KeyOfTheSender", "stranger.b2.idem", "AO103"),
        ("py:tests.voucher_bugs:KeyOfTheDay", "later.b2.idem", "AO103"),
        ("py:tests.lying_ledgers:RecoversNothing", "FP8.hold.recover.b1.idem", "AO301"),
        ("builtin:broken/ME1", "FP12.unanswered.sent.kill.b2.idem", "AO103"),
        ("builtin:broken/ME3", "FP8.kill.retry.b1.idem", "AO105"),
        ("builtin:broken/ME4", "FP7.kill.retry.b1.ctrl", "AO105"),
        ("builtin:broken/MC2a", "FP3.write1.io-lost.retry.b1.idem", "AO701"),
        ("builtin:broken/audit-best-effort", "statement.issue.b1.idem", "AO701"),
        ("builtin:broken/audit-best-effort", "statement.prepare.b1.idem", "AO104"),
        ("builtin:broken/audit-best-effort", "statement.commit.b1.idem", "AO701"),
        ("builtin:broken/log-best-effort", "statement.issue.b1.idem", "AO802"),
        ("builtin:broken/log-best-effort", "statement.prepare.b1.idem", "AO105"),
        ("builtin:broken/log-best-effort", "statement.commit.b1.idem", "AO701"),
        ("py:tests.log_ledgers:SyncsIfItCan", "FP1.write1.io-lost.recover.b1.idem", "AO701"),
        ("py:tests.log_ledgers:TornByAFullDisk", "statement.prepare.b1.idem", "AO806"),
        ("builtin:broken/MA2", "FP4.write1.kill.retry.b1.idem", "AO703"),
        ("builtin:broken/recover-stops", "several.refused.b1.idem", "AO301"),
        ("builtin:broken/recover-stops", "several.silent.b2.ctrl", "AO301"),
        ("py:tests.stopping_ledgers:StopsInSilence", "several.silent.b1.idem", "AO301"),
        ("py:tests.stopping_ledgers:OneAtATime", "several.refused.b2.idem", "AO301"),
        ("py:tests.stopping_ledgers:StoppedOutbox", "several.refused.b1.ctrl", "AO301"),
        ("py:tests.tired_ledgers:Frees", "loop.kill.recover.b1.idem", "AO102"),
        ("py:tests.tired_ledgers:Parks", "loop.kill.recover.b2.ctrl", "AO301"),
        ("py:tests.tired_ledgers:Quits", "loop.silence.b1.idem", "AO301"),
        ("py:tests.tired_ledgers:Renames", "loop.kill.retry.b1.ctrl", "AO102"),
    ],
)
def test_a_broken_ledger_is_convicted(target: str, name: str, code: str, scratch: Path) -> None:
    with conducted(target, scratch) as (conductor, _):
        result = play(conductor, target, name).result
    assert code in {finding.code for finding in result.findings}


@pytest.mark.parametrize(
    "target",
    [
        *("builtin:caplease-sqlite", "builtin:correct/guarded", "builtin:correct/lease"),
        *("builtin:correct/counter", "py:tests.stopping_ledgers:RecoveringOutbox"),
    ],
)
def test_whoever_goes_on_behind_a_unit_that_fails_is_acquitted(target: str, scratch: Path) -> None:
    names = [f"several.{how}.b{b}.idem.s{b}" for how in ("refused", "silent") for b in (1, 2)]
    acquitted(played(target, "crash", scratch, names), "AO301")


@pytest.mark.parametrize(
    ("target", "kills"),
    [
        *(("builtin:caplease-sqlite", 5), ("builtin:correct/guarded", 5)),
        *(("builtin:correct/at-most-once", 3), ("builtin:correct/lease", 3)),
    ],
)
def test_a_unit_that_many_die_of_is_still_one_unit(target: str, kills: int, scratch: Path) -> None:
    names = [f"loop.kill.{way}.b{b}.ctrl.s{b}" for way in ("recover", "retry") for b in (1, 2)]
    results = played(target, "crash", scratch, names)
    acquitted(results, "AO102", "AO301")
    assert max(result.kills for result in results) > kills


@pytest.mark.parametrize(
    "target",
    [
        *("builtin:caplease-sqlite", "builtin:correct/guarded", "builtin:correct/counter"),
        *("py:tests.voucher_ledger:VoucherTarget", "py:tests.odd_ledgers:SweepsTheExpired"),
    ],
)
def test_recovery_is_anybodys_on_any_day(target: str, scratch: Path) -> None:
    results = played(target, "crash", scratch, ["stranger.b2.idem.s0", "later.b1.idem.s1"])
    acquitted(results, "AO103", "AO301")


def test_where_time_frees_what_is_held_nobody_recovers_later(scratch: Path) -> None:
    with conducted("builtin:correct/lease", scratch) as (_, fitting):
        plans = CrashFamily().placed(
            Subjects("correct/lease", fitting.greeting.declaration, fitting.survey)
        )
        topics = {plan.params[0] for plan in plans}
    assert "stranger" in topics
    assert "later" not in topics


def test_a_commit_that_waits_for_the_one_that_stands_is_not_waited_for(scratch: Path) -> None:
    """Its lock is free when that one goes on, and not before, however often it is asked for."""
    name = "FP9.write1.hold.retry.b1.idem.s1"
    results = played("py:tests.odd_ledgers:LooksFirst", "crash", scratch, [name])
    acquitted(results)
    assert results[0].duration_s < 2.0


def test_a_request_that_stood_while_recovery_carried_it_out_is_told_the_truth(
    scratch: Path,
) -> None:
    """It was admitted, and another process sent its effect: it is done, and never sent by it."""
    names = ["FP4.write1.hold.recover.b1.idem.s0", "FP4.write1.pause.recover.b2.idem.s0"]
    acquitted(played("py:docs.examples.runs_target:RunsTarget", "crash", scratch, names), "AO106")


def test_nothing_committed_is_required_where_an_admission_is_final(scratch: Path) -> None:
    with conducted("py:tests.odd_ledgers:FinalWhenAdmitted", scratch) as (_, fitting):
        excused = target_facts(fitting, ("crash",)).not_applicable
    assert "AO302" in excused


@pytest.mark.parametrize(
    ("target", "operations"),
    [
        ("builtin:caplease-sqlite", ("issue", "prepare", "commit")),
        ("builtin:correct/counter", ("issue", "prepare", "commit")),
        ("builtin:correct/guarded", ("issue", "execute")),
        ("builtin:correct/plain", ("prepare",)),
        ("builtin:correct/json-flock", ("issue", "prepare", "commit")),
        ("builtin:correct/at-most-once", ("issue", "prepare", "commit")),
    ],
)
def test_a_spoiled_transaction_makes_nobody_guilty(
    target: str, operations: tuple[str, ...], scratch: Path
) -> None:
    with conducted(target, scratch) as (conductor, fitting):
        subject = Subjects(target, fitting.greeting.declaration, fitting.survey)
        plans = [p for p in CrashFamily().placed(subject) if p.params[0] == "statement"]
        results = [conductor.play(plan, virgin=True).result for plan in plans]
    assert tuple(plan.params[1] for plan in plans) == operations
    acquitted(results)


def test_a_ledger_that_sheds_load_is_tried_all_the_same(scratch: Path) -> None:
    """Whoever comes first is told to come again, and is asked once more with the same plan."""
    with conducted("py:tests.shedding_ledgers:Sheds", scratch) as (conductor, fitting):
        assert fitting.survey.writes("prepare")
        names = [f"{name}.b1.idem.s1" for name in ("FP3.write1.kill.retry", "FP5.kill.retry")]
        plans = [Plan.parse(f"{fitting.target}/crash:{name}@1") for name in names]
        results = [conductor.play(plan, virgin=True).result for plan in plans]
    acquitted(results, "AO802")
    assert all(point.fired for result in results for point in result.points)


def test_shedding_load_hides_nothing(scratch: Path) -> None:
    plan = "FP3.write2.kill.retry.b1.idem.s0"
    assert "AO802" in codes(played("py:tests.shedding_ledgers:TwoSteps", "crash", scratch, [plan]))
