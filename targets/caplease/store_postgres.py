"""The PostgreSQL realization of the store: READ COMMITTED, and a row lock that orders each tree.

At READ COMMITTED every statement sees what was committed when it began, and one that waits for a
lock goes on with what it saw before the wait, but for the rows that it locks. So a lock is always
taken by a statement of its own, first the tree's and last the chain's, and what decides is read
after it. Two writers of different records meet at the chain alone.

SQLAlchemy writes the statements, once; the driver itself runs them, as over SQLite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from select import POLLIN, poll
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import namedtuple_row
from sqlalchemy import Dialect, Executable, Table, create_engine
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.schema import CreateIndex, CreateTable

from .schema import metadata
from .store import Found, Store, Transaction, compile_once

WAIT_S: Final = 2.0
"""The longest wait of an operation for others; a client that is less patient waits less."""

LOCKS: Final = 2
"""An operation waits twice at most: for its tree (Issue: for whoever inserts the same), and for
the chain."""

LOCK_TREE: Final = (
    # The root's row stands for the tree. A record never changes its root, so that it does not
    # matter from before which wait that is known.
    "SELECT nu FROM auth WHERE nu = (SELECT root FROM auth WHERE nu = %(nu)s) FOR UPDATE"
)
LOCK_AUDIT: Final = (
    # Not a lock on the table itself, which meets those of autovacuum.
    "SELECT pg_advisory_xact_lock('audit'::regclass::oid::bigint)"
)


class PostgresStore(Store):
    """One connection to one schema; a lost one is replaced when the next transaction begins."""

    begin_writing = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def __init__(self, url: str, schema: str, wait_s: float = WAIT_S) -> None:
        super().__init__()
        self._where = url, _settings(schema, min(wait_s, WAIT_S) / LOCKS)
        self._dialect = _dialect()
        self._driver = connect(*self._where)
        self._chain_held = False  # in the transaction that is open

    def insert_once(self, table: Table, values: Mapping[str, object]) -> bool:
        return self.run(_insert_once(table), **values) == 1

    def many(self, statement: Executable, rows: Sequence[Mapping[str, object]]) -> int:
        if len(rows) < 2:
            return sum(self.run(statement, **row) for row in rows)
        compiled = compile_once(statement, self._dialect)
        cursor = self._driver.cursor()
        cursor.executemany(compiled.text, [compiled.bind(row) for row in rows])
        return cursor.rowcount

    def lock_tree(self, nu: str) -> bool:
        return self._driver.execute(LOCK_TREE, {"nu": nu}).fetchone() is not None

    def lock_audit(self) -> None:
        if not self._chain_held:
            self._driver.execute(LOCK_AUDIT)
            self._chain_held = True

    def disconnect(self) -> None:
        self._driver.close()

    def _send(self, statement: Executable, values: Mapping[str, object]) -> psycopg.Cursor[Found]:
        compiled = compile_once(statement, self._dialect)
        return self._driver.execute(compiled.text, compiled.bind(values))

    def _begin(self, text: str) -> Transaction:
        if not _is_fit(self._driver):
            self._driver.close()
            self._driver = connect(*self._where)
        self._driver.execute(text)
        self._chain_held = False
        return _Open(self._driver)


class _Open:
    """An open transaction, ended by texts so that the server's answer to COMMIT is looked at."""

    def __init__(self, driver: psycopg.Connection[Found]) -> None:
        self._driver = driver

    def commit(self) -> None:
        answered = self._driver.execute("COMMIT").statusmessage
        if answered != "COMMIT":
            # So a server ends a transaction that an error has broken, and calls it no error.
            raise psycopg.errors.TransactionRollback(f"COMMIT was answered with {answered}")

    def rollback(self) -> None:
        """Also when the connection is lost: then the server does it by itself."""
        try:
            if not self._driver.closed:
                self._driver.execute("ROLLBACK")
        except psycopg.Error:
            self._driver.close()


def connect(url: str, settings: Mapping[str, object]) -> psycopg.Connection[Found]:
    """A connection that begins nothing by itself, with these settings of its session."""
    given = conninfo_to_dict(url).get("options") or ""
    options = " ".join([str(given), *(f"-c {name}={value}" for name, value in settings.items())])
    # The url goes on as it is: what it says of the client is for whoever watches the server.
    return psycopg.connect(url, autocommit=True, row_factory=namedtuple_row, options=options)


def create(url: str, schema: str) -> None:
    """Make an empty schema: all of it, or nothing."""
    with connect(url, {"search_path": schema}) as connection:
        connection.execute(f"CREATE SCHEMA {schema}; {_tables()}")


def drop(url: str, schema: str) -> None:
    """Remove a schema, if it is there."""
    with connect(url, {"lock_timeout": f"{WAIT_S:.0f}s"}) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def compile_all(statements: Sequence[Executable]) -> None:
    """Compile these, and what this store sends besides."""
    for statement in statements:
        compile_once(statement, _dialect())
    for table in metadata.tables.values():
        compile_once(_insert_once(table), _dialect())
    _tables()


def _is_fit(driver: psycopg.Connection[Found]) -> bool:
    """Whether a session may be used: it is not known to be lost, and the server, which owes it
    nothing, has not said anything. What it says to an idle session is that it ends."""
    if driver.closed:
        return False
    waiting = poll()
    waiting.register(driver.fileno(), POLLIN)
    return not waiting.poll(0)


def _settings(schema: str, lock_s: float) -> dict[str, object]:
    """Zero would be no limit. What is acknowledged is synced, whatever the server's default."""
    lock_ms = max(1, round(lock_s * 1000))
    return {"search_path": schema, "lock_timeout": lock_ms, "synchronous_commit": "on"}


@cache
def _dialect() -> Dialect:
    return create_engine("postgresql+psycopg://").dialect


@cache
def _tables() -> str:
    """The schema as one text, so that making it is one request."""
    made: list[str] = []
    for table in metadata.sorted_tables:
        made.append(str(CreateTable(table).compile(dialect=_dialect())))
        made += [
            str(CreateIndex(index).compile(dialect=_dialect()))
            for index in sorted(table.indexes, key=lambda index: str(index.name))
        ]
    return "; ".join(made)


@cache
def _insert_once(table: Table) -> Executable:
    return insert(table).on_conflict_do_nothing()
