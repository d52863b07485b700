"""What one SQLite connection's open transaction has changed so far.

``total_changes`` counts rows and never goes back, not even when a savepoint takes changes back; it
does not count changes of the schema. The book makes up for both, so that it is known before a
COMMIT whether that makes anything durable.
"""

from __future__ import annotations

from collections.abc import Callable


class Book:
    """What is known of one connection's open transaction.

    ``tracer``   the ledger's own trace callback: it must not see the probe's statements.
    ``pending``  an UPDATE … RETURNING outside a transaction that has rows left to hand out: its
                 text and ``total_changes`` at that time. SQLite commits it when they are gone.
    """

    __slots__ = ("_base", "_by_savepoint", "_marks", "_schema", "pending", "tracer")

    def __init__(self) -> None:
        self.tracer: Callable[[str], object] | None = None
        self.pending: tuple[str, int] | None = None
        self.begin(0)

    def begin(self, total_changes: int, savepoint: str | None = None) -> None:
        """A transaction starts here, with nothing changed."""
        self._base = total_changes
        self._schema = False
        self._by_savepoint = savepoint is not None
        self._marks: list[tuple[str, int, bool]] = []
        if savepoint is not None:
            self.savepoint(savepoint, total_changes)

    def changed(self, total_changes: int) -> bool:
        """Whether a COMMIT would make anything durable."""
        return self._schema or total_changes != self._base

    def schema_changed(self) -> None:
        self._schema = True

    def savepoint(self, name: str, total_changes: int) -> None:
        self._marks.append((name, total_changes - self._base, self._schema))

    def ends_with(self, name: str) -> bool:
        """Whether releasing this savepoint ends the transaction."""
        return self._by_savepoint and self._find(name) == 0

    def released(self, name: str) -> None:
        del self._marks[self._find(name) :]

    def rolled_back_to(self, name: str, total_changes: int) -> None:
        """SQLite goes on counting what was taken back: discount it."""
        found = self._find(name)
        if found < len(self._marks):
            _, live, self._schema = self._marks[found]
            self._base = total_changes - live
            del self._marks[found + 1 :]

    def _find(self, name: str) -> int:
        for index in range(len(self._marks) - 1, -1, -1):
            if self._marks[index][0] == name:
                return index
        return len(self._marks)
