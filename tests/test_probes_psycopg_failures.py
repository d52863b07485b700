"""What the psycopg probe lets a COMMIT and a statement fail with, and what that leaves there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import psycopg
import pytest

from admitone.chaos.probes import sight
from admitone.chaos.servers.postgres import PostgresServer
from tests.probe_trial import Notes

Ledger = psycopg.Connection[Any]

TAKE = "UPDATE slots SET state = 'prepared' WHERE state = 'issued'"
LOST = "server closed the connection unexpectedly"
LEAVING = "^flush request failed: " + LOST
"""What psycopg makes of the same when it leaves a pipeline of its own."""


@pytest.fixture
def notes() -> Iterator[Notes]:
    taken = Notes()
    sight.install(taken)
    yield taken
    sight.uninstall()


@pytest.fixture
def store(postgres: PostgresServer, fresh_schema: str) -> dict[str, Any]:
    """How to connect to a schema with one slot."""
    path = f"-csearch_path={fresh_schema}"
    named: dict[str, Any] = {"conninfo": postgres.address("ledger"), "options": path}
    with psycopg.connect(**named) as setup:
        setup.execute("CREATE TABLE slots (state text); INSERT INTO slots VALUES ('issued')")
    return named


def state(store: dict[str, Any]) -> str:
    """The slot as another session finds it: it waits for whoever still holds the row."""
    with psycopg.connect(**store) as reader:
        [(found,)] = reader.execute("SELECT state FROM slots FOR UPDATE").fetchall()
    return str(found)


def by_method(ledger: Ledger) -> None:
    ledger.execute(TAKE)
    ledger.commit()


def by_text(ledger: Ledger) -> None:
    ledger.execute(TAKE)
    ledger.execute("COMMIT")


def by_with(ledger: Ledger) -> None:
    with ledger:
        ledger.execute(TAKE)


def by_transaction(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.execute(TAKE)


def by_script(ledger: Ledger) -> None:
    ledger.execute(f"BEGIN; {TAKE}; COMMIT")


def alone(ledger: Ledger) -> None:
    ledger.execute(TAKE)


def in_batch(ledger: Ledger) -> None:
    ledger.cursor().executemany(TAKE, [()])


def in_pipeline(ledger: Ledger) -> None:
    with ledger.pipeline():
        ledger.execute(TAKE)
        ledger.commit()


def in_stream(ledger: Ledger) -> None:
    list(ledger.cursor().stream(TAKE + " RETURNING state"))


def announced(ledger: Ledger) -> None:
    ledger.execute(f"DO $$ BEGIN {TAKE}; COMMIT; END $$")


@dataclass(frozen=True)
class Failure:
    """An injected error at a write, and what it leaves."""

    work: Callable[[Ledger], None]
    side: Literal["before", "after"]
    state: str
    autocommit: bool = False
    error: str = "^consuming input failed: " + LOST


CUT = {
    "commit()": Failure(by_method, "before", "issued"),
    "commit(), done": Failure(by_method, "after", "prepared"),
    "COMMIT": Failure(by_text, "before", "issued"),
    "COMMIT, done": Failure(by_text, "after", "prepared"),
    "with": Failure(by_with, "before", "issued"),
    "with, done": Failure(by_with, "after", "prepared"),
    "transaction()": Failure(by_transaction, "before", "issued"),
    "transaction(), done": Failure(by_transaction, "after", "prepared"),
    "script": Failure(by_script, "before", "issued", True),
    "script, done": Failure(by_script, "after", "prepared", True),
    "alone": Failure(alone, "before", "issued", True),
    "alone, done": Failure(alone, "after", "prepared", True),
    "batch": Failure(in_batch, "before", "issued", True, LEAVING),
    "batch, done": Failure(in_batch, "after", "prepared", True, LEAVING),
    "pipeline": Failure(in_pipeline, "before", "issued"),
    "pipeline, done": Failure(in_pipeline, "after", "prepared"),
    "stream": Failure(in_stream, "before", "issued", True),
    "stream, done": Failure(in_stream, "after", "prepared", True),
    "announced": Failure(announced, "before", "issued", True),
    "announced, done": Failure(announced, "after", "prepared", True),
}


@pytest.mark.parametrize("name", CUT)
def test_a_connection_lost_under_commit(notes: Notes, store: dict[str, Any], name: str) -> None:
    """The same error whether it was done or not: nobody can tell by it."""
    case = CUT[name]
    wish = sight.Raise("io")
    notes.answer = (f"write.{case.side}", wish)
    ledger = psycopg.connect(**store, autocommit=case.autocommit)
    with (
        sight.watched(),
        pytest.raises(psycopg.OperationalError, match=case.error) as caught,
    ):
        case.work(ledger)
    assert type(caught.value) is psycopg.OperationalError
    assert caught.value.sqlstate is None
    assert wish.fired
    assert ledger.closed
    assert ledger.broken
    with pytest.raises(psycopg.OperationalError, match="the connection is closed"):
        ledger.execute("SELECT 1")
    assert state(store) == case.state


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_connection_lost_under_an_awaited_commit(
    notes: Notes, store: dict[str, Any], side: str
) -> None:
    wish = sight.Raise("io")
    notes.answer = (f"write.{side}", wish)

    async def work() -> None:
        ledger = await psycopg.AsyncConnection.connect(**store)
        await ledger.execute(TAKE)
        with pytest.raises(psycopg.OperationalError, match=LOST):
            await ledger.commit()
        assert ledger.broken

    with sight.watched():
        asyncio.run(work())
    assert wish.fired
    assert state(store) == ("issued" if side == "before" else "prepared")


def test_the_injected_loss_is_the_real_one(
    notes: Notes, store: dict[str, Any], postgres: PostgresServer
) -> None:
    """The server's own process is killed under a COMMIT: compare what the client is told."""
    real = psycopg.connect(**store)
    real.execute(TAKE)
    assert postgres.kill_session("ledger")
    with pytest.raises(psycopg.OperationalError) as expected:
        real.commit()
    postgres.await_serving()
    notes.answer = ("write.before", sight.Raise("io"))
    ledger = psycopg.connect(**store)
    with sight.watched(), pytest.raises(psycopg.OperationalError) as injected:
        by_method(ledger)
    assert injected.value.args == expected.value.args
    assert (ledger.closed, ledger.broken) == (real.closed, real.broken)
    assert ledger.pgconn.status == real.pgconn.status


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("work", [by_method, by_transaction])
def test_read_committed_is_never_told_to_try_again(
    notes: Notes, store: dict[str, Any], work: Callable[[Ledger], None], side: str
) -> None:
    wish = sight.Raise("busy")
    notes.answer = (f"write.{side}", wish)
    with psycopg.connect(**store) as ledger, sight.watched():
        work(ledger)
    assert not wish.fired
    assert state(store) == "prepared"


