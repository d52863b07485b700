"""Cursors that report each statement, and what they are told of their connection.

A cursor costs little while nobody watches. Only one that hands out the rows of an UPDATE …
RETURNING outside a transaction needs to see its rows fetched, for SQLite commits with the last of
them; it becomes a ``_HandingOut`` until then.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, partial
from sqlite3 import Connection as RawConnection
from sqlite3 import Cursor as RawCursor
from typing import Any, Final

from . import sight
from .book import Book
from .driver_begin import DriverBegin, Rows
from .statements import Statement, read, split
from .transactions import commit, fail_statement, perform, settle

RAW: Final[Any] = RawConnection
HAS_AUTOCOMMIT: Final = hasattr(RawConnection, "autocommit")  # since Python 3.12

_execute: Final[Any] = RawCursor.execute
_executemany: Final[Any] = RawCursor.executemany
_executescript: Final[Any] = RawCursor.executescript


def autocommit_of(connection: RawConnection) -> bool | None:
    """Python 3.12's attribute: True or False, None for the legacy control of transactions."""
    if not HAS_AUTOCOMMIT:
        return None
    value = RAW.autocommit.__get__(connection)
    return value if isinstance(value, bool) else None


def run_to_end(connection: RawConnection, sql: str) -> None:
    """Run one statement and leave none of its rows."""
    for _ in RawCursor(connection).execute(sql):
        pass


class ProbedCursor(RawCursor):
    """A cursor that reports each statement."""

    __slots__ = ()

    def execute(self, sql: str, /, *parameters: Any) -> Any:
        if sight.watching:
            return execute(self, sql, parameters)
        return _execute(self, sql, *parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Any:
        book = _book_of(self) if sight.watching and isinstance(sql, str) else None
        if book is None or read(sql).verb != "change":
            return _executemany(self, sql, parameters)
        connection, statement = self.connection, read(sql)
        settle(connection, book)
        rows = Rows(connection, book, statement, parameters)
        if _driver_begins(connection, statement):
            with DriverBegin(connection, book, statement, rows), rows:
                return _executemany(self, sql, rows)
        with rows:
            return _executemany(self, sql, rows)

    def executescript(self, script: str, /) -> Any:
        book = _book_of(self) if sight.watching and isinstance(script, str) else None
        if book is None or "\0" in script:
            return _executescript(self, script)
        connection = self.connection
        if autocommit_of(connection) is None and connection.in_transaction:
            commit(connection, book, "COMMIT", partial(RAW.commit, connection))
        for piece in split(script):
            action = partial(run_to_end, connection, piece)
            perform(connection, book, read(piece), action, exhausts=True)
        return self


def execute(cursor: RawCursor, sql: Any, parameters: tuple[Any, ...]) -> Any:
    """Run one statement on a cursor, with its points."""
    book = _book_of(cursor) if isinstance(sql, str) else None
    if book is None:
        return _execute(cursor, sql, *parameters)
    connection, statement = cursor.connection, read(sql)
    if statement.plain and book.pending is None and connection.in_transaction:
        text = statement.text  # the most frequent case, as short as can be
        answer = sight.tell("statement", "before", text)
        try:
            if answer is not None:
                fail_statement(connection, book, statement, answer)
            return _execute(cursor, sql, *parameters)
        finally:
            sight.tell("statement", "after", text)
    action = partial(_execute, cursor, sql, *parameters)
    if _driver_begins(connection, statement):
        settle(connection, book)
        with DriverBegin(connection, book, statement) as begun:
            result = action()
            if begun.answer is not None:  # done by now, and taken back with all the rest
                fail_statement(connection, book, statement, begun.answer)
            return result
    result = perform(connection, book, statement, action)
    if statement.returning and book.pending is not None:
        with suppress(TypeError):  # a class of a peculiar layout: then its end is seen later
            cursor.__class__ = _handing_out(type(cursor))
    return result


def _book_of(cursor: RawCursor) -> Book | None:
    """None for a cursor that was never initialized, or one of a connection made elsewhere."""
    return getattr(getattr(cursor, "connection", None), "_sight_book", None)


def _driver_begins(connection: RawConnection, statement: Statement) -> bool:
    """Whether the driver opens a transaction before this statement."""
    return (
        statement.driver_begins
        and not connection.in_transaction
        and RAW.isolation_level.__get__(connection) is not None
        and autocommit_of(connection) is None
    )


class _HandingOut:
    """Stands before a cursor's own class while rows of a pending write are left."""

    __slots__ = ()
    _sight_own: type

    def fetchone(self) -> Any:
        return self._sight_fetch("fetchone")

    def fetchmany(self, *size: Any, **named: Any) -> Any:
        return self._sight_fetch("fetchmany", *size, **named)

    def fetchall(self) -> Any:
        return self._sight_fetch("fetchall")

    def __next__(self) -> Any:
        return self._sight_fetch("__next__")

    def close(self) -> Any:
        return self._sight_fetch("close")

    def execute(self, *args: Any) -> Any:
        return self._sight_again().execute(*args)

    def executemany(self, *args: Any) -> Any:
        return self._sight_again().executemany(*args)

    def executescript(self, *args: Any) -> Any:
        return self._sight_again().executescript(*args)

    def __del__(self) -> None:
        with suppress(sqlite3.Error):  # SQLite commits also what was left unfetched
            self.close()

    def _sight_fetch(self, name: str, *size: Any, **named: Any) -> Any:
        return _fetched(self, partial(getattr(super(), name), *size, **named))

    def _sight_again(self) -> Any:
        """The cursor is used anew, and the driver resets it first: the same end for the write."""
        with suppress(Exception):  # as the driver's reset, which tells nobody of an error
            self.fetchall()
        self.__class__ = getattr(self, "_sight_own", type(self))
        return self


def _fetched(cursor: Any, action: Any) -> Any:
    try:
        return action()
    finally:
        book = cursor.connection._sight_book
        settle(cursor.connection, book)
        if book.pending is None:
            cursor.__class__ = cursor._sight_own


@cache
def _handing_out(own: Any) -> Any:
    names = {"__slots__": (), "__module__": own.__module__, "_sight_own": own}
    return type(own.__name__, (_HandingOut, own), names)


@cache
def _mixed(own: Any, probe: Any) -> type:
    return type(own.__name__, (own, probe), {"__module__": own.__module__})


def probing(factory: Any, raw: type, probe: type) -> Any:
    """A factory that makes probing objects: the class itself, or a mixture with the probe."""
    if factory is raw:
        return probe
    if isinstance(factory, type) and issubclass(factory, raw) and not issubclass(factory, probe):
        return _mixed(factory, probe)  # type: ignore[arg-type]  # classes are hashable
    return factory
