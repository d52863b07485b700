"""The methods of psycopg 3 in which everything that is sent to a server ends, and their probes.

They are wrapped at the base classes that the sync and the async side share, so that a ledger's
own subclasses, factories, pools and names bound early are all seen. All are generators of the
driver's protocol, which the connection's ``wait`` runs; but for the end of a COPY, which either
side has of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, Final

import psycopg
from psycopg import copy, generators
from psycopg._preparing import Prepare
from psycopg._queries import PostgresClientQuery

from . import sight
from .psycopg_flights import bytes_of, next_row, over, start, start_copy
from .psycopg_points import land, lift, perform, written
from .psycopg_session import Session, Steps, arrive, roll_back, session_of
from .psycopg_statements import read, split

Stock = Callable[..., Steps[Any]]

_replaced: list[tuple[type, str, Any]] = []
_driver: Final[Any] = psycopg


def wrap_all() -> None:
    """Wrap the methods; once more does no harm."""
    if _replaced:
        return
    wrap = _wrap
    wrap(_driver.Connection, "_exec_command", _command)
    wrap(_driver.Cursor, "_maybe_prepare_gen", _execute)
    wrap(_driver.Cursor, "_set_results", _results)
    wrap(_driver.Cursor, "_stream_send_gen", start)
    wrap(_driver.Cursor, "_stream_fetchone_gen", next_row)
    wrap(_driver.Cursor, "_start_copy_gen", start_copy)
    wrap(_driver.ServerCursor, "_declare_gen", _declare)
    wrap(_driver.Connection, "_commit_gen", _commit)
    wrap(_driver.Pipeline, "_enter_gen", _nested)
    wrap(_driver.Pipeline, "_sync_gen", _pipeline_end)
    wrap(_driver.Pipeline, "_exit_gen", _pipeline_end)
    wrap(copy.LibpqWriter, "finish", _finish_copy)
    wrap(copy.AsyncLibpqWriter, "finish", _finish_copy_async)
    sight.covered.append(_owner(_driver.Connection, "_exec_command"))


def unwrap_all() -> None:
    """Put the methods back."""
    while _replaced:
        owner, name, stock = _replaced.pop()
        setattr(owner, name, stock)
        if owner in sight.covered:
            sight.covered.remove(owner)


def _owner(kind: type, name: str) -> type:
    for owner in kind.__mro__:
        if name in owner.__dict__:
            return owner
    raise RuntimeError(
        f"the probe does not know psycopg {psycopg.__version__}: {kind.__name__} has no {name};"
        " use 3.2 or 3.3"
    )


def _wrap(kind: type, name: str, probe: Callable[..., Any]) -> None:
    owner = _owner(kind, name)
    stock = owner.__dict__[name]

    def method(self: Any, *args: Any, **named: Any) -> Any:
        if not sight.watching:
            return stock(self, *args, **named)
        return probe(partial(stock, self), self, *args, **named)

    setattr(owner, name, update_wrapper(method, stock))
    _replaced.append((owner, name, stock))


def _command(stock: Stock, connection: Any, command: Any, *args: Any, **named: Any) -> Steps[Any]:
    """What the driver sends of itself: BEGIN, COMMIT, savepoints, FETCH, DEALLOCATE."""
    action = partial(stock, command, *args, **named)
    return perform(connection, read(bytes_of(connection, command)), action)


def _execute(stock: Stock, cursor: Any, query: Any, **named: Any) -> Steps[Any]:
    """One statement of a cursor, or one row of its ``executemany``; or a script."""
    pieces = split(query.query)
    if len(pieces) > 1 and _is_script(cursor, query, named):
        return _run_script(cursor, query, pieces)
    return perform(cursor._conn, read(query.query), partial(stock, query, **named))


def _results(stock: Callable[..., Any], cursor: Any, results: list[Any]) -> Any:
    session_of(cursor._conn).results = list(results)
    return stock(results)


def _is_script(cursor: Any, query: Any, named: dict[str, Any]) -> bool:
    """Whether the server takes several statements: not by the extended protocol."""
    if cursor._conn._pipeline is not None:
        return False
    if isinstance(query, PostgresClientQuery):
        return True
    binary = named.get("binary")
    binary = bool(cursor.format) if binary is None else binary
    return not query.params and not binary and not named.get("prepare")


def _run_script(cursor: Any, query: Any, pieces: tuple[bytes, ...]) -> Steps[None]:
    """Send a script statement by statement, so that a stop fits at each.

    To the server all that stands outside a transaction is one of its own, up to the next BEGIN,
    COMMIT or ROLLBACK or the end: it is lifted.
    """
    connection, results = cursor._conn, []
    session = session_of(connection)
    alone = False
    try:
        for piece in pieces:
            statement = read(piece)
            session.look(connection)
            control = statement.verb in ("begin", "commit", "prepare", "finish")
            if session.state == "idle" and not control:
                yield from lift(connection, session)
                alone = True
            yield from perform(connection, statement, partial(_send, cursor, session, piece))
            results += session.results
            session.look(connection)
            alone = alone and session.state == "block" and statement.verb != "begin"
        if alone:
            yield from land(connection, session, read(query.query).text)
    except Exception:
        if alone:
            yield from roll_back(connection)
        raise
    prepared = connection._prepared
    if prepared.prepare_threshold is not None:
        prepared.validate(prepared.key(query), Prepare.NO, b"", results)
    cursor._query = query
    cursor._set_results(results)


def _send(cursor: Any, session: Session, piece: bytes) -> Steps[None]:
    cursor._pgconn.send_query(piece)
    session.results = yield from generators.execute(cursor._pgconn)
    cursor._check_results(session.results)


def _declare(stock: Stock, cursor: Any, query: Any, *args: Any, **named: Any) -> Steps[None]:
    """A server-side cursor is opened."""
    connection = cursor._conn
    if not cursor.closed and not cursor._described:
        yield from connection._start_query()
    text = b"DECLARE %s CURSOR FOR %s" % (cursor.name.encode(), bytes_of(connection, query))
    yield from perform(connection, read(text), partial(stock, query, *args, **named))


def _pipeline_end(stock: Stock, pipeline: Any) -> Steps[None]:
    """A Sync, which commits what a pipeline did outside of any transaction."""
    connection = pipeline._conn
    session = session_of(connection)
    session.look(connection)
    if session.state == "implicit" and session.changed:
        yield from arrive(connection)
        yield from written(connection, "SYNC", stock, again=stock)
    else:
        yield from stock()
    session.synced()


# Because a pipeline's answers are seen to arrive, the driver finds it idle in these two places
# where it would know by an answer still to come that a transaction is under way.


def _commit(stock: Stock, connection: Any) -> Steps[None]:
    """Outside a block, a pipeline's COMMIT ends what it did of its own."""
    if connection._pipeline is not None and session_of(connection).state == "implicit":
        yield from connection._pipeline._sync_gen()
    yield from stock()


def _nested(stock: Stock, pipeline: Any) -> Steps[None]:
    """A transaction in a pipeline takes nothing in that was done before it."""
    if pipeline.level > 0 and session_of(pipeline._conn).state in ("implicit", "failed"):
        yield from pipeline._sync_gen()
    yield from stock()


def _finish_copy(stock: Callable[..., None], writer: Any, exc: BaseException | None = None) -> None:
    if session_of(writer.connection).flight is None:
        return stock(exc)
    try:
        stock(exc)
    finally:
        if writer.connection.closed:  # then it waits for nothing, and nothing can be sent
            list(over(writer.cursor))
        else:
            writer.connection.wait(over(writer.cursor))


async def _finish_copy_async(
    stock: Callable[..., Any], writer: Any, exc: BaseException | None = None
) -> None:
    if session_of(writer.connection).flight is None:
        await stock(exc)
        return
    try:
        await stock(exc)
    finally:
        if writer.connection.closed:
            list(over(writer.cursor))
        else:
            await writer.connection.wait(over(writer.cursor))
