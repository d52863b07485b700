"""File objects that report: of the same kinds as the stock ones, put together in the same way.

``write`` only takes note; ``flush`` is a statement, and so is each write of an unbuffered file;
the close of a file that owes the disk something is a write. What is read from the kernel, and
not from a buffer, is a statement: only then does the file tell something new.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, Final

from . import durable, looks, open_files, room, sight
from .open_files import ORIGINAL, File, close_file, file_of, name_at
from .sight import around, report


def _out(text: str, action: Callable[[], Any], *, torn: bool) -> Any:
    """Let bytes go out to the kernel, unless there is no room for them."""
    answer = report("statement", "before", text)
    try:
        room.fill(answer, torn=torn)
        return action()
    finally:
        report("statement", "after", text)


class _Probed:
    """The part that the probing file objects share; stands before the stock class.

    A text file and the buffer below it share one ``File``; ``within`` keeps the inner one silent
    while the outer one works.
    """

    _sight_file: File | None = None
    _sight_buffers = True

    def write(self, data: Any, /) -> Any:
        file = self._sight_file
        stock: Any = super()
        if file is None:
            return stock.write(data)
        file.wrote(self._sight_buffers)
        if self._sight_buffers or not sight.watching:
            return stock.write(data)
        return _out(f"write {file.name}", partial(stock.write, data), torn=False)

    def truncate(self, *size: Any) -> Any:
        stock: Any = super()
        if self._sight_file is not None:
            self._sight_file.wrote(buffered=False)
            self._sight_file.grew = False
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
                _out(f"flush {file.name}", stock.flush, torn=True)
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
            close_file(file, stock.close)
        finally:
            file.within = False
            self._sight_file = None


class _ReadRaw(io.FileIO):
    """The lowest layer of every file object: nothing is read from the kernel but by it, and
    nothing written."""

    _sight_reads: File | None = None

    def _seen(self, action: Callable[[], Any]) -> Any:
        if self._sight_reads is None or not sight.watching:
            return action()
        return around("statement", f"read {self._sight_reads.name}", action)

    def read(self, *size: Any) -> Any:
        return self._seen(partial(super().read, *size))

    def readall(self) -> Any:
        return self._seen(super().readall)

    def readinto(self, buffer: Any, /) -> Any:
        return self._seen(partial(super().readinto, buffer))

    def write(self, data: Any, /) -> Any:
        file = self._sight_reads
        if file is None:
            return super().write(data)
        if sight.watching:
            data = room.fitting(data, file.name)
        return open_files.measured(file, partial(super().write, data))


class _ProbedText(_Probed, io.TextIOWrapper):
    pass


class _ProbedWriter(_Probed, io.BufferedWriter):
    pass


class _ProbedRandom(_Probed, io.BufferedRandom):
    pass


class _ProbedRaw(_Probed, _ReadRaw):
    _sight_buffers = False


_KINDS: Final[dict[type, type]] = {
    _ProbedText: io.TextIOWrapper,
    _ProbedWriter: io.BufferedWriter,
    _ProbedRandom: io.BufferedRandom,
    _ProbedRaw: io.FileIO,
    _ReadRaw: io.FileIO,
}
for _probe, _stock in _KINDS.items():
    _probe.__name__, _probe.__qualname__ = _stock.__name__, _stock.__qualname__
    _probe.__module__ = _stock.__module__


def open_probed(
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: Any = None,
) -> Any:
    """``open``, as the stock one: only files below the root come back as probing ones."""
    text = (encoding, errors, newline)
    if (
        open_files.root is None
        or not (sight.watching or set(str(mode)) & set("wax+"))
        or not _is_fit(mode, buffering, text)
        or not _is_ours(file, opener)
    ):
        return ORIGINAL.open(file, mode, buffering, *text, closefd, opener)
    raw = _raw(file, mode, buffering, closefd, opener)
    try:
        return raw if buffering == 0 else _dressed(raw, mode, buffering, text)
    except BaseException:
        raw.close()
        raise


def _is_fit(mode: Any, buffering: Any, text: tuple[Any, Any, Any]) -> bool:
    """Of what is not, the stock function says what is wrong with it."""
    if not isinstance(mode, str) or type(buffering) is not int or buffering < -1:
        return False
    letters = set(mode)
    plain = len(letters) == len(mode) and letters <= set("rwaxbt+") and not {"b", "t"} <= letters
    if not plain or len(letters & set("rwax")) != 1:
        return False
    if "b" in letters:
        return text == (None, None, None) and buffering != 1
    return buffering != 0


def _is_ours(file: Any, opener: Any) -> bool:
    """Whoever brings an opener may mean any file by any name."""
    if isinstance(file, int):
        return file_of(file) is not None
    return opener is not None or name_at(file) is not None


def _raw(file: Any, mode: str, buffering: int, closefd: bool, opener: Any) -> Any:
    """The opened file, which may have to be made. An opener reports by itself what it does."""
    kind = _ProbedRaw if buffering == 0 else _ReadRaw
    flags = mode.replace("b", "").replace("t", "")
    action: Callable[[], Any] = partial(kind, file, flags, closefd, opener)
    name = None
    if opener is None and set(flags) & set("wax") and not isinstance(file, int):
        name = durable.new_name(file)
        if name is None and "w" in flags and (emptied := durable.full_name(file)):
            action = partial(around, "statement", f"empty {emptied}", action)
    try:
        raw = action() if name is None else durable.write("create", name, action, kind.close)
    except FileNotFoundError:
        if opener is None:
            looks.missed(file)
        raise
    found = file_of(raw.fileno())
    raw._sight_reads = found
    if buffering == 0:
        raw._sight_file = found
    return raw


def _dressed(raw: Any, mode: str, buffering: int, text: tuple[Any, Any, Any]) -> Any:
    """The layers above it: a buffer, and for texts one more."""
    size = buffering if buffering > 1 else raw._blksize
    found: File | None = raw._sight_reads
    buffer: Any
    if "+" in mode:
        buffer = _ProbedRandom(raw, size)
    elif "r" in mode:
        buffer, found = io.BufferedReader(raw, size), None
    else:
        buffer = _ProbedWriter(raw, size)
    if found is not None:
        buffer._sight_file = found
    if "b" in mode:
        return buffer
    kind = io.TextIOWrapper if found is None else _ProbedText
    dressed: Any = kind(buffer, *text, buffering == 1)
    if found is not None:
        dressed._sight_file = found
    dressed.mode = mode
    return dressed


update_wrapper(open_probed, ORIGINAL.open)
