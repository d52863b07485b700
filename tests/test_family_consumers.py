"""Consumers: held races convict check-then-act every time, free ones are seen to have met."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from admitone.chaos.events import Outcome, Replied
from admitone.reports.lanes import conclusion
from admitone.scenarios import client as client_module
from admitone.scenarios.calls import Answer, Pending, Subject
from admitone.scenarios.client import Client
from admitone.scenarios.families import Subjects, replays
from admitone.scenarios.families.consumers import ConsumersFamily
from admitone.scenarios.families.stress import RACES, overlapped
from admitone.scenarios.plan import Plan, PlanProblem
from admitone.scenarios.results import Finding
from admitone.targets.declaration import Facts
from admitone.targets.replies import Busy, Recovered
from admitone.targets.terms import Admission
from tests.harness_world import conducted
from tests.played import acquitted, codes, played

HELD = "caplease-sqlite/consumers:held.prepare.statement2.after.b1.idem.s0@1"
FREE = "caplease-sqlite/consumers:stress.use.nodes.8.barrier.b1.idem.s0@1"
TIMED_OUT = "py:tests.order_ledgers:TimedOut"
NOT_IN_TIME = "py:tests.lying_ledgers:NotInTime"
PAIRS = (
    "held.impatient.issue.write1.before.b2.idem.s0",
    "held.impatient.prepare.write1.before.b2.ctrl.s0",
    "held.impatient.commit.write1.before.b2.idem.s0",
    "held.same.prepare.statement2.after.b2.idem.s0",
    "held.trio.prepare.statement2.after.b2.idem.s0",
    "held.commit.statement2.after.b1.idem.s0",
    "held.commit-recover.commit.write1.before.b1.idem.s0",
    "held.recover.statement1.after.b2.idem.s0",
    "held.apart.issue.write1.before.b1.idem.s0",
    "held.apart.prepare.statement2.after.b2.idem.s0",
    "held.apart.commit.write1.before.b1.idem.s0",
    "stress.use.mixed.16.barrier.b5.idem.s0",
    "stress.after.lanes.8.barrier.b1.ctrl.s0",
    "stress.same.nodes.8.barrier.b2.ctrl.s0",
    "stress.recover.nodes.8.barrier.b1.idem.s0",
    "stress.commit.nodes.8.barrier.b1.idem.s0",
)


def test_the_reference_is_not_accused_whoever_meets(scratch: Path) -> None:
    for result in played("builtin:caplease-sqlite", "consumers", scratch, PAIRS):
        idle = result.reason == "the two calls never overlapped"
        assert result.verdict == "passed" or idle, result
        assert result.races_started == 1
        assert result.opportunities["AO102"]


@pytest.mark.parametrize(
    ("target", "plan", "code"),
    [
        ("builtin:broken/MI1", "held.issue.statement2.after.b1.idem.s0", "AO101"),
        ("builtin:broken/MP1", "held.prepare.statement2.after.b1.idem.s0", "AO104"),
        ("builtin:broken/MP4b", "held.prepare.statement4.after.b2.idem.s0", "AO102"),
        ("builtin:broken/two-locks", "held.prepare.statement3.before.b1.ctrl.s0", "AO104"),
        ("builtin:broken/two-locks", "held.prepare.statement3.before.b2.idem.s0", "AO201"),
        (TIMED_OUT, "held.impatient.prepare.write1.before.b2.idem.s0", "AO405"),
        (NOT_IN_TIME, "held.impatient.commit.write1.before.b2.idem.s0", "AO701"),
    ],
)
def test_a_held_race_convicts(target: str, plan: str, code: str, scratch: Path) -> None:
    [result] = played(target, "consumers", scratch, [plan])
    assert code in codes([result])
    assert result.races_overlapped == 1


def test_a_lock_that_a_library_does_not_get_in_time_may_be_an_error_of_any_name(
    scratch: Path,
) -> None:
    """It is the plan's doing, so an adapter that does not name it is none the worse for it."""
    plan = "held.impatient.prepare.write1.before.b2.idem.s0"
    [result] = played("py:tests.odd_ledgers:NamesNoLock", "consumers", scratch, [plan])
    assert (result.verdict, result.races_overlapped) == ("passed", 1)


@pytest.mark.xdist_group("caplease-postgres")
def test_an_authorization_that_meets_another_one_convicts(scratch: Path) -> None:
    """Nothing of one authorization alone aborts that transaction."""
    target, point = "py:tests.odd_postgres:ForgetsWhatFailed", "prepare.statement2.after"
    names = [f"held.{point}.b1.idem.s0", f"held.apart.{point}.b1.idem.s0"]
    alone, met = played(target, "consumers", scratch, names)
    assert (alone.verdict, alone.findings) == ("passed", ())
    assert "AO102" in codes([met])


def test_who_was_kept_waiting_to_the_end_does_not_wait_as_long_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_module, "BUSY_MARGIN_S", 0.3)
    monkeypatch.setattr(client_module, "BRIEF_S", 0.01)
    stage = SimpleNamespace(setting=SimpleNamespace(lease_s=0.0))
    client = Client(cast(Any, stage), Facts(), "ao:0", cast(Any, None))
    answers: list[Outcome] = ["busy"]

    def waited_s() -> float:
        began_s = time.monotonic()
        client._patiently(lambda: SimpleNamespace(answer=Answer(answers[-1], Busy())))
        return time.monotonic() - began_s

    assert waited_s() > 0.3
    assert waited_s() < 0.2
    answers.append("granted")
    waited_s()
    answers.append("busy")
    assert waited_s() > 0.3


