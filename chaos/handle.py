"""The harness's end of a node: what it says, and its death.

A node is untrusted: every wait has a deadline, every line a longest length, and anything that is
no message of the protocol ends in ``Garbage``, never in an exception of the harness. A kill is
sent by descriptor (pidfd) and over only when that descriptor says the process is dead: a writer
right after ``kill()`` would still find the dead node's locks.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from dataclasses import dataclass
from typing import Any, TypeAlias

from .channel import Message, line_of

LINE_LIMIT = 1 << 20
"""Longest line that a node may send, bytes; more is a flood."""

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
        self.alive = True

    def say(self, message: Message) -> None:
        """Send one message. A dead node is noticed when it is next listened to."""
        try:
            self._sock.sendall(line_of(message))
        except OSError:
            return

    def hear(self, deadline_s: float) -> Heard:
        """The next message. ``deadline_s`` counts from now. Trace lines are put aside."""
        until = time.monotonic() + deadline_s
        while True:
            line = self._line(until, deadline_s)
            if not isinstance(line, bytes):
                return line
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                return Garbage(f"not JSON: {line[:80]!r}")
            if not isinstance(message, dict):
                return Garbage(f"not an object: {line[:80]!r}")
            if "trace" not in message:
                return Said(message)
            self.traced.append(message)

    def _line(self, until: float, deadline_s: float) -> bytes | Heard:
        while True:
            line, found, rest = self._buffer.partition(b"\n")
            if found:
                self._buffer = rest
                return line
            if len(self._buffer) > LINE_LIMIT:
                return Garbage(f"a line of more than {LINE_LIMIT} bytes")
            left_s = until - time.monotonic()
            if left_s <= 0 or not self._ready.poll(left_s * 1000):
                return Silent(deadline_s)
            try:
                data = self._sock.recv(65536)
            except OSError:
                data = b""
            if not data:
                return Gone()
            self._buffer += data

    def kill(self) -> None:
        """SIGKILL, and wait until the process is dead. Its descriptors are closed then."""
        if self.alive:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self.wait_dead(DEATH_DEADLINE_S)

    def stop_clock(self, stopped: bool) -> None:
        """SIGSTOP or SIGCONT: a pause of the whole process."""
        signal.pidfd_send_signal(self._pidfd, signal.SIGSTOP if stopped else signal.SIGCONT)

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


def as_int(value: Any) -> int:
    """A number out of an untrusted message; anything else counts as 0."""
    return value if type(value) is int else 0
