"""Looking from outside: the durable slots of an approval, by a read-only connection of its own.

Written against the file and not against the ledger's code, so that what it reports does not depend
on that code being right.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

from ..terms import Approval, SlotState, SlotView, View

_STATES: Final[dict[str, SlotState]] = {
    "Issued": "issued",
    "Prepared": "prepared",
    "Committed": "committed",
    "Revoked": "revoked",
}

_SLOTS: Final = """
    SELECT slot.j, slot.state, slot.attempt, slot.k, root.revoked
    FROM auth AS root LEFT JOIN slot ON slot.nu = root.nu
    WHERE root.nu = ({which}) ORDER BY slot.j
"""
_BY_RECORD: Final = _SLOTS.format(which="SELECT root FROM auth WHERE nu = ?")
_BY_EVENT: Final = _SLOTS.format(which="SELECT nu FROM auth WHERE parent = '' AND event = ?")


def read_view(path: Path, approval: Approval) -> View:
    """One statement is one transaction: the slots as they stand together at one instant."""
    statement, name = _BY_EVENT, approval.confirmation.event
    if approval.authorization is not None:
        statement, name = _BY_RECORD, approval.authorization.record
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        rows = connection.execute(statement, (name,)).fetchall()
    if not rows:
        return View(known=False, linearizable=True)
    return View(
        known=True,
        slots=tuple(_slots(rows)),
        linearizable=True,
        revoked=bool(rows[0][4]),
    )


def _slots(rows: Iterable[tuple[int | None, str, str | None, str | None, int]]) -> list[SlotView]:
    return [
        SlotView(str(j), _STATES[word], word, attempt, key)
        for j, word, attempt, key, _ in rows
        if j is not None  # a record without slots is shown as such, and never happens
    ]
