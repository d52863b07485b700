"""The node's end of the wire: JSON lines on a descriptor of its own, shared by its threads.

Several threads of a node may wait at once (an operation for the sink's answer, another one at a
stop, the main loop for the next request). Whoever finds nobody reading becomes the reader and
files what comes for the others, so that no thread of ours has to run beside the ledger's own.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections import deque
from itertools import count
from typing import Any

Message = dict[str, Any]
"""One decoded line. Its keys are those of ``targets/schemas/wire-v1.json``."""

_dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_decoder = json.JSONDecoder()


def line_of(message: Message) -> bytes:
    """One message as a line. ASCII only, so that a lone surrogate cannot break the stream."""
    return (_dumps(message) + "\n").encode("ascii")


def message_of(line: bytes) -> Any:
    """What a line says, if it is JSON in UTF-8; raises ``ValueError`` otherwise."""
    return _decoder.decode(line.decode("utf-8", "surrogatepass"))


class Channel:
    """Requests from the harness, asks to it, and its answers, over one stream socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = b""
        self._requests: deque[Message] = deque()
        self._answers: dict[int, Message] = {}
        self._reading = False
        self._waiting = 0
        self._lock = threading.Lock()
        self._filed = threading.Condition(self._lock)
        self._sending = threading.Lock()
        self._tokens = count(1)

    def send(self, message: Message) -> None:
        """Send one message; never waits for an answer."""
        data = line_of(message)
        with self._sending:
            self._sock.sendall(data)

    def ask(self, message: Message) -> Message:
        """Send one message and wait for the harness's answer to it."""
        token = next(self._tokens)
        message["ask"] = token
        self.send(message)
        return self._wait(token)

    def next_request(self) -> Message:
        """Wait for the next request. Leaves the process when the harness is gone."""
        return self._wait(None)

    def _wait(self, token: int | None) -> Message:
        while True:
            with self._lock:
                while True:
                    found = self._take(token)
                    if found is not None:
                        return found
                    if not self._reading:
                        self._reading = True
                        break
                    self._waiting += 1
                    self._filed.wait()
                    self._waiting -= 1
            line = self._read_line()
            with self._lock:
                self._reading = False
                self._file(message_of(line))
                if self._waiting:  # mostly there is one thread
                    self._filed.notify_all()

    def _take(self, token: int | None) -> Message | None:
        if token is None:
            return self._requests.popleft() if self._requests else None
        return self._answers.pop(token, None)

    def _file(self, message: Message) -> None:
        token = message.get("answer")
        if token is None:
            self._requests.append(message)
        else:
            self._answers[token] = message

    def _read_line(self) -> bytes:
        while b"\n" not in self._buffer:
            try:
                data = self._sock.recv(65536)
            except OSError:
                data = b""
            if not data:
                os._exit(0)  # the harness is gone: nobody is left to work for
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line
