"""The SQLite probe: every form's points, what a kill there leaves, and the driver unchanged."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from admitone.chaos.probes import sight
from tests import probe_forms, probe_trial
from tests.probe_trial import BEGIN, STATEMENT, WRITING, Found, Notes

FORMS = probe_forms.forms()


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    """All forms, run in a process that installs the probes before it imports the target."""
    return probe_trial.tried("tests.probe_forms", tmp_path_factory.mktemp("forms"))


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
def store(scratch: Path) -> Path:
    file = scratch / "ledger.db"
    made = sqlite3.connect(file)
    made.executescript(
        "CREATE TABLE slots (id PRIMARY KEY, state); INSERT INTO slots VALUES (1, 'issued');"
        "CREATE TABLE uses (slot REFERENCES slots DEFERRABLE INITIALLY DEFERRED)"
    )
    made.close()
    return file


def state(file: Path) -> str:
    reader = sqlite3.connect(file)
    [(found,)] = reader.execute("SELECT state FROM slots")
    reader.close()
    return str(found)


TAKE = "UPDATE slots SET state = 'prepared' WHERE id = 1 AND state = 'issued'"
REFUSED = "UPDATE slots SET state = 'prepared' WHERE id = 9"

QUIET: dict[str, tuple[list[str], list[str]]] = {
    "a read-only transaction": (
        ["BEGIN", "SELECT * FROM slots", "COMMIT"],
        [*BEGIN, *STATEMENT, *STATEMENT],
    ),
    "a refused transaction": (
        ["BEGIN IMMEDIATE", REFUSED, "COMMIT"],
        [*BEGIN, *STATEMENT, *STATEMENT],
    ),
    "a refused statement": ([REFUSED], STATEMENT),
    "a refused statement with RETURNING": ([REFUSED + " RETURNING id"], STATEMENT),
    "a transaction rolled back": (
        ["BEGIN", TAKE, "ROLLBACK"],
        [*BEGIN, *STATEMENT, *STATEMENT],
    ),
    "all taken back to a savepoint": (
        ["BEGIN", "SAVEPOINT a", TAKE, "ROLLBACK TO a", "RELEASE a", "END"],
        [*BEGIN, *STATEMENT * 5],
    ),
    "a table that exists": (["CREATE TABLE IF NOT EXISTS slots (x)"], STATEMENT),
    "a table that exists, begun": (
        ["BEGIN", "CREATE TABLE IF NOT EXISTS slots (x)", "COMMIT"],
        [*BEGIN, *STATEMENT, *STATEMENT],
    ),
    "a read": (["SELECT 'INSERT INTO x RETURNING', replace('a', 'b', 'c') -- UPDATE"], STATEMENT),
    "a read by WITH": (["WITH a AS (SELECT 1 AS n) SELECT replace(n, 1, 2) FROM a"], STATEMENT),
    "a temporary table": (["CREATE TEMP TABLE log (n)"], STATEMENT),
    "a setting": (["PRAGMA busy_timeout = 3"], STATEMENT),
}


@pytest.mark.parametrize("name", QUIET)
def test_no_durable_change_no_write(notes: Notes, store: Path, name: str) -> None:
    texts, points = QUIET[name]
    ledger = sqlite3.connect(store, isolation_level=None)
    with sight.watched():
        for text in texts:
            ledger.execute(text).fetchall()
    ledger.close()
    assert notes.points == points


def test_part_taken_back_to_a_savepoint_is_still_a_write(notes: Notes, store: Path) -> None:
    ledger = sqlite3.connect(store, isolation_level=None)
    with sight.watched():
        for text in ("BEGIN", TAKE, "SAVEPOINT a", "DELETE FROM slots", "ROLLBACK TO a", "END"):
            ledger.execute(text)
    ledger.close()
    assert notes.points[-4:] == WRITING


def test_rows_after_a_refused_batch_count_alone(notes: Notes, store: Path) -> None:
    ledger = sqlite3.connect(store, isolation_level=None)
    with sight.watched():
        ledger.executemany("UPDATE slots SET state = 'x' WHERE id = ?", [(9,), (1,), (9,)])
        ledger.executemany("UPDATE slots SET state = 'x' WHERE id = ?", [])
    ledger.close()
    assert notes.points == [*STATEMENT, *WRITING, *STATEMENT]


def test_a_commit_that_fails_is_announced_and_never_done(notes: Notes, store: Path) -> None:
    """Nobody can know it in advance, so the write has a *before*; it gets no *after*."""
    ledger = sqlite3.connect(store, isolation_level=None)
    ledger.execute("PRAGMA foreign_keys = 1")
    with sight.watched():
        ledger.execute("BEGIN")
        ledger.execute("INSERT INTO uses VALUES (9)")
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            ledger.execute("COMMIT")
        assert ledger.in_transaction
        ledger.execute("ROLLBACK")
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            ledger.execute("INSERT INTO uses VALUES (9)")
        assert not ledger.in_transaction
    ledger.close()
    failed = ["statement.before", "write.before", "statement.after"]
    assert notes.points == [*BEGIN, *STATEMENT, *failed, *STATEMENT, *failed]


def test_a_begin_that_fails_is_seen(notes: Notes, store: Path) -> None:
    holder = sqlite3.connect(store, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    ledger = sqlite3.connect(store, isolation_level="IMMEDIATE", timeout=0)
    with sight.watched(), pytest.raises(sqlite3.OperationalError, match="locked"):
        ledger.execute(TAKE)
    assert notes.points == BEGIN
    holder.close()
    ledger.close()


def test_nothing_is_said_while_nobody_watches(notes: Notes, store: Path) -> None:
    ledger = sqlite3.connect(store)
    ledger.execute(TAKE)
    ledger.commit()
    assert notes.points == []
    ledger.execute("UPDATE slots SET state = 'issued'")
    with sight.watched():
        ledger.commit()  # begun unwatched: the change still counts
    assert notes.points == WRITING
    ledger.close()


def test_uninstalling_gives_the_driver_back(scratch: Path) -> None:
    stock = (sqlite3.connect, sqlite3.Connection, sqlite3.Cursor, sqlite3.dbapi2.connect)
    sight.install(Notes())
    ledger = sqlite3.connect(scratch / "ledger.db")
    assert isinstance(ledger, stock[1])
    assert isinstance(ledger.cursor(), stock[2])
    assert type(ledger) is sqlite3.Connection
    assert repr(ledger).startswith("<sqlite3.Connection object")
    sight.install(Notes())  # twice is once
    sight.uninstall()
    assert (sqlite3.connect, sqlite3.Connection, sqlite3.Cursor, sqlite3.dbapi2.connect) == stock
    ledger.execute("CREATE TABLE t (n)")
    ledger.close()


# ---- Raise: the error, and the state that the real store leaves with it


@dataclass(frozen=True)
class Failure:
    """An injected error at a write and what it leaves."""

    end: Callable[[sqlite3.Connection], object]
    begin: bool
    side: Literal["before", "after"]
    error: Literal["busy", "io"]
    journal: str = "delete"
    fired: bool = True
    open: bool = False
    state: str = "issued"


def by_text(ledger: sqlite3.Connection) -> object:
    return ledger.execute("COMMIT")


def by_method(ledger: sqlite3.Connection) -> None:
    ledger.commit()


def by_with(ledger: sqlite3.Connection) -> None:
    with ledger:
        pass


def alone(ledger: sqlite3.Connection) -> object:
    return ledger.execute(TAKE)


def in_batch(ledger: sqlite3.Connection) -> object:
    return ledger.executemany(TAKE, [()])


def in_script(ledger: sqlite3.Connection) -> object:
    return ledger.executescript(TAKE)


def handed_out(ledger: sqlite3.Connection) -> object:
    return ledger.execute(TAKE + " RETURNING id").fetchall()


FAILURES = {
    "busy": Failure(by_text, True, "before", "busy", open=True),
    "busy, commit()": Failure(by_method, True, "before", "busy", open=True),
    "busy, with": Failure(by_with, True, "before", "busy"),
    "busy, never in WAL": Failure(
        by_text, True, "before", "busy", "wal", fired=False, state="prepared"
    ),
    "busy, never after": Failure(by_text, True, "after", "busy", fired=False, state="prepared"),
    "busy, alone": Failure(alone, False, "before", "busy"),
    "busy, alone in WAL": Failure(alone, False, "before", "busy", "wal"),
    "busy, batch": Failure(in_batch, False, "before", "busy"),
    "busy, script": Failure(in_script, False, "before", "busy"),
    "busy, not while handed out": Failure(
        handed_out, False, "before", "busy", fired=False, state="prepared"
    ),
    "io": Failure(by_text, True, "before", "io"),
    "io, commit() in WAL": Failure(by_method, True, "before", "io", "wal"),
    "io, done": Failure(by_text, True, "after", "io", state="prepared"),
    "io, with, done": Failure(by_with, True, "after", "io", state="prepared"),
    "io, alone": Failure(alone, False, "before", "io"),
    "io, alone, done": Failure(alone, False, "after", "io", state="prepared"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_error_leaves_what_the_store_leaves(notes: Notes, store: Path, name: str) -> None:
    case = FAILURES[name]
    ledger = sqlite3.connect(store, isolation_level=None)
    ledger.execute(f"PRAGMA journal_mode = {case.journal}")
    wish = sight.Raise(case.error)
    notes.answer = (f"write.{case.side}", wish)
    with sight.watched():
        if case.begin:
            ledger.execute("BEGIN IMMEDIATE")
            ledger.execute(TAKE)
        if case.fired:
            text = "database is locked" if case.error == "busy" else "disk I/O error"
            with pytest.raises(sqlite3.OperationalError, match=text) as caught:
                case.end(ledger)
            name = "SQLITE_BUSY" if case.error == "busy" else "SQLITE_IOERR_FSYNC"
            assert caught.value.sqlite_errorname == name
        else:
            case.end(ledger)
    assert wish.fired is case.fired
    assert ledger.in_transaction is case.open
    ledger.close()
    assert state(store) == case.state


def test_the_injected_busy_is_the_real_one(notes: Notes, store: Path) -> None:
    """A reader makes COMMIT busy, in a rollback journal: compare what that leaves."""
    reader = sqlite3.connect(store, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM slots").fetchall()
    ledger = sqlite3.connect(store, isolation_level=None, timeout=0)
    ledger.execute("BEGIN IMMEDIATE")
    ledger.execute(TAKE)
    with pytest.raises(sqlite3.OperationalError) as real:
        ledger.execute("COMMIT")
    assert ledger.in_transaction
    notes.answer = ("write.before", sight.Raise("busy"))
    with sight.watched(), pytest.raises(sqlite3.OperationalError) as injected:
        ledger.execute("COMMIT")
    assert ledger.in_transaction
    for name in ("args", "sqlite_errorcode", "sqlite_errorname"):
        assert getattr(injected.value, name) == getattr(real.value, name)
    ledger.close()
    reader.close()
