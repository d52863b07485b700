"""Audit: read the whole chain in one state and say whether it holds together."""

from __future__ import annotations

from ..terms import AuditView
from .base import Base
from .chain import GENESIS, WHOLE_CHAIN, verifies
from .denials import answering


class Auditing(Base):
    """The ``audit`` operation."""

    @answering
    def audit(self) -> AuditView:
        """Head and count are for keeping elsewhere: only a copy outside shows a cut tail."""
        with self.store.reading():
            rows = self.store.all(WHOLE_CHAIN)
        return AuditView(
            head=rows[-1].hash if rows else GENESIS,
            count=len(rows),
            chain_ok=verifies(rows),
            transitions=tuple(
                (row.nu, None if row.j is None else str(row.j), row.op) for row in rows
            ),
        )
