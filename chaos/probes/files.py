"""The probe for files: where the bytes of a ledger that lives in plain files become durable.

``fsync`` and ``fdatasync``, ``replace``, ``rename`` and ``link``, and the close of a file with
writes that no fsync has covered, are *writes*. ``flush`` and ``os.write`` are *statements*: from
there on the bytes survive a killed process, but no power cut. Only regular files below one folder
count, so sockets, pipes and the harness's own files are never touched; SQLite does its own I/O in
C and is not seen here.

``open`` answers objects of the same kinds as before, made anew around the same descriptor. The
harness's own code uses ``ORIGINAL``, which never reports.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, update_wrapper
from pathlib import Path
from typing import Any, Final, TypeVar

from . import sight
from .sight import Raise, around, report

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

_root: str | None = None


@dataclass(slots=True)
class _File:
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


_files: dict[int, _File] = {}


def below(root: Path | None) -> None:
    """Name the folder whose files count; those opened earlier do not."""
    global _root  # noqa: PLW0603  # one per process, set after the fork
    _root = None if root is None else os.path.realpath(root)
    _files.clear()


def _name_of(path: str) -> str | None:
    """The path relative to the root, None outside of it."""
    if _root is not None and path.startswith(_root + os.sep):
        return path[len(_root) + 1 :]
    return None


def _file_of(fd: int) -> _File | None:
    """The open regular file below the root that this descriptor stands for."""
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return None
        inode = (found.st_dev, found.st_ino)
        known = _files.get(fd)
        if known is not None and known.inode == inode:
            return known
        _files.pop(fd, None)  # closed behind our back, and the number used again
        name = _name_of(os.readlink(f"/proc/self/fd/{fd}"))  # noqa: PTH115  # is called often
    except OSError:
        return None
    if name is None:
        return None
    _files[fd] = file = _File(name, fd, inode)
    return file


def _fail(answer: Raise | None, name: str) -> None:
    """A store in files fails by EIO, before a write or after it; it is never busy."""
    if answer is not None and answer.error == "io":
        answer.fired = True
        raise OSError(errno.EIO, os.strerror(errno.EIO), name)


def _write(text: str, name: str, action: Callable[[], T]) -> T:
    _fail(report("write", "before", text), name)
    result = action()
    _fail(report("write", "after", text), name)
    return result


def _close(file: _File, action: Callable[[], T]) -> T:
    """No failure is put here: what a failed close leaves in the buffers is the kernel's secret."""
    _files.pop(file.fd, None)
    if not (sight.watching and file.dirty):
        return action()
    report("write", "before", f"close {file.name}")
    result = action()
    report("write", "after", f"close {file.name}")
    return result


class _Probed:
    """The part that the probing file objects share; stands before the stock class.

    A text file and the buffer below it share one ``_File``; ``within`` keeps the inner one silent
    while the outer one works.
    """

    _sight_file: _File | None = None
    _sight_buffers = True

    def write(self, data: Any, /) -> Any:
        file = self._sight_file
        stock: Any = super()
        if file is None:
            return stock.write(data)
        file.wrote(self._sight_buffers)
        if self._sight_buffers or not sight.watching:
            return stock.write(data)
        return around("statement", f"write {file.name}", partial(stock.write, data))

    def truncate(self, *size: Any) -> Any:
        stock: Any = super()
        if self._sight_file is not None:
            self._sight_file.wrote(buffered=False)
        return stock.truncate(*size)

    def flush(self) -> None:
        file = self._sight_file
        stock: Any = super()
        if file is None or file.within:
            stock.flush()
            return
        file.within = True
        try:
            if sight.watching and file.buffered:
                around("statement", f"flush {file.name}", stock.flush)
            else:
                stock.flush()
            file.buffered = False
        finally:
            file.within = False

    def close(self) -> None:
        file = self._sight_file
        stock: Any = super()
        if file is None or file.within:
            stock.close()
            return
        file.within = True
        try:
            _close(file, stock.close)
        finally:
            file.within = False
            self._sight_file = None


class _ProbedText(_Probed, io.TextIOWrapper):
    pass


class _ProbedWriter(_Probed, io.BufferedWriter):
    pass


class _ProbedRandom(_Probed, io.BufferedRandom):
    pass


class _ProbedRaw(_Probed, io.FileIO):
    _sight_buffers = False


for _probe in (_ProbedText, _ProbedWriter, _ProbedRandom, _ProbedRaw):
    _stock = _probe.__mro__[2]
    _probe.__name__, _probe.__qualname__ = _stock.__name__, _stock.__qualname__
    _probe.__module__ = _stock.__module__


def _open(
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: Any = None,
) -> Any:
    if _root is None or not set(str(mode)) & set("wax+"):
        return ORIGINAL.open(file, mode, buffering, encoding, errors, newline, closefd, opener)
    if buffering == 0 and "b" in mode and (encoding, errors, newline) == (None, None, None):
        opened: Any = _ProbedRaw(file, mode, closefd, opener)
        opened._sight_file = _file_of(opened.fileno())
        return opened
    opened = ORIGINAL.open(file, mode, buffering, encoding, errors, newline, closefd, opener)
    found = _file_of(opened.fileno())
    return opened if found is None else _probing(opened, found, mode, buffering, newline)


