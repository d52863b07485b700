"""The harness's end of a node: what it says, and its death.

A node is untrusted: every wait has a deadline, every line a longest length, and anything that is
no message of the protocol ends in ``Garbage``, never in an exception of the harness. A kill is
sent by descriptor (pidfd) and over only when that descriptor says the process is dead: a writer
right after ``kill()`` would still find the dead node's locks.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from .channel import Message, line_of, message_of

LINE_LIMIT = 1 << 20
"""Longest line that a node may send, bytes; more is a flood."""

DEPTH_LIMIT = 200
"""Deepest nesting of a message; more could end in a ``RecursionError`` somewhere else."""

TRACE_LIMIT = 100_000
"""Most trace lines that are kept of one node."""

SAY_DEADLINE_S = 1
"""How long a node may leave what it is told unread, once its buffer is full."""

DEATH_DEADLINE_S = 10.0
"""A SIGKILLed process that is not dead by then makes the machine unfit for the run."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message from the node."""

    message: Message


@dataclass(frozen=True, slots=True)
class Gone:
    """The node closed its end: it died, or left."""


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing came before the deadline."""

    waited_s: float


@dataclass(frozen=True, slots=True)
class Garbage:
    """What came is no message of the protocol."""

    why: str


Heard: TypeAlias = Said | Gone | Silent | Garbage


def unsaid(heard: Gone | Silent | Garbage) -> str:
    """What a node did instead of answering, for a message."""
    if isinstance(heard, Silent):
        return f"did not answer within {heard.waited_s:g} s"
    if isinstance(heard, Garbage):
        return f"broke the node's protocol: {heard.why}"
    return "ended its process"


class NodeHandle:
    """One living node. ``name`` is what the history calls it."""

    def __init__(self, name: str, pid: int, sock: socket.socket) -> None:
        self.name = name
        self.pid = pid
        self.operations: tuple[str, ...] = ()
        self.traced: list[Message] = []
        self._sock = sock
        self._pidfd = os.pidfd_open(pid)
        self._buffer = b""
        self._death = select.poll()
        self._death.register(self._pidfd, select.POLLIN)
        self._ready = select.poll()
        self._ready.register(sock, select.POLLIN)
        wait = struct.pack("ll", SAY_DEADLINE_S, 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, wait)
        self._deaf = False
        self.alive = True

    def say(self, message: Message) -> None:
        """Send one message. A dead node is noticed when it is next listened to."""
        try:
            self._sock.sendall(line_of(message))
        except BlockingIOError:
            self._deaf = True
        except OSError:
            return

    def hear(self, deadline_s: float) -> Heard:
        """The next message. ``deadline_s`` counts from now. Trace lines are put aside."""
        if not self.alive:
            return Gone()
        if self._deaf:
            return Garbage("it does not read what it is told")
        until = time.monotonic() + deadline_s
        while True:
            line = self._line(until, deadline_s)
            if not isinstance(line, bytes):
                return line
            try:
                message = message_of(line)
            except (ValueError, RecursionError):
                return Garbage(f"not JSON: {line[:80]!r}")
            if not isinstance(message, dict):
                return Garbage(f"not an object: {line[:80]!r}")
            if too_deep(line, message):
                return Garbage(f"nested deeper than {DEPTH_LIMIT}: {line[:80]!r}")
            if "trace" not in message:
                return Said(message)
            self.traced.append(message)
            if len(self.traced) > TRACE_LIMIT:
                return Garbage(f"more than {TRACE_LIMIT} trace lines")
            if time.monotonic() > until:
                return Silent(deadline_s)

    def _line(self, until: float, deadline_s: float) -> bytes | Heard:
        while True:
            line, found, rest = self._buffer.partition(b"\n")
            if found:
                self._buffer = rest
                return line
            if len(self._buffer) > LINE_LIMIT:
                return Garbage(f"a line of more than {LINE_LIMIT} bytes")
            left_s = max(0.0, until - time.monotonic())  # at 0 what is there already is read
            if not self._ready.poll(left_s * 1000):
                return Silent(deadline_s)
            try:
                data = self._sock.recv(65536)
            except OSError:
                data = b""
            if not data:
                return Gone()
            self._buffer += data

    def fileno(self) -> int:
        """The descriptor on which the node is heard, for waiting on several."""
        return self._sock.fileno()

    @property
    def has_line(self) -> bool:
        """A whole message is here already."""
        return b"\n" in self._buffer

    def kill(self) -> None:
        """SIGKILL, and wait until the process is dead. Its descriptors are closed then.

        Raises ``TimeoutError`` if it does not die: it may still write, so nothing can be judged.
        """
        if self.alive:
            with contextlib.suppress(ProcessLookupError):  # it died by itself, and was reaped
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        if not self.wait_dead(DEATH_DEADLINE_S):
            raise TimeoutError(
                f"node {self.name} (pid {self.pid}) is not dead {DEATH_DEADLINE_S:g} s after "
                "SIGKILL: this machine is unfit for the run"
            )

    def stop_clock(self, stopped: bool) -> None:
        """SIGSTOP or SIGCONT: a pause of the whole process."""
        signal.pidfd_send_signal(self._pidfd, signal.SIGSTOP if stopped else signal.SIGCONT)

    def asleep(self) -> bool:
        """Whether no thread of it runs or would, were it given its turn: all wait for something."""
        try:
            return all(_state(task) in b"SD" for task in Path(f"/proc/{self.pid}/task").iterdir())
        except OSError:  # it is gone, or a thread of it
            return False

    def wait_dead(self, deadline_s: float) -> bool:
        """Wait for the process to end by itself; False if it has not by the deadline."""
        if not self.alive:
            return True
        if not self._death.poll(deadline_s * 1000):
            return False
        self.alive = False
        self._sock.close()
        os.close(self._pidfd)
        return True


def _state(task: Path) -> bytes:
    """The letter for what a thread does; its name before it may have any letters."""
    return (task / "stat").read_bytes().rpartition(b")")[2].split()[0]


def too_deep(line: bytes, message: Message) -> bool:
    """Whether a message nests deeper than ``DEPTH_LIMIT``."""
    if line.count(b"[") + line.count(b"{") <= DEPTH_LIMIT:
        return False
    level: list[Any] = [message]
    for _ in range(DEPTH_LIMIT):
        level = [
            item
            for part in level
            if isinstance(part, dict | list)
            for item in (part.values() if isinstance(part, dict) else part)
        ]
        if not level:
            return False
    return True


def as_int(value: Any) -> int:
    """A number out of an untrusted message; anything else counts as 0."""
    return value if type(value) is int else 0
