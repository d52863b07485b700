"""Every way in which a Python ledger makes a SQLite write durable, and the points of each.

``python -m tests.probe_forms FOLDER`` installs the probes, only then makes the forms (so that
they bind ``connect`` early, as a target does), runs each with an observer that takes notes, and
again in forks that kill themselves at a write. It answers with one JSON object.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from admitone.chaos.probes import sight, statements

BEGIN: Final = ["begin.before", "begin.after"]
STATEMENT: Final = ["statement.before", "statement.after"]
WRITE: Final = ["statement.before", "write.before", "write.after", "statement.after"]
HANDED_OUT: Final = [*STATEMENT, "write.before", "write.after"]

INSERT: Final = "INSERT INTO uses VALUES (1)"
RETURNING: Final = "INSERT INTO uses VALUES (1), (2) RETURNING n"


@dataclass(frozen=True, slots=True)
class Form:
    """``run`` works on the connection that ``connect`` made. ``rows``: how many it adds in all,
    ``first``: how many of them are durable after the first write."""

    run: Callable[[Any], object]
    points: list[str]
    connect: dict[str, Any]
    rows: int = 1
    first: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """What a form did: its points, its rows, and signal and rows of a kill at a write."""

    points: list[str]
    rows: int
    before: tuple[int, int] | None = None
    after: tuple[int, int] | None = None


def forms() -> dict[str, Form]:
    """Called after the probes were installed: a module of a target starts here."""
    from tests import probe_target as target

    auto: dict[str, Any] = {"isolation_level": None}
    legacy: dict[str, Any] = {}
    found = {
        "commit()": Form(target.commit, [*BEGIN, *STATEMENT, *WRITE], auto),
        "COMMIT text": Form(target.text("COMMIT"), [*BEGIN, *STATEMENT, *WRITE], auto),
        "END text": Form(target.text(" end ;"), [*BEGIN, *STATEMENT, *WRITE], auto),
        "commented COMMIT": Form(
            target.text("/* done */ -- so\n COMMIT"), [*BEGIN, *STATEMENT, *WRITE], auto
        ),
        "COMMIT through a cursor": Form(target.through_cursor, [*BEGIN, *STATEMENT, *WRITE], auto),
        "with conn": Form(target.with_connection, [*BEGIN, *STATEMENT, *WRITE], legacy),
        "with conn, own BEGIN": Form(target.with_begun, [*BEGIN, *STATEMENT, *WRITE], auto),
        "implicit BEGIN": Form(target.implicit, [*BEGIN, *STATEMENT, *WRITE], legacy),
        "implicit BEGIN IMMEDIATE": Form(
            target.implicit, [*BEGIN, *STATEMENT, *WRITE], {"isolation_level": "IMMEDIATE"}
        ),
        "implicit BEGIN, executemany": Form(
            target.implicit_many, [*BEGIN, *STATEMENT, *STATEMENT, *WRITE], legacy, 2, 2
        ),
        "outermost RELEASE": Form(target.savepoints, [*BEGIN, *STATEMENT * 4, *WRITE], auto, 2, 2),
        "executescript": Form(
            target.script, [*BEGIN, *STATEMENT, *WRITE, *STATEMENT, *WRITE], auto, 2, 1
        ),
        "executescript commits first": Form(
            target.script_commits_first, [*BEGIN, *STATEMENT, *WRITE, *STATEMENT], legacy
        ),
        "autocommit": Form(target.insert, WRITE, auto),
        "autocommit WITH": Form(target.insert_with, WRITE, legacy),
        "autocommit executemany": Form(target.many, [*WRITE, *WRITE], auto, 2, 1),
        "autocommit through a cursor": Form(target.cursor_insert, WRITE, auto),
        "leaving isolation_level": Form(
            target.leaves_isolation, [*BEGIN, *STATEMENT, *WRITE], legacy
        ),
        "RETURNING, fetchall": Form(target.returning_all, HANDED_OUT, auto, 2, 2),
        "RETURNING, iterated": Form(target.returning_iterated, HANDED_OUT, auto, 2, 2),
        "RETURNING, fetchone": Form(target.returning_one_by_one, HANDED_OUT, auto, 2, 2),
        "RETURNING, fetchmany": Form(target.returning_many, HANDED_OUT, auto, 2, 2),
        "RETURNING, closed": Form(target.returning_closed, HANDED_OUT, auto, 2, 2),
        "RETURNING, dropped": Form(target.returning_dropped, HANDED_OUT, auto, 2, 2),
        "RETURNING, cursor used again": Form(
            target.returning_reused, [*HANDED_OUT, *WRITE], auto, 3, 2
        ),
        "RETURNING in a transaction": Form(
            target.returning_begun, [*BEGIN, *STATEMENT, *WRITE], auto, 2, 2
        ),
        "a library's thread": Form(target.in_thread, [*BEGIN, *STATEMENT, *WRITE], auto),
        "bound early": Form(target.bound_early, WRITE, auto),
        "Connection called": Form(target.called_class, WRITE, auto),
        "own factory": Form(target.own_factory, [*BEGIN, *STATEMENT, *WRITE], auto),
        "own factory, made before": Form(_older_factory, [*BEGIN, *STATEMENT, *WRITE], auto),
        "own cursor": Form(target.own_cursor, WRITE, auto),
        "Cursor called": Form(target.called_cursor, WRITE, auto),
        "own trace callback": Form(target.traced, [*BEGIN, *STATEMENT, *WRITE], legacy),
        "trigger": Form(target.with_trigger, [*STATEMENT * 2, *BEGIN, *STATEMENT, *WRITE], legacy),
        "OR FAIL": Form(target.or_fail, WRITE, auto),
        "DDL": Form(target.ddl, WRITE, legacy, rows=0, first=0),
        "DDL in a transaction": Form(
            target.ddl_begun, [*BEGIN, *STATEMENT, *WRITE], auto, rows=0, first=0
        ),
    }
    if sys.version_info >= (3, 12):
        end_begin = [*BEGIN, *STATEMENT, *WRITE, *BEGIN, *STATEMENT]  # its close rolls back
        found |= {
            "autocommit=True": Form(target.insert, WRITE, {"autocommit": True}),
            "autocommit=True, begun": Form(
                target.text("COMMIT"), [*BEGIN, *STATEMENT, *WRITE], {"autocommit": True}
            ),
            "autocommit=True, with": Form(target.with_connection, WRITE, {"autocommit": True}),
            "autocommit=False": Form(target.implicit, end_begin, {"autocommit": False}),
            "autocommit=False, with": Form(
                target.with_connection, end_begin, {"autocommit": False}
            ),
            "autocommit set True": Form(
                target.sets_autocommit, [*BEGIN, *STATEMENT, *WRITE], {"autocommit": False}
            ),
        }
    return found


class _Older(sqlite3.Connection):
    """Made before the probes were installed: its base is the driver's own class."""

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