def _probing(stock: Any, file: _File, mode: str, buffering: int, newline: str | None) -> Any:
    """Take a file object that nobody has used yet apart, and build the probing one of its kind."""
    text = isinstance(stock, io.TextIOWrapper)
    as_text = (stock.encoding, stock.errors, newline, stock.line_buffering) if text else ()
    buffer: Any = stock.detach() if text else stock
    kind = _ProbedRandom if isinstance(buffer, io.BufferedRandom) else _ProbedWriter
    raw: Any = buffer.detach()
    probed: Any = kind(raw, buffering if buffering > 1 else raw._blksize)
    probed._sight_file = file
    if text:
        probed = _ProbedText(probed, *as_text)
        probed._sight_file = file
        probed.mode = mode
    return probed


def _os_open(path: Any, flags: int, *args: Any, **named: Any) -> int:
    fd = ORIGINAL.os_open(path, flags, *args, **named)
    if _root is not None and flags & (os.O_WRONLY | os.O_RDWR):
        _file_of(fd)
    return fd


def _os_close(fd: int) -> None:
    file = _files.get(fd) and _file_of(fd)
    if file is None:
        ORIGINAL.close(fd)
    else:
        _close(file, partial(ORIGINAL.close, fd))


def _bytes_out(verb: str, stock: Callable[..., T]) -> Callable[..., T]:
    """``os.write`` and its siblings: from here on the bytes are the kernel's."""

    def put(fd: int, *args: Any, **named: Any) -> T:
        file = _files.get(fd) and _file_of(fd)
        if file is None:
            return stock(fd, *args, **named)
        file.wrote(buffered=False)
        if not sight.watching:
            return stock(fd, *args, **named)
        return around("statement", f"{verb} {file.name}", partial(stock, fd, *args, **named))

    return put


def _sync(verb: str, stock: Callable[[Any], None]) -> Callable[[Any], None]:
    def sync(fd: Any) -> None:
        file = None
        if _root is not None:
            file = _file_of(fd if isinstance(fd, int) else fd.fileno())
        if file is None:
            return stock(fd)
        if sight.watching:
            _write(f"{verb} {file.name}", file.name, partial(stock, fd))
        else:
            stock(fd)
        if not file.buffered:
            file.dirty = False
        return None

    return sync


def _moved(verb: str, stock: Callable[..., None]) -> Callable[..., None]:
    """``replace``, ``rename`` and ``link`` of a regular file to a name below the root."""

    def move(src: Any, dst: Any, **named: Any) -> None:
        name = None
        if sight.watching and _root is not None:
            name = _target(src, dst, named)
        if name is None:
            stock(src, dst, **named)
        else:
            _write(f"{verb} {name}", name, partial(stock, src, dst, **named))

    return move


def _target(src: Any, dst: Any, named: dict[str, Any]) -> str | None:
    try:
        if not stat.S_ISREG(
            os.stat(src, dir_fd=named.get("src_dir_fd"), follow_symlinks=False).st_mode
        ):
            return None
        target, folder = Path(os.fsdecode(dst)), named.get("dst_dir_fd")
        if folder is not None:
            target = Path(f"/proc/self/fd/{folder}") / target
        return _name_of(str(target.parent.resolve() / target.name))
    except (OSError, TypeError, ValueError):
        return None  # the call itself will say what is wrong with it


_PROBES: Final[dict[str, Any]] = {
    "open": _os_open,
    "close": _os_close,
    "write": _bytes_out("write", ORIGINAL.write),
    "writev": _bytes_out("write", ORIGINAL.writev),
    "pwrite": _bytes_out("write", ORIGINAL.pwrite),
    "sendfile": _bytes_out("write", ORIGINAL.sendfile),
    "ftruncate": _bytes_out("truncate", ORIGINAL.ftruncate),
    "fsync": _sync("fsync", ORIGINAL.fsync),
    "fdatasync": _sync("fdatasync", ORIGINAL.fdatasync),
    "replace": _moved("replace", ORIGINAL.replace),
    "rename": _moved("rename", ORIGINAL.rename),
    "link": _moved("link", ORIGINAL.link),
}
_STOCK: Final[dict[str, Any]] = {name: getattr(os, name) for name in _PROBES if hasattr(os, name)}
for _name, _function in _STOCK.items():
    update_wrapper(_PROBES[_name], _function)
update_wrapper(_open, ORIGINAL.open)


def install() -> None:
    """Replace the functions in ``os``, ``io`` and the builtins."""
    for name in _STOCK:
        setattr(os, name, _PROBES[name])
    builtins.open = io.open = _open


def uninstall() -> None:
    """Put the stock functions back."""
    for name, stock in _STOCK.items():
        setattr(os, name, stock)
    builtins.open = io.open = ORIGINAL.open
