"""One SQLite connection's transaction: what it changed, and where a write becomes durable.

SQLite does not announce a commit to Python, so this decides from ``in_transaction`` and
``total_changes``: a COMMIT is a durable write if the transaction changed something, and points
are reported around it.

A statement outside a transaction commits inside the driver, where nothing can stand, and whether
it changes anything is known too late. It is therefore *lifted*: run in a transaction of the
probe's own, with the same locks taken at the same steps, so that a stop fits between the
statement and its durability, and so that one that changes nothing reports no write. Failures
come to the same end as in the driver: a COMMIT that fails takes the statement back, and what
``OR FAIL`` left done stays done.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from sqlite3 import Connection as RawConnection
from sqlite3 import Cursor as RawCursor
from typing import Any, Final, TypeVar

from .book import Book
from .sight import Kind, Raise, around, report
from .statements import Statement

RawTrace = RawConnection.set_trace_callback

T = TypeVar("T")

_MARK: Final = "admitone_probe"


def perform(
    connection: RawConnection,
    book: Book,
    statement: Statement,
    action: Callable[[], T],
    exhausts: bool = False,
) -> T:
    """Run one statement with its points. ``exhausts``: the action fetches all its rows."""
    settle(connection, book)
    if connection.in_transaction:
        return _inside(connection, book, statement, action)
    book.begin(connection.total_changes)
    verb = statement.verb
    if verb == "begin":
        return around("begin", statement.text, action)
    if verb == "savepoint":
        result = around("begin", statement.text, action)
        book.begin(connection.total_changes, statement.savepoint)
        return result
    if verb in ("change", "schema") and book.pending is None:
        if statement.returning and not exhausts:
            return _hand_out(connection, book, statement, action)
        if verb == "change" or _will_change_schema(connection, book, statement):
            return _lifted(connection, book, statement, action)
    return around("statement", statement.text, action)


def _inside(
    connection: RawConnection, book: Book, statement: Statement, action: Callable[[], T]
) -> T:
    verb, name = statement.verb, statement.savepoint
    if verb == "commit" or (verb == "release" and book.ends_with(name)):
        return commit(connection, book, statement.text, action)
    changes = verb == "schema" and _will_change_schema(connection, book, statement)
    kind: Kind = "begin" if verb == "begin" else "statement"  # a second BEGIN is seen to fail
    result = around(kind, statement.text, action)
    if changes:
        book.schema_changed()
    elif verb == "savepoint":
        book.savepoint(name, connection.total_changes)
    elif verb == "release":
        book.released(name)
    elif verb == "rollback_to":
        book.rolled_back_to(name, connection.total_changes)
    return result


def commit(connection: RawConnection, book: Book, text: str, action: Callable[[], T]) -> T:
    """End the open transaction by ``action``: a durable write if it changed something."""
    report("statement", "before", text)
    try:
        if not book.changed(connection.total_changes):
            return action()
        fail_early(connection, book, report("write", "before", text))
        result = action()
        fail_late(report("write", "after", text))
        return result
    finally:
        report("statement", "after", text)


def _lifted(
    connection: RawConnection, book: Book, statement: Statement, action: Callable[[], T]
) -> T:
    report("statement", "before", statement.text)
    try:
        if not lift(connection, book):
            return action()
        try:
            result = action()
            if statement.verb == "schema":
                book.schema_changed()
        except Exception:
            land_failed(connection, book, statement.text)
            raise
        except BaseException:
            _roll_back(connection, book)
            raise
        land(connection, book, statement.text)
        return result
    finally:
        report("statement", "after", statement.text)


def lift(connection: RawConnection, book: Book) -> bool:
    """Open the probe's own transaction; no if the ledger's authorizer forbids it."""
    try:
        quietly(connection, book, "BEGIN")
    except sqlite3.Error:
        return False
    book.begin(connection.total_changes)
    return True


def land(connection: RawConnection, book: Book, text: str) -> None:
    """Make durable what a lifted statement did, with the points around it."""
    if not connection.in_transaction:
        return  # RAISE(ROLLBACK), or a full disk, ended it
    changed = book.changed(connection.total_changes)
    if changed:
        fail_early(connection, book, report("write", "before", text), lifted=True)
    try:
        quietly(connection, book, "COMMIT")
    except sqlite3.Error:
        _roll_back(connection, book)
        raise
    if changed:
        fail_late(report("write", "after", text))


def land_failed(connection: RawConnection, book: Book, text: str) -> None:
    """The same after an error, which is the one to be raised."""
    with suppress(sqlite3.Error):  # the ledger must get the statement's error, as without a probe
        land(connection, book, text)


def _hand_out(
    connection: RawConnection, book: Book, statement: Statement, action: Callable[[], T]
) -> T:
    """UPDATE … RETURNING outside a transaction: all is changed, nothing durable, until its last
    row is fetched. A transaction of ours would outlive a cursor that is dropped halfway."""
    result = around("statement", statement.text, action)
    if _has_pending_write(connection, book):
        book.pending = (statement.text, connection.total_changes)
        report("write", "before", statement.text)
    return result


def settle(connection: RawConnection, book: Book) -> None:
    """Report the end of a pending write, once SQLite has counted it."""
    if book.pending is not None:
        text, total_changes = book.pending
        if connection.total_changes != total_changes:
            book.pending = None
            report("write", "after", text)


def _has_pending_write(connection: RawConnection, book: Book) -> bool:
    """SQLite refuses a savepoint exactly while a write statement is unfinished."""
    try:
        quietly(connection, book, f"SAVEPOINT {_MARK}")
    except sqlite3.OperationalError:
        return True
    quietly(connection, book, f"RELEASE {_MARK}")
    return False


def _will_change_schema(connection: RawConnection, book: Book, statement: Statement) -> bool:
    """CREATE … IF NOT EXISTS: its program opens a write transaction, or does nothing.

    EXPLAIN compiles it and takes no lock.
    """
    if not statement.conditional:
        return True
    try:
        program = quietly(connection, book, f"EXPLAIN {statement.sql}")
    except sqlite3.Error:
        return True
    return any(opcode == "Transaction" and p2 for _, opcode, _, p2, *_ in program)


def fail_early(
    connection: RawConnection, book: Book, answer: Raise | None, lifted: bool = False
) -> None:
    """Fail instead of a write, the way SQLite does: busy leaves the transaction open (a lifted
    statement has none), an I/O error has rolled it back."""
    if answer is None:
        return
    if answer.error == "io":
        _roll_back(connection, book)
        answer.fired = True
        raise _io_error()
    if lifted:
        _roll_back(connection, book)
    elif _is_never_busy(connection, book):
        return
    answer.fired = True
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    error.sqlite_errorname = "SQLITE_BUSY"
    raise error


def fail_statement(
    connection: RawConnection, book: Book, statement: Statement, answer: Raise
) -> None:
    """Fail instead of a change inside a transaction. An I/O error in a statement that writes takes
    the whole transaction back, and leaves its client in none: what it still sends is on its own,
    and a commit of the driver's has nothing to do. (Busy is for whoever has not the write lock yet,
    and most have it here.)"""
    if answer.error == "io" and statement.verb == "change":
        _roll_back(connection, book)
        answer.fired = True
        raise _io_error("SQLITE_IOERR_WRITE")


def fail_late(answer: Raise | None) -> None:
    """Fail although the write was done: only an I/O error leaves that behind."""
    if answer is not None and answer.error == "io":
        answer.fired = True
        raise _io_error()


def _io_error(name: str = "SQLITE_IOERR_FSYNC") -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = getattr(sqlite3, name)
    error.sqlite_errorname = name
    return error


def _is_never_busy(connection: RawConnection, book: Book) -> bool:
    """Whether COMMIT waits for no reader: in WAL, or where no file is there to be shared.

    Compared by SQLite itself, since the ledger's ``text_factory`` makes of a text what it likes.
    """
    never = "SELECT 1 FROM pragma_journal_mode WHERE journal_mode = 'wal' UNION ALL"
    never += " SELECT 1 FROM pragma_database_list WHERE name = 'main' AND file = ''"
    try:
        return any(True for _ in quietly(connection, book, never))
    except sqlite3.Error:
        return True  # the ledger's authorizer forbids to ask: better none than a false failure


def _roll_back(connection: RawConnection, book: Book) -> None:
    if connection.in_transaction:
        with suppress(sqlite3.Error):  # an error is on its way, and SQLite may have rolled back
            quietly(connection, book, "ROLLBACK")


def quietly(connection: RawConnection, book: Book, sql: str) -> Iterator[Any]:
    """Run the probe's own statement, unseen by the ledger's trace callback."""
    if book.tracer is None:
        return iter(RawCursor(connection).execute(sql))
    RawTrace(connection, None)
    try:
        return iter(RawCursor(connection).execute(sql).fetchall())
    finally:
        RawTrace(connection, book.tracer)
