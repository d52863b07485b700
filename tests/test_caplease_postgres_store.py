"""The reference ledger on PostgreSQL: its sessions, also when they are lost, what errors mean, and
the target around it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import psutil
import psycopg
import pytest

from admitone.chaos.servers.postgres import PostgresServer
from admitone.targets import caplease
from admitone.targets.caplease import store as caplease_store
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.records import Record
from admitone.targets.caplease.server_ledger import ServerLedgerPostgres
from admitone.targets.caplease.store_postgres import PostgresStore
from admitone.targets.caplease.target_postgres import CapLeasePostgres
from admitone.targets.contract import (
    Admission,
    Busy,
    Refused,
    Unknown,
)
from admitone.targets.registry import is_reference
from tests.caplease_world import (
    audited,
    child_of,
    code,
    issue,
    issued,
    prepare,
    prepared,
    receipt_for,
)
from tests.served_world import ServedSite, classified


@pytest.fixture
def site(scratch: Path, postgres: PostgresServer) -> Iterator[ServedSite]:
    made = ServedSite(CapLeasePostgres(), scratch, server=postgres)
    yield made
    made.shut()


@pytest.fixture
def ledger(site: ServedSite) -> CapLease:
    return site.client()[0]


# sessions ----------------------------------------------------------------------------------------


def test_it_works_at_read_committed_and_synced(ledger: CapLease) -> None:
    store = ledger.store
    assert isinstance(store, PostgresStore)
    run = store._driver.execute

    def shown(setting: str) -> str:
        found: Any = run(f"SHOW {setting}".encode()).fetchone()
        return cast(str, found[0])

    with store.writing():
        assert shown("transaction_isolation") == "read committed"
        assert shown("transaction_read_only") == "off"
    with store.reading():
        assert shown("transaction_isolation") == "repeatable read"
        assert shown("transaction_read_only") == "on"
    assert shown("synchronous_commit") == "on"


@pytest.mark.parametrize(("patience_s", "lock_timeout"), [(0.0, "1ms"), (0.5, "250ms"), (9, "1s")])
def test_two_waits_fit_into_its_patience(
    site: ServedSite, patience_s: float, lock_timeout: str
) -> None:
    ledger = site.client(patience_s=patience_s)[0]
    assert isinstance(ledger.store, PostgresStore)
    assert ledger.store._driver.execute("SHOW lock_timeout").fetchone() == (lock_timeout,)


def test_a_commit_that_rolls_back_is_no_success(site: ServedSite, ledger: CapLease) -> None:
    """An error that somebody swallowed: the server answers COMMIT with ROLLBACK, and no error."""
    granted = issued(ledger)

    def swallows(*_: object) -> None:
        with pytest.raises(psycopg.Error):
            ledger.store._driver.execute("SELECT 1/0")  # type: ignore[attr-defined]

    ledger._append = swallows  # type: ignore[method-assign]
    answer = classified(site, lambda: prepare(ledger, granted, "a"))
    assert isinstance(answer, Busy)
    assert "ROLLBACK" in answer.detail
    assert site.words(granted) == ["Issued"]


def end_session(site: ServedSite, name: str) -> None:
    site.alter(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        f" WHERE application_name = '{name}'"
    )


def test_a_session_that_was_lost_in_between_is_replaced(site: ServedSite) -> None:
    ledger, _ = site.named("one")
    granted = issued(ledger)
    end_session(site, "one")
    assert not site.server.sessions("one")
    assert isinstance(prepare(ledger, granted, "a"), Admission)
    assert len(site.server.sessions("one")) == 1


def test_a_session_that_is_lost_in_an_operation_leaves_it_unknown(site: ServedSite) -> None:
    ledger, _ = site.named("one")
    granted = issued(ledger, 2)
    choose = ledger._choose

    def loses(record: Record, attempt: str) -> Any:
        end_session(site, "one")
        return choose(record, attempt)

    ledger._choose = loses  # type: ignore[method-assign]
    assert isinstance(classified(site, lambda: prepare(ledger, granted, "a")), Unknown)
    ledger._choose = choose  # type: ignore[method-assign]
    assert prepared(ledger, granted, "a").slot == "1"


def test_of_a_commit_whose_answer_is_lost_nobody_is_told_a_lie(site: ServedSite) -> None:
    ledger, _ = site.named("one")
    granted = issued(ledger, 2)
    assert isinstance(ledger.store, PostgresStore)
    begin = ledger.store._begin

    class AnswerLost:
        def __init__(self, transaction: Any) -> None:
            self.rollback, self._commit = transaction.rollback, transaction.commit

        def commit(self) -> None:
            self._commit()
            end_session(site, "one")
            ledger.store._driver.execute("SELECT 1")  # type: ignore[attr-defined]

    ledger.store._begin = lambda text: AnswerLost(begin(text))  # type: ignore[method-assign]
    assert isinstance(classified(site, lambda: prepare(ledger, granted, "a")), Unknown)
    ledger.store._begin = begin  # type: ignore[method-assign]
    assert site.words(granted) == ["Prepared", "Issued"]
    assert prepared(ledger, granted, "a").slot == "1"
    assert audited(ledger).count == 2


@pytest.mark.parametrize(
    ("raised", "meant"),
    [
        (psycopg.errors.LockNotAvailable(), Busy),
        (psycopg.errors.SerializationFailure(), Busy),
        (psycopg.errors.DeadlockDetected(), Busy),
        (psycopg.errors.AdminShutdown(), Unknown),
        (psycopg.errors.StatementCompletionUnknown(), Unknown),
        (psycopg.errors.IoError(), Unknown),
        (psycopg.errors.DiskFull(), Unknown),
        (psycopg.OperationalError("consuming input failed"), Unknown),
        (psycopg.errors.StringDataRightTruncation(), Refused),
        (psycopg.errors.ProgramLimitExceeded(), Refused),
        (psycopg.errors.UniqueViolation(), None),
        (psycopg.errors.UndefinedTable(), None),
        (psycopg.InterfaceError("the cursor is closed"), None),
        (ValueError("lock timeout"), None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_an_error_means(raised: Exception, meant: type | None) -> None:
    verdict = CapLeasePostgres().classify(raised)
    assert verdict is None if meant is None else isinstance(verdict, meant)


@pytest.mark.parametrize("name", ["a\0b", "x" * 3000 + "".join(map(chr, range(256, 3000)))])
def test_what_this_database_cannot_hold_is_refused(
    site: ServedSite, ledger: CapLease, name: str
) -> None:
    answer = classified(site, lambda: issue(ledger, event=name))
    assert code(answer) == "invalid"
    issued(ledger)


# the target --------------------------------------------------------------------------------------


def schemas(site: ServedSite) -> set[str]:
    with psycopg.connect(site.server.address("looks")) as connection:
        found = connection.execute("SELECT nspname FROM pg_namespace").fetchall()
    return {name for (name,) in found if name.startswith("admitone_")}


def test_a_store_is_a_schema_and_leaves_with_it(scratch: Path, postgres: PostgresServer) -> None:
    one = ServedSite(CapLeasePostgres(), scratch, server=postgres)
    before = schemas(one)
    other = ServedSite(CapLeasePostgres(), scratch, server=postgres)
    [made] = schemas(one) - before
    assert made == cast(Any, other.deployment.store)["schema"]
    issued(one.client()[0])
    assert issued(other.client()[0]) != issued(one.client()[0])
    other.shut()
    CapLeasePostgres().discard(cast(Any, other._addressed("steward")))
    assert schemas(one) == before
    one.shut()


def test_what_the_url_says_is_kept(site: ServedSite) -> None:
    store = site._addressed("one")
    url = f"{store['postgres']}&options=-c%20statement_timeout%3D7s"
    with PostgresSession(url, store["schema"]) as driver:
        assert driver.execute("SHOW statement_timeout").fetchone() == ("7s",)
        assert driver.execute("SHOW search_path").fetchone() == (store["schema"],)
        assert driver.execute("SHOW application_name").fetchone() == ("one",)


class PostgresSession:
    """The connection of a store, closed in the end."""

    def __init__(self, url: str, schema: str) -> None:
        self._store = PostgresStore(url, schema)

    def __enter__(self) -> psycopg.Connection[Any]:
        return self._store._driver

    def __exit__(self, *_: object) -> None:
        self._store.disconnect()


def test_warming_up_compiles_all_and_opens_nothing(site: ServedSite) -> None:
    process = psutil.Process()

    def left() -> tuple[set[str], int, int]:
        files = {file.path for file in process.open_files()}
        return files, threading.active_count(), len(process.net_connections())

    before = left()
    site.target.warm()
    assert left() == before
    known = len(caplease_store._COMPILED)
    ledger = site.client()[0]
    granted = issued(ledger, 4)
    issued(ledger, 4)
    child = child_of(ledger, granted, 2)
    admission = prepared(ledger, granted, "a")
    ledger.recover(())
    ledger.commit(admission, receipt_for(admission))
    ledger.close(child)
    ledger.revoke(granted)
    audited(ledger)
    assert len(caplease_store._COMPILED) == known


def test_every_claim_quotes_the_ledgers_own_page() -> None:
    page = " ".join((caplease.__doc__ or "").split())
    for name, sentence in CapLeasePostgres.declaration.claims.items():
        assert sentence in page, name


def test_both_are_references_of_their_own_names() -> None:
    assert is_reference("builtin:caplease-postgres")
    assert is_reference("builtin:server-ledger-postgres")
    assert ServerLedgerPostgres.declaration is CapLeasePostgres.declaration
    assert CapLeasePostgres.declaration.facts.reach == "network"


def test_naming_the_target_imports_no_database_library() -> None:
    program = (
        "import sys; from admitone.targets.resolve import describe, resolve;"
        "describe(resolve('caplease-postgres'));"
        "sys.exit(bool({'sqlalchemy', 'psycopg'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
