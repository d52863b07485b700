"""Looks: where a ledger in files learns something, so where what it knows begins to age.

A read from the kernel, ``stat`` and what is built on it (``exists``, ``is_file``, ``getsize``),
``access``, a listing, and the open of a file that is not there are *statements*; so are the calls
of ``flock``, ``lockf`` and ``fcntl`` that lock. Whoever is held after one acts on what it saw
before others went on.
``lstat`` and ``fstat`` are left alone: libraries call them by the dozen, to resolve paths.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, TypeVar

from . import sight
from .open_files import ORIGINAL, file_of, folder_of, name_at
from .sight import around, report

T = TypeVar("T")

_FLOCK: Final = ("LOCK_SH", "LOCK_EX", "LOCK_UN", "LOCK_NB")
_LOCKF: Final = ("F_ULOCK", "F_LOCK", "F_TLOCK", "F_TEST")
_TYPES: Final = ("F_RDLCK", "F_WRLCK", "F_UNLCK")
_SETLK: Final = frozenset(
    getattr(fcntl, word)
    for word in ("F_SETLK", "F_SETLKW", "F_OFD_SETLK", "F_OFD_SETLKW")
    if hasattr(fcntl, word)
)


def missed(path: Any, folder: int | None = None) -> None:
    """An open has just failed, since there is no such file: that was a look."""
    name = name_at(path, folder) if sight.watching else None
    if name is not None:
        report("statement", "before", f"open {name}")
        report("statement", "after", f"open {name}")


def _reads(stock: Callable[..., T]) -> Callable[..., T]:
    def read(fd: int, *args: Any, **named: Any) -> T:
        file = file_of(fd) if sight.watching else None
        if file is None:
            return stock(fd, *args, **named)
        return around("statement", f"read {file.name}", partial(stock, fd, *args, **named))

    return read


def _asks(verb: str, stock: Callable[..., T]) -> Callable[..., T]:
    """About a path; of open descriptors nothing is said here."""

    def ask(*args: Any, **named: Any) -> T:
        name = None
        if sight.watching and named.get("follow_symlinks", True):
            path = args[0] if args else named.get("path")
            name = name_at(os.curdir if path is None else path, named.get("dir_fd"))
        if name is None:
            return stock(*args, **named)
        return around("statement", f"{verb} {name}", partial(stock, *args, **named))

    return ask


class _Scan:
    """What ``scandir`` answers; the kernel is asked at the first ``next``."""

    def __init__(self, stock: Any, name: str) -> None:
        self._stock, self._name = stock, name

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        name, self._name = self._name, ""
        if name:
            return around("statement", f"scandir {name}", partial(next, self._stock))
        return next(self._stock)

    def close(self) -> None:
        self._stock.close()

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self._stock.close()


def _scandir(path: Any = None) -> Any:
    name = name_at(os.curdir if path is None else path) if sight.watching else None
    stock = ORIGINAL.scandir(path)
    return stock if name is None else _Scan(stock, name)


def _locks(verb: str, stock: Callable[..., T], words: Callable[[int], str]) -> Callable[..., T]:
    def lock(fd: Any, command: int, *args: Any, **named: Any) -> T:
        name = _locked(fd) if sight.watching else None
        if name is None:
            return stock(fd, command, *args, **named)
        text = f"{verb} {words(command)} {name}"
        return around("statement", text, partial(stock, fd, command, *args, **named))

    return lock


def _fcntl(fd: Any, cmd: int, arg: Any = 0, /) -> Any:
    """Most of its commands lock nothing."""
    name = _locked(fd) if sight.watching and cmd in _SETLK else None
    if name is None:
        return ORIGINAL.fcntl(fd, cmd, arg)
    text = f"fcntl {_lock_type(arg)} {name}"
    return around("statement", text, partial(ORIGINAL.fcntl, fd, cmd, arg))


def _lock_type(arg: Any) -> str:
    """What a ``struct flock`` asks for: its first short integer."""
    try:
        asked = int.from_bytes(memoryview(arg).cast("B")[:2], sys.byteorder)
    except TypeError:
        return "F_SETLK"
    return next((word for word in _TYPES if asked == getattr(fcntl, word)), "F_SETLK")


def _locked(fd: Any) -> str | None:
    try:
        number = fd if isinstance(fd, int) else fd.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    file = file_of(number)
    return folder_of(number) if file is None else file.name


def _flags(command: int) -> str:
    return "|".join(word for word in _FLOCK if command & getattr(fcntl, word))


def _command(command: int) -> str:
    return next((word for word in _LOCKF if command == getattr(os, word)), f"{command}")


PROBES: Final[dict[str, Any]] = {
    "read": _reads(ORIGINAL.read),
    "readv": _reads(ORIGINAL.readv),
    "pread": _reads(ORIGINAL.pread),
    "preadv": _reads(ORIGINAL.preadv),
    "stat": _asks("stat", ORIGINAL.stat),
    "access": _asks("access", ORIGINAL.access),
    "listdir": _asks("listdir", ORIGINAL.listdir),
    "scandir": _scandir,
    "lockf": _locks("lockf", ORIGINAL.os_lockf, _command),
}
"""By their names in ``os``."""

LOCKS: Final[dict[str, Any]] = {
    "flock": _locks("flock", ORIGINAL.flock, _flags),
    "lockf": _locks("lockf", ORIGINAL.lockf, _flags),
    "fcntl": _fcntl,
}
"""By their names in ``fcntl``."""
