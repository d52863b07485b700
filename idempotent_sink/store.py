"""The sink's durable log: one SQLite file, written with synced commits.

Four tables. ``request`` is what came. ``applied`` is the world: one row is one effect, and rows
are never changed. ``record`` is what the sink remembers of its effects by key; in the idempotent
kind a key is unique there. ``meta`` holds the kind and the key that signs receipts.
``applied`` and ``record`` are two tables because they are two things: a real sink can stop
between them (FP7). Which of them share a transaction is decided in ``sink.py``.

A process keeps at most one connection to a file. With POSIX locks, closing a second one would
silently drop the locks of the first and let another writer in. For the same reason a store is
not used, and not closed, by a forked child.

``reset`` empties the tables for the next schedule; request and application numbers begin at 1
again. It was measured against its rivals (tmpfs, closing included): emptying 24 us, a new file
from template bytes 215 us, a new file by CREATE TABLE 480 us; one request costs about 100 us.
So a store is reused, and is made by plain SQL, which a kill cannot leave half done.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from ..targets.terms import Receipt
from .payload import Payload
from .protocol import Application, Log, Received, SinkKind

BUSY_MS: Final = 10_000

_META: Final = "CREATE TABLE meta (kind TEXT NOT NULL, receipt_key BLOB NOT NULL)"
_REQUEST: Final = """
CREATE TABLE request (
    number INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, kind TEXT NOT NULL, key TEXT,
    tool TEXT NOT NULL, args TEXT, digest TEXT, label TEXT, node TEXT NOT NULL, call INTEGER,
    problem TEXT NOT NULL
)"""
_APPLIED: Final = """
CREATE TABLE applied (
    application INTEGER PRIMARY KEY, request INTEGER NOT NULL, t_ns INTEGER NOT NULL, key TEXT,
    tool TEXT NOT NULL, digest TEXT NOT NULL, label TEXT
)"""
_RECORD: Final[dict[SinkKind, str]] = {
    "idempotent": """
CREATE TABLE record (application INTEGER PRIMARY KEY, key TEXT UNIQUE, mac TEXT NOT NULL)""",
    "control": """
CREATE TABLE record (application INTEGER PRIMARY KEY, key TEXT, mac TEXT NOT NULL)""",
}
_APPLICATIONS: Final = """
SELECT application, request, t_ns, applied.key, tool, digest, label, mac
FROM applied LEFT JOIN record USING (application)"""

_open_files: Final[set[tuple[int, int]]] = set()
_open_files_lock: Final = threading.Lock()


class StoreProblem(Exception):
    """This file cannot be used as the sink's store, here and now."""


