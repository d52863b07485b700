"""The SQLite realization of the store: write-ahead log, synced commits, writers one at a time.

``BEGIN IMMEDIATE`` takes the write lock before anything is read, so that no decision rests on a
state that another writer is about to change.

SQLAlchemy makes the schema and writes the statements, once; the driver itself runs them. A client
lives for milliseconds, and pool, connection and result objects of an engine would be a third of
all that its process does.
"""

from __future__ import annotations

import os
import sqlite3
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Dialect, Executable, NullPool, Select, Table, create_engine
from sqlalchemy.dialects.sqlite import insert

from .chain import HEAD
from .schema import metadata
from .store import Found, Store, Transaction, compile_once

WAIT_S: Final = 2.0
"""The longest wait for the write lock; a client that is less patient waits less."""

PAGE_BYTES: Final = 1024
"""Rows are short: what a transaction changes fits small pages, and they are what is synced."""


class SqliteStore(Store):
    """One connection to one database file."""

    begin_writing = "BEGIN IMMEDIATE"

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._driver = connection
        self._dialect = _dialect()

    def insert_once(self, table: Table, values: Mapping[str, object]) -> bool:
        return self.run(_insert_once(table), **values) == 1

    def many(self, statement: Executable, rows: Sequence[Mapping[str, object]]) -> int:
        compiled = compile_once(statement, self._dialect)
        bound = [compiled.bind(row) for row in rows]
        return self._driver.executemany(compiled.text, bound).rowcount if bound else 0

    def disconnect(self) -> None:
        self._driver.close()

    def _send(self, statement: Executable, values: Mapping[str, object]) -> sqlite3.Cursor:
        compiled = compile_once(statement, self._dialect)
        cursor = self._driver.cursor()
        cursor.row_factory = _row_maker(statement)
        return cursor.execute(compiled.text, compiled.bind(values))

    def _begin(self, text: str) -> Transaction:
        self._driver.execute(text)
        return self._driver


@cache
def _dialect() -> Dialect:
    return create_engine("sqlite://").dialect


@cache
def _row_maker(statement: Executable) -> Callable[[sqlite3.Cursor, Sequence[object]], Found] | None:
    """What makes named tuples of this statement's rows; None where it has none."""
    if not isinstance(statement, Select):
        return None
    columns = statement.selected_columns.keys()
    kind: Any = namedtuple("Row", columns)  # type: ignore[misc]  # known at run time only
    return lambda _, row: kind._make(row)


def connect(
    path: Path, wait_s: float = WAIT_S, kind: type[SqliteStore] = SqliteStore
) -> SqliteStore:
    """Open one client of the database at ``path``."""
    store = kind(_connect(path, min(wait_s, WAIT_S)))
    with store.reading():
        store.one(HEAD)
    _sync_log(path)
    return store


def _sync_log(path: Path) -> None:
    """Make durable what a writer left that was killed between its write and its sync.

    Such frames are found when the log is first read after it, and count from then on. An answer
    that rests on them (the same admission again, say) must not be lost in a power cut.
    """
    with suppress(FileNotFoundError):  # nobody has written since the log was last removed
        log = os.open(f"{path}-wal", os.O_RDONLY)
        try:
            os.fsync(log)
        finally:
            os.close(log)


def create(path: Path) -> None:
    """Make the empty database; the journal mode stays with the file."""
    engine = create_engine("sqlite://", creator=lambda: _connect(path, WAIT_S), poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"PRAGMA page_size={PAGE_BYTES}")
        connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        metadata.create_all(connection)
        connection.commit()


def _connect(path: Path, wait_s: float) -> sqlite3.Connection:
    # isolation_level=None: the driver begins nothing by itself, the store does.
    connection = sqlite3.connect(
        path, timeout=wait_s, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous=FULL")
    return connection


@cache
def _insert_once(table: Table) -> Executable:
    return insert(table).on_conflict_do_nothing()
