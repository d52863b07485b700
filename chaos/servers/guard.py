"""A guardian for each server: a small process that outlives the harness by as long as it takes.

Whoever SIGKILLs the harness leaves it no chance to end its servers, and a signal at the parent's
death is lost where a server changes its user. So the guardian, in a session of its own, waits for
the end of the harness (or of the pipe to it), kills the server with its whole tree, and removes
its folder. Where the harness did that itself, nothing is left to do.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from . import ServerProblem
from .segments import remove_segment, remove_segments_of
from .tree import kill_tree, look, members, pauses

DATA = "data"
"""Where, in its folder, a PostgreSQL server has its data."""

_REMOVAL_S = 20.0
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    f"from {__name__} import main; main(int(sys.argv[1]), sys.argv[2])"
)


class Guard:
    """The harness's end of a guardian over one folder."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            # Neither the user's settings nor installed packages: it must start fast, and always.
            [
                *(sys.executable, "-I", "-S", "-c", _PROGRAM, _packages()),
                *(str(os.getpid()), str(folder)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )

    def started(self, pid: int) -> None:
        """From now on this process is the server (0: there is none at present)."""
        assert self._process.stdin is not None
        process = look(pid)
        begun = process.begun if process is not None else 0
        try:
            self._process.stdin.write(b"%d %d\n" % (pid, begun))
            self._process.stdin.flush()
        except OSError:
            raise ServerProblem(
                f"the guardian of a server (process {self._process.pid}) has ended: without one "
                "the server could be left running. Run again."
            ) from None

    def close(self) -> None:
        """Let the guardian end what is left, if anything, and itself."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_REMOVAL_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main(harness: int, folder: str) -> None:
    """The guardian's process: wait for the end of the harness, then leave nothing of the server."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    servers = _servers(harness)
    server, begun = servers[-1] if servers else (0, 0)
    makers = [pid for pid, _ in servers if pid][-1:]
    process = look(server) if server else None
    if process is not None and process.begun == begun:
        makers += [process.pid for process in members(server)]
        kill_tree(server)
    # by their makers: whoever ended the harness may remove its folders just now
    remove_segments_of(makers)
    if not Path(folder).exists():
        return
    remove_segment(Path(folder) / DATA)
    import shutil  # late: it loads compressors

    for _ in pauses(_REMOVAL_S):
        shutil.rmtree(folder, ignore_errors=True)
        if not Path(folder).exists():
            return


def _servers(harness: int) -> list[tuple[int, int]]:
    """Wait until the harness is gone; what it said lately. A forked copy of it may hold the pipe
    open, hence the second descriptor."""
    said = b""
    os.set_blocking(0, False)
    ready = select.poll()
    ready.register(0, select.POLLIN | select.POLLHUP)
    with suppress(OSError):  # it is gone already: then the pipe tells
        ready.register(os.pidfd_open(harness), select.POLLIN)
    while True:
        seen = [descriptor for descriptor, _ in ready.poll()]
        while True:
            try:
                data = os.read(0, 4096)
            except BlockingIOError:
                break
            if not data:
                seen.append(-1)
                break
            said = (said + data)[-4096:]
        if any(descriptor != 0 for descriptor in seen):
            lines = [line.split() for line in said.split(b"\n")[:-1]]
            return [(int(line[0]), int(line[1])) for line in lines if len(line) == 2]


def _packages() -> str:
    """The folder that the import package lies in."""
    import importlib

    package = importlib.import_module(__name__.split(".")[0])
    assert package.__file__ is not None
    return str(Path(package.__file__).parent.parent)
