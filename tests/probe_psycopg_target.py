"""The forms of a durable write in PostgreSQL, written as a ledger would: it knows of no probes.

It binds names early, before the driver is probed. Each function is given a connection whose schema
has the table ``uses (n)``, and leaves one row or more in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import ClientCursor, Connection, Cursor, connect, sql
from psycopg.rows import dict_row

Pg = Connection[Any]

INSERT = "INSERT INTO uses VALUES (1)"
SCHEMA = """
CREATE TABLE uses (n int NOT NULL);
CREATE TABLE parents (id int PRIMARY KEY);
CREATE TABLE children (id int REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
CREATE FUNCTION put() RETURNS int LANGUAGE sql AS 'INSERT INTO uses VALUES (1) RETURNING n';
CREATE FUNCTION look() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM uses';
CREATE PROCEDURE puts() LANGUAGE plpgsql AS 'BEGIN INSERT INTO uses VALUES (1); END';
CREATE PROCEDURE commits() LANGUAGE plpgsql AS 'BEGIN INSERT INTO uses VALUES (1); COMMIT; END';
"""


def insert(connection: Pg) -> None:
    assert connection.execute(INSERT).rowcount == 1


def commit(connection: Pg) -> None:
    insert(connection)
    connection.commit()


def rolled_back(connection: Pg) -> None:
    insert(connection)
    connection.rollback()


def text(*statements: str) -> Callable[[Pg], None]:
    def run(connection: Pg) -> None:
        for statement in statements:
            connection.execute(statement.encode())

    return run


def with_connection(connection: Pg) -> None:
    with connection:
        insert(connection)
    assert connection.closed


def transaction(connection: Pg) -> None:
    with connection.transaction():
        insert(connection)


def nested(connection: Pg) -> None:
    with connection.transaction():
        insert(connection)
        with connection.transaction():
            insert(connection)


def nested_rolled_back(connection: Pg) -> None:
    """The inner block alone changed something, and it was taken back."""
    with connection.transaction(), connection.transaction(force_rollback=True):
        insert(connection)


def within(connection: Pg) -> None:
    """Inside the driver's own transaction, ``transaction()`` is but a savepoint."""
    insert(connection)
    with connection.transaction():
        insert(connection)
    connection.commit()


def parameters(connection: Pg) -> None:
    cursor = connection.cursor(binary=True)
    assert cursor.execute("INSERT INTO uses VALUES (%s) RETURNING n", (1,)).fetchone() == (1,)
    assert cursor.statusmessage == "INSERT 0 1"
    connection.commit()


def prepared(connection: Pg) -> None:
    for n in range(2):
        connection.execute("INSERT INTO uses VALUES (%s)", (n,), prepare=True)
    connection.commit()


def many(connection: Pg) -> None:
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO uses VALUES (%s)", [(1,), (2,)])
    assert cursor.rowcount == 2
    connection.commit()


def many_returning(connection: Pg) -> None:
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO uses VALUES (%s) RETURNING n", [(1,), (2,)], returning=True)
    assert cursor.fetchone() == (1,)
    assert cursor.nextset()
    assert cursor.fetchone() == (2,)
    connection.commit()


def script(connection: Pg) -> None:
    cursor = connection.execute(
        "BEGIN; -- a comment; with a semicolon\n INSERT INTO uses VALUES (1); SELECT $x$;$x$;"
        " COMMIT; INSERT INTO uses VALUES (2) /* end; */;"
    )
    seen = [cursor.statusmessage]
    while cursor.nextset():
        seen.append(cursor.statusmessage)
    assert seen == ["BEGIN", "INSERT 0 1", "SELECT 1", "COMMIT", "INSERT 0 1"]


def script_alone(connection: Pg) -> None:
    """To the server it is one transaction."""
    connection.execute("INSERT INTO uses VALUES (1); INSERT INTO uses VALUES (2)")


def script_fails(connection: Pg) -> None:
    with suppress(psycopg.errors.NotNullViolation):
        connection.execute("INSERT INTO uses VALUES (1); INSERT INTO uses VALUES (NULL)")
    insert(connection)


def client_cursor(connection: Pg) -> None:
    ClientCursor(connection).execute("INSERT INTO uses VALUES (%s)", ("1",))
    connection.commit()


def server_cursor(connection: Pg) -> None:
    insert(connection)
    with connection.cursor("page") as cursor:
        cursor.execute("SELECT n FROM uses")
        assert cursor.fetchall() == [(1,)]
    connection.commit()


def stream(connection: Pg) -> None:
    rows = connection.cursor().stream("INSERT INTO uses VALUES (1), (2) RETURNING n")
    assert list(rows) == [(1,), (2,)]
    connection.commit()


def stream_left(connection: Pg) -> None:
    """The consumer leaves after one row: the driver cancels, or the statement is done already."""
    rows = connection.cursor().stream("INSERT INTO uses VALUES (1), (2) RETURNING n")
    next(rows)
    rows.close()  # type: ignore[attr-defined]  # it is a generator
    connection.commit()


def copied(connection: Pg) -> None:
    with connection.cursor() as cursor:
        with cursor.copy("COPY uses FROM STDIN") as copy:
            copy.write_row((1,))
            copy.write_row((2,))
        assert cursor.rowcount == 2
    connection.commit()


def copied_out(connection: Pg) -> None:
    insert(connection)
    with connection.cursor().copy("COPY uses TO STDOUT") as copy:
        assert list(copy.rows()) == [("1",)]
    connection.commit()


def copy_broken_off(connection: Pg) -> None:
    with suppress(KeyError), connection.cursor().copy("COPY uses FROM STDIN") as copy:
        copy.write_row((1,))
        raise KeyError
    assert connection.closed is False
    connection.rollback()
    commit(connection)


def pipeline(connection: Pg) -> None:
    with connection.pipeline():
        first = connection.execute(INSERT)
        connection.execute("SELECT * FROM uses")
        assert first.rowcount == 1
        connection.commit()


def pipeline_alone(connection: Pg) -> None:
    """Outside a transaction a pipeline is one of its own, up to the next Sync."""
    with connection.pipeline() as piped:
        connection.execute(INSERT)
        piped.sync()
        connection.execute("SELECT n FROM uses")
        connection.execute(INSERT)


def pipeline_before_transaction(connection: Pg) -> None:
    """What was done before the block is not taken back with it."""
    with connection.pipeline():
        connection.execute(INSERT)
        with connection.transaction(force_rollback=True):
            connection.execute(INSERT)


def pipeline_committed(connection: Pg) -> None:
    """``commit()`` also ends what a pipeline did outside of any block."""
    with connection.pipeline():
        connection.execute(INSERT)
        connection.commit()
        connection.execute("SELECT n FROM uses")


def pipeline_function(connection: Pg) -> None:
    with connection.pipeline():
        connection.execute("SELECT look()")
        connection.execute("SELECT put()")


def pipeline_reads(connection: Pg) -> None:
    with connection.pipeline():
        connection.execute("SELECT look()")
        connection.execute("UPDATE uses SET n = 2 WHERE n = 9")


def pipeline_transaction(connection: Pg) -> None:
    with connection.pipeline(), connection.transaction():
        connection.execute(INSERT)


def two_phases(connection: Pg) -> None:
    connection.tpc_begin(_unique(connection))
    insert(connection)
    connection.tpc_prepare()
    connection.tpc_commit()


def two_phases_by_text(connection: Pg) -> None:
    name = _unique(connection)
    text("BEGIN", INSERT, f"PREPARE TRANSACTION '{name}'", f"COMMIT PREPARED '{name}'")(connection)


def _unique(connection: Pg) -> str:
    """Transactions are prepared under one name in the whole server."""
    return f"use-{connection.info.backend_pid}"


def chained(connection: Pg) -> None:
    text("BEGIN", INSERT, "COMMIT AND CHAIN", INSERT, "COMMIT")(connection)


def composed(connection: Pg) -> None:
    connection.execute(sql.SQL("INSERT INTO {} VALUES (1)").format(sql.Identifier("uses")))
    connection.commit()


def in_thread(connection: Pg) -> None:
    thread = threading.Thread(target=commit, args=(connection,))
    thread.start()
    thread.join()


class OwnConnection(Connection[Any]):
    """A ledger's own: it overrides what the driver has."""

    def commit(self) -> None:
        super().execute("SELECT 'mine'")
        super().commit()


class OwnCursor(Cursor[Any]):
    def use(self) -> None:
        self.execute(INSERT)


def _again(connection: Pg, connects: Any, **named: Any) -> Any:
    options = connection.execute("SHOW search_path").fetchone()
    connection.rollback()
    assert options is not None
    path = f"-csearch_path={options[0]}"
    return connects(connection.info.dsn, options=path, **named)


def own_class(connection: Pg) -> None:
    own = _again(connection, OwnConnection.connect, row_factory=dict_row, cursor_factory=OwnCursor)
    cursor = own.cursor()
    assert type(cursor) is OwnCursor
    cursor.use()
    own.commit()
    own.close()


def bound_early(connection: Pg) -> None:
    with _again(connection, connect) as own:
        own.execute(INSERT)


def deferred(connection: Pg) -> None:
    """A COMMIT, and a statement alone, that a deferred constraint lets fail."""
    with suppress(psycopg.errors.ForeignKeyViolation):
        connection.execute("INSERT INTO children VALUES (9)")
        connection.commit()
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    commit(connection)


def aborted(connection: Pg) -> None:
    """COMMIT of an aborted transaction answers ROLLBACK, and psycopg raises nothing."""
    insert(connection)
    with suppress(psycopg.errors.UndefinedTable):
        connection.execute("INSERT INTO nowhere VALUES (1)")
    connection.commit()


def aborted_pipeline(connection: Pg) -> None:
    with suppress(psycopg.Error), connection.pipeline():
        connection.execute(INSERT)
        connection.execute("INSERT INTO nowhere VALUES (1)")
        connection.commit()
    connection.commit()
