"""Process trees: found by parentage and session in /proc, stopped as one, killed as one.

A server that dies as a machine does must not see a part of itself die first and tidy up after it:
so the whole tree is stopped before the first of it is killed. Only what descends from the given
process, or shares the session that was made for it, is touched.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

DEADLINE_S = 20.0
"""Longest time that a killed process may take to die (it may be inside a sync), seconds."""

_GONE = frozenset("ZX")
_STILL = frozenset("TtZXD")
"""Stopped, dead, or deep in the kernel: there it waits for a disk, or for a child of its own that
is between vfork and exec, for ever once that child is stopped. It makes no other meanwhile."""

_LAST_S = 1.0
_PAUSE_S = (0.001, 0.002, 0.003, 0.004, 0.005)


@dataclass(frozen=True, slots=True)
class Process:
    """One line of /proc/PID/stat, as far as it is needed. ``state`` is one letter; ``begun`` (in
    ticks since the machine began) tells it from another process that got its number later."""

    pid: int
    state: str
    parent: int
    session: int
    begun: int


def pauses(deadline_s: float) -> Iterator[float]:
    """Sleep from 1 to 5 ms between the rounds of a loop that looks again, up to a deadline; gives
    the seconds that are left. Ends when none are: put what happens then behind the loop."""
    until = time.monotonic() + deadline_s
    turn = 0
    while (left_s := until - time.monotonic()) > 0:
        yield left_s
        time.sleep(min(_PAUSE_S[min(turn, len(_PAUSE_S) - 1)], left_s))
        turn += 1


def look(pid: int) -> Process | None:
    """What the process is now; None where there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123  # of one scan of many
            text = stat.read()
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split(b" ", 20)  # a name may hold anything, ")" too
    return Process(pid, fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))


def is_dead(pid: int) -> bool:
    """Gone, or a zombie: an orphan stays one until the first process of the machine reaps it."""
    process = look(pid)
    return process is None or process.state in _GONE


def ended(child: int) -> int | None:
    """How a child of ours ended, as Popen tells it; None: it lives. Does not reap it, so that its
    number, and the session by which what it left is found, stay its own."""
    seen = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if seen is None:
        return None
    return seen.si_status if seen.si_code == os.CLD_EXITED else -seen.si_status


def members(root: int) -> list[Process]:
    """The living processes of the tree, ``root`` first if it lives."""
    with os.scandir("/proc") as entries:
        looked = [look(int(entry.name)) for entry in entries if entry.name.isdigit()]
    every = [process for process in looked if process is not None]
    children: dict[int, list[Process]] = {}
    for process in every:
        children.setdefault(process.parent, []).append(process)
    found = {p.pid: p for p in every if root in (p.pid, p.session)}
    waiting = [root, *found]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child.pid not in found:
                found[child.pid] = child
                waiting.append(child.pid)
    alive = [process for process in found.values() if process.state not in _GONE]
    return sorted(alive, key=lambda process: process.pid != root)


def kill_tree(root: int, deadline_s: float = DEADLINE_S) -> bool:
    """Stop all, then SIGKILL all; whether all were dead at the deadline. Reaps nothing.

    The group of ``root``, where it has one, is signalled by one call: the kernel lets no fork slip
    through, which looking at /proc alone would miss.
    """
    until = time.monotonic() + deadline_s
    stopped: set[int] = set()
    _signal_group(root, signal.SIGSTOP)
    while new := [process.pid for process in members(root) if process.pid not in stopped]:
        for pid in new:
            _signal(pid, signal.SIGSTOP)
        stopped.update(new)
        if not _await(new, _is_still, until - time.monotonic()):
            break  # it does not stop: kill it as it is
    tree = list(stopped)
    while tree:
        _signal_group(root, signal.SIGKILL)
        for pid in tree:
            _signal(pid, signal.SIGKILL)
        if not _await(tree, is_dead, max(until - time.monotonic(), _LAST_S)):
            return False
        tree = [process.pid for process in members(root)]
    return True


def kill_one(pid: int, deadline_s: float = DEADLINE_S) -> bool:
    """SIGKILL one process; whether it was dead at the deadline. Reaps nothing."""
    _signal(pid, signal.SIGKILL)
    return _await([pid], is_dead, deadline_s)


def _is_still(pid: int) -> bool:
    process = look(pid)
    return process is None or process.state in _STILL


def _await(pids: list[int], reached: Callable[[int], bool], deadline_s: float) -> bool:
    for _ in pauses(deadline_s):
        pids = [pid for pid in pids if not reached(pid)]
        if not pids:
            return True
    return False


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, number)