class Notes:
    """Writes the points down."""

    def __init__(self) -> None:
        self.points: list[str] = []

    def point(self, kind: str, side: str, text: str) -> None:
        assert 0 < len(text) <= statements.TEXT_LIMIT
        if not text.startswith("PRAGMA database_list"):
            self.points.append(f"{kind}.{side}")


@dataclass
class Killer:
    """Kills its own process where the form makes its first write."""

    side: str

    def point(self, kind: str, side: str, text: str) -> None:
        if (kind, side) == ("write", self.side):
            os.kill(os.getpid(), signal.SIGKILL)


def run(form: Form, file: Path) -> None:
    """Make a store, then let the form work on it, watched."""
    setup = sqlite3.connect(file)
    setup.executescript("PRAGMA journal_mode=WAL; CREATE TABLE uses (n NOT NULL)")
    setup.close()
    with sight.watched():
        connection = sqlite3.connect(file, **form.connect)
        form.run(connection)
        connection.close()


def count(file: Path) -> int:
    """How many rows are durable."""
    connection = sqlite3.connect(file)
    [(rows,)] = connection.execute("SELECT count(*) FROM uses")
    connection.close()
    return int(rows)


def killed(form: Form, file: Path, side: str) -> tuple[int, int]:
    """Run the form in a fork that dies at its first write; its signal, and the rows it left."""
    pid = os.fork()
    if pid == 0:
        sight.install(Killer(side))
        run(form, file)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return (os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0), count(file)


def tried(folder: Path) -> Iterator[tuple[str, Found]]:
    """Try every form in a file of its own."""
    notes = Notes()
    sight.install(notes)
    for number, (name, form) in enumerate(forms().items()):
        notes.points.clear()
        run(form, folder / f"{number}.db")
        rows = count(folder / f"{number}.db")
        before, after = (
            killed(form, folder / f"{number}-{side}.db", side) for side in ("before", "after")
        )
        yield name, Found([*notes.points], rows, before, after)


if __name__ == "__main__":
    answer = {name: asdict(found) for name, found in tried(Path(sys.argv[1]))}
    json.dump(answer, sys.stdout)
    assert threading.active_count() == 1
