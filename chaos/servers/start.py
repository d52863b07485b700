"""The registry: which kind of server a target names, and how it is started."""

from __future__ import annotations

from pathlib import Path

from ...targets.terms import POSTGRES, Server
from . import RunningServer, ServerProblem
from .postgres import PostgresServer
from .process import ProcessServer
from .user_postgres import UserPostgres

_OURS = "admitone:"
"""What the program of a server begins with that the suite finds and sets up by itself."""


def start(server: Server, folder: Path, kept: Path, user_dsn: str | None = None) -> RunningServer:
    """Start what the target names, in ``folder``, which is removed when it is closed.

    ``kept``: where what takes long to make is kept for the next server, also by other processes.
    ``user_dsn``: the user's own PostgreSQL, used instead of one of ours. Raises ``ServerProblem``.
    """
    if not server.argv:
        raise ServerProblem("the target names a server without a command: see Server.argv")
    if server.argv[0] == POSTGRES:
        if user_dsn is not None:
            return UserPostgres(user_dsn, server.endpoint)
        return PostgresServer.start(folder, kept, server.endpoint)
    if server.argv[0].startswith(_OURS):
        raise ServerProblem(
            f"the suite knows no server {server.argv[0]!r}; it knows {POSTGRES!r}. Any other is "
            "named by its command."
        )
    return ProcessServer.start(server, folder)
