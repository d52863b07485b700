"""MI2a, unique-key-includes-context: another session makes the same confirmation a new one.

Changed: the unique key of a record is no longer the confirmation event but the event with the
execution context. The same decision presented from another session, task or executor, or under a
later epoch, opens a second record with the whole budget. No race is needed.

Real class: idempotency keys scoped by session, device or worker; a cache key with one field too
many; a nullable column in a unique index.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, cast

from sqlalchemy import bindparam

from ..caplease.denials import refused
from ..caplease.ledger import CapLease
from ..caplease.records import RECORD_OF_EVENT, Record, record_from
from ..caplease.schema import auth
from ..caplease.target import CapLeaseSqlite
from ..terms import Deployment, TargetName

_RECORD_HERE: Final = RECORD_OF_EVENT.where(auth.c.chi == bindparam("chi"))


class OneRecordPerContext(CapLease):
    """The record of an event is that of an event in a context."""

    def _standing(self, record: Record) -> Record:
        row = self.store.one(_RECORD_HERE, event=record.event, chi=record.chi)
        if row is None:
            raise refused("expired")
        standing = record_from(row)
        if standing.sigma != record.sigma:
            raise refused("duplicate")
        return standing


class MI2a(CapLeaseSqlite):
    """The target ``builtin:broken/MI2a``."""

    name = TargetName("admitone", "broken/MI2a", "1")
    convicted_by: tuple[str, ...] = ("AO101", "AO102", "AO103")
    never_by: tuple[str, ...] = ("AO104", "AO201", "AO203", "AO303", "AO304", "AO704", "AO801")

    def deploy(self, workspace: Path) -> Deployment:
        deployment = super().deploy(workspace)
        database = cast("dict[str, str]", deployment.store)["database"]
        with closing(sqlite3.connect(workspace / database)) as connection:
            connection.execute("DROP INDEX one_record_per_authorization")
            connection.execute("DROP INDEX one_record_per_confirmation")
            connection.execute(
                "CREATE UNIQUE INDEX one_record_per_context ON auth (event, chi) WHERE parent = ''"
            )
        return deployment

    def ledger_class(self) -> type[CapLease]:
        return OneRecordPerContext
