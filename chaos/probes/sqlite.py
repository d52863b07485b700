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
from functools import cache, partial, update_wrapper
from sqlite3 import Connection as RawConnection
from sqlite3 import Cursor as RawCursor
from types import ModuleType
from typing import Any, Final, Literal

from . import sight
from .driver_begin import DriverBegin, Rows
from .sight import around
from .statements import read, split
from .transactions import Book, RawTrace, commit, perform, settle

_MODULES: Final[tuple[ModuleType, ...]] = (sqlite3, sqlite3.dbapi2, _sqlite3)
_raw_connect: Final = sqlite3.connect
_raw: Final[Any] = RawConnection
_HAS_AUTOCOMMIT: Final = hasattr(RawConnection, "autocommit")  # since Python 3.12


def _autocommit(connection: RawConnection) -> bool | None:
    """Python 3.12's attribute: True or False, None for the legacy control of transactions."""
    if not _HAS_AUTOCOMMIT:
        return None
    value = _raw.autocommit.__get__(connection)
    return value if isinstance(value, bool) else None


def _driver_begins(connection: RawConnection) -> bool:
    return _raw.isolation_level.__get__(connection) is not None and _autocommit(connection) is None


class ProbedCursor(RawCursor):
    """A cursor that reports each statement."""

    _sight_pending = False

    def execute(self, sql: str, /, *parameters: Any) -> Any:
        connection = self._sight_connection(sql)
        if connection is None:
            return RawCursor.execute(self, sql, *parameters)
        book = connection._sight_book
        statement = read(sql)
        action = partial(RawCursor.execute, self, sql, *parameters)
        if statement.driver_begins and not connection.in_transaction:
            settle(connection, book)
            if _driver_begins(connection):
                with DriverBegin(connection, book, statement):
                    return action()
        result = perform(connection, book, statement, action)
        if statement.returning and book.pending is not None:
            self._sight_pending = True
        return result

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Any:
        connection = self._sight_connection(sql)
        if connection is None or read(sql).verb != "change":
            return RawCursor.executemany(self, sql, parameters)
        statement, book = read(sql), connection._sight_book
        settle(connection, book)
        rows = Rows(connection, book, statement, parameters)
        begins = statement.driver_begins and not connection.in_transaction
        if begins and _driver_begins(connection):
            with DriverBegin(connection, book, statement, rows), rows:
                return RawCursor.executemany(self, sql, rows)
        with rows:
            return RawCursor.executemany(self, sql, rows)

    def executescript(self, script: str, /) -> Any:
        connection = self._sight_connection(script)
        if connection is None or "\0" in script:
            return RawCursor.executescript(self, script)
        if _autocommit(connection) is None and connection.in_transaction:
            commit(connection, connection._sight_book, "COMMIT", partial(_raw.commit, connection))
        for piece in split(script):
            action = partial(_run_to_end, connection, piece)
            perform(connection, connection._sight_book, read(piece), action, exhausts=True)
        return self

    def fetchone(self) -> Any:
        row = RawCursor.fetchone(self)
        if self._sight_pending:
            self._sight_settle()
        return row

    def fetchmany(self, *size: Any, **named: Any) -> Any:
        rows = RawCursor.fetchmany(self, *size, **named)
        if self._sight_pending:
            self._sight_settle()
        return rows

    def fetchall(self) -> Any:
        rows = RawCursor.fetchall(self)
        if self._sight_pending:
            self._sight_settle()
        return rows

    def __next__(self) -> Any:
        if not self._sight_pending:
            return RawCursor.__next__(self)
        try:
            return RawCursor.__next__(self)
        finally:
            self._sight_settle()

    def close(self) -> None:
        RawCursor.close(self)
        if self._sight_pending:
            self._sight_settle()

    def __del__(self) -> None:
        if self._sight_pending:  # SQLite commits what a dropped cursor left unfetched
            with suppress(sqlite3.Error):
                self.close()

    def _sight_connection(self, sql: object) -> ProbedConnection | None:
        """The connection, if this call is to be reported."""
        if not sight.watching or not isinstance(sql, str):
            return None
        connection = getattr(self, "connection", None)
        if not isinstance(connection, ProbedConnection):
            return None
        if self._sight_pending:  # the driver resets the old statement: the same end
            with suppress(Exception):
                RawCursor.fetchall(self)
            self._sight_settle()
        return connection

    def _sight_settle(self) -> None:
        connection: Any = self.connection
        settle(connection, connection._sight_book)
        self._sight_pending = connection._sight_book.pending is not None


def _run_to_end(connection: RawConnection, sql: str) -> None:
    for _ in RawCursor(connection).execute(sql):
        pass


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
        return RawConnection.cursor(self, _probing(factory, RawCursor, ProbedCursor))

    # The driver makes a plain cursor for these three, whatever ``cursor`` was overridden to.

    def execute(self, sql: str, /, *parameters: Any) -> Any:
        return RawConnection.cursor(self, ProbedCursor).execute(sql, *parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Any:
        return RawConnection.cursor(self, ProbedCursor).executemany(sql, parameters)

    def executescript(self, script: str, /) -> Any:
        return RawConnection.cursor(self, ProbedCursor).executescript(script)

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
        if not sight.watching or _autocommit(self) is True:
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
        if sight.watching and _HAS_AUTOCOMMIT:
            with suppress(sqlite3.ProgrammingError):  # closed already
                if _autocommit(self) is False and self.in_transaction:
                    return around("statement", "ROLLBACK", partial(RawConnection.close, self))
        return RawConnection.close(self)

    def set_trace_callback(self, trace_callback: Any) -> None:
        RawTrace(self, trace_callback)
        self._sight_book.tracer = trace_callback

    def _sight_end(self, text: str, driver: Callable[[RawConnection], None]) -> None:
        book = self._sight_book
        settle(self, book)
        if _autocommit(self) is False:  # the driver ends one transaction and begins the next
            perform(self, book, read(text), partial(_run_to_end, self, text))
            perform(self, book, read("BEGIN"), partial(_run_to_end, self, "BEGIN"))
        elif self.in_transaction and _autocommit(self) is None:
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
        return _raw.isolation_level.__get__(self)

    @isolation_level.setter
    def isolation_level(self, value: Any) -> None:
        self._sight_set("isolation_level", value, value is None)

    if _HAS_AUTOCOMMIT:

        @property
        def autocommit(self) -> Any:
            return _raw.autocommit.__get__(self)

        @autocommit.setter
        def autocommit(self, value: Any) -> None:
            self._sight_set("autocommit", value, value is True)


@cache
def _mixed(own: Any, probe: Any) -> type:
    return type(own.__name__, (own, probe), {"__module__": own.__module__})


def _probing(factory: Any, raw: type, probe: type) -> Any:
    """A factory that makes probing objects: the class itself, or a mixture with the probe."""
    if factory is raw:
        return probe
    if isinstance(factory, type) and issubclass(factory, raw) and not issubclass(factory, probe):
        return _mixed(factory, probe)  # type: ignore[arg-type]  # classes are hashable
    return factory


def _connect(*args: Any, **named: Any) -> Any:
    if len(args) > 5:  # factory is the sixth
        args = (*args[:5], _probing(args[5], RawConnection, ProbedConnection), *args[6:])
    else:
        factory = named.get("factory", RawConnection)
        named["factory"] = _probing(factory, RawConnection, ProbedConnection)
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
