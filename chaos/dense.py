"""Fills the holes of the warm parent's heap before it is forked.

Warming up leaves thousands of freed chunks between those in use. What a node allocates would land
in them, a few bytes on each of some hundred pages that it shares with its parent, and every one
of these pages would have to be copied first. So the holes are taken once, here, and never given
back; a node's own chunks then lie side by side.

CPython's own pools (objects up to 512 bytes) are full enough: filling them was measured to gain
nothing.
"""

from __future__ import annotations

import ctypes
from typing import Final

_SIZES: Final = (65536, 16384, 8192, 4096, 3072, 2048, 1536, 1024, 768, 512, 384, 256, 128, 64, 24)
"""From large to small: a large hole is taken whole, and its rest by the smaller sizes."""

_IN_A_ROW: Final = 8
"""So many chunks one behind the other: they come out of one piece, which is no hole."""

_MOST: Final = 100_000
"""Bound on the chunks taken: some MB, and some ten milliseconds."""


def fill_holes() -> None:
    """Take every hole that malloc knows. Nothing is done where it is no glibc."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return
    malloc = libc.malloc
    malloc.restype, malloc.argtypes = ctypes.c_size_t, [ctypes.c_size_t]
    taken = 0
    for size in _SIZES:
        stride = max(32, (size + 8 + 15) & ~15)  # the chunk, as glibc lays it out on 64 bits
        last = row = 0
        while row < _IN_A_ROW and taken < _MOST:
            chunk = malloc(size)
            taken += 1
            row = row + 1 if chunk == last + stride else 0
            last = chunk
