"""The warm parent as the harness sees it: start it, ask it for nodes, end it.

The harness itself never imports a target. What it knows of one is the greeting of this process.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..targets.declaration import Declaration
from ..targets.terms import TargetName
from ..targets.values import decode
from .handle import DEATH_DEADLINE_S, NodeHandle

WARM_DEADLINE_S = 60.0
"""Longest time that importing a target may take, seconds."""

ANSWER_DEADLINE_S = 20.0
"""Longest time that a fork may take on a loaded machine, seconds."""

PRINTED_BYTES = 400
"""How much of what a target printed goes into a message, bytes."""


class TargetProblem(Exception):
    """The target cannot be tried at all. The text says what, where and what to do."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a warmed target said of itself."""

    name: TargetName
    declaration: Declaration
    optional: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """Evidence that a child ended: the status that its parent reaped."""

    pid: int
    signal: int
    left: int


class WarmParent:
    """One warm parent process of one target. ``folder`` must exist; output goes to ``log``."""

    def __init__(
        self,
        target: str,
        folder: Path,
        log: Path,
        *,
        warm_deadline_s: float = WARM_DEADLINE_S,
        hash_seed: int | None = None,
        zone: str | None = None,
    ) -> None:
        self.target = target
        self.log = log
        self._folder = folder
        self._apart: dict[str | None, WarmParent] = {}
        self._ended: dict[int, Ended] = {}
        self._nodes: dict[int, NodeHandle] = {}
        self._control, theirs = socket.socketpair()
        self._buffer = b""
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "admitone.chaos.zygote",
                    str(theirs.fileno()),
                    target,
                    str(folder),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for the harness alone
                env=_environment(hash_seed, zone),
            )
        theirs.close()
        try:
            self.greeting = self._greeted(self._receive(warm_deadline_s))
        except BaseException:
            self._process.kill()  # it may hang in an import, and has no nodes yet
            self.close()
            raise

    def fork(self, name: str) -> NodeHandle:
        """A new node."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [b"fork"], [theirs.fileno()])
            report = self._receive(ANSWER_DEADLINE_S)
        except BaseException as problem:
            ours.close()
            if isinstance(problem, OSError):
                raise TargetProblem(self._died()) from None
            raise
        node = self._nodes[report["pid"]] = NodeHandle(name, report["pid"], ours)
        return node

    def fork_apart(self, name: str, zone: str | None = None) -> NodeHandle:
        """A new node of a second warm parent, made when it is first asked for: it has imported the
        target anew, under another hash seed, as a process has that was started on its own.
        ``zone``: and in this time zone, as ``TZ`` names it."""
        if zone not in self._apart:
            self._apart[zone] = WarmParent(
                self.target, self._folder, self.log, hash_seed=1, zone=zone
            )
        return self._apart[zone].fork(name)

    def made(self, pid: int) -> bool:
        """Whether this is a node of this parent that was not reaped yet."""
        return pid in self._nodes

    def reap(self, pid: int) -> Ended:
        """The status of a node that is known to be dead (``NodeHandle.kill``)."""
        for apart in self._apart.values():
            if apart.made(pid):
                return apart.reap(pid)
        if pid not in self._ended:
            try:
                self._control.sendall(b"reap")
            except OSError:
                raise TargetProblem(self._died()) from None
            self._receive(ANSWER_DEADLINE_S)
        self._nodes.pop(pid, None)
        return self._ended.pop(pid)

    def end_nodes(self) -> None:
        """Kill every node that still lives, whoever made it."""
        for apart in self._apart.values():
            apart.end_nodes()
        for node in list(self._nodes.values()):
            if node.alive:
                node.kill()
            self.reap(node.pid)

    def learn(self) -> None:
        """Have the nodes to come forked by the example of those that live now."""
        try:
            self._control.sendall(b"learn")
        except OSError:
            raise TargetProblem(self._died()) from None
        self._receive(ANSWER_DEADLINE_S)

    def printed(self) -> str:
        """The end of what the target printed, for a message."""
        with self.log.open("rb") as log:  # which may be as long as the target likes
            log.seek(max(0, log.seek(0, os.SEEK_END) - PRINTED_BYTES))
            return log.read(PRINTED_BYTES).decode("utf-8", "replace").strip() or "none"

    def close(self) -> None:
        """End the parent and with it every node it made."""
        for apart in self._apart.values():
            apart.close()
        self._control.close()
        if self._process.poll() is None:
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for node in self._nodes.values():
            node.wait_dead(DEATH_DEADLINE_S)

    def _receive(self, deadline_s: float) -> dict[str, Any]:
        ready = select.poll()
        ready.register(self._control, select.POLLIN)
        until = time.monotonic() + deadline_s
        while b"\n" not in self._buffer:
            left_s = until - time.monotonic()
            if left_s <= 0 or not ready.poll(left_s * 1000):
                raise TargetProblem(
                    f"{self.target}: its process did not answer within {deadline_s:g} s "
                    f"(importing, or making a node). Last output: {self.printed()}"
                )
            try:
                data = self._control.recv(65536)
            except OSError:
                data = b""
            if not data:
                raise TargetProblem(self._died())
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        message = self._message(line)
        left = message.get("left", 0)
        for pid, status in message.get("ended", ()):
            ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            self._ended[pid] = Ended(pid, ended_by, left)
        return message

    def _message(self, line: bytes) -> dict[str, Any]:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise TargetProblem(
                f"{self.target}: its process wrote {line[:60]!r} where only this suite may write: "
                "to a descriptor that it did not open"
            )
        return message

    def _died(self) -> str:
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"{self.target}: its process ended ({how}). Last output: {self.printed()}"

    def _greeted(self, message: dict[str, Any]) -> Greeting:
        if "problem" in message:
            raise TargetProblem(message["problem"])
        if message["threads"] != 1:
            raise TargetProblem(
                f"{self.target}: warm() left {message['threads'] - 1} thread(s) running. A fork "
                "would lose them: start threads in open()."
            )
        if message["stores"]:
            raise TargetProblem(
                f"{self.target}: warm() left a file open for writing ({message['stores'][0]}). "
                "A fork would share it: open stores in open()."
            )
        return Greeting(
            decode(message["name"]),
            decode(message["declaration"]),
            tuple(message["optional"]),
        )


def _environment(hash_seed: int | None, zone: str | None) -> dict[str, str]:
    """The user's environment, with hash order fixed: the same plan gives the same statements."""
    environment = dict(os.environ)
    environment.setdefault("PYTHONHASHSEED", "0")
    if hash_seed is not None:
        same = environment["PYTHONHASHSEED"] == str(hash_seed)
        environment["PYTHONHASHSEED"] = str(hash_seed + same)
    if zone is not None:
        environment["TZ"] = zone
    return environment
