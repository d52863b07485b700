"""MP5b, row-count-misread: the winner of an update takes itself for the loser.

Changed: the update that takes a slot has a RETURNING clause, and its row count is read before the
rows are fetched. Python's ``sqlite3`` has not counted them by then, so that every Prepare, the
first one too, finds that somebody was faster: it is refused, and its slot is rolled back. No bound
can break in a ledger that admits nobody.

Real class: ``cursor.rowcount`` of a statement with RETURNING, of a driver that answers -1, of a
batch; ``affectedRows`` where a database counts changed rows and not matched ones.
"""

from __future__ import annotations

from ..caplease.denials import refused
from ..caplease.ledger import CapLease
from ..caplease.prepare import TAKE_IF_FREE, Free
from ..caplease.schema import slot
from ..caplease.target import CapLeaseSqlite
from ..terms import TargetName


class CountsTooEarly(CapLease):
    """Nobody ever wins."""

    take = TAKE_IF_FREE.returning(slot.c.j)

    def _swap(self, free: Free, attempt: str, key: str) -> bool:
        if not super()._swap(free, attempt, key):
            raise refused("exhausted")
        return True


class MP5b(CapLeaseSqlite):
    """The target ``builtin:broken/MP5b``."""

    name = TargetName("admitone", "broken/MP5b", "1")
    convicted_by: tuple[str, ...] = ("AO405", "AO801", "AO802")
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO105",
        "AO106",
        "AO201",
        "AO202",
        "AO203",
        "AO304",
        "AO401",
        "AO402",
        "AO704",
    )

    def ledger_class(self) -> type[CapLease]:
        return CountsTooEarly
