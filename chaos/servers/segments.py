"""The shared memory of a PostgreSQL server: what outlives it, in no folder of its own.

A server that was SIGKILLed leaves the System V segment by which it would have seen a second one on
its data. It is named in ``postmaster.pid``; a new server on the same data removes it, nobody else
does. The programs that initdb runs, which no setting reaches, also leave files in /dev/shm: the
segment names the first of these, and that one the others.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .tree import pauses

_IPC_RMID: Final = 0
_READ_ONLY: Final = 0o10000
_ORPHANS_S: Final = 10.0
_TABLE: Final = Path("/proc/sysvipc/shm")
_DYNAMIC: Final = Path("/dev/shm")
_HEADER: Final = struct.Struct("=iiQQI")
"""PGShmemHeader: a magic number, who made it, two sizes, and the number of the first file."""

_HEADER_MAGIC: Final = 679_834_894
_CONTROL: Final = struct.Struct("=III4x")
"""dsm_control_header: a magic number, how many items it has, for how many there is room."""

_CONTROL_MAGIC: Final = 0x9A50_3D32


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
    pid = lines[0].strip().removeprefix("-") if lines else ""  # with it where it serves nobody
    if not pid.isdigit():
        return None
    numbers = lines[6].split() if len(lines) > 6 else []
    segment = (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else None
    return Postmaster(int(pid), segment, lines[7].strip() if len(lines) > 7 else "")


def remove_segment(data: Path) -> bool:
    """Remove the segment of a dead server; whether there was one. Nothing is removed that another
    process made, or that is attached to still when its orphans had time to leave."""
    server = postmaster_of(data)
    if server is None or server.segment is None:
        return False
    return any(_removed(it) for it in _segments([server.pid]) if it.named == server.segment)


def remove_segments_of(makers: Collection[int]) -> None:
    """The same for dead servers whose data may be gone, by their numbers. What another program
    made, to which a number may have come, does not look like theirs."""
    for segment in _segments(makers):
        if _header_of(segment) is not None:
            _removed(segment)


@dataclass(frozen=True, slots=True)
class _Segment:
    """A line of the kernel's table. ``named``: key and id."""

    named: tuple[int, int]
    maker: int
    attached: int


def _segments(makers: Collection[int]) -> Iterator[_Segment]:
    """What these processes made, and what is left of it."""
    if not makers or not _TABLE.exists():
        return
    for line in _TABLE.read_text().splitlines()[1:]:
        key, identifier, _, _, maker, _, attached = (int(field) for field in line.split()[:7])
        if maker in makers:
            yield _Segment((key, identifier), maker, attached)


def _removed(segment: _Segment) -> bool:
    for _ in pauses(_ORPHANS_S):
        now = [it for it in _segments([segment.maker]) if it.named == segment.named]
        if not now:
            return False
        if now[0].attached == 0:
            for file in _files_of(segment):
                file.unlink(missing_ok=True)
            return bool(ctypes.CDLL(None).shmctl(segment.named[1], _IPC_RMID, None) == 0)
    return False


def _header_of(segment: _Segment) -> int | None:
    """The number of its first file in /dev/shm, 0 if it has none; None: it is no such segment."""
    magic, maker, _, _, first = _HEADER.unpack(_read(segment.named[1], _HEADER.size))
    return int(first) if (magic, maker) == (_HEADER_MAGIC, segment.maker) else None


def _files_of(segment: _Segment) -> Iterator[Path]:
    """The files that a server's segment leads to. None where it kept them in its data folder."""
    first = _header_of(segment)
    if not first:
        return
    control = _DYNAMIC / f"PostgreSQL.{first}"
    try:
        listed = control.read_bytes()
    except OSError:
        return
    if len(listed) < _CONTROL.size:
        return
    magic, items, room = _CONTROL.unpack_from(listed)
    if magic != _CONTROL_MAGIC or not room:
        return
    length = (len(listed) - _CONTROL.size) // room
    for number in range(min(items, room)):
        handle, users = struct.unpack_from("=II", listed, _CONTROL.size + number * length)
        if users:
            yield _DYNAMIC / f"PostgreSQL.{handle}"
    yield control


def _read(identifier: int, size: int) -> bytes:
    """The beginning of a segment; zeros where it cannot be read."""
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(identifier, None, _READ_ONLY)
    if address in (None, ctypes.c_void_p(-1).value):
        return bytes(size)
    try:
        return ctypes.string_at(address, size)
    finally:
        libc.shmdt(ctypes.c_void_p(address))
