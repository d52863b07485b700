"""Statements that take more than one call of the driver: COPY … FROM STDIN, and ``stream()``.

Between the calls the ledger hands over rows, or takes them, and decides when it is done. The
flight is kept in the connection's session meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from psycopg import pq

from .psycopg_points import CHANGING, land, lift, note, reading
from .psycopg_session import Session, Steps, roll_back, session_of
from .psycopg_statements import Statement, read
from .sight import report


@dataclass(slots=True)
class Flight:
    """A statement under way.

    ``lifted``  it runs in a transaction of the probe's own.
    ``base``    the server's count before it, where that is needed.
    ``rows``    some have come back.
    """

    statement: Statement
    lifted: bool
    base: int | None
    rows: bool = False


def start(
    stock: Callable[..., Steps[None]], cursor: Any, query: Any, *args: Any, **named: Any
) -> Steps[None]:
    """Begin a COPY or a stream."""
    connection = cursor._conn
    session = session_of(connection)
    if cursor.closed or connection._pipeline is not None:
        return (yield from stock(query, *args, **named))  # the driver refuses it
    yield from connection._start_query()
    session.look(connection)
    statement = read(bytes_of(connection, query))
    alone = session.state == "idle" and statement.verb in CHANGING and statement.lifts
    report("statement", "before", statement.text)
    try:
        if alone:
            yield from lift(connection, session)
        base = yield from reading(connection, session, statement)
        session.flight = Flight(statement, alone, base)
        yield from stock(query, *args, **named)
    except Exception:
        yield from _failed(connection, session, alone)
        report("statement", "after", statement.text)
        raise


def start_copy(
    stock: Callable[..., Steps[None]], cursor: Any, query: Any, *args: Any, **named: Any
) -> Steps[None]:
    """COPY: what comes out changes nothing, and is over for the probe when it has begun."""
    yield from start(stock, cursor, query, *args, **named)
    if cursor.pgresult.status == pq.ExecStatus.COPY_OUT:
        yield from over(cursor)


def next_row(stock: Callable[[bool], Steps[Any]], cursor: Any, first: bool) -> Steps[Any]:
    """Take the next of a stream's rows; without one it is over."""
    flight = session_of(cursor._conn).flight
    try:
        result = yield from stock(first)
    except Exception:
        if flight is not None:
            flight.rows = True  # "didn't produce a result" is an error, too, and all was done
            yield from over(cursor)
        raise
    if flight is not None:
        if result is None:
            yield from over(cursor)
        else:
            flight.rows = True
    return result


def over(cursor: Any) -> Steps[None]:
    """The statement has ended, well or not."""
    connection = cursor._conn
    session = session_of(connection)
    flight, session.flight = session.flight, None
    if flight is None:
        return
    try:
        if connection.pgconn.transaction_status != pq.TransactionStatus.INTRANS:
            return (yield from _failed(connection, session, flight.lifted))
        if flight.statement.verb == "change" and flight.rows:
            session.changed = True
        session.results = list(cursor._results)
        yield from note(connection, session, flight.statement, flight.base)
        if flight.lifted:
            yield from land(connection, session, flight.statement.text)
    finally:
        report("statement", "after", flight.statement.text)


def _failed(connection: Any, session: Session, alone: bool) -> Steps[None]:
    session.flight = None
    if alone:
        yield from roll_back(connection)


def bytes_of(connection: Any, query: Any) -> bytes:
    """The text of a query in any of the forms that the driver takes, to be read only."""
    if isinstance(query, bytes):
        return query
    if hasattr(query, "as_bytes"):
        return bytes(query.as_bytes(connection))
    if hasattr(query, "strings"):  # a template string
        return "?".join(query.strings).encode("utf-8", "replace")
    return str(query).encode("utf-8", "replace")
