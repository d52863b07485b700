"""Looking from outside: the durable slots of an approval, by a read-only connection of its own.

Written against the file and not against the ledger's code, so that what it reports does not depend
on that code being right.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, TypeAlias

from ..terms import Approval, SlotState, SlotView, View

_STATES: Final[dict[str, SlotState]] = {
    "Issued": "issued",
    "Prepared": "prepared",
    "Committed": "committed",
    "Revoked": "revoked",
}

Row: TypeAlias = tuple[int | None, str, str | None, str | None, int]

_SLOTS: Final = """
    SELECT slot.j, slot.state, slot.attempt, slot.k, root.revoked
    FROM auth AS root LEFT JOIN slot ON slot.nu = root.nu
    WHERE root.nu = ({which}) ORDER BY slot.j
"""
BY_RECORD: Final = _SLOTS.format(which="SELECT root FROM auth WHERE nu = ?")
BY_EVENT: Final = _SLOTS.format(which="SELECT nu FROM auth WHERE parent = '' AND event = ?")


def read_view(path: Path, approval: Approval) -> View:
    """One statement is one transaction: the slots as they stand together at one instant."""
    by_record, name = named(approval)
    statement = BY_RECORD if by_record else BY_EVENT
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        rows = connection.execute(statement, (name,)).fetchall()
    return view_of(rows)


def named(approval: Approval) -> tuple[bool, str]:
    """Whether the approval's record is known by its own name, and the name to look for."""
    if approval.authorization is None:
        return False, approval.confirmation.event
    return True, approval.authorization.record


def view_of(rows: Sequence[Row]) -> View:
    """What the rows of one of the statements say."""
    if not rows:
        return View(known=False, linearizable=True)
    return View(
        known=True,
        slots=tuple(_slots(rows)),
        linearizable=True,
        revoked=bool(rows[0][4]),
    )


def _slots(rows: Iterable[Row]) -> list[SlotView]:
    return [
        SlotView(str(j), _STATES[word], word, attempt, key)
        for j, word, attempt, key, _ in rows
        if j is not None  # a record without slots is shown as such, and never happens
    ]
