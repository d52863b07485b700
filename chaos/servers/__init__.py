"""Real servers for the ledgers that need one: started, hurt, restarted and ended by the harness.

To add a kind of server is to write one file and one entry in ``start.py``. Only processes that were
started here are ever killed.
"""

from __future__ import annotations

from typing import Protocol


class ServerProblem(Exception):
    """A server cannot be used. The text says what, where and what to do."""


class ServerMissing(ServerProblem):
    """This machine lacks the program. The text ends with the command that installs it."""


class RunningServer(Protocol):
    """One server as the harness sees it.

    ``endpoint``: the key of ``store`` that its address belongs to. ``ours``: it was started here
    and may be killed. ``host`` and ``port``: where it listens; the port outlives a restart.
    """

    endpoint: str
    ours: bool
    host: str
    port: int

    def address(self, client: str, at: tuple[str, int] | None = None) -> str:
        """What a ledger finds in its store: for this client (a node's name), by way of ``at`` (a
        proxy's host and port) where one is given."""
        ...

    def sessions(self, client: str) -> tuple[int, ...]:
        """Process ids, at the server, of the client's sessions that are still there; empty where
        this kind of server has no such thing."""
        ...

    def is_blocked(self, client: str) -> bool:
        """Whether a session of the client waits for a lock that another session holds."""
        ...

    def is_inside(self, client: str) -> bool:
        """Whether a session of the client has begun a transaction and waits to be told more."""
        ...

    def kill_session(self, client: str) -> bool:
        """SIGKILL the server's process of one of the client's sessions; whether there was one.
        Returns when it is dead. Whatever the server does about it, it does by itself."""
        ...

    def await_serving(self, deadline_s: float) -> None:
        """Wait until it answers. Raises ``ServerProblem`` at the deadline."""
        ...

    def kill(self) -> None:
        """SIGKILL the server and all its children; returns when all are dead."""
        ...

    def restart(self) -> None:
        """Start it again on what it had; returns when it serves."""
        ...

    def close(self) -> None:
        """End it, and remove what it kept. More than once does no harm."""
        ...
