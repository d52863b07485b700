"""A PostgreSQL server of the suite's own: started from an image, hurt, restarted, thrown away.

Its settings are a plain server's, small, and as durable as PostgreSQL promises to be. A kill never
loses what was acknowledged; only a power cut could, and that is another driver's work.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

from . import ServerProblem
from .guard import DATA, Guard
from .image import DATABASE, USER, Image
from .launch import Log, launch, plain_environment
from .ports import LOOPBACK, free_port
from .segments import postmaster_of, remove_segment
from .sessions import NAME_BYTES, Control
from .tree import ended, kill_one, kill_tree, look, pauses

START_S: Final = 60.0
"""Longest time for a start, crash recovery included, on a loaded machine, seconds."""

CONNECTIONS: Final = 100
SOCKET_PATH_BYTES: Final = 107
"""The longest name that a unix socket can have."""

_PORT_TRIES = 10
_SETTINGS = {
    "listen_addresses": LOOPBACK,
    "max_connections": str(CONNECTIONS),
    "max_prepared_transactions": str(CONNECTIONS),  # none by default, and some ledgers need them
    "dynamic_shared_memory_type": "mmap",  # in its folder: nothing of it is left in /dev/shm
    "shared_buffers": "16MB",
    "max_wal_size": "64MB",
    "min_wal_size": "16MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",  # one process less
    "huge_pages": "off",
    "jit": "off",
    "logging_collector": "off",
    "log_min_messages": "log",  # not the errors that its clients are told anyway
    "log_timezone": "UTC",
    "timezone": "UTC",
}


class PostgresServer:
    """See ``RunningServer``. ``folder`` is made, and removed by ``close``."""

    ours = True
    host = LOOPBACK

    def __init__(self, folder: Path, image: Image, endpoint: str) -> None:
        """Not running yet: see ``start``."""
        self.endpoint = endpoint
        self.port = 0
        self._image = image
        self._guard: Guard | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: Control | None = None
        try:
            self.folder = image.owner.place(folder)
        except OSError as problem:
            raise ServerProblem(f"no PostgreSQL server can live in {folder}: {problem}") from None
        self._data = self.folder / DATA
        self._log = Log(self.folder / "server.log")

    @classmethod
    def start(cls, folder: Path, image: Path | Image, endpoint: str = "postgres") -> PostgresServer:
        """A server that serves. ``image``: one that was made, or the folder where it is kept."""
        if isinstance(image, Path):
            image = Image.kept_in(image)
        server = cls(folder, image, endpoint)
        try:
            server._guard = Guard(server.folder)
            image.copy_to(server._data)
            server._start_somewhere()
        except BaseException:
            server.close()
            raise
        return server

    @property
    def pid(self) -> int:
        """The postmaster. 0: it was killed."""
        return self._process.pid if self._process is not None else 0

    @property
    def version(self) -> str:
        """PostgreSQL's version."""
        return self._image.installation.version

    def address(self, client: str, at: tuple[str, int] | None = None) -> str:
        """A URL by which the client's sessions are known as its own."""
        host, port = at or (self.host, self.port)
        options = {
            "sslmode": "disable",
            "gssencmode": "disable",
            "application_name": session_name(client),
            "connect_timeout": "5",
        }
        query = urlencode(options, quote_via=quote)
        return f"postgresql://{USER}@{host}:{port}/{DATABASE}?{query}"

    def sessions(self, client: str) -> tuple[int, ...]:
        """None while it is down; waits while it recovers."""
        self._log.trim()
        if self._process is None:
            return ()
        return self._asked().sessions(session_name(client))

    def is_blocked(self, client: str) -> bool:
        """See ``RunningServer``."""
        return self._process is not None and self._asked().is_blocked(session_name(client))

    def is_inside(self, client: str) -> bool:
        """See ``RunningServer``."""
        return self._process is not None and self._asked().is_inside(session_name(client))

    def kill_session(self, client: str) -> bool:
        """PostgreSQL answers the death of one session by ending all, and recovering."""
        for pid in self.sessions(client):
            process = look(pid)
            if process is None or process.parent != self.pid:
                continue  # it has just left by itself
            self._asked().expect_loss()
            if not kill_one(pid):
                raise ServerProblem(f"session {pid} of PostgreSQL does not die of SIGKILL")
            return True
        return False

    def await_serving(self, deadline_s: float = START_S) -> None:
        """See ``RunningServer``. After ``kill_session`` this is after the recovery."""
        self._log.trim()
        self._asked().await_serving(deadline_s)

    def kill(self) -> None:
        """The postmaster and every process of its own, as if the machine had stopped."""
        if self._process is None:
            return
        if self._control is not None:
            self._control.close()
        if not kill_tree(self._process.pid):
            raise ServerProblem(f"PostgreSQL (process {self.pid}) does not die of SIGKILL")
        if self._guard is not None:
            self._guard.started(0)  # before the number is free for another process
        self._process.wait()
        self._process = None

    def restart(self) -> None:
        """On what the killed server had, at the same port."""
        if self._process is not None:
            raise ServerProblem("PostgreSQL runs: kill it before it is started again")
        if not self._start():
            raise ServerProblem(
                f"PostgreSQL was down, and meanwhile another program took its port {self.port} of "
                f"{self.host}. Run again; `ss -ltnp 'sport = :{self.port}'` says who that is."
            )

    def close(self) -> None:
        """See ``RunningServer``. Leaves no process, no folder, and no shared memory."""
        try:
            self.kill()
        finally:
            remove_segment(self._data)
            shutil.rmtree(self.folder, ignore_errors=True)
            if self._guard is not None:
                self._guard.close()
                self._guard = None

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start_somewhere(self) -> None:
        for _ in range(_PORT_TRIES):
            self.port = free_port()
            if self._start():
                return
        raise ServerProblem(
            f"PostgreSQL found no free port of {self.host} in {_PORT_TRIES} tries, the last of "
            f"them {self.port}: other programs hold too many"
        )

    def _start(self) -> bool:
        """Start it at its port and wait until it serves; False where the port is taken."""
        assert self._guard is not None, "it was closed"
        self._process = launch(
            self._command(),
            self._guard,
            self._log,
            self.folder,
            owner=self._image.owner,
            environment=plain_environment(),
        )
        if not self._await_ready():
            return False
        about = f"PostgreSQL on port {self.port} of {self.host}"
        self._control = Control(self._conninfo(), about, self._check_alive)
        self._control.await_serving(START_S)
        return True

    def _await_ready(self) -> bool:
        """Until it says in its own file that it is ready; a client that knocks only costs it time.
        False where its port is taken."""
        assert self._process is not None
        for _ in pauses(START_S):
            said = postmaster_of(self._data)
            if said is not None and said.pid == self._process.pid and said.status == "ready":
                return True
            if ended(self._process.pid) is not None:
                taken = "Address already in use" in self._log.printed()
                if not taken:
                    self._check_alive()
                self.kill()
                return False
        tail = self._log.tail()
        self.kill()
        raise ServerProblem(f"PostgreSQL was not ready within {START_S:g} s. Its log ends:\n{tail}")

    def _check_alive(self) -> None:
        if self._process is None:
            raise ServerProblem("PostgreSQL was killed and not started again")
        code = ended(self._process.pid)
        if code is None:
            return
        free = shutil.disk_usage(self.folder).free >> 20
        tail = self._log.tail()
        raise ServerProblem(
            f"PostgreSQL {self.version} of {self._image.installation.bin}, run as "
            f"{self._image.owner.name}, ended by itself (code {code}; {free} MiB free in "
            f"{self.folder}). Its log ends:\n{tail}"
        )

    def _asked(self) -> Control:
        if self._control is None or self._process is None:
            raise ServerProblem("PostgreSQL is down: start it again before it is asked")
        return self._control

    def _conninfo(self) -> str:
        return (
            f"host={self.host} port={self.port} user={USER} dbname={DATABASE} "
            "sslmode=disable gssencmode=disable"
        )

    def _command(self) -> list[str]:
        socket = f"{self.folder}/.s.PGSQL.{self.port}.lock"
        short = len(os.fsencode(socket)) <= SOCKET_PATH_BYTES  # else: by TCP alone
        settings = {**_SETTINGS, "unix_socket_directories": str(self.folder) if short else ""}
        program = str(self._image.installation.program("postgres"))
        command = [program, "-D", str(self._data), "-p", str(self.port)]
        return command + [f"--{name}={value}" for name, value in settings.items()]


def session_name(client: str) -> str:
    """The client's name as the server keeps it."""
    if not client.isascii() or not client.isprintable() or not 0 < len(client) <= NAME_BYTES:
        raise ServerProblem(
            f"{client!r} cannot name a session: up to {NAME_BYTES} printable ASCII characters can"
        )
    return client
