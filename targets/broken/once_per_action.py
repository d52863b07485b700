"""once-per-action: whoever confirmed an action once can never confirm it again.

Changed: the unique key of a record is sigma, and not (sigma, e_u). A second decision of the user
for the same action, which is another authorization, is turned away as a repetition of the first.

Real class: replay protection by a hash of the request alone: the second transfer of the same
amount to the same person is "a duplicate".
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import cast

from ..caplease.denials import refused
from ..caplease.ledger import CapLease
from ..caplease.records import RECORD_OF_EVENT, Record
from ..caplease.target import CapLeaseSqlite
from ..terms import Deployment, TargetName


class OneRecordPerAction(CapLease):
    """Seen before is done before."""

    def _standing(self, record: Record) -> Record:
        if self.store.one(RECORD_OF_EVENT, event=record.event) is None:
            raise refused("duplicate", "this action was authorized before")
        return super()._standing(record)


class OncePerAction(CapLeaseSqlite):
    """The target ``builtin:broken/once-per-action``."""

    name = TargetName("admitone", "broken/once-per-action", "1")
    convicted_by: tuple[str, ...] = ("AO805",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO201",
        "AO203",
        "AO304",
        "AO704",
        "AO801",
        "AO802",
    )

    def warm(self) -> None:
        """As the reference does: warming up confirms one action more than once."""
        CapLeaseSqlite().warm()

    def deploy(self, workspace: Path) -> Deployment:
        deployment = super().deploy(workspace)
        database = cast("dict[str, str]", deployment.store)["database"]
        with closing(sqlite3.connect(workspace / database)) as connection:
            connection.execute(
                "CREATE UNIQUE INDEX one_record_per_action ON auth (sigma) WHERE parent = ''"
            )
        return deployment

    def ledger_class(self) -> type[CapLease]:
        return OneRecordPerAction
