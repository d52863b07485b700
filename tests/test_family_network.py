"""Network: real links through a real Toxiproxy, to the sink and to the ledger's PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from admitone.chaos.events import FaultOn, SinkApplied, SinkRequested
from admitone.chaos.network.faults import REPLY_LOST
from admitone.scenarios.conductor import Conductor
from admitone.scenarios.families import network_sink
from admitone.scenarios.preflight import Fitting
from tests.harness_world import conducted
from tests.played import acquitted, codes, played
from tests.test_family_server import REFERENCE, plan_named

ORDERS = network_sink.ORDERS
SINK = [
    f"sink.{fault}.{ORDERS[n % len(ORDERS)]}.b{n % 2 + 1}.{('idem', 'ctrl')[n // 2 % 2]}.s{n}"
    for n, fault in enumerate(network_sink.FAULTS)
]
LATE = ("sink.late.retry.b1.idem.s1", "sink.late.detour.b2.idem.s2", "sink.late.recover.b1.ctrl.s3")
LEDGER = (
    "ledger.null.prepare.write1.before.retry.b1.idem.s1",
    "ledger.request-lost.prepare.write1.before.recover.b1.idem.s2",
    "ledger.reply-lost.issue.write1.before.retry.b2.idem.s3",
    "ledger.cut-1.commit.write1.before.retry.b1.ctrl.s4",
    "ledger.cut-12.prepare.write1.before.retry.b2.idem.s5",
    "ledger.reset.revoke.write1.before.recover.b2.idem.s6",
    "ledger.late.prepare.write1.before.recover.b1.idem.s7",
    "ledger.silence.delegate.write1.before.retry.b2.idem.s8",
    "ledger.reply-lost.recover.statement1.after.retry.b1.idem.s9",
)
pytestmark = pytest.mark.xdist_group("caplease-postgres")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Conductor, Fitting]]:
    with conducted(REFERENCE, tmp_path_factory.mktemp("network"), reference=True) as both:
        yield both


def test_the_reference_stands_every_fault_on_the_way_to_the_sink(tmp_path: Path) -> None:
    acquitted(played("builtin:caplease-sqlite", "network", tmp_path, SINK), "AO105", "AO106")


def test_a_guarded_ledger_stands_them_too(tmp_path: Path) -> None:
    acquitted(played("builtin:correct/guarded", "network", tmp_path, SINK[:6]), "AO106")


def test_a_guarded_ledger_may_lose_what_nobody_took_if_it_says_so(tmp_path: Path) -> None:
    names = [f"sink.down.{order}.b{n % 2 + 1}.idem.s1" for n, order in enumerate(ORDERS)]
    acquitted(played("py:tests.odd_ledgers:Blocks", "network", tmp_path, names), "AO802")


@pytest.mark.parametrize("order", ["recover", "flapping"])
def test_a_guarded_ledger_may_keep_for_recovery_what_nobody_took(
    order: str, tmp_path: Path
) -> None:
    """The refusal blocks its unit, and recovery sends the effect when the sink is back."""
    target = "py:docs.examples.runs_target:RunsTarget"
    acquitted(played(target, "network", tmp_path, [f"sink.down.{order}.b1.idem.s1"]), "AO106")


@pytest.mark.parametrize("name", LEDGER)
def test_the_reference_stands_faults_on_the_way_to_its_server(
    name: str, reference: tuple[Conductor, Fitting]
) -> None:
    result = reference[0].play(plan_named("network", name), virgin=True).result
    assert (result.verdict, result.reason, result.findings) == ("passed", "", ())


@pytest.mark.parametrize(
    ("fault", "happened"),
    [
        ("null", "happened"),
        ("request-lost", "did not happen"),
        ("reply-lost", "happened"),
        ("cut-1", "happened"),
        ("late", "happened"),
        ("silence", "did not happen"),
    ],
)
@pytest.mark.parametrize("op", ["issue", "prepare", "commit"])
def test_an_ambiguous_commit_is_counted_by_what_became_of_it(
    op: str, fault: str, happened: str, reference: tuple[Conductor, Fitting]
) -> None:
    name = f"ledger.{fault}.{op}.write1.before.recover.b1.idem.s1"
    result = reference[0].play(plan_named("network", name), virgin=True).result
    assert [(use.name, use.fired, use.how) for use in result.points] == [
        ("NW-commit", 1, f"{fault}, {happened}")
    ]
    assert result.verdict == "passed"


@pytest.mark.parametrize("name", LATE)
def test_a_late_request_really_arrives_after_its_sender_gave_up(name: str, tmp_path: Path) -> None:
    with conducted("builtin:caplease-sqlite", tmp_path, reference=True) as (conductor, _):
        history = conductor.play(
            plan_named("network", name, "builtin:caplease-sqlite"), virgin=True
        ).history
    on = next(n for n, e in enumerate(history) if isinstance(e, FaultOn))
    requests = [(n, e) for n, e in enumerate(history) if isinstance(e, SinkRequested) and n > on]
    hurt = [e for _, e in requests if e.request == requests[0][1].request]
    assert len(hurt) >= 2  # the original, and what was sent again
    applied = sum(isinstance(e, SinkApplied) for e in history)
    labels = {e.request for _, e in requests}
    assert applied >= len(labels)


def test_the_same_plan_gives_the_same_history(reference: tuple[Conductor, Fitting]) -> None:
    for name in (SINK[2], LEDGER[1], LEDGER[6]):
        plan = plan_named("network", name)
        plays = [reference[0].play(plan, virgin=True).result.digest for _ in range(2)]
        assert plays[0] == plays[1], name


def test_a_unit_freed_by_a_lost_answer_is_convicted_through_the_proxy(tmp_path: Path) -> None:
    names = (
        "sink.reply-lost.retry.b1.ctrl.s1",
        "sink.late.retry.b1.idem.s2",
        "sink.null.retry.b1.idem.s3",
    )
    results = played("builtin:broken/ME4", "network", tmp_path, names)
    assert "AO105" in codes(results[:2])
    assert results[2].verdict == "passed"  # nothing was lost, so nothing shows


def test_a_commit_error_taken_for_success_is_convicted_through_the_proxy(tmp_path: Path) -> None:
    names = (
        "ledger.request-lost.prepare.write1.before.recover.b1.idem.s1",
        "ledger.reply-lost.prepare.write1.before.recover.b1.idem.s2",
    )
    results = played("builtin:broken/MC2a-postgres", "network", tmp_path, names)
    assert "AO701" in codes(results[:1])
    assert results[1].verdict == "passed"  # it had happened: the ledger was right by luck


def test_a_fault_that_is_not_what_it_says_makes_the_schedule_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = replace(REPLY_LOST, toxics=())  # it says that the answer is lost, and loses nothing
    monkeypatch.setattr(network_sink, "fault_named", lambda _: idle)
    with conducted("builtin:caplease-sqlite", tmp_path) as (conductor, _):
        name = "sink.reply-lost.retry.b1.idem.s1"
        result = conductor.play(
            plan_named("network", name, "builtin:caplease-sqlite"), virgin=True
        ).result
    assert result.verdict == "harness_error"
    assert "was not what it says" in result.reason
