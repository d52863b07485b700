"""The psycopg probe: every form's points, what a kill there leaves, and the driver unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from admitone.chaos.probes import psycopg as probe
from admitone.chaos.probes import sight
from admitone.chaos.servers.image import Image
from admitone.chaos.servers.postgres import PostgresServer
from tests import probe_psycopg_forms, probe_psycopg_target, probe_trial
from tests.postgres_world import connected
from tests.probe_psycopg_forms import Form
from tests.probe_trial import STATEMENT, WRITING, Found, Notes

FORMS = probe_psycopg_forms.forms()
QUIET = probe_psycopg_forms.quiet(probe_psycopg_target)


@pytest.fixture(scope="module")
def server(server_folder: Path, postgres_image: Image) -> Iterator[PostgresServer]:
    """A server that allows transactions in two phases, as none does of itself."""
    with PostgresServer.start(server_folder / "two_phases", postgres_image) as server:
        with connected(server) as connection:
            connection.execute("ALTER SYSTEM SET max_prepared_transactions = 200")
        server.kill()
        server.restart()
        yield server


@pytest.fixture(scope="module", params=["binary", "python"])
def tried(
    request: pytest.FixtureRequest, server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Found]]:
    """All forms, in a process that installs the probes before it imports the driver; once with
    the driver's compiled half, once without."""
    folder = tmp_path_factory.mktemp("forms")
    (folder / "address").write_text(server.address("trial"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PSYCOPG_IMPL", request.param)
        yield probe_trial.tried("tests.probe_psycopg_forms", folder)
    with connected(server) as connection:
        for (gid,) in connection.execute("SELECT gid FROM pg_prepared_xacts").fetchall():
            connection.execute(f"ROLLBACK PREPARED '{gid}'".encode())
        schemas = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'trial%'"
        for (schema,) in connection.execute(schemas).fetchall():
            connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())


@pytest.mark.parametrize("name", FORMS)
def test_a_form_has_exactly_these_points(tried: dict[str, Found], name: str) -> None:
    assert tried[name].points == FORMS[name].points
    assert tried[name].count == FORMS[name].rows


@pytest.mark.parametrize("name", FORMS)
def test_a_kill_at_a_write_leaves_what_its_side_says(tried: dict[str, Found], name: str) -> None:
    """Also where one form has two writes: the first one decides."""
    assert tried[name].before == (9, 0)
    assert tried[name].after == (9, FORMS[name].first)


@pytest.fixture
def notes() -> Iterator[Notes]:
    taken = Notes()
    sight.install(taken)
    yield taken
    sight.uninstall()


@pytest.fixture
def schema(postgres: PostgresServer, fresh_schema: str) -> dict[str, Any]:
    """How to connect to a schema with the forms' tables."""
    path = f"-csearch_path={fresh_schema}"
    named: dict[str, Any] = {"conninfo": postgres.address("ledger"), "options": path}
    with psycopg.connect(**named, autocommit=True) as setup:
        setup.execute(probe_psycopg_target.SCHEMA.encode())
    return named


def uses(schema: dict[str, Any]) -> int:
    with psycopg.connect(**schema) as reader:
        [(count,)] = reader.execute("SELECT count(*) FROM uses").fetchall()
    return int(count)


@pytest.mark.parametrize("name", QUIET)
def test_no_durable_change_no_write(notes: Notes, schema: dict[str, Any], name: str) -> None:
    form: Form = QUIET[name]
    with psycopg.connect(**schema, autocommit=form.autocommit) as ledger, sight.watched():
        form.run(ledger)
    assert notes.points == form.points
    assert uses(schema) == 0


def test_nothing_is_said_while_nobody_watches(notes: Notes, schema: dict[str, Any]) -> None:
    with psycopg.connect(**schema) as ledger:
        ledger.execute(probe_psycopg_target.INSERT)
        ledger.commit()
        assert notes.points == []
        ledger.execute(probe_psycopg_target.INSERT)
        with sight.watched():
            ledger.commit()  # begun unwatched: the change still counts
        assert notes.points == WRITING
        ledger.execute("SELECT * FROM uses")
        with sight.watched():
            ledger.commit()
        assert notes.points == [*WRITING, *STATEMENT]


def test_the_upkeep_of_prepared_statements_is_not_told(
    notes: Notes, schema: dict[str, Any]
) -> None:
    """What the driver sends for its own upkeep is no ledger's statement."""
    with psycopg.connect(**schema, autocommit=True) as ledger, sight.watched():
        ledger.prepared_max = 1
        for n in range(8):
            ledger.execute("SELECT %s::int", (n,), prepare=True)
            ledger.execute("SELECT %s::text", (n,), prepare=True)
        sight.watch(False)
        [(count,)] = ledger.execute("SELECT count(*) FROM pg_prepared_statements").fetchall()
    assert count == 1
    assert notes.points == STATEMENT * 16


def test_a_failing_statement_alone_leaves_no_transaction(
    notes: Notes, schema: dict[str, Any]
) -> None:
    with psycopg.connect(**schema, autocommit=True) as ledger, sight.watched():
        with pytest.raises(psycopg.errors.NotNullViolation):
            ledger.execute("INSERT INTO uses VALUES (NULL)")
        assert ledger.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with pytest.raises(psycopg.errors.NotNullViolation):
            ledger.cursor().executemany("INSERT INTO uses VALUES (%s)", [(1,), (None,)])
        assert ledger.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with (
            pytest.raises(psycopg.errors.NotNullViolation),
            ledger.cursor().copy("COPY uses FROM STDIN") as copy,
        ):
            copy.write_row((None,))
        with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
            ledger.execute("LOCK TABLE uses")  # as without a probe: nothing is lifted that must not
    assert notes.points == STATEMENT * 5
    assert uses(schema) == 0


def test_a_statement_alone_is_told_apart_from_its_text(
    notes: Notes, schema: dict[str, Any]
) -> None:
    """Long texts are bounded (``Notes`` holds it), and what is quoted does not count."""
    with psycopg.connect(**schema, autocommit=True) as ledger, sight.watched():
        ledger.execute(f"SELECT 'UPDATE uses', '{'x' * 5000}' -- put()".encode())
        ledger.execute("SELECT E'it\\'s; INSERT', $a$ put() $a$, \"n\" FROM uses")
    assert notes.points == STATEMENT * 2


def test_uninstalling_gives_the_driver_back(postgres: PostgresServer) -> None:
    owner = psycopg.Connection.__mro__[1]
    stock = owner.__dict__["_exec_command"]
    sight.install(Notes())
    probe.install_after_import()  # twice is once
    assert owner.__dict__["_exec_command"] is not stock
    assert owner in sight.covered
    ledger = connected(postgres)
    sight.uninstall()
    assert owner.__dict__["_exec_command"] is stock
    assert owner not in sight.covered
    assert ledger.execute("SELECT 1").fetchall() == [(1,)]
    ledger.close()


def test_a_driver_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Better no run than one that stops nowhere."""
    from admitone.chaos.probes import psycopg_methods

    monkeypatch.setattr(psycopg, "ServerCursor", object)
    with pytest.raises(RuntimeError, match=r"does not know psycopg 3.*object has no _declare_gen"):
        psycopg_methods.wrap_all()
    psycopg_methods.unwrap_all()
