"""Which descriptors are open files of the ledger, and what each of them still owes the disk.

Only what lies below one folder counts. A descriptor is recognised by device and inode, since its
number may be closed where no probe looks, and given away again.
"""

from __future__ import annotations

import fcntl
import io
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from . import room, sight
from .sight import report

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Originals:
    """The functions that were replaced."""

    open: Callable[..., Any] = io.open
    os_open: Callable[..., int] = os.open
    read: Callable[..., bytes] = os.read
    readv: Callable[..., int] = os.readv
    pread: Callable[..., bytes] = os.pread
    preadv: Callable[..., int] = getattr(os, "preadv", os.readv)
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
    symlink: Callable[..., None] = os.symlink
    mkdir: Callable[..., None] = os.mkdir
    unlink: Callable[..., None] = os.unlink
    remove: Callable[..., None] = os.remove
    rmdir: Callable[..., None] = os.rmdir
    stat: Callable[..., os.stat_result] = os.stat
    access: Callable[..., bool] = os.access
    listdir: Callable[..., list[Any]] = os.listdir
    scandir: Callable[..., Any] = os.scandir
    flock: Callable[..., None] = fcntl.flock
    lockf: Callable[..., Any] = fcntl.lockf
    fcntl: Callable[..., Any] = fcntl.fcntl
    os_lockf: Callable[..., None] = os.lockf


ORIGINAL: Final = Originals()

root: str | None = None


@dataclass(slots=True)
class File:
    """One open file below the root. ``dirty``: it has writes that no fsync has covered;
    ``buffered``: some of them are still in this process. ``synced_size``: how long it was before
    these; ``size``: after the last one that reached the kernel; ``grew``: each only added to it."""

    name: str
    fd: int
    inode: tuple[int, int]
    dirty: bool = False
    buffered: bool = False
    within: bool = False
    synced_size: int = 0
    size: int = 0
    grew: bool = True

    def wrote(self, buffered: bool) -> None:
        if not self.dirty:
            self.synced_size = self.size = os.fstat(self.fd).st_size
            self.grew = True
        self.dirty = True
        self.buffered = self.buffered or buffered


known: dict[int, File] = {}


def below(folder: Path | None) -> None:
    """Name the folder whose files count; those opened earlier do not."""
    global root  # noqa: PLW0603  # one per process, set before the fork
    root = None if folder is None else os.path.realpath(folder)
    known.clear()
    room.empty()


def name_of(path: str) -> str | None:
    """The path relative to the root, None outside of it."""
    if root is None:
        return None
    if path.startswith(root + os.sep):
        return path[len(root) + 1 :]
    return "." if path == root else None


def name_at(path: Any, folder: int | None = None) -> str | None:
    """The same of a path as a program gives it, relative to a folder's descriptor or not."""
    try:
        text = os.fsdecode(path)
        if folder is not None:
            base = os.readlink(f"/proc/self/fd/{folder}")  # noqa: PTH115  # is called often
            text = os.path.join(base, text)  # noqa: PTH118  # is called often
        elif not text.startswith(os.sep):
            text = os.path.join(os.getcwd(), text)  # noqa: PTH109, PTH118  # is called often
        name = None if os.pardir in text else name_of(text)
        if name is not None:
            return name
        head, tail = os.path.split(text.rstrip(os.sep))
        if tail in ("", os.curdir, os.pardir):
            return name_of(os.path.realpath(text))
        return name_of(os.path.join(os.path.realpath(head), tail))  # noqa: PTH118  # called often
    except (OSError, TypeError, ValueError):
        return None  # the call itself will say what is wrong with it


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


def folder_of(fd: int) -> str | None:
    """The name of the open folder, the root or below it, that this descriptor stands for."""
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            return None
        return name_of(os.readlink(f"/proc/self/fd/{fd}"))  # noqa: PTH115  # is called often
    except OSError:
        return None


def measured(file: File, put: Callable[[], T]) -> T:
    """Put bytes of this process out to the kernel, and see what that makes of the file."""
    before = os.fstat(file.fd).st_size
    count = put()
    file.size = os.fstat(file.fd).st_size
    file.grew = file.grew and file.size - before == count
    return count


def cut_back(file: File) -> None:
    """An fsync fails, and with it goes what it was to make durable: a network file system throws
    away what its server did not take, and the file is as long as that says. Only where
    bytes were added, and by nobody else since: of what was written over nobody can say which of the
    pages are lost, so all of them stay."""
    with suppress(OSError):
        ours = os.fstat(file.fd).st_size == file.size > file.synced_size
        if file.dirty and file.grew and ours:
            os.truncate(f"/proc/self/fd/{file.fd}", file.synced_size)


def close_file(file: File, action: Callable[[], T]) -> T:
    """The only failure that is put here is that what is still in this process finds no room: what
    else a failed close leaves behind is the kernel's secret."""
    known.pop(file.fd, None)
    if not (sight.watching and file.dirty):
        return action()
    room.fill(report("write", "before", f"close {file.name}"), torn=True)
    result = action()
    report("write", "after", f"close {file.name}")
    return result