class Store:
    """One open store. Thread-safe: a transaction holds the store until it ends."""

    def __init__(self, path: Path, kind: SinkKind, receipt_key: bytes | None = None) -> None:
        """Open the store, and make it if the file is not there.

        ``receipt_key`` None: the one that the store has, a random one for a new store.
        """
        if kind not in _RECORD:
            raise StoreProblem(f"there is no sink of kind {kind!r}")
        self.path = path
        self.kind: SinkKind = kind
        self._lock = threading.RLock()
        self._pid = os.getpid()
        with _open_files_lock:
            if _file_id(path) in _open_files:
                raise StoreProblem(f"{path.name} is already open in this process")
            self._db = _connect(path)
            try:
                self.receipt_key = self._deploy(receipt_key)
            except BaseException:
                self._db.close()
                raise
            self._file = _file_id(path)
            if self._file is not None:
                _open_files.add(self._file)

    def _deploy(self, receipt_key: bytes | None) -> bytes:
        try:
            with self.transaction():
                if not self._db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                    for table in (_META, _REQUEST, _APPLIED, _RECORD[self.kind]):
                        self._db.execute(table)
                    self._db.execute(
                        "INSERT INTO meta VALUES (?, ?)",
                        (self.kind, receipt_key or secrets.token_bytes(32)),
                    )
                row = self._db.execute("SELECT kind, receipt_key FROM meta").fetchone()
        except sqlite3.Error as problem:
            raise StoreProblem(f"{self.path.name} cannot be used as a store: {problem}") from None
        if row is None or row[0] != self.kind:
            raise StoreProblem(f"{self.path.name} is no store of a sink of kind {self.kind}")
        if receipt_key is not None and row[1] != receipt_key:
            raise StoreProblem(f"{self.path.name} signs its receipts with another key")
        return bytes(row[1])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside becomes durable together when it ends, or nothing does."""
        with self._hold():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def add_request(
        self,
        payload: Payload,
        t_ns: int,
        kind: Literal["effect", "lookup"],
        node: str,
        call: int | None,
    ) -> Received:
        """Log a request."""
        row = (
            t_ns,
            kind,
            payload.key,
            payload.tool,
            payload.args_json,
            payload.digest,
            payload.label,
            node,
            call,
            payload.problem,
        )
        number = self._insert("INSERT INTO request VALUES (NULL,?,?,?,?,?,?,?,?,?,?)", row)
        return Received(number, *row)

    def add_application(self, received: Received, digest: str, t_ns: int) -> int:
        """Cause the effect: from the end of this transaction on it stands applied."""
        row = (received.number, t_ns, received.key, received.tool, digest, received.label)
        return self._insert("INSERT INTO applied VALUES (NULL,?,?,?,?,?,?)", row)

    def add_record(self, application: int, receipt: Receipt) -> None:
        """Remember the effect under its key."""
        row = (application, receipt.key, receipt.mac)
        self._insert("INSERT INTO record VALUES (?,?,?)", row)

    def receipt_for(self, key: str) -> Receipt | None:
        """The receipt that is remembered under a key."""
        row = self._db.execute(
            "SELECT record.key, tool, digest, application, mac"
            " FROM record JOIN applied USING (application) WHERE record.key = ?",
            (key,),
        ).fetchone()
        return None if row is None else Receipt(*row)

    def log(self) -> Log:
        """Both logs, read at one instant."""
        with self._hold():
            inside = self._db.in_transaction  # the holder of the gap may look around
            if not inside:
                self._db.execute("BEGIN")
            try:
                return Log(self.requests(), self.applications())
            finally:
                if not inside:
                    self._db.execute("COMMIT")

    def requests(self) -> tuple[Received, ...]:
        """The request log in order."""
        with self._hold():
            rows = self._db.execute("SELECT * FROM request ORDER BY number").fetchall()
        return tuple(Received(*row) for row in rows)

    def applications(self, label: str | None = None) -> tuple[Application, ...]:
        """All effects in order, or those under one label."""
        with self._hold():
            rows = self._db.execute(
                f"{_APPLICATIONS} WHERE ?1 IS NULL OR label = ?1 ORDER BY application", (label,)
            ).fetchall()
        return tuple(_application(*row) for row in rows)

    def count(self, table: Literal["request", "applied"]) -> int:
        """How many rows a log has."""
        with self._hold():
            counted = self._db.execute(f"SELECT count(*) FROM {table}")  # noqa: S608  # a Literal
            (number,) = counted.fetchone()
        return int(number)

    def reset(self) -> None:
        """Forget everything but the kind and the receipt key."""
        with self.transaction():
            for table in ("request", "applied", "record"):
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608  # names from above

    def close(self) -> None:
        """Close the file. A forked child only forgets it: it is the parent's to close."""
        if os.getpid() != self._pid:
            return
        with self._lock, _open_files_lock:
            self._db.close()
            if self._file is not None:
                _open_files.discard(self._file)
                self._file = None  # the next file may get the same number

    @contextmanager
    def _hold(self) -> Iterator[None]:
        with self._lock:
            if os.getpid() != self._pid:
                raise StoreProblem("the store was opened before a fork, by the parent")
            yield

    def _insert(self, statement: str, row: tuple[object, ...]) -> int:
        return self._db.execute(statement, row).lastrowid or 0  # rows are numbered from 1


def _connect(path: Path) -> sqlite3.Connection:
    try:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            _prepare(db)
        except BaseException:
            db.close()
            raise
    except (sqlite3.Error, StoreProblem) as problem:
        raise StoreProblem(f"{path.name} cannot be used as a store: {problem}") from None
    return db


def _prepare(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if tables and not tables >= {"meta", "request", "applied", "record"}:
        raise StoreProblem("it is a database of something else")  # and stays as it is
    (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":  # with a rollback journal a synced commit may not survive a power cut
        raise StoreProblem("SQLite cannot keep a write-ahead log there")
    db.execute("PRAGMA synchronous = FULL")


def _file_id(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _application(
    number: int,
    request: int,
    t_ns: int,
    key: str | None,
    tool: str,
    digest: str,
    label: str | None,
    mac: str | None,
) -> Application:
    receipt = None if mac is None else Receipt(key, tool, digest, number, mac)
    return Application(number, request, t_ns, key, tool, digest, label, receipt)
