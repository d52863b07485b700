"""A full disk: bytes that do not get out of a process, or only a part of them.

Whoever is answered ``io`` before bytes go out to a file finds no room: ``ENOSPC``. That lasts until
the call is over in which it was wished, for every file below the root, since a disk that is full is
not empty at the next try. What each call then does is what Linux does:

* ``os.write`` and its siblings, and an unbuffered file: nothing is written. (The kernel may write a
  part and say so by the count that it returns. That is no error, and is not tried.)
* the flush of a file object, which ``close`` does too: a half is written; the rest, of which the
  object tries to get rid by itself, is refused. What it keeps goes out at its next flush, if it is
  not closed before.

Cutting, removing and renaming need no room, and go on.
"""

from __future__ import annotations

import errno
import os
from typing import Any

from .sight import Raise

_wish: Raise | None = None
_torn = False


def fill(answer: Raise | None, *, torn: bool) -> None:
    """From here on there is no room, if the observer wished so. ``torn``: but for a half of what
    goes out next."""
    global _wish, _torn
    if answer is not None and answer.error == "io":
        _wish, _torn = answer, torn


def empty() -> None:
    """Another folder, or nobody who wishes."""
    global _wish  # noqa: PLW0603  # one disk
    _wish = None


def refuse(name: str) -> None:
    """Raise, where there is no room."""
    if _wish is None or _wish.over:
        return
    _wish.fired = True
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)


def fitting(data: Any, name: str) -> Any:
    """As much of the data as there is room for. Raises where there is none for a single byte."""
    global _torn  # noqa: PLW0603  # one disk
    if _wish is None or _wish.over:
        return data
    half = memoryview(data).nbytes // 2
    if not (_torn and half):
        refuse(name)
    _torn = False
    _wish.fired = True
    return memoryview(data).cast("B")[:half]
