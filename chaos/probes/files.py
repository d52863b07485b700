"""The probe for files: where the bytes of a ledger that lives in plain files become durable.

``fsync`` and ``fdatasync``, of a folder too, the close of a file with writes that no fsync has
covered, and whatever makes, moves or removes a name (``durable``) are *writes*. ``flush``,
``os.write`` and an opening that empties a file are *statements*: from there on the change
survives a killed process, but no power cut. So are reads, checks and locks (``looks``). Only what
lies below one folder counts, so sockets, pipes, libraries and the harness's own files are never
touched; SQLite does its own I/O in C and is not seen here.

The probes' own code uses ``open_files.ORIGINAL``, which never reports.
"""

from __future__ import annotations

import builtins
import fcntl
import io
import os
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, Final, TypeVar

from . import durable, looks, open_files, room, sight
from .file_objects import open_probed
from .open_files import ORIGINAL, close_file, cut_back, file_of, folder_of, measured
from .sight import around, report

T = TypeVar("T")


def _os_open(path: Any, flags: int, *args: Any, **named: Any) -> int:
    folder, name = named.get("dir_fd"), None
    if sight.watching and flags & os.O_CREAT:
        name = durable.new_name(path, folder)
    action: Callable[[], int] = partial(ORIGINAL.os_open, path, flags, *args, **named)
    if name is None and flags & os.O_TRUNC and (emptied := durable.full_name(path, folder)):
        action = partial(around, "statement", f"empty {emptied}", action)
    try:
        fd = action() if name is None else durable.write("create", name, action, ORIGINAL.close)
    except FileNotFoundError:
        looks.missed(path, folder)
        raise
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
        action = partial(stock, fd, *args, **named)
        if not sight.watching:
            return action()
        text = f"{verb} {file.name}"
        answer = report("statement", "before", text)
        try:
            if verb == "write":
                room.fill(answer, torn=False)
                room.refuse(file.name)
            return measured(file, action)
        finally:
            report("statement", "after", text)

    return put


def _sync(verb: str, stock: Callable[[Any], None]) -> Callable[[Any], None]:
    def sync(fd: Any) -> None:
        file, name = None, None
        if open_files.root is not None:
            number = fd if isinstance(fd, int) else fd.fileno()
            file = file_of(number)
            if file is not None:
                name = file.name
            elif sight.watching:
                name = folder_of(number)
        if sight.watching and name is not None:
            lose = None if file is None else partial(cut_back, file)
            durable.write(verb, name, partial(stock, fd), lose=lose)
        else:
            stock(fd)
        if file is not None and not file.buffered:
            file.dirty = False

    return sync


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
    **durable.PROBES,
    **looks.PROBES,
}
_STOCK: Final[dict[str, Any]] = {name: getattr(os, name) for name in _PROBES if hasattr(os, name)}
_LOCKS: Final[dict[str, Any]] = {name: getattr(fcntl, name) for name in looks.LOCKS}
_ABILITIES: Final = (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks)
for _name, _function in _STOCK.items():
    update_wrapper(_PROBES[_name], _function)
for _name, _function in _LOCKS.items():
    update_wrapper(looks.LOCKS[_name], _function)


def install() -> None:
    """Replace the functions in ``os``, ``fcntl``, ``io`` and the builtins."""
    for name, stock in _STOCK.items():
        setattr(os, name, _PROBES[name])
        for able in _ABILITIES:  # libraries ask these sets what a function can do
            if stock in able:
                able.add(_PROBES[name])
    for name, probe in looks.LOCKS.items():
        setattr(fcntl, name, probe)
    builtins.open = io.open = open_probed


def uninstall() -> None:
    """Put the stock functions back."""
    for name, stock in _STOCK.items():
        setattr(os, name, stock)
        for able in _ABILITIES:
            able.discard(_PROBES[name])
    for name, stock in _LOCKS.items():
        setattr(fcntl, name, stock)
    builtins.open = io.open = ORIGINAL.open
