"""What is known of one connection's transaction, and questions put to the server in between.

A session is asked about only while its own thread, or its loop, is inside the driver: everything
here is a generator of the driver's kind, so that it waits the way the connection waits.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from functools import partial
from typing import Any, Final, Literal, TypeVar

from psycopg import errors, generators, pq

T = TypeVar("T")

Steps = Generator[Any, Any, T]
"""A conversation with the server: run by ``Connection.wait``, or awaited in the async one."""

_COUNT: Final = (
    b"SELECT CASE WHEN pg_catalog.current_setting('track_counts')::bool THEN coalesce("
    b"pg_catalog.sum(pg_catalog.pg_stat_get_xact_tuples_inserted(oid)"
    b" + pg_catalog.pg_stat_get_xact_tuples_updated(oid)"
    b" + pg_catalog.pg_stat_get_xact_tuples_deleted(oid)), 0)"
    b" ELSE (pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL)::int END"
    b" FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p', 't', 'm') AND relpersistence <> 't'"
)
_HAS_CHANGED: Final = b"SELECT 1 WHERE pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL"

_INTRANS: Final = pq.TransactionStatus.INTRANS
_INERROR: Final = pq.TransactionStatus.INERROR
_COUNTED: Final = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


class Session:
    """One connection's open transaction.

    ``state``    ``idle``; ``block`` after BEGIN; ``implicit``: a pipeline's own, until its Sync;
                 ``failed``: an error in it, so that its end will be a rollback.
    ``changed``  whether a COMMIT would make anything durable. ``unseen``: it was begun while
                 nobody watched, so that only the server knows.
    ``flight``  the COPY or stream that is under way (see ``psycopg_flights``).
    """

    __slots__ = ("_marks", "changed", "flight", "results", "state", "unseen")

    def __init__(self) -> None:
        self.results: list[Any] = []
        self.flight: Any = None
        self.begin("idle")

    def begin(self, state: Literal["idle", "block", "implicit", "failed"]) -> None:
        """A transaction starts here, or none is left."""
        self.state = state
        self.changed = self.unseen = False
        self._marks: list[tuple[str, bool]] = []

    def look(self, connection: Any) -> None:
        """Bring ``state`` in line with what the driver was told by the server."""
        status, piped = connection.pgconn.transaction_status, connection._pipeline is not None
        if status == pq.TransactionStatus.IDLE:
            if not (piped and self.state in ("implicit", "failed")):  # it says so until a Sync
                self.begin("idle")
        elif status == _INTRANS:
            if self.state == "idle":
                self.begin("block")
                self.unseen = True
            self.state = "block"
        elif status == _INERROR:
            self.state = "failed"
        if self.state == "idle" and piped and connection._autocommit:
            self.begin("implicit")

    def synced(self) -> None:
        """A Sync ended what a pipeline had of its own; of a block, the driver is told."""
        if self.state in ("implicit", "failed"):
            self.begin("idle")

    def note(self, verb: str) -> None:
        """A statement succeeded; ``results`` are what the server answered."""
        if verb == "schema" or (verb == "change" and any(map(_rows, self.results))):
            self.changed = True

    def savepoint(self, name: str) -> None:
        self._marks.append((name, self.changed))

    def released(self, name: str) -> None:
        del self._marks[self._find(name) :]

    def rolled_back_to(self, name: str) -> None:
        found = self._find(name)
        if found < len(self._marks):
            self.changed = self._marks[found][1]
            del self._marks[found + 1 :]

    def _find(self, name: str) -> int:
        for index in range(len(self._marks) - 1, -1, -1):
            if self._marks[index][0] == name:
                return index
        return len(self._marks)


def _rows(result: Any) -> int:
    return (result.command_tuples or 0) if result.status in _COUNTED else 0


def session_of(connection: Any) -> Session:
    """The connection's session; made when it is first watched."""
    found = connection.__dict__.get("_sight_session")
    if found is None:
        found = connection._sight_session = Session()
    return found  # type: ignore[no-any-return]  # it is kept on an object of the driver's


class _Answer:
    """Stands in a pipeline's queue where a cursor would, and keeps the results."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    def _check_results(self, _results: list[Any]) -> None:
        """The one who asked looks at them."""

    def _set_results(self, results: list[Any]) -> None:
        self.results = results


def ask(connection: Any, sql: bytes) -> Steps[list[Any]]:
    """Send the probe's own statement, and hand back the results, whatever they are."""
    pgconn, pipeline = connection.pgconn, connection._pipeline
    if pipeline is None:
        pgconn.send_query(sql)
        results: list[Any] = yield from generators.execute(pgconn)
        return results
    answer = _Answer()
    pipeline.command_queue.append(partial(pgconn.send_query_params, sql, None))
    pipeline.result_queue.append((answer, None))
    yield from arrive(connection)
    return answer.results


def tell(connection: Any, sql: bytes) -> Steps[Any]:
    """The same, where an error is the ledger's to know."""
    results = yield from ask(connection, sql)
    for result in results:
        if result.status == pq.ExecStatus.FATAL_ERROR:
            raise errors.error_from_result(result, encoding=connection.pgconn._encoding)
    return results[-1]


def arrive(connection: Any) -> Steps[None]:
    """In a pipeline, wait until everything queued has been done. Sends no Sync, for that would
    commit a pipeline's own transaction."""
    pipeline = connection._pipeline
    if pipeline is not None:
        yield from pipeline._communicate_gen()
        yield from pipeline._fetch_gen(flush=True)


def count(connection: Any) -> Steps[int]:
    """The rows that this transaction has changed so far, as the server counts them; or, where it
    does not count, whether it has a number yet. Only a difference of two readings means
    something."""
    result = yield from tell(connection, _COUNT)
    return int(result.get_value(0, 0))


def settle(connection: Any, session: Session) -> Steps[None]:
    """Before an end: make sure that ``changed`` and ``state`` are true."""
    if connection._pipeline is not None and session.state != "implicit":
        yield from sync(connection)  # inside a block it commits nothing
    session.look(connection)
    if session.unseen and not session.changed and session.state == "block":
        result = yield from tell(connection, _HAS_CHANGED)
        session.changed = result.ntuples > 0


def sync(connection: Any) -> Steps[None]:
    """A pipeline's Sync without points; it tells the driver of the transaction's state."""
    pipeline = connection._pipeline
    pipeline._enqueue_sync()
    yield from pipeline._communicate_gen()
    yield from pipeline._fetch_gen(flush=False)
    session_of(connection).synced()


def roll_back(connection: Any) -> Steps[None]:
    """End the transaction: an error is on its way already."""
    with suppress(errors.Error):
        if connection._pipeline is not None:
            yield from sync(connection)
        if connection.pgconn.transaction_status in (_INTRANS, _INERROR):
            yield from ask(connection, b"ROLLBACK")
