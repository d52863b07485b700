"""A sink server as a child of this process: started, emptied between schedules, ended by its pid.

It leaves with its parent, however the parent ends: it serves until the end of its standard input,
and only the parent holds the other end. It has a session of its own, so Ctrl-C is not for it. It is
a fork of this process, or a fresh interpreter where this one has threads.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from .client import HttpSink
from .fork import Forked
from .protocol import SinkKind
from .server import RECEIPT_KEY_VARIABLE, main

LINE_DEADLINE_S: Final = 30.0
"""Longest wait for a line of the server: a start on a loaded machine, or the gap, seconds."""

ANSWER_DEADLINE_S: Final = 30.0
"""Longest wait for an answer: only a sink that hangs makes it pass, seconds."""


class SinkProcessProblem(Exception):
    """The sink server did not start. The text says what its process said."""


class SinkProcess(HttpSink):
    """See the module. The store is made at ``path``; what the server complains of, beside it.

    ``hold_gap``: each request stands between its effect and the record of it until the server is
    killed (FP7). The next server over the same store finds what became durable.
    """

    def __init__(
        self, path: Path, kind: SinkKind, receipt_key: bytes, *, hold_gap: bool = False
    ) -> None:
        self._complaints = path.with_name(f"{path.name}.stderr")
        arguments = ["--store", str(path), "--kind", kind, "--port", "0", "--until-eof"]
        arguments += ["--resettable", *(["--hold-gap"] if hold_gap else [])]
        with self._complaints.open("ab") as complaints:
            self._process = _started(arguments, receipt_key.hex(), complaints.fileno())
        try:
            super().__init__(str(self._line()["url"]), timeout_s=ANSWER_DEADLINE_S)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        return self._process.poll() is None

    def await_gap(self) -> None:
        """Wait until a request stands in the gap. Raises ``SinkProcessProblem`` if none does."""
        said = self._line()
        if said.get("at") != "sink.gap":
            raise SinkProcessProblem(f"the sink's process said {said} instead of standing")

    def close(self) -> None:
        """End the server and reap it."""
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                end.close()

    def _line(self) -> dict[str, object]:
        """What the server says next: first its url, when it can be spoken to."""
        output = self._process.stdout
        assert output is not None
        ready = select.poll()
        ready.register(output, select.POLLIN)
        until = time.monotonic() + LINE_DEADLINE_S
        said = b""
        while not said.endswith(b"\n"):
            left_s = until - time.monotonic()
            if left_s <= 0 or not ready.poll(left_s * 1000):
                within = f"within {LINE_DEADLINE_S:.0f} s"
                raise SinkProcessProblem(f"the sink's process said nothing {within}")
            more = os.read(output.fileno(), 4096)
            if not more:
                complaint = self._complaints.read_bytes()[-400:].decode("utf-8", "replace").strip()
                raise SinkProcessProblem(f"the sink's process ended: {complaint or 'in silence'}")
            said += more
        line: dict[str, object] = json.loads(said)
        return line


def _started(
    arguments: Sequence[str], receipt_key: str, complaints: int
) -> Forked | subprocess.Popen[bytes]:
    """A process that serves; the key is not for the eyes of whoever lists processes."""
    if threading.active_count() == 1:

        def serve() -> int:
            os.environ[RECEIPT_KEY_VARIABLE] = receipt_key
            return main(arguments)

        return Forked("admitone-sink", serve, complaints)
    return subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.server", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        start_new_session=True,
        env={**os.environ, RECEIPT_KEY_VARIABLE: receipt_key},
    )
