"""MI1, issue-select-then-insert: Issue looks for the record first and makes it later.

Changed: the unique indexes on the confirmation event are gone, and a look beforehand stands in for
them, in a transaction of its own. Two clients that issue at once both find nothing and both insert:
two records, each with the whole budget.

Real class: ``get_or_create`` without a unique constraint, ``if not exists: insert`` in handlers
that a double click or a retrying proxy runs twice.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import cast

from ..caplease.ledger import CapLease
from ..caplease.records import RECORD_OF_EVENT, Record
from ..caplease.target import CapLeaseSqlite
from ..terms import Deployment, TargetName


class SelectThenInsert(CapLease):
    """Check, then act."""

    def _open(self, record: Record) -> Record:
        with self.store.reading():
            if self.store.one(RECORD_OF_EVENT, event=record.event) is not None:
                return self._standing(record)
        return super()._open(record)


class MI1(CapLeaseSqlite):
    """The target ``builtin:broken/MI1``."""

    name = TargetName("admitone", "broken/MI1", "1")
    convicted_by: tuple[str, ...] = ("AO101", "AO102", "AO103")
    never_by: tuple[str, ...] = ("AO104", "AO201", "AO203", "AO303", "AO304", "AO704", "AO801")

    def deploy(self, workspace: Path) -> Deployment:
        deployment = super().deploy(workspace)
        database = cast("dict[str, str]", deployment.store)["database"]
        with closing(sqlite3.connect(workspace / database)) as connection:
            connection.execute("DROP INDEX one_record_per_authorization")
            connection.execute("DROP INDEX one_record_per_confirmation")
        return deployment

    def ledger_class(self) -> type[CapLease]:
        return SelectThenInsert