SERIALIZABLE: dict[str, tuple[Callable[[Ledger], None], bool]] = {
    "commit()": (by_method, False),
    "transaction()": (by_transaction, False),
    "alone": (alone, True),
    "batch": (in_batch, True),
    "pipeline": (in_pipeline, False),
}


@pytest.mark.parametrize("name", SERIALIZABLE)
def test_a_serializable_one_is_told_to_try_again(
    notes: Notes, store: dict[str, Any], name: str
) -> None:
    work, autocommit = SERIALIZABLE[name]
    wish = sight.Raise("busy")
    notes.answer = ("write.before", wish)
    with psycopg.connect(**store, autocommit=autocommit) as ledger:
        ledger.execute("SET default_transaction_isolation = 'serializable'")
        ledger.commit()
        with sight.watched(), pytest.raises(psycopg.errors.SerializationFailure) as caught:
            work(ledger)
        assert caught.value.sqlstate == "40001"
        assert wish.fired
        assert ledger.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        assert state(store) == "issued"
        notes.answer = None
        with sight.watched():
            work(ledger)  # as one does
    assert state(store) == "prepared"


def test_a_refused_statement_aborts_its_transaction(notes: Notes, store: dict[str, Any]) -> None:
    wish = sight.Raise("busy")
    with psycopg.connect(**store) as ledger, sight.watched():
        ledger.execute("INSERT INTO slots VALUES ('new')")
        notes.answer = ("statement.before", wish)
        with pytest.raises(psycopg.errors.DeadlockDetected, match=r"^deadlock detected\n"):
            ledger.execute(TAKE)
        notes.answer = None
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            ledger.execute("SELECT 1")
        ledger.commit()  # which raises nothing
    assert wish.fired
    assert state(store) == "issued"


def test_what_stands_in_no_transaction_is_not_refused(notes: Notes, store: dict[str, Any]) -> None:
    wish = sight.Raise("busy")
    with psycopg.connect(**store, autocommit=True) as ledger, sight.watched():
        notes.answer = ("statement.before", wish)
        ledger.execute("SELECT 1")
        ledger.execute(TAKE)
    assert not wish.fired
    assert state(store) == "prepared"
