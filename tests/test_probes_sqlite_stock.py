"""Programs that a probed ``sqlite3`` must run exactly as the stock one does.

Each is run twice, on equal stores; results, exceptions, rows and the open transaction are equal.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from admitone.chaos.probes import sight, statements

Program = Callable[[Any], object]


class Nobody:
    def point(self, kind: str, side: str, text: str) -> None: ...


def failing_rows() -> Iterator[tuple[int]]:
    yield (1,)
    raise LookupError("no more")


def batch_that_fails(ledger: Any) -> object:
    return ledger.executemany("INSERT INTO t VALUES (?)", failing_rows())


def batch_of_itself(ledger: Any) -> object:
    ledger.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
    rows = ledger.execute("SELECT n + 10 FROM t WHERE n < 10")
    return ledger.executemany("INSERT INTO t VALUES (?)", rows).rowcount


def nested(ledger: Any) -> object:
    ledger.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (3,)])
    for (n,) in ledger.execute("SELECT n FROM t WHERE n < 10 ORDER BY rowid"):
        ledger.execute("UPDATE t SET n = n + 10 WHERE n = ?", (n,))
    return ledger.total_changes


def in_other_thread(ledger: Any) -> object:
    caught: list[BaseException] = []

    def work() -> None:
        for action in (lambda: ledger.execute("SELECT 1"), ledger.commit, ledger.cursor):
            try:
                action()
            except sqlite3.Error as error:
                caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return [type(error) for error in caught]


def after_close(ledger: Any) -> object:
    cursor = ledger.cursor()
    ledger.close()
    ledger.close()
    return cursor.execute("INSERT INTO t VALUES (1)")


def closed_cursor(ledger: Any) -> object:
    cursor = ledger.cursor()
    cursor.close()
    return cursor.execute("INSERT INTO t VALUES (1)")


def with_error(ledger: Any) -> object:
    with ledger:
        ledger.execute("INSERT INTO t VALUES (1)")
        raise LookupError("inside")


def row_factory(ledger: Any) -> object:
    ledger.row_factory = sqlite3.Row
    ledger.execute("INSERT INTO t VALUES (1)")
    return [dict(row) for row in ledger.execute("SELECT n FROM t")]


def rolls_back_by_trigger(ledger: Any) -> object:
    ledger.execute("CREATE TRIGGER g BEFORE INSERT ON t BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
    return ledger.execute("INSERT INTO t VALUES (1)")


def traced(ledger: Any) -> object:
    seen: list[str] = []
    ledger.set_trace_callback(seen.append)
    ledger.execute("INSERT INTO t VALUES (1)")
    ledger.executemany("INSERT INTO t VALUES (?)", [(2,), (3,)])
    ledger.executescript("INSERT INTO t VALUES (4); CREATE TABLE IF NOT EXISTS t (x)")
    ledger.execute("DELETE FROM t WHERE n > 2 RETURNING n").fetchall()
    ledger.commit()
    return seen


def authorized(ledger: Any) -> object:
    """A ledger that forbids itself explicit transactions still gets its statement done."""
    deny = sqlite3.SQLITE_TRANSACTION
    ledger.set_authorizer(lambda action, *_: int(action == deny))
    return ledger.execute("CREATE TABLE u (n)").rowcount


def texts(*lines: str) -> Program:
    return lambda ledger: [ledger.execute(line).fetchall() for line in lines]


PROGRAMS: dict[str, Program] = {
    "syntax error": texts("INSERT INTO"),
    "no such table": texts("INSERT INTO nowhere VALUES (1)"),
    "two statements": texts("INSERT INTO t VALUES (1); SELECT 1"),
    "too few parameters": texts("INSERT INTO t VALUES (?)"),
    "constraint": texts("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)"),
    "or replace": texts("INSERT INTO t VALUES (1)", "INSERT OR REPLACE INTO t VALUES (1)"),
    "or rollback": texts("INSERT INTO t VALUES (1), (2)", "INSERT OR ROLLBACK INTO t VALUES (1)"),
    "commit without begin": texts("COMMIT"),
    "begin twice": texts("BEGIN", "INSERT INTO t VALUES (1)", "BEGIN"),
    "vacuum": texts("VACUUM"),
    "empty": texts("", " -- nothing", ";"),
    "not a text": lambda ledger: ledger.execute(5),
    "keywords": lambda ledger: ledger.execute(sql="SELECT 1"),
    "bad rows": lambda ledger: ledger.executemany("INSERT INTO t VALUES (?)", 5),
    "rows of another size": lambda ledger: ledger.executemany(
        "INSERT INTO t VALUES (?)", [(1,), (1, 2)]
    ),
    "batch of selects": lambda ledger: ledger.executemany("SELECT ?", [(1,)]),
    "batch that fails": batch_that_fails,
    "batch of itself": batch_of_itself,
    "nested": nested,
    "script fails midway": lambda ledger: ledger.executescript(
        "INSERT INTO t VALUES (1); INSERT INTO nowhere VALUES (2); INSERT INTO t VALUES (3)"
    ),
    "script left open": lambda ledger: ledger.executescript(
        "BEGIN; INSERT INTO t VALUES ('a;b')"
    ).fetchall(),
    "script with a trigger": lambda ledger: (
        ledger.executescript(
            "CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t; SELECT 1; END;"
            "INSERT INTO t VALUES (1); SELECT * FROM t;"
        ).description
    ),
    "script of bytes": lambda ledger: ledger.executescript(b"SELECT 1"),
    "script with NUL": lambda ledger: ledger.executescript("SELECT 1;\0"),
    "unfinished text": lambda ledger: ledger.executescript("SELECT 'a"),
    "in other thread": in_other_thread,
    "after close": after_close,
    "closed cursor": closed_cursor,
    "with an error": with_error,
    "row factory": row_factory,
    "rolled back by trigger": rolls_back_by_trigger,
    "traced": traced,
    "authorized": authorized,
    "cursor of a wrong kind": lambda ledger: ledger.cursor(lambda _: 5),
    "parameters of a wrong kind": lambda ledger: ledger.execute("SELECT ?", (object(),)),
    "isolation of a wrong kind": lambda ledger: setattr(ledger, "isolation_level", "NEVER"),
    "dump": lambda ledger: list(ledger.iterdump()),
}


def outcome(file: Path, program: Program, level: str | None) -> list[object]:
    """Everything that the caller of the driver can see."""
    with closing(sqlite3.connect(file)) as made:
        made.executescript("CREATE TABLE t (n UNIQUE)")
    options: dict[str, Any] = {"isolation_level": level}
    ledger = sqlite3.connect(file, **options)
    seen: list[object] = []
    try:
        result = program(ledger)
        seen.append(result if not isinstance(result, sqlite3.Cursor) else "a cursor")
    except Exception as error:
        seen += [type(error), "" if isinstance(error, TypeError) else str(error)]
    try:
        seen.append(ledger.in_transaction)
        ledger.close()
    except sqlite3.ProgrammingError as error:
        seen.append(str(error))
    with closing(sqlite3.connect(file)) as reader:
        seen.append(reader.execute("SELECT n FROM t ORDER BY n").fetchall())
    return seen


@pytest.mark.parametrize("level", [None, "", "IMMEDIATE"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_cannot_tell(scratch: Path, name: str, level: str | None) -> None:
    stock = outcome(scratch / "stock.db", PROGRAMS[name], level)
    sight.install(Nobody())
    try:
        with sight.watched():
            probed = outcome(scratch / "probed.db", PROGRAMS[name], level)
    finally:
        sight.uninstall()
    assert probed == stock


@pytest.mark.parametrize(
    ("script", "pieces"),
    [
        ("", []),
        ("; ;\n-- only a comment", []),
        ("SELECT ';'; SELECT 2", ["SELECT ';';", " SELECT 2"]),
        ("/* ; */ SELECT 1;", ["/* ; */ SELECT 1;"]),
        ("CREATE TRIGGER a AFTER INSERT ON b BEGIN SELECT 1; END; END", None),
    ],
)
def test_a_script_is_cut_where_sqlite_cuts_it(script: str, pieces: list[str] | None) -> None:
    found = list(statements.split(script))
    assert found == (pieces if pieces is not None else [script[:-4], " END"])
