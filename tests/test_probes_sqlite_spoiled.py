"""A change inside a SQLite transaction that fails with an I/O error: all of it is gone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from admitone.chaos.probes import sight
from tests.probe_trial import Notes

TAKE = "UPDATE slots SET state = 'prepared' WHERE id = 1"
NOTE = "INSERT INTO audit VALUES ('prepare')"


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
        "CREATE TABLE audit (op)"
    )
    made.close()
    return file


def held(file: Path) -> tuple[str, int]:
    reader = sqlite3.connect(file)
    found: tuple[str, int] = reader.execute(
        "SELECT state, (SELECT count(*) FROM audit) FROM slots"
    ).fetchone()
    reader.close()
    return found


@pytest.mark.parametrize("begin", ["BEGIN IMMEDIATE", "BEGIN", ""])
def test_the_change_and_what_came_before_it_are_gone(notes: Notes, store: Path, begin: str) -> None:
    ledger = sqlite3.connect(store, isolation_level=None if begin else "DEFERRED")
    wish = sight.Raise("io")
    with sight.watched():
        if begin:
            ledger.execute(begin)
        ledger.execute(TAKE)
        notes.answer = ("statement.before", wish)
        with pytest.raises(sqlite3.OperationalError, match="disk I/O error") as caught:
            ledger.execute(NOTE)
        notes.answer = None
        assert not ledger.in_transaction
        ledger.commit()  # of nothing: it raises nothing
    assert wish.fired
    assert caught.value.sqlite_errorname == "SQLITE_IOERR_WRITE"
    ledger.close()
    assert held(store) == ("issued", 0)


def test_the_first_change_of_a_transaction_of_the_drivers_is_gone(
    notes: Notes, store: Path
) -> None:
    ledger = sqlite3.connect(store)
    wish = sight.Raise("io")
    notes.answer = ("statement.before", wish)
    with sight.watched(), pytest.raises(sqlite3.OperationalError, match="disk I/O error"):
        ledger.execute(TAKE)
    assert wish.fired
    assert not ledger.in_transaction
    ledger.close()
    assert held(store) == ("issued", 0)


@pytest.mark.parametrize(
    ("error", "statement"),
    [("busy", NOTE), ("io", "SELECT * FROM slots"), ("io", "PRAGMA foreign_keys")],
)
def test_nothing_fails_that_the_store_would_not_fail_so(
    notes: Notes, store: Path, error: str, statement: str
) -> None:
    """Who has the write lock is not told that it is busy; who reads takes nothing back."""
    ledger = sqlite3.connect(store, isolation_level=None)
    wish = sight.Raise("busy" if error == "busy" else "io")
    with sight.watched():
        ledger.execute("BEGIN IMMEDIATE")
        ledger.execute(TAKE)
        notes.answer = ("statement.before", wish)
        ledger.execute(statement)
        notes.answer = None
        assert ledger.in_transaction
        ledger.execute("COMMIT")
    assert not wish.fired
    ledger.close()
    assert held(store)[0] == "prepared"


def test_the_injected_loss_is_the_real_one(store: Path) -> None:
    """A file that may not grow: the transaction is gone with the statement that needed a page."""
    ledger = sqlite3.connect(store, isolation_level=None)
    pages = ledger.execute("PRAGMA page_count").fetchone()[0]
    ledger.execute(f"PRAGMA max_page_count = {pages}")
    ledger.execute("BEGIN IMMEDIATE")
    ledger.execute(TAKE)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        ledger.execute("INSERT INTO audit VALUES (zeroblob(100000))")
    assert not ledger.in_transaction
    ledger.commit()
    ledger.close()
    assert held(store) == ("issued", 0)
