"""The probe for ``sqlite3``: every connection and cursor becomes one that reports.

``sqlite3.connect``, ``Connection`` and ``Cursor`` are replaced, so a module that binds them early
binds the probing ones, and a ledger's own subclass inherits from them. A class that was made
earlier is mixed: its own methods come first, the probe's beneath them, the driver's last.
Statements are reported by the cursor; the connection adds what needs none: commit, rollback,
``with`` and the attributes that control transactions.
"""

from __future__ import annotations

import _sqlite3
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial, update_wrapper
from sqlite3 import Connection as RawConnection
from sqlite3 import Cursor as RawCursor
from types import ModuleType
from typing import Any, Final, Literal

from . import sight
from .book import Book
from .cursors import (
    HAS_AUTOCOMMIT,
    RAW,
    ProbedCursor,
    autocommit_of,
    execute,
    probing,
    run_to_end,
)
from .sight import around
from .statements import read
from .transactions import RawTrace, commit, perform, settle

_MODULES: Final[tuple[ModuleType, ...]] = (sqlite3, sqlite3.dbapi2, _sqlite3)
_raw_connect: Final = sqlite3.connect
_raw_cursor: Final[Any] = RawConnection.cursor
_raw_execute: Final[Any] = RawCursor.execute


class ProbedConnection(RawConnection):
    """A connection that reports where its transactions begin and end."""

    _sight_book: Book

    def __new__(cls, *_args: Any, **_named: Any) -> ProbedConnection:
        made = RawConnection.__new__(cls)
        made._sight_book = Book()
        return made

    def __init__(self, *args: Any, **named: Any) -> None:
        opens = partial(RawConnection.__init__, self, *args, **named)
        if named.get("autocommit") is False:
            around("begin", "BEGIN", opens)
        else:
            opens()

    def cursor(self, factory: Any = ProbedCursor) -> Any:
        return _raw_cursor(self, probing(factory, RawCursor, ProbedCursor))

    # The driver makes a plain cursor for these three, whatever ``cursor`` was overridden to.

    def execute(self, sql: str, /, *parameters: Any) -> Any:
        cursor = _raw_cursor(self, ProbedCursor)
        if sight.watching:
            return execute(cursor, sql, parameters)
        return _raw_execute(cursor, sql, *parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Any:
        return _raw_cursor(self, ProbedCursor).executemany(sql, parameters)

    def executescript(self, script: str, /) -> Any:
        return _raw_cursor(self, ProbedCursor).executescript(script)

    def commit(self) -> None:
        if sight.watching:
            self._sight_end("COMMIT", RawConnection.commit)
        else:
            RawConnection.commit(self)

    def rollback(self) -> None:
        if sight.watching:
            self._sight_end("ROLLBACK", RawConnection.rollback)
        else:
            RawConnection.rollback(self)

    def __exit__(self, *exc_info: Any) -> Literal[False]:
        if not sight.watching or autocommit_of(self) is True:
            return RawConnection.__exit__(self, *exc_info)
        # as the driver does: its own commit and rollback, whatever a subclass makes of them
        if any(part is not None for part in exc_info):
            ProbedConnection.rollback(self)
            return False
        try:
            ProbedConnection.commit(self)
        except BaseException:
            ProbedConnection.rollback(self)
            raise
        return False

    def close(self) -> None:
        if sight.watching and HAS_AUTOCOMMIT:
            with suppress(sqlite3.ProgrammingError):  # closed already
                if autocommit_of(self) is False and self.in_transaction:
                    return around("statement", "ROLLBACK", partial(RawConnection.close, self))
        return RawConnection.close(self)

    def set_trace_callback(self, trace_callback: Any) -> None:
        RawTrace(self, trace_callback)
        self._sight_book.tracer = trace_callback

    def _sight_end(self, text: str, driver: Callable[[RawConnection], None]) -> None:
        book = self._sight_book
        settle(self, book)
        if autocommit_of(self) is False:  # the driver ends one transaction and begins the next
            perform(self, book, read(text), partial(run_to_end, self, text))
            perform(self, book, read("BEGIN"), partial(run_to_end, self, "BEGIN"))
        elif self.in_transaction and autocommit_of(self) is None:
            perform(self, book, read(text), partial(driver, self))
        else:
            driver(self)

    def _sight_set(self, name: str, value: Any, commits: bool) -> None:
        """Set a transaction attribute; the driver may commit or begin by it."""
        write = partial(getattr(RawConnection, name).__set__, self, value)
        if sight.watching and commits and self.in_transaction:
            commit(self, self._sight_book, "COMMIT", write)
        elif sight.watching and name == "autocommit" and value is False:
            perform(self, self._sight_book, read("BEGIN"), write)
        else:
            write()

    @property
    def isolation_level(self) -> Any:
        return RAW.isolation_level.__get__(self)

    @isolation_level.setter
    def isolation_level(self, value: Any) -> None:
        self._sight_set("isolation_level", value, value is None)

    if HAS_AUTOCOMMIT:

        @property
        def autocommit(self) -> Any:
            return RAW.autocommit.__get__(self)

        @autocommit.setter
        def autocommit(self, value: Any) -> None:
            self._sight_set("autocommit", value, value is True)


def _connect(*args: Any, **named: Any) -> Any:
    if len(args) > 5:  # factory is the sixth
        args = (*args[:5], probing(args[5], RawConnection, ProbedConnection), *args[6:])
    else:
        factory = named.get("factory", RawConnection)
        named["factory"] = probing(factory, RawConnection, ProbedConnection)
    return _raw_connect(*args, **named)


update_wrapper(_connect, _raw_connect)
for _probe, _stock in ((ProbedConnection, RawConnection), (ProbedCursor, RawCursor)):
    _probe.__name__, _probe.__qualname__ = _stock.__name__, _stock.__qualname__
    _probe.__module__, _probe.__doc__ = _stock.__module__, _stock.__doc__


def install() -> None:
    """Replace the names in the driver's modules."""
    _set_names(_connect, ProbedConnection, ProbedCursor)
    if ProbedConnection not in sight.covered:
        sight.covered.append(ProbedConnection)


def uninstall() -> None:
    """Put the driver's own names back."""
    _set_names(_raw_connect, RawConnection, RawCursor)


def _set_names(connect: Any, connection: type, cursor: type) -> None:
    for module in _MODULES:
        names: Any = module
        names.connect, names.Connection, names.Cursor = connect, connection, cursor
