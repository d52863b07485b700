"""How a COMMIT on PostgreSQL fails: nothing here is invented, each error is made to happen.

A connection that is cut under a COMMIT gives the same error whether the COMMIT was done or not;
here both ends of the socket are closed before it is sent, or after it was answered, and the driver
then finds out by itself. A COMMIT that must be tried again exists only under SERIALIZABLE: there
the server itself is made to answer SQLSTATE 40001, and the transaction is rolled back. A statement
that waits for a lock may be the victim of a deadlock: the server is made to answer 40P01 in its
place, and the transaction is aborted, so that nothing but a rollback can end it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from psycopg import errors

from .psycopg_session import Steps, ask, roll_back, tell
from .sight import Raise

_SERIALIZABLE: Final = (
    b"SELECT 1 WHERE pg_catalog.current_setting('transaction_isolation') = 'serializable'"
)
_FAILURE: Final = b"""DO LANGUAGE plpgsql $admitone$ BEGIN
RAISE serialization_failure USING
  MESSAGE = 'could not serialize access due to read/write dependencies among transactions',
  DETAIL = 'Reason code: Canceled on identification as a pivot, during commit attempt.',
  HINT = 'The transaction might succeed if retried.';
END $admitone$"""

_DEADLOCK: Final = b"""DO LANGUAGE plpgsql $admitone$ BEGIN
RAISE deadlock_detected USING MESSAGE = 'deadlock detected',
  HINT = 'See server log for query details.';
END $admitone$"""


def refuse(connection: Any, answer: Raise | None) -> Steps[None]:
    """Let a statement fail before it is done, and the open transaction with it."""
    if answer is None or answer.error != "busy":
        return
    try:
        yield from tell(connection, _DEADLOCK)
    except errors.DeadlockDetected:
        answer.fired = True
        raise


def fail_early(connection: Any, answer: Raise | None) -> Steps[None]:
    """Let the write fail before it is done."""
    if answer is None:
        return
    if answer.error == "io":
        answer.fired = True
        cut(connection)  # the COMMIT that follows is the driver's to fail with
        return
    result = yield from tell(connection, _SERIALIZABLE)
    if result.ntuples == 0:
        return
    try:
        yield from tell(connection, _FAILURE)
    except errors.SerializationFailure:
        answer.fired = True
        raise
    finally:
        yield from roll_back(connection)


def fail_late(
    connection: Any, answer: Raise | None, again: Callable[[], Steps[object]] | None
) -> Steps[None]:
    """Lose the connection although the write was done. The driver finds out by what it does
    ``again``, in the same words as if it had missed the answer."""
    if answer is not None and answer.error == "io":
        answer.fired = True
        cut(connection)
        yield from again() if again is not None else ask(connection, b"SELECT 1")


def cut(connection: Any) -> None:
    """End the conversation in both directions: not another byte is sent."""
    with socket.socket(fileno=os.dup(connection.pgconn.socket)) as wire, suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)
