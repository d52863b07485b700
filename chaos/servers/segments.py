"""The System V segment of a PostgreSQL server: what outlives it, in no folder.

A server that was SIGKILLed leaves the segment by which it would have seen a second one on its
data. It is named in ``postmaster.pid``; a new server on the same data removes it, nobody else does.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

from .tree import pauses

_IPC_RMID = 0
_ORPHANS_S = 10.0
_TABLE = Path("/proc/sysvipc/shm")


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What ``postmaster.pid`` says. ``segment``: key and id. ``status``: empty at first."""

    pid: int
    segment: tuple[int, int] | None
    status: str


def postmaster_of(data: Path) -> Postmaster | None:
    """The server that runs, or ran, on this data folder. None: none, or it has just begun."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    if not lines or not lines[0].strip().isdigit():
        return None
    numbers = lines[6].split() if len(lines) > 6 else []
    segment = (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else None
    return Postmaster(int(lines[0]), segment, lines[7].strip() if len(lines) > 7 else "")


def remove_segment(data: Path) -> bool:
    """Remove the segment of a dead server; whether there was one. Nothing is removed that another
    process made, or that is attached to still when its orphans had time to leave."""
    server = postmaster_of(data)
    if server is None or server.segment is None:
        return False
    for _ in pauses(_ORPHANS_S):
        attached = _attached(server.segment, server.pid)
        if attached is None:
            return False
        if attached == 0:
            return bool(ctypes.CDLL(None).shmctl(server.segment[1], _IPC_RMID, None) == 0)
    return False


def _attached(segment: tuple[int, int], maker: int) -> int | None:
    """How many processes hold it; None where there is no such segment of this maker."""
    if not _TABLE.exists():
        return None
    for line in _TABLE.read_text().splitlines()[1:]:
        key, identifier, _, _, made_by, _, attached = (int(field) for field in line.split()[:7])
        if ((key, identifier), made_by) == (segment, maker):
            return attached
    return None
