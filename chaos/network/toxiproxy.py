"""A Toxiproxy of this process alone: started on a free port, driven, and gone when we are.

It is the real server. It is told to take port 0 and is then asked (through /proc) which port it
got, so no other program can have taken it meanwhile, and no Toxiproxy of another owner is ever
spoken to. Between it and us stands a shell that waits for the end of its standard input, which
comes however this process ends, and then kills it.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import psutil

from ..servers import ServerProblem
from .api import Api
from .link import Link
from .programs import find_toxiproxy

HOST: Final = "127.0.0.1"
START_DEADLINE_S: Final = 30.0
"""Longest wait for its control port, on a loaded machine, seconds."""

_LOOK_S: Final = 0.005
_GUARDED: Final = '"$@" </dev/null >&2 & echo $!; read -r _; kill -9 $!; wait'


class Toxiproxy:
    """See the module. A context manager; raises ``ServerMissing`` or ``ServerProblem``."""

    def __init__(self, program: Path | None = None) -> None:
        self.program = program or find_toxiproxy().path
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        command = [str(self.program), "-host", HOST, "-port", "0"]
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARDED, "admitone-toxiproxy", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,  # Ctrl-C is not for it
            env={**os.environ, "LOG_LEVEL": "fatal"},
        )
        self._pidfd = -1
        self._count = 0
        try:
            assert self._guard.stdout is not None
            self.pid = int(self._guard.stdout.readline())
            with suppress(ProcessLookupError):  # it has ended already
                self._pidfd = os.pidfd_open(self.pid)
            self.host = HOST
            self.port = self._own_port()
        except BaseException:
            self.close()
            raise
        self._api = Api(HOST, self.port)

    def proxy(self, name: str, upstream_host: str, upstream_port: int) -> Link:
        """A new link to a server, on a free port. ``name`` is for whoever looks at the proxy."""
        if not self.alive:
            raise ServerProblem(f"Toxiproxy (process {self.pid}) has ended{self._last_words()}")
        self._count += 1
        return Link(self._api, f"{name}-{self._count}", upstream_host, upstream_port)

    @property
    def version(self) -> str:
        """What the server says of itself."""
        return self._api.version()

    @property
    def alive(self) -> bool:
        """Whether the server is still running."""
        return self._pidfd >= 0 and not _readable(self._pidfd, 0)

    def close(self) -> None:
        """End the server with all its links. More than once does no harm."""
        if self._pidfd >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            os.close(self._pidfd)
            self._pidfd = -1
        for end in (self._guard.stdin, self._guard.stdout):
            if end is not None:
                end.close()
        self._guard.wait()
        self._said.close()

    def __enter__(self) -> Toxiproxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _own_port(self) -> int:
        """Where *this* process listens, once it does."""
        until = time.monotonic() + (START_DEADLINE_S if self._pidfd >= 0 else 0.0)
        while time.monotonic() < until:
            with suppress(psutil.Error):
                for socket in psutil.Process(self.pid).net_connections(kind="tcp4"):
                    if socket.status == psutil.CONN_LISTEN:
                        return int(socket.laddr.port)
            if _readable(self._pidfd, _LOOK_S):
                break
        raise ServerProblem(
            f"{self.program} did not open its control port{self._last_words()}. Try it by hand: "
            f"{self.program} -host {HOST} -port 0"
        )

    def _last_words(self) -> str:
        self._said.seek(0)
        words = self._said.read()[-400:].decode("utf-8", "replace").strip()
        return f"; it said: {words.splitlines()[-1]}" if words else ""


def _readable(descriptor: int, timeout_s: float) -> bool:
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    return bool(ready.poll(timeout_s * 1000))
