"""One client's connection, and the one way in which operations use it.

Statements are SQLAlchemy Core constructs, each compiled once for its dialect and then sent as text:
in a process that lives for a few milliseconds the compilation would be most of the work.
What sends them is the driver's connection, which a realization for one database adds as a subclass
(``store_sqlite.py``), with its own ``begin`` texts and locks.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from sqlalchemy import Dialect, Executable, Table
from sqlalchemy.sql import ClauseElement

Found: TypeAlias = Any
"""A row whose values have the names of their columns: SQLAlchemy's, or a named tuple."""


class Transaction(Protocol):
    """An open transaction."""

    def commit(self) -> None: ...
    def rollback(self) -> None: ...


class Result(Protocol):
    """What came of a statement."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Found | None: ...
    def fetchall(self) -> Sequence[Found]: ...


@dataclass(frozen=True, slots=True)
class Compiled:
    """A statement as the driver wants it: text, the order of its values, and its constants."""

    text: str
    names: tuple[str, ...] | None
    constants: Mapping[str, object]

    def bind(self, values: Mapping[str, object]) -> Any:
        """The values as the driver wants them: in order, or by name."""
        if self.names is None:
            return {**self.constants, **values}
        constants = self.constants
        return tuple([values[n] if n in values else constants[n] for n in self.names])


_COMPILED: Final[dict[tuple[str, Executable], Compiled]] = {}


def compile_once(statement: Executable, dialect: Dialect) -> Compiled:
    """The statement for this dialect, from the process-wide cache."""
    found = _COMPILED.get((dialect.name, statement))
    if found is None:
        assert isinstance(statement, ClauseElement)
        made = statement.compile(dialect=dialect)
        order: Sequence[str] | None = getattr(made, "positiontup", None)
        constants = {name: value for name, value in made.params.items() if value is not None}
        found = Compiled(str(made), None if order is None else tuple(order), constants)
        _COMPILED[dialect.name, statement] = found
    return found


def compiled_for(dialect: str) -> list[Executable]:
    """What this process has compiled for a dialect, but for statements that only it understands."""
    return [
        statement
        for name, statement in _COMPILED
        if name == dialect and not type(statement).__module__.startswith("sqlalchemy.dialects")
    ]


class Store:
    """A connection with transactions; one at a time, from any thread."""

    begin_writing: ClassVar[str] = "BEGIN"
    begin_reading: ClassVar[str] = "BEGIN"

    def __init__(self) -> None:
        self._turn = threading.Lock()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction that holds the write lock from its first statement to its COMMIT."""
        with self._turn:
            transaction = self._begin(self.begin_writing)
            yield from self._until_commit(transaction)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One transaction that sees one state and takes no lock."""
        with self._turn:
            transaction = self._begin(self.begin_reading)
            yield from self._until_commit(transaction)

    def one(self, statement: Executable, **values: object) -> Found | None:
        """The first row, if there is one."""
        return self._send(statement, values).fetchone()

    def all(self, statement: Executable, **values: object) -> Sequence[Found]:
        """Every row."""
        return self._send(statement, values).fetchall()

    def run(self, statement: Executable, **values: object) -> int:
        """How many rows it changed."""
        return self._send(statement, values).rowcount

    def many(self, statement: Executable, rows: Sequence[Mapping[str, object]]) -> int:
        """How many rows it changed in total, run once for each row of values."""
        raise NotImplementedError

    def insert_once(self, table: Table, values: Mapping[str, object]) -> bool:
        """Insert unless a unique index already has it; whether it was inserted."""
        raise NotImplementedError

    def lock_tree(self, nu: str) -> bool:
        """Keep other writers off the record's tree to the end of the transaction, where the write
        lock does not do that; whether there is such a record, as far as it had to be looked for."""
        return True

    def lock_audit(self) -> None:
        """Keep other writers off the chain's head, where the write lock does not do that. Who has
        it waits for nothing more: it comes after every other lock."""

    def disconnect(self) -> None:
        """Close the connection."""
        raise NotImplementedError

    def _send(self, statement: Executable, values: Mapping[str, object]) -> Result:
        raise NotImplementedError

    def _begin(self, text: str) -> Transaction:
        raise NotImplementedError

    def _until_commit(self, transaction: Transaction) -> Iterator[None]:
        try:
            yield
            transaction.commit()
        except BaseException:
            transaction.rollback()  # also after a COMMIT that failed, which may have left it open
            raise
