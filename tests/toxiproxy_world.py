"""A Toxiproxy for the tests of a worker, and a server that records what reaches it.

The fixture is known to every test (``conftest.py`` imports it). Where the machine has no Toxiproxy
it fails, and says what installs one: nothing is skipped in silence.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from admitone.chaos.network.toxiproxy import Toxiproxy

DEADLINE_S = 60.0
"""For what happens at once: only a machine that stands still makes it pass."""


@pytest.fixture(scope="session")
def toxiproxy() -> Iterator[Toxiproxy]:
    """A proxy that all tests of this worker share; each makes links of its own."""
    with Toxiproxy() as server:
        yield server


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    """A recording server of the test's own."""
    with EchoServer() as server:
        yield server


@dataclass
class Heard:
    """One connection as its server saw it. ``ended``: "" while it stands."""

    received: bytes = b""
    ended: str = ""


class EchoServer:
    """Answers each line with ``answer:`` and the line, and records each connection. Where it never
    ``answers``, no answer can meet a peer that has gone, and turn its close into a reset."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family)
        self.host, self.port = self._listener.getsockname()[:2]
        self.heard: list[Heard] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.answers = True
        self._changed = threading.Condition()
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> EchoServer:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self.may_answer.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # closed already
        for thread in self._threads[1:]:
            thread.join()
        self._listener.close()

    def wait_for(self, number: int, holds: Callable[[Heard], bool]) -> Heard:
        """The connection of that number, once what is asked holds of it."""

        def there() -> bool:
            return len(self.heard) > number and holds(self.heard[number])

        with self._changed:
            assert self._changed.wait_for(there, DEADLINE_S), self.heard
            return Heard(self.heard[number].received, self.heard[number].ended)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            heard = Heard()
            with self._changed:
                self.heard.append(heard)
                self._changed.notify_all()
            self._open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection, heard))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket, heard: Heard) -> None:
        ended = "closed"
        with connection:
            try:
                while data := connection.recv(4096):
                    with self._changed:
                        heard.received += data
                        self._changed.notify_all()
                    if data.endswith(b"\n") and self.answers:
                        self.may_answer.wait()
                        connection.sendall(b"answer:" + data)
            except ConnectionError as problem:
                ended = "reset" if isinstance(problem, ConnectionResetError) else "closed"
        with self._changed:
            heard.ended = ended
            self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class Saw:
    """What a client got for its request, and how that ended."""

    received: bytes
    end: str


def ask(connection: socket.socket, line: bytes, *, patience_s: float = DEADLINE_S) -> Saw:
    """Send a line and read until its answer is whole, or as long as it goes."""
    try:
        connection.sendall(line)
    except ConnectionError:
        return Saw(b"", "reset")
    return hear(connection, line, patience_s=patience_s)


def hear(connection: socket.socket, line: bytes, *, patience_s: float = DEADLINE_S) -> Saw:
    """Read the answer to a line that was sent before."""
    received = b""
    connection.settimeout(patience_s)
    try:
        while received != b"answer:" + line:
            data = connection.recv(4096)
            if not data:
                return Saw(received, "closed")
            received += data
    except TimeoutError:
        return Saw(received, "nothing")
    except ConnectionError:
        return Saw(received, "reset")
    return Saw(received, "answer")
