"""The probe for files: where the bytes of a ledger that lives in plain files become durable.

``fsync`` and ``fdatasync``, ``replace``, ``rename`` and ``link``, and the close of a file with
writes that no fsync has covered, are *writes*. ``flush`` and ``os.write`` are *statements*: from
there on the bytes survive a killed process, but no power cut. Only regular files below one folder
count, so sockets, pipes and the harness's own files are never touched; SQLite does its own I/O in
C and is not seen here.

The harness's own code uses ``open_files.ORIGINAL``, which never reports.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import stat
from collections.abc import Callable
from functools import partial, update_wrapper
from pathlib import Path
from typing import Any, Final, TypeVar

from . import open_files, sight
from .file_objects import open_probed
from .open_files import ORIGINAL, close_file, file_of, name_of
from .sight import Raise, around, report

T = TypeVar("T")


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


def _os_open(path: Any, flags: int, *args: Any, **named: Any) -> int:
    fd = ORIGINAL.os_open(path, flags, *args, **named)
    if open_files.root is not None and flags & (os.O_WRONLY | os.O_RDWR):
        file_of(fd)
    return fd


def _os_close(fd: int) -> None:
    file = open_files.known.get(fd) and file_of(fd)
    if file is None:
        ORIGINAL.close(fd)
    else:
        close_file(file, partial(ORIGINAL.close, fd))


def _bytes_out(verb: str, stock: Callable[..., T]) -> Callable[..., T]:
    """``os.write`` and its siblings: from here on the bytes are the kernel's."""

    def put(fd: int, *args: Any, **named: Any) -> T:
        file = open_files.known.get(fd) and file_of(fd)
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
        if open_files.root is not None:
            file = file_of(fd if isinstance(fd, int) else fd.fileno())
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
        if sight.watching and open_files.root is not None:
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
        return name_of(str(target.parent.resolve() / target.name))
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


def install() -> None:
    """Replace the functions in ``os``, ``io`` and the builtins."""
    for name in _STOCK:
        setattr(os, name, _PROBES[name])
    builtins.open = io.open = open_probed


def uninstall() -> None:
    """Put the stock functions back."""
    for name, stock in _STOCK.items():
        setattr(os, name, stock)
    builtins.open = io.open = ORIGINAL.open
