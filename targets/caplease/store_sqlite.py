"""The SQLite realization of the store: write-ahead log, synced commits, writers one at a time.

``BEGIN IMMEDIATE`` takes the write lock before anything is read, so that no decision rests on a
state that another writer is about to change. The engine is made once in a process, without a
connection; each client opens one of its own, after the fork.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, Executable, NullPool, Table, create_engine
from sqlalchemy.dialects.sqlite import insert

from .chain import HEAD
from .schema import metadata
from .store import Store

_opening = threading.local()

WAIT_S: Final = 2.0
"""The longest wait for the write lock; a client that is less patient waits less."""


class SqliteStore(Store):
    """One connection to one database file."""

    begin_writing = "BEGIN IMMEDIATE"
    begin_reading = "BEGIN"

    def insert_once(self, table: Table, values: Mapping[str, object]) -> bool:
        return self.run(_insert_once(table), **values) == 1


@cache
def engine() -> Engine:
    """The process's engine. It keeps no connection: a client's is closed when the client goes."""
    return create_engine("sqlite://", creator=_connect, poolclass=NullPool)


def connect(
    path: Path, wait_s: float = WAIT_S, kind: type[SqliteStore] = SqliteStore
) -> SqliteStore:
    """Open one client of the database at ``path``."""
    _opening.path, _opening.wait_s = path, min(wait_s, WAIT_S)
    store = kind(engine().connect())
    with store.reading():
        store.one(HEAD)
    _sync_log(path)
    return store


def _sync_log(path: Path) -> None:
    """Make durable what a writer left that was killed between its write and its sync.

    Such frames are found when the log is first read after it, and count from then on. An answer
    that rests on them (the same admission again, say) must not be lost in a power cut.
    """
    with suppress(FileNotFoundError):
        log = os.open(f"{path}-wal", os.O_RDONLY)
        try:
            os.fsync(log)
        finally:
            os.close(log)


def create(path: Path) -> None:
    """Make the empty database; the journal mode stays with the file."""
    _opening.path, _opening.wait_s = path, WAIT_S
    with engine().connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        metadata.create_all(connection)
        connection.commit()


def _connect() -> sqlite3.Connection:
    # isolation_level=None: the driver begins nothing by itself, the store does.
    connection = sqlite3.connect(
        _opening.path, timeout=_opening.wait_s, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous=FULL")
    return connection


@cache
def _insert_once(table: Table) -> Executable:
    return insert(table).on_conflict_do_nothing()
