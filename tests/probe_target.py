"""The forms of a durable write in SQLite, written as a ledger would: it knows of no probes.

It is imported after the probes were installed, and binds names early. Each function is given a
connection to a file with the table ``uses (n)`` and leaves one row or more in it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from sqlite3 import Connection, Cursor, connect
from typing import Any

INSERT = "INSERT INTO uses VALUES (1)"
RETURNING = "INSERT INTO uses VALUES (1), (2) RETURNING n"


def file_of(connection: Connection) -> str:
    [(_, _, file)] = connection.execute("PRAGMA database_list")
    return str(file)


def commit(connection: Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(INSERT)
    connection.commit()


def text(end: str) -> Callable[[Connection], None]:
    def run(connection: Connection) -> None:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO uses VALUES (?)", (1,))
        connection.execute(end)

    return run


def through_cursor(connection: Connection) -> None:
    cursor = connection.cursor()
    assert cursor.execute("BEGIN") is cursor
    cursor.execute("INSERT INTO uses VALUES (:n)", {"n": 1})
    assert cursor.rowcount == 1
    cursor.execute("COMMIT")


def with_connection(connection: Connection) -> None:
    with connection as entered:
        assert entered is connection
        connection.execute(INSERT)


def with_begun(connection: Connection) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(INSERT)


def implicit(connection: Connection) -> None:
    connection.execute(INSERT)
    assert connection.in_transaction
    connection.commit()


def implicit_many(connection: Connection) -> None:
    cursor = connection.executemany("INSERT INTO uses VALUES (?)", iter([(1,), (2,)]))
    assert cursor.rowcount == 2
    connection.commit()


def savepoints(connection: Connection) -> None:
    connection.execute("SAVEPOINT outer")
    connection.execute(INSERT)
    connection.execute('SAVEPOINT "inner"')
    connection.execute(INSERT)
    connection.execute("RELEASE Inner")
    connection.execute("RELEASE SAVEPOINT [outer]")


def script(connection: Connection) -> None:
    cursor = connection.executescript(
        "BEGIN; -- a comment; with a semicolon\n INSERT INTO uses VALUES (';'); COMMIT;"
        " CREATE TABLE IF NOT EXISTS uses (n); INSERT INTO uses VALUES (2) /* end */"
    )
    assert isinstance(cursor, sqlite3.Cursor)


def script_commits_first(connection: Connection) -> None:
    connection.execute(INSERT)
    connection.cursor().executescript("SELECT * FROM uses")


def insert(connection: Connection) -> None:
    cursor = connection.execute(INSERT)
    assert (cursor.rowcount, cursor.lastrowid) == (1, 1)
    assert not connection.in_transaction


def insert_with(connection: Connection) -> None:
    """Python opens no transaction before it, not even in the legacy mode."""
    connection.execute("WITH one(n) AS (SELECT 1) INSERT INTO uses SELECT n FROM one")
    assert not connection.in_transaction


def many(connection: Connection) -> None:
    assert connection.executemany("INSERT INTO uses VALUES (?)", [(1,), (2,)]).rowcount == 2


def cursor_insert(connection: Connection) -> None:
    connection.cursor().execute(INSERT)


def leaves_isolation(connection: Connection) -> None:
    connection.execute(INSERT)
    connection.isolation_level = None
    assert connection.isolation_level is None
    assert not connection.in_transaction


def sets_autocommit(connection: Any) -> None:
    connection.execute(INSERT)
    connection.autocommit = True
    assert connection.autocommit is True


def returning_all(connection: Connection) -> None:
    assert connection.execute(RETURNING).fetchall() == [(1,), (2,)]


def returning_iterated(connection: Connection) -> None:
    assert [n for (n,) in connection.execute(RETURNING)] == [1, 2]


def returning_one_by_one(connection: Connection) -> None:
    cursor = connection.execute(RETURNING)
    assert [cursor.fetchone() for _ in range(3)] == [(1,), (2,), None]


def returning_many(connection: Connection) -> None:
    assert connection.execute(RETURNING).fetchmany(size=3) == [(1,), (2,)]


def returning_closed(connection: Connection) -> None:
    cursor = connection.execute(RETURNING)
    cursor.fetchone()
    cursor.close()


def returning_dropped(connection: Connection) -> None:
    connection.execute(RETURNING)


def returning_reused(connection: Connection) -> None:
    cursor = connection.cursor()
    cursor.execute(RETURNING)
    cursor.execute(INSERT)


def returning_begun(connection: Connection) -> None:
    connection.execute("BEGIN")
    connection.execute(RETURNING).fetchall()
    connection.commit()


def in_thread(connection: Connection) -> None:
    def work(file: str) -> None:
        with_begun(own := connect(file, isolation_level=None))
        own.close()

    thread = threading.Thread(target=work, args=(file_of(connection),))
    thread.start()
    thread.join()


def bound_early(connection: Connection) -> None:
    own = connect(file_of(connection), timeout=5.0, isolation_level=None)
    own.execute(INSERT)
    own.close()


def called_class(connection: Connection) -> None:
    own = Connection(file_of(connection), isolation_level=None)
    own.execute(INSERT)
    own.close()


class OwnConnection(Connection):
    """A ledger's own: it overrides what the driver calls, and what it does not."""

    def execute(self, sql: str, *parameters: Any) -> Cursor:
        return super().execute(sql.replace("USE", INSERT), *parameters)

    def commit(self) -> None:
        super().execute("COMMIT")


def own_factory(connection: Connection) -> None:
    own = connect(file_of(connection), isolation_level=None, factory=OwnConnection)
    assert type(own) is OwnConnection
    own.execute("BEGIN")
    own.execute("USE")
    own.commit()
    own.close()


class OwnCursor(Cursor):
    note = ""

    def use(self) -> None:
        self.execute(INSERT)


def own_cursor(connection: Connection) -> None:
    cursor = connection.cursor(OwnCursor)
    assert type(cursor) is OwnCursor
    cursor.use()


def returning_own_cursor(connection: Connection) -> None:
    cursor = connection.cursor(OwnCursor)
    cursor.note = "its own attributes stay"
    cursor.execute(RETURNING)
    assert isinstance(cursor, OwnCursor)
    assert cursor.fetchall() == [(1,), (2,)]
    assert type(cursor) is OwnCursor
    assert cursor.note == "its own attributes stay"


def called_cursor(connection: Connection) -> None:
    Cursor(connection).execute(INSERT)


def traced(connection: Connection) -> None:
    seen: list[str] = []
    connection.set_trace_callback(seen.append)
    connection.execute(INSERT)
    connection.commit()
    connection.isolation_level = None
    assert seen == ["BEGIN ", INSERT, "COMMIT"]


def with_trigger(connection: Connection) -> None:
    connection.execute("CREATE TEMP TABLE log (n)")
    connection.execute(
        "CREATE TEMP TRIGGER t AFTER INSERT ON uses BEGIN INSERT INTO log VALUES (new.n); END"
    )
    with_connection(connection)


def or_fail(connection: Connection) -> None:
    """The row before the failing one stays, without any transaction."""
    with suppress(sqlite3.IntegrityError):
        connection.execute("INSERT OR FAIL INTO uses VALUES (1), (NULL)")


def ddl(connection: Connection) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS more (n)")


def ddl_begun(connection: Connection) -> None:
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE IF NOT EXISTS more (n)")
    connection.commit()
