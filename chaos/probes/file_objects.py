"""File objects that report: of the same kinds as before, made anew around the same descriptor.

``write`` only takes note; ``flush`` is a statement, and so is each write of an unbuffered file;
the close of a file that owes the disk something is a write.
"""

from __future__ import annotations

import io
from functools import partial, update_wrapper
from typing import Any

from . import open_files, sight
from .open_files import ORIGINAL, File, close_file, file_of
from .sight import around


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
            close_file(file, stock.close)
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
    if open_files.root is None or not set(str(mode)) & set("wax+"):
        return ORIGINAL.open(file, mode, buffering, encoding, errors, newline, closefd, opener)
    if buffering == 0 and "b" in mode and (encoding, errors, newline) == (None, None, None):
        opened: Any = _ProbedRaw(file, mode, closefd, opener)
        opened._sight_file = file_of(opened.fileno())
        return opened
    opened = ORIGINAL.open(file, mode, buffering, encoding, errors, newline, closefd, opener)
    found = file_of(opened.fileno())
    return opened if found is None else _probing(opened, found, mode, buffering, newline)


def _probing(stock: Any, file: File, mode: str, buffering: int, newline: str | None) -> Any:
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


update_wrapper(open_probed, ORIGINAL.open)
