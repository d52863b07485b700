"""Which descriptors are open files of the ledger, and what each of them still owes the disk.

Only regular files below one folder count. A descriptor is recognised by device and inode, since
its number may be closed where no probe looks, and given away again.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from . import sight
from .sight import report

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Originals:
    """The functions that were replaced."""

    open: Callable[..., Any] = io.open
    os_open: Callable[..., int] = os.open
    write: Callable[..., int] = os.write
    writev: Callable[..., int] = os.writev
    pwrite: Callable[..., int] = os.pwrite
    ftruncate: Callable[..., None] = os.ftruncate
    sendfile: Callable[..., int] = getattr(os, "sendfile", os.write)
    close: Callable[[int], None] = os.close
    fsync: Callable[[Any], None] = os.fsync
    fdatasync: Callable[[Any], None] = getattr(os, "fdatasync", os.fsync)
    replace: Callable[..., None] = os.replace
    rename: Callable[..., None] = os.rename
    link: Callable[..., None] = os.link


ORIGINAL: Final = Originals()

root: str | None = None


@dataclass(slots=True)
class File:
    """One open file below the root. ``dirty``: it has writes that no fsync has covered;
    ``buffered``: some of them are still in this process."""

    name: str
    fd: int
    inode: tuple[int, int]
    dirty: bool = False
    buffered: bool = False
    within: bool = False

    def wrote(self, buffered: bool) -> None:
        self.dirty = True
        self.buffered = self.buffered or buffered


known: dict[int, File] = {}


def below(folder: Path | None) -> None:
    """Name the folder whose files count; those opened earlier do not."""
    global root  # noqa: PLW0603  # one per process, set after the fork
    root = None if folder is None else os.path.realpath(folder)
    known.clear()


def name_of(path: str) -> str | None:
    """The path relative to the root, None outside of it."""
    if root is not None and path.startswith(root + os.sep):
        return path[len(root) + 1 :]
    return None


def file_of(fd: int) -> File | None:
    """The open regular file below the root that this descriptor stands for."""
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return None
        inode = (found.st_dev, found.st_ino)
        before = known.get(fd)
        if before is not None and before.inode == inode:
            return before
        known.pop(fd, None)  # closed behind our back, and the number used again
        name = name_of(os.readlink(f"/proc/self/fd/{fd}"))  # noqa: PTH115  # is called often
    except OSError:
        return None
    if name is None:
        return None
    known[fd] = file = File(name, fd, inode)
    return file


def close_file(file: File, action: Callable[[], T]) -> T:
    """No failure is put here: what a failed close leaves in the buffers is the kernel's secret."""
    known.pop(file.fd, None)
    if not (sight.watching and file.dirty):
        return action()
    report("write", "before", f"close {file.name}")
    result = action()
    report("write", "after", f"close {file.name}")
    return result
