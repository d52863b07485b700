"""Every way in which a Python ledger makes a SQLite write durable, and the points of each.

``python -m tests.probe_forms FOLDER`` tries them, see ``probe_trial``. The probes are installed
first, and only then is ``probe_target`` imported, which binds ``connect`` early as a target does.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from admitone.chaos.probes import sight
from tests.probe_trial import BEGIN, STATEMENT, WRITE, WRITING, Notes, answer

COMMITTED: Final = [*BEGIN, *STATEMENT, *WRITING]
HANDED_OUT: Final = [*STATEMENT, *WRITE]
AUTO: Final[dict[str, Any]] = {"isolation_level": None}
LEGACY: Final[dict[str, Any]] = {}

INSERT: Final = "INSERT INTO uses VALUES (1)"


@dataclass(frozen=True, slots=True)
class Form:
    """``run`` works on the connection that ``connect`` made. ``rows``: how many it adds in all,
    ``first``: how many of them are durable after the first write."""

    run: Callable[[Any], object]
    points: list[str]
    connect: dict[str, Any]
    rows: int = 1
    first: int = 1


def forms() -> dict[str, Form]:
    """All of them. The target is imported here and not above: the trial, which runs them, has
    installed the probes by then; a test that only reads what is expected has none."""
    from tests import probe_target

    found = in_transactions(probe_target) | alone(probe_target)
    found |= handed_out(probe_target) | connected_otherwise(probe_target)
    return found | by_attribute(probe_target) if sys.version_info >= (3, 12) else found


def in_transactions(target: Any) -> dict[str, Form]:
    """Every way to end a transaction."""
    commented = target.text("/* done */ -- so\n COMMIT")
    immediate = {"isolation_level": "IMMEDIATE"}
    script = [*BEGIN, *STATEMENT, *WRITING, *STATEMENT, *WRITING]
    many = [*BEGIN, *STATEMENT, *STATEMENT, *WRITING]
    return {
        "commit()": Form(target.commit, COMMITTED, AUTO),
        "COMMIT text": Form(target.text("COMMIT"), COMMITTED, AUTO),
        "END text": Form(target.text(" end ;"), COMMITTED, AUTO),
        "commented COMMIT": Form(commented, COMMITTED, AUTO),
        "COMMIT through a cursor": Form(target.through_cursor, COMMITTED, AUTO),
        "with conn": Form(target.with_connection, COMMITTED, LEGACY),
        "with conn, own BEGIN": Form(target.with_begun, COMMITTED, AUTO),
        "implicit BEGIN": Form(target.implicit, COMMITTED, LEGACY),
        "implicit BEGIN IMMEDIATE": Form(target.implicit, COMMITTED, immediate),
        "implicit BEGIN, executemany": Form(target.implicit_many, many, LEGACY, 2, 2),
        "outermost RELEASE": Form(
            target.savepoints, [*BEGIN, *STATEMENT * 4, *WRITING], AUTO, 2, 2
        ),
        "executescript": Form(target.script, script, AUTO, 2, 1),
        "executescript commits first": Form(
            target.script_commits_first, [*COMMITTED, *STATEMENT], LEGACY
        ),
        "leaving isolation_level": Form(target.leaves_isolation, COMMITTED, LEGACY),
        "DDL in a transaction": Form(target.ddl_begun, COMMITTED, AUTO, rows=0, first=0),
        "own trace callback": Form(target.traced, COMMITTED, LEGACY),
        "trigger": Form(target.with_trigger, [*STATEMENT * 2, *COMMITTED], LEGACY),
    }


def alone(target: Any) -> dict[str, Form]:
    """Statements outside of any transaction."""
    return {
        "autocommit": Form(target.insert, WRITING, AUTO),
        "autocommit WITH": Form(target.insert_with, WRITING, LEGACY),
        "autocommit executemany": Form(target.many, [*WRITING, *WRITING], AUTO, 2, 1),
        "autocommit through a cursor": Form(target.cursor_insert, WRITING, AUTO),
        "OR FAIL": Form(target.or_fail, WRITING, AUTO),
        "DDL": Form(target.ddl, WRITING, LEGACY, rows=0, first=0),
    }


def handed_out(target: Any) -> dict[str, Form]:
    """RETURNING: durable when the last row is gone, however it goes."""
    reused = [*HANDED_OUT, *WRITING]
    return {
        "RETURNING, fetchall": Form(target.returning_all, HANDED_OUT, AUTO, 2, 2),
        "RETURNING, iterated": Form(target.returning_iterated, HANDED_OUT, AUTO, 2, 2),
        "RETURNING, fetchone": Form(target.returning_one_by_one, HANDED_OUT, AUTO, 2, 2),
        "RETURNING, fetchmany": Form(target.returning_many, HANDED_OUT, AUTO, 2, 2),
        "RETURNING, closed": Form(target.returning_closed, HANDED_OUT, AUTO, 2, 2),
        "RETURNING, dropped": Form(target.returning_dropped, HANDED_OUT, AUTO, 2, 2),
        "RETURNING, cursor used again": Form(target.returning_reused, reused, AUTO, 3, 2),
        "RETURNING, own cursor": Form(target.returning_own_cursor, HANDED_OUT, AUTO, 2, 2),
        "RETURNING in a transaction": Form(target.returning_begun, COMMITTED, AUTO, 2, 2),
    }


def connected_otherwise(target: Any) -> dict[str, Form]:
    """Connections and cursors of other makes; the first statement asks for the file's name."""
    own = [*STATEMENT, *COMMITTED]
    return {
        "a library's thread": Form(target.in_thread, own, AUTO),
        "bound early": Form(target.bound_early, [*STATEMENT, *WRITING], AUTO),
        "Connection called": Form(target.called_class, [*STATEMENT, *WRITING], AUTO),
        "own factory": Form(target.own_factory, own, AUTO),
        "own factory, made before": Form(_older_factory, own, AUTO),
        "own cursor": Form(target.own_cursor, WRITING, AUTO),
        "own cursor, made before": Form(_older_cursor, WRITING, AUTO),
        "Cursor called": Form(target.called_cursor, WRITING, AUTO),
    }


