"""Writes to folders: a name that appears, moves or goes is durable once the call has returned.

``create`` is an open that makes a file; an empty one is a fact for whoever looks for it, whatever
is written to it later. Whether a call can work is looked at first, and one that cannot is no
write: it has no points, and leaves the numbers of those after it as they are.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from stat import S_ISREG
from typing import Any, Final, TypeVar

from . import open_files, sight
from .open_files import ORIGINAL, name_at
from .sight import Raise, report

T = TypeVar("T")


def _fail(answer: Raise | None, name: str) -> None:
    """A store in files fails by EIO, before a durable write or after it; it is never busy."""
    if answer is not None and answer.error == "io":
        answer.fired = True
        raise OSError(errno.EIO, os.strerror(errno.EIO), name)


def write(
    verb: str,
    name: str,
    action: Callable[[], T],
    undo: Callable[[T], None] | None = None,
    lose: Callable[[], None] | None = None,
) -> T:
    """A durable write of what has this name. ``undo`` gives back what the action has opened,
    where an error keeps it from the caller; ``lose`` takes away what an error before it loses."""
    answer = report("write", "before", f"{verb} {name}")
    if lose is not None and answer is not None and answer.error == "io":
        lose()
    _fail(answer, name)
    result = action()
    try:
        _fail(report("write", "after", f"{verb} {name}"), name)
    except OSError:
        if undo is not None:
            undo(result)
        raise
    return result


def new_name(path: Any, folder: int | None = None, *, follow: bool = True) -> str | None:
    """The name below the root under which something could be made: it is free, and its folder is
    there. A call without watching has none."""
    if not sight.watching or open_files.root is None or isinstance(path, int):
        return None
    name = name_at(path, folder)
    if name is None or _exists(path, folder, follow):
        return None
    # plain strings, because this is called often
    parent = os.path.dirname(os.path.join(open_files.root, name))  # noqa: PTH118, PTH120
    return name if _exists(parent, None, True) else None


def full_name(path: Any, folder: int | None = None) -> str | None:
    """The name below the root of a file that has something in it, which opening may empty."""
    if not sight.watching or open_files.root is None or isinstance(path, int):
        return None
    name = name_at(path, folder)
    try:
        found = None if name is None else ORIGINAL.stat(path, dir_fd=folder)
    except (OSError, TypeError, ValueError):
        return None
    return name if found is not None and S_ISREG(found.st_mode) and found.st_size else None


def _old_name(path: Any, folder: int | None) -> str | None:
    if not sight.watching or open_files.root is None:
        return None
    name = name_at(path, folder)
    return name if name is not None and _exists(path, folder, False) else None


def _exists(path: Any, folder: int | None, follow: bool) -> bool:
    try:
        ORIGINAL.stat(path, dir_fd=folder, follow_symlinks=follow)
    except (OSError, TypeError, ValueError):
        return False
    return True


def _makes(verb: str, stock: Callable[..., None]) -> Callable[..., None]:
    def make(path: Any, *args: Any, **named: Any) -> None:
        name = new_name(path, named.get("dir_fd"), follow=False)
        if name is None:
            stock(path, *args, **named)
        else:
            write(verb, name, partial(stock, path, *args, **named))

    return make


def _removes(verb: str, stock: Callable[..., None]) -> Callable[..., None]:
    def remove(path: Any, **named: Any) -> None:
        name = _old_name(path, named.get("dir_fd"))
        if name is None:
            stock(path, **named)
        else:
            write(verb, name, partial(stock, path, **named))

    return remove


def _moves(verb: str, stock: Callable[..., None], *, over: bool = True) -> Callable[..., None]:
    """From one name to another below the root. ``over``: the other may exist."""

    def move(src: Any, dst: Any, *args: Any, **named: Any) -> None:
        name, source = None, named.get("src_dir_fd")
        if sight.watching and _exists(src, source, False):
            folder = named.get("dst_dir_fd")
            name = name_at(dst, folder) if over else new_name(dst, folder, follow=False)
        if name is None:
            stock(src, dst, *args, **named)
        else:
            names = f"{name_at(src, source) or 'a file elsewhere'} {name}"
            write(verb, names, partial(stock, src, dst, *args, **named))

    return move


def _symlink(src: Any, dst: Any, *args: Any, **named: Any) -> None:
    """What it points to need not be there."""
    name = new_name(dst, named.get("dir_fd"), follow=False)
    if name is None:
        ORIGINAL.symlink(src, dst, *args, **named)
    else:
        write("symlink", name, partial(ORIGINAL.symlink, src, dst, *args, **named))


PROBES: Final[dict[str, Any]] = {
    "mkdir": _makes("mkdir", ORIGINAL.mkdir),
    "unlink": _removes("unlink", ORIGINAL.unlink),
    "remove": _removes("unlink", ORIGINAL.remove),
    "rmdir": _removes("rmdir", ORIGINAL.rmdir),
    "symlink": _symlink,
    "link": _moves("link", ORIGINAL.link, over=False),
    "replace": _moves("replace", ORIGINAL.replace),
    "rename": _moves("rename", ORIGINAL.rename),
}
"""By their names in ``os``."""
