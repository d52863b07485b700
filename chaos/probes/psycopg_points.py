"""Points around the statements and the ends of transactions on a PostgreSQL connection.

A statement outside a transaction commits inside the server, where nothing can stand, and whether
it changes anything is known too late. As on SQLite it is *lifted*: run in a transaction of the
probe's own. What cannot be run so (CALL, CREATE DATABASE) is announced as a write before it runs.
A pipeline's implicit transaction needs no lifting: it ends with the Sync, which has the points.

What changed is read from the server's answers; where they do not say, from its count of changed
rows before and after. The transaction's number would not do: a row lock assigns one, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from psycopg import pq

from .psycopg_failures import fail_early, fail_late, refuse
from .psycopg_session import (
    Session,
    Steps,
    arrive,
    count,
    roll_back,
    session_of,
    settle,
    sync,
    tell,
)
from .psycopg_statements import Statement
from .sight import Kind, report

T = TypeVar("T")

Action = Callable[[], Steps[T]]

CHANGING: Final = ("change", "schema", "asked")
"""Verbs of statements that commit by themselves outside a transaction."""


def perform(connection: Any, statement: Statement, action: Action[T]) -> Steps[T]:
    """Run one statement with its points."""
    session = session_of(connection)
    session.look(connection)
    verb, text = statement.verb, statement.text
    if not text or verb == "upkeep":
        return (yield from action())
    if verb == "begin":
        return (yield from _begin(connection, session, text, action))
    if verb in ("commit", "prepare"):
        return (yield from _end(connection, session, statement, action))
    if verb == "finish":
        return (yield from around("statement", text, written(connection, text, action)))
    if session.state == "idle" and verb in CHANGING:
        if statement.lifts:
            return (yield from _lifted(connection, session, statement, action))
        return (yield from around("statement", text, written(connection, text, action)))
    answer = report("statement", "before", text)
    try:
        if session.state == "block" and connection._pipeline is None:
            yield from refuse(connection, answer)
        return (yield from _inside(connection, session, statement, action))
    finally:
        report("statement", "after", text)


def around(kind: Kind, text: str, steps: Steps[T]) -> Steps[T]:
    """Take the steps between two points; both are reported also when they fail."""
    report(kind, "before", text)
    try:
        return (yield from steps)
    finally:
        report(kind, "after", text)


def written(
    connection: Any, text: str, action: Action[T], again: Action[Any] | None = None
) -> Steps[T]:
    """Make durable, with the points of a write; it may fail at either."""
    yield from fail_early(connection, report("write", "before", text))
    result = yield from action()
    yield from fail_late(connection, report("write", "after", text), again)
    return result


def _begin(connection: Any, session: Session, text: str, action: Action[T]) -> Steps[T]:
    was_idle = session.state == "idle"
    result = yield from around("begin", text, action())
    if connection._pipeline is not None:
        yield from sync(connection)  # as psycopg does after a BEGIN of its own
    if was_idle:
        session.begin("block")
    return result


def _end(connection: Any, session: Session, statement: Statement, action: Action[T]) -> Steps[T]:
    """COMMIT, END, PREPARE TRANSACTION. In an aborted transaction they only roll it back."""

    def done() -> Steps[T]:
        result = yield from action()
        if connection._pipeline is not None:
            yield from sync(connection)
        return result

    yield from settle(connection, session)
    prepares = statement.verb == "prepare" and session.state == "block"
    writes = session.state in ("block", "implicit") and (session.changed or prepares)
    steps = written(connection, statement.text, done) if writes else done()
    result = yield from around("statement", statement.text, steps)
    session.begin("block" if statement.chains else "idle")
    return result


def _inside(connection: Any, session: Session, statement: Statement, action: Action[T]) -> Steps[T]:
    """Run a statement in an open transaction, and note what it did to it."""
    base = yield from reading(connection, session, statement)
    session.results = []
    try:
        result = yield from action()
        yield from arrive(connection)
    except Exception:
        if connection._pipeline is not None:
            session.state, session.changed = "failed", False
        raise
    if statement.verb == "rollback_to" and connection._pipeline is not None:
        yield from sync(connection)
    yield from note(connection, session, statement, base)
    return result


def reading(connection: Any, session: Session, statement: Statement) -> Steps[int | None]:
    """The server's count before a statement whose answer does not tell what it changed."""
    if statement.verb != "asked" or session.changed or session.state == "failed":
        return None
    return (yield from count(connection))


def note(connection: Any, session: Session, statement: Statement, base: int | None) -> Steps[None]:
    """Write into the session what a statement that succeeded did."""
    verb, name = statement.verb, statement.savepoint
    if verb == "savepoint":
        session.savepoint(name)
    elif verb == "release":
        session.released(name)
    elif verb == "rollback_to":
        session.rolled_back_to(name)
    elif base is not None:
        session.changed = (yield from count(connection)) != base
    else:
        session.note(verb)


def _lifted(connection: Any, session: Session, statement: Statement, action: Action[T]) -> Steps[T]:
    report("statement", "before", statement.text)
    try:
        yield from lift(connection, session)
        try:
            result = yield from _inside(connection, session, statement, action)
        except Exception:
            yield from roll_back(connection)
            raise
        yield from land(connection, session, statement.text)
        return result
    finally:
        report("statement", "after", statement.text)


def lift(connection: Any, session: Session) -> Steps[None]:
    """Open the probe's own transaction."""
    yield from tell(connection, b"BEGIN")
    session.begin("block")


def land(connection: Any, session: Session, text: str) -> Steps[None]:
    """Make durable what was lifted, with the points around it."""
    status = connection.pgconn.transaction_status
    if status == pq.TransactionStatus.INERROR:
        yield from roll_back(connection)
    elif status == pq.TransactionStatus.INTRANS:
        commit = partial(tell, connection, b"COMMIT")
        yield from written(connection, text, commit) if session.changed else commit()
    session.begin("idle")
