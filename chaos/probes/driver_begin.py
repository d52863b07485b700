"""What the driver does between two lines of Python: its implicit BEGIN, and rows of a batch.

In its legacy mode ``sqlite3`` opens a transaction before the first INSERT, UPDATE, DELETE or
REPLACE, inside one call. A trace callback, set for this one call only, stands between the two.
``executemany`` needs none for its rows: the driver asks for the next row when it has done the
last, so the rows themselves are the place to stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from sqlite3 import Connection as RawConnection
from types import TracebackType
from typing import Any

from .book import Book
from .sight import Raise, report
from .statements import Statement
from .transactions import RawTrace, land, land_failed, lift


class DriverBegin:
    """Reports the driver's BEGIN, and after it the statement (or lets ``rows`` report theirs).
    ``answer``: what was answered to the statement, in which nobody can raise by then."""

    def __init__(
        self,
        connection: RawConnection,
        book: Book,
        statement: Statement,
        rows: Rows | None = None,
    ) -> None:
        self._connection = connection
        self._book = book
        self._statement = statement
        self._begin: str | None = None  # its text, while it runs
        self._traced = 0
        self._in_statement = False
        self._single = rows is None
        self.answer: Raise | None = None
        if rows is not None:
            rows.first = self.begun

    def __enter__(self) -> DriverBegin:
        self._book.begin(self._connection.total_changes)
        RawTrace(self._connection, self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        RawTrace(self._connection, self._book.tracer)
        self.begun()
        if self._in_statement:
            report("statement", "after", self._statement.text)

    def begun(self) -> None:
        """The BEGIN has ended, well or not."""
        if self._begin is not None:
            report("begin", "after", self._begin)
            self._begin = None

    def _seen(self, sql: str) -> None:
        try:
            if self._book.tracer is not None:
                self._book.tracer(sql)
        finally:
            self._traced += 1
            if self._traced == 1:
                self._begin = sql.strip()
                report("begin", "before", self._begin)
            elif self._traced == 2 and self._single:  # later ones are its triggers
                self.begun()
                self._in_statement = True
                self.answer = report("statement", "before", self._statement.text)


class Rows:
    """The rows of an ``executemany``, each one a statement with its own points.

    ``first`` is called before the first of them. Outside a transaction each row is lifted (see
    ``transactions``), because each is a durable write of its own.
    """

    def __init__(
        self, connection: RawConnection, book: Book, statement: Statement, rows: Iterable[Any]
    ) -> None:
        self._connection = connection
        self._book = book
        self._text = statement.text
        self._rows = iter(rows)
        self._open = self._lifted = False
        self.first: Callable[[], None] = _nothing

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.first()
        self._end(failed=False)
        row = next(self._rows)
        self._open = True
        report("statement", "before", self._text)
        self._lifted = not self._connection.in_transaction and lift(self._connection, self._book)
        return row

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(failed=error is not None)

    def _end(self, failed: bool) -> None:
        if not self._open:
            return
        self._open = False
        try:
            if self._lifted:
                (land_failed if failed else land)(self._connection, self._book, self._text)
        finally:
            report("statement", "after", self._text)


def _nothing() -> None: ...
