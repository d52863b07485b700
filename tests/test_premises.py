"""A server of the user's: whatever becomes of a schedule, no store of it is left there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from admitone.chaos.parent import TargetProblem
from admitone.chaos.servers.postgres import PostgresServer
from admitone.scenarios.plan import Plan
from admitone.scenarios.premises import USER_POSTGRES
from admitone.targets.caplease.target_postgres import CapLeasePostgres
from tests.harness_world import conducted
from tests.postgres_world import connected

PLAN = Plan.parse("caplease-postgres/consumers:held.prepare.statement2.after.b1.ctrl.s0@1")


class Untidy(CapLeasePostgres):
    """It does not say how a store is removed."""

    discard: Any = None


class Complaining(CapLeasePostgres):
    """Its readings are wrong, and its sessions stand where they were asked."""

    def inspect(self, store: Any, approval: Any) -> Any:
        raise LookupError("nothing to be seen")


@pytest.fixture
def users(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> PostgresServer:
    """The user is played by a server of ours."""
    monkeypatch.setenv(USER_POSTGRES, postgres.address("user"))
    return postgres


def schemas(server: PostgresServer) -> list[str]:
    query = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'admitone%' ORDER BY 1"
    with connected(server) as session:
        return [name for (name,) in session.execute(query)]


def test_the_adapter_check_and_the_schedules_leave_nothing(
    users: PostgresServer, tmp_path: Path
) -> None:
    with conducted("builtin:caplease-postgres", tmp_path) as (conductor, _):
        assert schemas(users) == []
        assert conductor.play(PLAN).result.verdict == "passed"
        assert schemas(users) == []


def test_a_schedule_that_is_broken_off_leaves_nothing(
    users: PostgresServer, tmp_path: Path
) -> None:
    with conducted("builtin:caplease-postgres", tmp_path) as (conductor, _):
        stage = conductor.open(PLAN).scene.stage
        store: Any = stage.setting.store_for("holder")
        node = stage.node()
        assert stage.open(node, "executor-1").granted
        assert [store["schema"]] == schemas(users)
    assert schemas(users) == []


def test_an_adapter_that_does_not_fit_leaves_nothing(users: PostgresServer, tmp_path: Path) -> None:
    with (
        pytest.raises(TargetProblem, match="nothing to be seen"),
        conducted(f"py:{__name__}:Complaining", tmp_path),
    ):
        pass
    assert schemas(users) == []


def test_an_adapter_that_cannot_tidy_is_refused(users: PostgresServer, tmp_path: Path) -> None:
    with (
        pytest.raises(TargetProblem, match="has no discard"),
        conducted(f"py:{__name__}:Untidy", tmp_path),
    ):
        pass
    assert schemas(users) == []


def test_the_variable_is_named_where_its_server_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(USER_POSTGRES, "postgresql://ann:s3cr3t@127.0.0.1:none/db")
    with (
        pytest.raises(TargetProblem, match=f"{USER_POSTGRES}: the connection string") as told,
        conducted("builtin:caplease-postgres", tmp_path),
    ):
        pass
    assert "s3cr3t" not in str(told.value)