def by_attribute(target: Any) -> dict[str, Form]:
    """Python 3.12's ``autocommit``. Where it is False, close rolls the last BEGIN back."""
    on, off = {"autocommit": True}, {"autocommit": False}
    begun_again = [*COMMITTED, *BEGIN, *STATEMENT]
    return {
        "autocommit=True": Form(target.insert, WRITING, on),
        "autocommit=True, begun": Form(target.text("COMMIT"), COMMITTED, on),
        "autocommit=True, with": Form(target.with_connection, WRITING, on),
        "autocommit=False": Form(target.implicit, begun_again, off),
        "autocommit=False, with": Form(target.with_connection, begun_again, off),
        "autocommit set True": Form(target.sets_autocommit, COMMITTED, off),
    }


class _OlderCursor(sqlite3.Cursor):
    """Made before the probes were installed: its base is the driver's own class."""

    def use(self) -> None:
        super().execute(INSERT)


def _older_cursor(connection: sqlite3.Connection) -> None:
    cursor = connection.cursor(_OlderCursor)
    assert isinstance(cursor, _OlderCursor)
    cursor.use()


class _Older(sqlite3.Connection):
    """The same of a connection."""

    commits = 0

    def commit(self) -> None:
        self.commits += 1
        super().commit()


def _older_factory(connection: sqlite3.Connection) -> None:
    [(_, _, file)] = connection.execute("PRAGMA database_list")
    own = sqlite3.connect(file, isolation_level=None, factory=_Older)
    own.execute("BEGIN")
    own.execute(INSERT)
    own.commit()
    assert isinstance(own, _Older)
    assert own.commits == 1
    own.close()


def work(form: Form, folder: Path) -> None:
    """Make a store, then let the form work on it, watched."""
    setup = sqlite3.connect(folder / "ledger.db")
    setup.executescript("PRAGMA journal_mode=WAL; CREATE TABLE uses (n NOT NULL)")
    setup.close()
    with sight.watched():
        connection = sqlite3.connect(folder / "ledger.db", **form.connect)
        form.run(connection)
        connection.close()


def rows(folder: Path) -> int:
    """How many rows are durable."""
    connection = sqlite3.connect(folder / "ledger.db")
    [(count,)] = connection.execute("SELECT count(*) FROM uses")
    connection.close()
    return int(count)


if __name__ == "__main__":
    sight.install(Notes())
    answer({name: (partial(work, form), rows) for name, form in forms().items()})
