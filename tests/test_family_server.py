"""Server: sessions and whole servers killed under a real PostgreSQL, and clients that die in its
hands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from admitone.chaos.events import FaultOff, FaultOn
from admitone.chaos.servers.postgres import PostgresServer
from admitone.scenarios.conductor import Conductor
from admitone.scenarios.families import Subjects, family, missing_here
from admitone.scenarios.frame import lacks
from admitone.scenarios.plan import Plan
from admitone.scenarios.preflight import Fitting
from admitone.scenarios.premises import DISCARD_DEADLINE_S, USER_POSTGRES
from admitone.scenarios.within import inner_statements
from tests.harness_world import conducted
from tests.played import codes, played

REFERENCE = "builtin:caplease-postgres"
PLAYED = (
    "session.issue.write1.before.retry.b1.idem.s1",
    "session.prepare.write1.after.recover.b2.ctrl.s2",
    "session.prepare.statement2.after.retry.b2.idem.s3",
    "session.recover.statement1.after.recover.b1.idem.s4",
    "crash.prepare.write1.before.recover.b1.ctrl.s5",
    "crash.commit.write1.after.retry.b2.idem.s6",
    "crash.revoke.write1.before.retry.b2.idem.s7",
    "crash.delegate.write1.after.recover.b2.idem.s8",
    "orphan.admit.b1.idem.s9",
    "orphan.admit.b2.ctrl.s10",
    "orphan.revoke.b2.idem.s11",
)
REFUSED = (
    "refused.issue.statement1.before.retry.b1.idem.s1",
    "refused.prepare.statement2.before.retry.b2.idem.s2",
    "refused.prepare.statement3.before.recover.b1.ctrl.s3",
    "refused.commit.statement2.before.retry.b2.idem.s4",
    "refused.recover.statement1.before.retry.b1.idem.s5",
    "refused.revoke.statement2.before.recover.b2.idem.s6",
    "refused.delegate.statement2.before.retry.b2.idem.s7",
)
pytestmark = pytest.mark.xdist_group("caplease-postgres")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Conductor, Fitting]]:
    with conducted(REFERENCE, tmp_path_factory.mktemp("server"), reference=True) as both:
        yield both


def plan_named(family_: str, name: str, target: str = REFERENCE) -> Plan:
    return Plan.parse(f"{target.removeprefix('builtin:')}/{family_}:{name}@1")


@pytest.mark.parametrize("name", PLAYED)
def test_the_reference_stands_a_server_that_is_killed(
    name: str, reference: tuple[Conductor, Fitting]
) -> None:
    result = reference[0].play(plan_named("server", name), virgin=True).result
    assert (result.verdict, result.reason, result.findings) == ("passed", "", ())
    assert result.kills >= 1


@pytest.mark.parametrize("name", REFUSED)
def test_the_reference_stands_a_statement_that_is_refused(
    name: str, reference: tuple[Conductor, Fitting]
) -> None:
    result = reference[0].play(plan_named("server", name), virgin=True).result
    assert (result.verdict, result.reason, result.findings) == ("passed", "", ())


@pytest.mark.parametrize("order", ["retry", "recover"])
def test_an_error_that_is_caught_before_the_commit_is_convicted(order: str, scratch: Path) -> None:
    """The server answers that COMMIT with ROLLBACK, and the driver says nothing of it."""
    name = f"refused.prepare.statement2.before.{order}.b1.idem.s1"
    target = "py:tests.odd_postgres:ForgetsWhatFailed"
    assert {"AO102", "AO105"} & codes(played(target, "server", scratch, [name]))


def test_a_transaction_that_is_left_open_holds_nobody_up(scratch: Path) -> None:
    """Its session goes with its process, so that the store can be discarded at once."""
    names = [f"drain.b{budget}.idem.s1" for budget in (1, 2)]
    for result in played("py:tests.odd_postgres:LeavesItOpen", "budgets", scratch, names):
        assert (result.verdict, result.findings) == ("passed", ())
        assert result.duration_s < DISCARD_DEADLINE_S


def test_only_what_stands_in_a_transaction_is_refused(
    reference: tuple[Conductor, Fitting], scratch: Path
) -> None:
    survey = reference[1].survey
    for op in ("issue", "prepare", "commit"):
        texts = {(s.nth, s.side): s.text for s in survey.steps[op] if s.kind == "statement"}
        inner = [texts[point.nth, "before"] for point in inner_statements(survey, op)]
        assert len(inner) == len(texts) // 2 - 1
        assert "COMMIT" not in inner
    with conducted("builtin:correct/plain-postgres", scratch) as (_, fitting):
        assert [*inner_statements(fitting.survey, "prepare")] == []
        assert not fitting.survey.refuses


@pytest.mark.parametrize("name", ["session.prepare.write1.before.retry.b1.idem.s1", PLAYED[4]])
def test_the_same_plan_gives_the_same_history(
    name: str, reference: tuple[Conductor, Fitting]
) -> None:
    plays = [reference[0].play(plan_named("server", name), virgin=True) for _ in range(2)]
    assert plays[0].result.digest == plays[1].result.digest
    faults = [e for e in plays[0].history if isinstance(e, FaultOn | FaultOff)]
    assert [type(e) for e in faults] == [FaultOn, FaultOff]


def test_every_durable_write_is_struck_on_both_sides(
    reference: tuple[Conductor, Fitting],
) -> None:
    fitting = reference[1]
    subject = Subjects(fitting.target, fitting.greeting.declaration, fitting.survey)
    shapes = {plan.params[:4] for plan in family("server").placed(subject)}
    for strike in ("session", "crash"):
        for op in ("issue", "prepare", "commit", "revoke", "delegate"):
            assert (strike, op, "write1", "before") in shapes
            assert (strike, op, "write1", "after") in shapes


def test_nothing_of_a_server_of_the_users_is_killed(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(USER_POSTGRES, postgres.address("user"))
    with conducted(REFERENCE, tmp_path) as (_, fitting):
        assert "no other is ever killed" in lacks(family("server"), fitting)
        assert lacks(family("network"), fitting) == ""


def test_a_ledger_in_a_file_has_no_server_to_be_killed(tmp_path: Path) -> None:
    with conducted("builtin:caplease-sqlite", tmp_path) as (_, fitting):
        assert lacks(family("server"), fitting) == "the suite runs no server for it"


def test_nothing_is_missing_where_these_tests_run() -> None:
    assert missing_here(["server", "network"]) == {}
