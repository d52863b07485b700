"""MV1, reaper-resets-prepared: a unit that is held for long is taken for lost and set free.

Changed: each Prepare notes its time, and a reaper (``work``) puts slots back to Issued that are
Prepared for longer than ``env.lease_s``. Its holder may only be slow: paused, swapped out, waiting
for the sink. Then two attempts have one slot. The sink key of a slot stays the same, so that an
idempotent sink hides the second effect.

Real class: visibility time-outs of queues and "stuck job" cron scripts around effects that cannot
be taken back.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, cast

from sqlalchemy import text

from ..caplease.ledger import CapLease
from ..caplease.prepare import Free, Request
from ..caplease.target import CapLeaseSqlite
from ..contract import Env
from ..terms import Admission, Deployment, Json, TargetName

_TABLE: Final = "CREATE TABLE held (nu TEXT, j INTEGER, since REAL, PRIMARY KEY (nu, j))"
_NOTE: Final = text("INSERT OR REPLACE INTO held (nu, j, since) VALUES (:nu, :j, :since)")
_REAP: Final = """
UPDATE slot SET state = 'Issued', attempt = NULL, k = NULL WHERE state = 'Prepared'
AND (nu, j) IN (SELECT nu, j FROM held WHERE since < ?)
"""


class Timed(CapLease):
    """The reference, which notes when a slot was taken."""

    def _take(self, free: Free, request: Request) -> Admission:
        taken = super()._take(free, request)
        self.store.run(_NOTE, nu=free.record.root, j=free.j, since=self.env.now())
        return taken


class MV1(CapLeaseSqlite):
    """The target ``builtin:broken/MV1``."""

    name = TargetName("admitone", "broken/MV1", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO104", "AO105", "AO701")
    never_by: tuple[str, ...] = (
        "AO101",
        "AO103",
        "AO201",
        "AO203",
        "AO304",
        "AO704",
        "AO801",
    )

    def deploy(self, workspace: Path) -> Deployment:
        deployment = super().deploy(workspace)
        with closing(sqlite3.connect(workspace / _database(deployment.store))) as connection:
            connection.execute(_TABLE)
        return deployment

    def ledger_class(self) -> type[CapLease]:
        return Timed

    def work(self, store: Json, env: Env) -> None:
        """One pass of the reaper."""
        path = env.workspace / _database(store)
        with closing(
            sqlite3.connect(path, timeout=env.patience_s, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(_REAP, (env.now() - env.lease_s,))


def _database(store: Json) -> str:
    return cast("dict[str, str]", store)["database"]
