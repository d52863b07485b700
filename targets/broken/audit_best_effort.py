"""audit-best-effort: an error of the statement that writes the audit record is only logged.

Changed: the append is wrapped in a handler, so that "auditing can never stop the business". An
error in it is not its own, though: SQLite takes the whole transaction back with it, the commit that
follows has nothing to do and raises nothing, and the client is told of a record, an admission or a
settled unit that does not exist. As long as the file can be written, everything is right.

Real class: ``try: log_event(...) except Exception: logger.warning(...)`` inside a transaction.
"""

from __future__ import annotations

import logging
import sqlite3

from .. import contract as c
from ..caplease.chain import Entry
from ..caplease.ledger import CapLease
from ..caplease.target import CapLeaseSqlite


class BestEffort(CapLease):
    """Its audit record is written if it can be."""

    def _append(self, *entries: Entry) -> None:
        try:
            super()._append(*entries)
        except sqlite3.Error as problem:
            logging.getLogger(__name__).warning("audit: %s", problem)


class AuditBestEffort(CapLeaseSqlite):
    """The target ``builtin:broken/audit-best-effort``."""

    name = c.TargetName("admitone", "broken/audit-best-effort", "1")
    convicted_by: tuple[str, ...] = ("AO104", "AO701", "AO703")
    never_by: tuple[str, ...] = ("AO201", "AO202", "AO203", "AO704", "AO801")

    def ledger_class(self) -> type[CapLease]:
        return BestEffort