def test_who_was_told_to_try_again_waits_for_nobody_who_waits_for_him(scratch: Path) -> None:
    """The one who is held gets Busy, and one of those behind it the only unit that may be out."""
    plan = Plan.parse("OneAtATime/consumers:held.trio.prepare.statement1.after.b2.idem.s0@1")
    with conducted("py:tests.odd_ledgers:OneAtATime", scratch) as (conductor, _):
        history = conductor.play(plan, virgin=True).history
    busy = [e for e in history.events(Replied) if e.outcome == "busy"]
    assert len(busy) == 2


def test_units_of_a_stranger_are_left_to_him(monkeypatch: pytest.MonkeyPatch) -> None:
    resumed: list[str] = []
    monkeypatch.setattr(Client, "_resume", lambda _, __, found, ___: resumed.append(found.record))
    stage = cast(Any, SimpleNamespace(holders={}))
    client = Client(stage, Facts(), "ao:0", cast(Any, None), strange={"theirs"})
    answer = Answer("granted", Recovered((Admission("mine"), Admission("theirs"))))
    node = cast(Any, None)
    client.resume(node, Pending(1, "recover", node, Subject("ao:0"), answer=answer))
    assert resumed == ["mine"]


def test_free_races_convict_select_then_update(scratch: Path) -> None:
    """Nobody can say which race meets, and on one core few do: played until one convicts."""
    names = (f"broken/MP1/consumers:stress.use.nodes.8.barrier.b1.idem.s{n}@1" for n in range(40))
    with conducted("builtin:broken/MP1", scratch) as (conductor, _):
        results = (conductor.play(Plan.parse(name), virgin=True).result for name in names)
        assert any("AO104" in codes([result]) for result in results)


def test_only_held_plans_replay() -> None:
    assert replays(Plan.parse(HELD))
    assert not replays(Plan.parse(FREE))


def test_a_finding_of_a_free_race_says_that_it_does_not_replay() -> None:
    finding = Finding("AO104", "t", "label", "2 > 1", "e", "s", "r")
    assert any("not replayable" in line for line in conclusion(finding, FREE, 100))
    assert not any("not replayable" in line for line in conclusion(finding, HELD, 100))


def test_races_overlap_where_the_nodes_say_so() -> None:
    def ran(*span: int) -> Pending:
        pending = Pending(1, "prepare", None, None)  # type: ignore[arg-type]
        pending.note({"ran_ns": list(span)})
        return pending

    assert overlapped([ran(1, 5), ran(4, 6)])
    assert overlapped([ran(4, 6), None, ran(1, 9), ran(7, 8)])
    assert not overlapped([ran(1, 5), ran(5, 6)])
    assert not overlapped([ran(1, 5), ran(), ran(1, 5, 7)])


def test_what_no_ledger_has_is_not_planned(scratch: Path) -> None:
    with conducted("builtin:correct/json-flock", scratch) as (conductor, fitting):
        subject = Subjects(fitting.target, fitting.greeting.declaration, fitting.survey)
        plans = list(ConsumersFamily().placed(subject))
        assert {plan.params[1] for plan in plans if plan.params[0] == "stress"} == {
            what for what, *_ in RACES
        }
        unknown = Plan.parse("correct/json-flock/consumers:stress.use.nodes.9.barrier.b1.idem.s0@1")
        assert conductor.play(unknown).result.verdict == "could_not_run"


def test_an_unknown_race_is_said_to_be_one() -> None:
    plan = Plan.parse("x/consumers:loose.b1.idem.s0@1")
    with pytest.raises(PlanProblem, match="no race 'loose'"):
        ConsumersFamily().run(plan, None)  # type: ignore[arg-type]


NEIGHBOURS = ("neighbour.user.b1.idem.s0", "neighbour.renewed.b1.idem.s0")
LOCKS = "py:tests.neighbour_ledgers:"


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("builtin:broken/one-out-per-user", [{"AO801", "AO405"}, {"AO805"}]),
        (f"{LOCKS}OnePerAction", [set(), {"AO805"}]),
    ],
)
def test_a_lock_that_is_too_wide_is_convicted(
    target: str, found: list[set[str]], scratch: Path
) -> None:
    assert [codes([result]) for result in played(target, "consumers", scratch, NEIGHBOURS)] == found


@pytest.mark.parametrize(
    "target",
    [
        "builtin:caplease-sqlite",
        "builtin:correct/plain",
        "py:tests.odd_ledgers:OneAtATime",
        "py:tests.odd_ledgers:FinalWhenAdmitted",
        f"{LOCKS}WaitsForTheUser",
        f"{LOCKS}OnePerActionAsDeclared",
    ],
)
def test_a_neighbour_who_is_slow_makes_nobody_guilty(target: str, scratch: Path) -> None:
    acquitted(played(target, "consumers", scratch, NEIGHBOURS), "AO801")


def test_a_guarded_ledger_has_no_slow_neighbour(scratch: Path) -> None:
    results = played("builtin:correct/guarded", "consumers", scratch, NEIGHBOURS)
    assert {result.verdict for result in results} == {"could_not_run"}


def test_a_thread_of_the_library_that_sends_for_all_callers_makes_nobody_guilty(
    scratch: Path,
) -> None:
    """Which of several open calls it works for cannot be told, and is not guessed."""
    plans = [f"stress.use.lanes.{n}.barrier.b{b}.idem.s0" for n, b in ((8, 5), (32, 5), (32, 10))]
    results = played("py:tests.odd_ledgers:SendsInAThread", "consumers", scratch, plans)
    assert [(r.id, r.findings) for r in results if r.verdict == "violation"] == []
    assert any(r.opportunities["AO103"] for r in results)
