"""Recover: hand out again every slot that was admitted and is not settled.

Whose it was, how old it is, whether its record has expired or been revoked since: none of that
matters, and none of it is asked. The key is the one under which it was admitted.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from ..replies import Recovered
from ..terms import Authorization
from .base import Base
from .denials import answering
from .records import record_from
from .schema import PREPARED, auth, slot

UNFINISHED = (
    select(auth, slot.c.j, slot.c.attempt, slot.c.k)
    .join(slot, slot.c.nu == auth.c.nu)
    .where(slot.c.state == PREPARED)
    .order_by(slot.c.nu, slot.c.j)
)
RECORD_COLUMNS = len(auth.columns)


class Recovering(Base):
    """The ``recover`` operation."""

    @answering
    def recover(self, known: Sequence[Authorization]) -> Recovered:
        """``known`` is not needed: the ledger lists its own records."""
        with self.store.writing():
            return Recovered(
                resume=tuple(
                    self._admission(row, record_from(row[:RECORD_COLUMNS]))
                    for row in self.store.all(UNFINISHED)
                )
            )
