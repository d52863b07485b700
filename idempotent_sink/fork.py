"""A fork of this process as a child: what ``subprocess.Popen`` is for a program.

A sink server is this package's own code, which is loaded here already; a fresh interpreter would
load it again. Nothing that the parent has open goes with it, and no frame of the parent is ever
returned to: what they hold, a connection to a store for instance, is neither used nor closed there.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

_COURTESIES: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Forked:
    """A child called ``name`` that runs ``main`` and ends with what it returns. ``errors``: where
    its standard error goes. Only for a process of one thread: others would be lost, locks and all.
    """

    def __init__(self, name: str, main: Callable[[], int], errors: int) -> None:
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _become(name, main, theirs_in, theirs_out, errors)
        os.close(theirs_in)
        os.close(theirs_out)
        self.stdin: BinaryIO = os.fdopen(ours_in, "wb", 0)
        self.stdout: BinaryIO = os.fdopen(ours_out, "rb", 0)
        self._status: int | None = None

    def poll(self) -> int | None:
        """None while it runs; then its exit code, or minus the number of the signal."""
        self._reap(os.WNOHANG)
        return self._status

    def kill(self) -> None:
        """SIGKILL, unless it is reaped: its number may be another's by then."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its end, and as ``poll``."""
        self._reap(0)
        assert self._status is not None
        return self._status

    def _reap(self, options: int) -> None:
        if self._status is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)


def _become(name: str, main: Callable[[], int], source: int, sink: int, errors: int) -> None:
    """The life of the child."""
    code = 70
    try:
        gc.freeze()  # what is garbage of the parent's is not ours to finalise
        os.setsid()  # Ctrl-C is for the harness alone
        for courtesy in _COURTESIES:
            signal.signal(courtesy, signal.SIG_DFL)
        for standard, descriptor in enumerate((source, sink, errors)):
            os.dup2(descriptor, standard)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        with contextlib.suppress(OSError):  # for who lists processes
            Path("/proc/self/comm").write_text(name)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(0, "r"),
            os.fdopen(1, "w"),
            os.fdopen(2, "w", 1),
        )
        code = main()
    except BaseException:  # there is nobody to raise it to
        traceback.print_exc()
    finally:
        os._exit(code)
