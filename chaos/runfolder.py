"""Where a run keeps its stores, and how nothing of it is ever left behind.

Stores go to memory (/dev/shm) when there is room: a killed process loses only its own memory, so
tmpfs is honest for SIGKILL (and worthless for power cuts, which are other drivers' work). Every
run holds a lock on its folder; a folder whose lock is free belonged to a run that was killed, and
the next run removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import sqlite3
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..targets.terms import Json

SHM = Path("/dev/shm")  # memory, on purpose
ROOM_NEEDED_BYTES = 256 << 20
TEMPLATE_LIMIT_BYTES = 8 << 20
"""A deployed store up to this size is kept in memory and written out for every use."""

_STALE_S = 3600.0
_DYING_S = 5.0
"""How long a process without a parent may take to die, seconds."""


def base_folder() -> Path:
    """/dev/shm where it exists with room, else the folder for temporary files."""
    try:
        usage = os.statvfs(SHM)
        if usage.f_bavail * usage.f_frsize >= ROOM_NEEDED_BYTES and os.access(SHM, os.W_OK):
            return SHM
    except OSError:
        pass  # there is no such folder
    return Path(tempfile.gettempdir())


def no_room(problem: BaseException) -> str:
    """What to say and do where something failed because a disk is full; else an empty text."""
    cause: BaseException | None = problem
    seen: set[int] = set()  # a chain of causes may come back to its beginning
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        full = isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)
        if full or getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            return (
                f"no room is left ({cause}). Free some where `admitone doctor` says that stores "
                "lie, or run with a smaller -n"
            )
        cause = cause.__cause__ or cause.__context__
    return ""


class RunFolder:
    """A folder of this run alone, removed by ``close``; a context manager."""

    def __init__(self, base: Path | None = None) -> None:
        base = base or base_folder()
        sweep(base)
        name = f"{_prefix()}{os.getpid()}-{secrets.token_hex(4)}"
        made = base / f"{name}.new"
        made.mkdir(mode=0o700)
        self._lock = os.open(made / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = base / name
        made.rename(self.path)  # only a locked folder ever has the name that sweep looks at

    def close(self) -> None:
        """Remove the folder and give the lock back."""
        if self._lock >= 0:
            _remove(self.path)
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _remove(folder: Path) -> None:
    """Remove it, also while nodes that lost their worker are dying and still write into it."""
    until = time.monotonic() + _DYING_S
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > until:
            return  # the next run's sweep gets it
        time.sleep(0.01)


def sweep(base: Path) -> int:
    """Remove the folders of runs that are gone; how many there were."""
    removed = 0
    for folder in base.glob(f"{_prefix()}*"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        if folder.suffix == ".new":
            with suppress(FileNotFoundError):  # its run has just begun, and renamed it
                if time.time() - folder.stat().st_mtime > _STALE_S:
                    shutil.rmtree(folder, ignore_errors=True)
            continue
        removed += _remove_if_free(folder)
    return removed


def _remove_if_free(folder: Path) -> int:
    try:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:  # half removed: no folder gets its name without a lock
        shutil.rmtree(folder, ignore_errors=True)
        return 1
    except OSError:
        return 0
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return 0  # its run is alive
    else:
        shutil.rmtree(folder, ignore_errors=True)
        return 1
    finally:
        os.close(lock)


def _prefix() -> str:
    return f"admitone-{os.getuid()}-"


@dataclass(frozen=True, slots=True)
class Template:
    """A deployed store, copied for every use. ``source`` is kept for stores too big for memory."""

    store: Json
    source: Path
    folders: tuple[str, ...]
    files: tuple[tuple[str, bytes, int], ...] | None

    @staticmethod
    def of(store: Json, source: Path) -> Template:
        """Read a folder after the node that deployed it has exited (its -wal and -shm too)."""
        folders: list[str] = []
        files: list[tuple[str, bytes, int]] = []
        size = 0
        for path in sorted(source.rglob("*")):
            relative = str(path.relative_to(source))
            if path.is_symlink() or not (path.is_dir() or path.is_file()):
                return Template(store, source, (), None)
            if path.is_dir():
                folders.append(relative)
                continue
            size += path.stat().st_size
            if size > TEMPLATE_LIMIT_BYTES:
                return Template(store, source, (), None)
            files.append((relative, path.read_bytes(), path.stat().st_mode & 0o777))
        return Template(store, source, tuple(folders), tuple(files))

    def write(self, folder: Path) -> None:
        """Make a fresh store at ``folder``, which must not exist."""
        if self.files is None:
            shutil.copytree(self.source, folder, symlinks=True)
            return
        folder.mkdir(mode=0o700)
        for name in self.folders:
            (folder / name).mkdir(mode=0o700)
        for name, data, mode in self.files:
            descriptor = os.open(folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
            try:
                if os.write(descriptor, data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder / name))
            finally:
                os.close(descriptor)
