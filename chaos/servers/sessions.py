"""What the harness asks a PostgreSQL server, by a connection of its own: whose sessions are there.

A session belongs to the client whose name it gave as its ``application_name``: that holds through
a proxy too, where every address is the proxy's. The connection is made when it is needed, and made
again when the server threw it out, as it does with everybody when one of its processes is killed.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from . import ServerProblem
from .tree import pauses

if TYPE_CHECKING:
    import psycopg

HARNESS: Final = "admitone harness"
"""The ``application_name`` of the harness."""

NAME_BYTES: Final = 63
"""The server keeps no more of a name."""

_ANSWER_S = 20.0
_CONNECT_S = 5

_SESSIONS = """
    SELECT pid FROM pg_stat_activity
    WHERE application_name = %s AND backend_type = 'client backend' ORDER BY pid
"""
_BLOCKED = """
    SELECT EXISTS (SELECT FROM pg_stat_activity
                   WHERE application_name = %s AND wait_event_type = 'Lock'
                     AND cardinality(pg_blocking_pids(pid)) > 0)
"""
_INSIDE = """
    SELECT EXISTS (SELECT FROM pg_stat_activity
                   WHERE application_name = %s AND state LIKE 'idle in transaction%%')
"""


class Control:
    """The harness's own session. ``about`` names the server in problems; ``check`` raises where
    waiting for it is vain (its process has ended); ``tell`` cleans an error's text of secrets."""

    def __init__(
        self,
        conninfo: str,
        about: str,
        check: Callable[[], None] = lambda: None,
        tell: Callable[[BaseException], str] = str,
    ) -> None:
        self._conninfo = conninfo
        self._about = about
        self._check = check
        self._tell = tell
        self._connection: psycopg.Connection[Any] | None = None
        self._doomed = False

    def sessions(self, client: str) -> tuple[int, ...]:
        """Process ids of the client's sessions."""
        return tuple(row[0] for row in self.ask(_SESSIONS, (client,)))

    def is_blocked(self, client: str) -> bool:
        """Whether one of them waits for another session's lock."""
        return bool(self.ask(_BLOCKED, (client,))[0][0])

    def is_inside(self, client: str) -> bool:
        """Whether one of them stands in a transaction, and asks nothing."""
        return bool(self.ask(_INSIDE, (client,))[0][0])

    def expect_loss(self) -> None:
        """A process of the server was killed: it will throw this session out with all others, and
        until then it does not serve, whatever it still answers."""
        self._doomed = True

    def await_serving(self, deadline_s: float) -> None:
        """Wait until a session can be had and answers."""
        self.ask("SELECT 1", (), deadline_s)

    def ask(
        self, query: str, values: tuple[object, ...], deadline_s: float = _ANSWER_S
    ) -> list[Any]:
        """The rows of the answer, by a new session where the old one is gone."""
        import psycopg

        problem: psycopg.Error | None = None
        for left_s in pauses(deadline_s):
            self._check()
            try:
                return self._rows(query, values, left_s)
            except psycopg.OperationalError as error:
                problem = error
        raise self._problem(f"did not serve within {deadline_s:g} s", problem)

    def ask_once(self, query: str) -> list[Any]:
        """The rows of the answer, or a ``ServerProblem`` at once."""
        import psycopg

        try:
            return self._rows(query, (), _ANSWER_S)
        except psycopg.OperationalError as error:
            raise self._problem("cannot be used", error) from None

    def close(self) -> None:
        """End the session, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _rows(self, query: str, values: tuple[object, ...], deadline_s: float) -> list[Any]:
        import psycopg

        try:
            return self._open(deadline_s).execute(query.encode(), values).fetchall()
        except psycopg.OperationalError:
            self.close()
            raise
        except psycopg.Error as error:
            raise self._problem("refused what the suite must know", error) from None

    def _problem(self, what: str, error: BaseException | None) -> ServerProblem:
        said = " ".join(self._tell(error).split()) if error is not None else "no answer"
        return ServerProblem(f"{self._about} {what}: {said}")

    def _open(self, deadline_s: float) -> psycopg.Connection[Any]:
        import psycopg

        if self._doomed and self._connection is not None:
            gone = select.poll()
            gone.register(self._connection.fileno(), select.POLLIN)
            if not gone.poll(deadline_s * 1000):
                raise psycopg.OperationalError("a process of it was killed, and it did not care")
            self.close()
        self._doomed = False
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._conninfo,
                application_name=HARNESS,
                autocommit=True,
                connect_timeout=_CONNECT_S,
                prepare_threshold=None,
            )
        return self._connection
