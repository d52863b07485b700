"""Any other server that a target names: a command that is started, killed with its whole tree, and
started again at the same port on what it had."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path
from typing import Final

from ...targets.terms import Server
from . import ServerMissing, ServerProblem
from .guard import Guard
from .launch import Log, launch
from .ports import LOOPBACK, free_port, is_free
from .tree import ended, kill_tree, pauses

START_S: Final = 60.0
_KNOCK_S = 1.0
_PORT_TRIES = 10


class ProcessServer:
    """See ``RunningServer``. ``folder`` is made, and removed by ``close``."""

    ours = True
    host = LOOPBACK

    def __init__(self, server: Server, folder: Path) -> None:
        """Not running yet: see ``start``."""
        self.endpoint = server.endpoint
        self.port = 0
        self._server = server
        self._folder = folder
        self._kept = folder / "kept"
        self._log = Log(folder / "server.log")
        self._ready = False
        self._guard: Guard | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def start(cls, server: Server, folder: Path) -> ProcessServer:
        """A server that serves."""
        running = cls(server, folder)
        try:
            running._kept.mkdir(parents=True)
            running._guard = Guard(folder)
            running._start_somewhere()
        except BaseException as problem:
            running.close()
            if isinstance(problem, OSError):
                raise ServerProblem(
                    f"the target's server cannot be started in {folder}: {problem}"
                ) from None
            raise
        return running

    @property
    def pid(self) -> int:
        """The process. 0: it was killed."""
        return self._process.pid if self._process is not None else 0

    def address(self, client: str, at: tuple[str, int] | None = None) -> str:
        """``host:port``; a client has no name there."""
        host, port = at or (self.host, self.port)
        return f"{host}:{port}"

    def sessions(self, client: str) -> tuple[int, ...]:
        """No such thing is known of it."""
        return ()

    def is_blocked(self, client: str) -> bool:
        """Nothing is known of it."""
        return False

    def is_inside(self, client: str) -> bool:
        """Nor of that."""
        return False

    def kill_session(self, client: str) -> bool:
        """There is none to kill."""
        return False

    def await_serving(self, deadline_s: float) -> None:
        """Until its port accepts, and its ready line was printed."""
        self._log.trim()
        for _ in pauses(deadline_s):
            self._check_alive()
            if self._said_ready() and self._accepts():
                self._check_alive()  # else it was another program that accepted
                self._ready = True
                return
        raise ServerProblem(
            f"{self._about()} was not ready within {deadline_s:g} s"
            f"{self._awaited()}. Its output ends:\n{self._log.tail()}"
        )

    def kill(self) -> None:
        """It and all that it started."""
        if self._process is None:
            return
        if not kill_tree(self._process.pid):
            raise ServerProblem(f"{self._about()} does not die of SIGKILL")
        if self._guard is not None:
            self._guard.started(0)  # before the number is free for another process
        self._process.wait()
        self._process = None

    def restart(self) -> None:
        """At the same port, with the same ``{folder}``."""
        if self._process is not None:
            raise ServerProblem(f"{self._about()} runs: kill it before it is started again")
        if not is_free(self.port):
            raise ServerProblem(
                f"{self._about()} was down, and meanwhile another program took its port. Run "
                f"again; `ss -ltnp 'sport = :{self.port}'` says who that is."
            )
        self._start()

    def close(self) -> None:
        """See ``RunningServer``."""
        try:
            self.kill()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
            if self._guard is not None:
                self._guard.close()
                self._guard = None

    def __enter__(self) -> ProcessServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start_somewhere(self) -> None:
        for _ in range(_PORT_TRIES):
            self.port = free_port()
            try:
                self._start()
            except ServerProblem:
                alone = self._process is not None and ended(self._process.pid) is not None
                if not alone or is_free(self.port):
                    raise
                self.kill()  # another program was faster
            else:
                return
        raise ServerProblem(f"{self._about()}: no free port in {_PORT_TRIES} tries")

    def _start(self) -> None:
        assert self._guard is not None, "it was closed"
        self._ready = False
        filled = [
            part.replace("{port}", str(self.port)).replace("{folder}", str(self._kept))
            for part in self._server.argv
        ]
        program = shutil.which(filled[0])
        if program is None:
            raise ServerMissing(
                f"the target's server cannot be started: no program {filled[0]!r} was found. "
                f"Install {Path(filled[0]).name}, or put its folder on PATH"
            )
        filled[0] = str(Path(program).absolute())
        self._process = launch(filled, self._guard, self._log, self._kept)
        self.await_serving(START_S)

    def _check_alive(self) -> None:
        if self._process is None:
            raise ServerProblem(f"{self._about()} was killed and not started again")
        code = ended(self._process.pid)
        if code is not None:
            raise ServerProblem(
                f"{self._about()} ended by itself (code {code}). Its output ends:\n"
                f"{self._log.tail()}"
            )

    def _said_ready(self) -> bool:
        expected = self._server.ready
        return expected is None or self._ready or expected in self._log.printed()

    def _accepts(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=_KNOCK_S) as knock:
                return bool(knock.getsockname() != knock.getpeername())  # not with itself
        except OSError:
            return False

    def _awaited(self) -> str:
        line = "" if self._server.ready is None else f", a line with {self._server.ready!r} printed"
        return f" (port {self.port} accepting{line})"

    def _about(self) -> str:
        return f"the server {Path(self._server.argv[0]).name} on port {self.port} of {self.host}"
