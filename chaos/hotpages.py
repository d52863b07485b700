"""Copies what every node writes to when it is forked, and not page by page when it is written.

A node writes to some thousand pages that it shares with the warm parent, most of them only to
count references; they are nearly the same pages in each. A copy on demand costs a fault and a
flush, several times what the copy itself does. The kernel copies a page at the fork if it is
pinned, for hardware might be writing to it; so the pages that living nodes were seen to have
copied are registered with an io_uring that is used for nothing else. Nothing else differs: a page
that was copied early is as private to its node as one that was copied late.

Where a kernel or a sandbox forbids it, or memory may not be locked, pages are copied on demand.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_SETUP: Final = 425  # the same numbers on every architecture that has been given them since 2019
_REGISTER: Final = 427
_REGISTER_BUFFERS: Final = 0

_PRESENT: Final = 1 << 63
_ALONE: Final = _PRESENT | 1 << 56  # mapped by this process and by no other

_MOST: Final = 4096
"""Pages that are pinned at most: each is copied for every node, used or not."""


class HotPages:
    """The pages that are pinned now; of the process that it was made in."""

    def __init__(self) -> None:
        self._rings: list[int] = []

    def learn(self, nodes: Iterable[int]) -> None:
        """Pin what these living forks of this process do not share with it any more."""
        kept = list(nodes)
        found: list[list[tuple[int, int]]] = []
        count = 0
        for start, end in _writable():
            runs = list(_runs(sorted(_copied(kept, start, end))))
            count += sum(last - first for first, last in runs)
            found.append(runs)
        if not 0 < count <= _MOST:
            return
        self.release()
        for runs in found:
            ring = _pin(runs) if runs else None
            if ring is not None:
                self._rings.append(ring)

    def release(self) -> None:
        """Give the descriptors back: a node's own copies stay, and it is alone with its files."""
        for ring in self._rings:
            os.close(ring)
        self._rings.clear()


def _writable() -> Iterator[tuple[int, int]]:
    """The private writable mappings of this process, as page numbers."""
    for line in Path("/proc/self/maps").read_bytes().splitlines():
        place, rights = line.split(None, 2)[:2]
        if rights == b"rw-p":
            first, last = place.split(b"-")
            yield int(first, 16) // mmap.PAGESIZE, int(last, 16) // mmap.PAGESIZE


def _copied(nodes: list[int], start: int, end: int) -> set[int]:
    """The pages between these two that a node has for itself alone, and we have too."""
    ours, copied = _entries("self", start, end), set[int]()
    for node in nodes:
        theirs = _entries(str(node), start, end)
        copied.update(
            number
            for number, (mine, entry) in enumerate(zip(ours, theirs, strict=False), start)
            if entry & _ALONE == _ALONE and mine & _PRESENT
        )
    return copied


def _entries(process: str, start: int, end: int) -> array[int]:
    """What the kernel says of these pages; nothing of a process that is gone."""
    entries = array("Q")
    with suppress(OSError):
        listed = os.open(f"/proc/{process}/pagemap", os.O_RDONLY)
        try:
            entries.frombytes(os.pread(listed, (end - start) * 8, start * 8))
        finally:
            os.close(listed)
    return entries


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Neighbours together: the first page, and the one behind the last."""
    first = last = -1
    for number in numbers:
        if number != last:
            if last > first:
                yield first, last
            first = number
        last = number + 1
    if last > first:
        yield first, last


def _pin(runs: list[tuple[int, int]]) -> int | None:
    """The descriptor that keeps these runs pinned until it is closed."""
    libc = ctypes.CDLL(None, use_errno=True)
    ring = libc.syscall(_SETUP, 1, ctypes.create_string_buffer(120))
    if ring < 0:
        return None
    size = mmap.PAGESIZE
    buffers = b"".join(struct.pack("QQ", at * size, (end - at) * size) for at, end in runs)
    if libc.syscall(_REGISTER, ring, _REGISTER_BUFFERS, buffers, len(runs)) < 0:
        os.close(ring)
        return None
    return int(ring)
