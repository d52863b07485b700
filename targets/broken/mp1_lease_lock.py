"""MP1-lease-lock: check-then-act under an advisory lock that lapses, without a fencing token.

Changed: Prepare looks and takes in two transactions as in MP1, but only while it holds the record's
lock row, which lives for ``TTL_S``. A lapsed lock is stolen, which is right; its old holder is not
fenced off when it wakes, which is not. The write does check revocation again, so only a holder that
is stopped between its look and its write, for longer than the lock lives, lets two callers in.
Stress stops nobody there for so long.

Real class: Redis-style locks and lease rows around a read-modify-write, met by a garbage collection
pause, a suspended virtual machine or a slow disk.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, cast

from sqlalchemy import bindparam, null, text

from ..caplease.denials import lost_race
from ..caplease.ledger import CapLease
from ..caplease.prepare import TAKE, Free, Request
from ..caplease.schema import slot
from ..caplease.target import CapLeaseSqlite
from ..replies import Replayed
from ..terms import Admission, Deployment, TargetName

TTL_S: Final = 0.05
_POLL_S: Final = 0.002

_TABLE: Final = "CREATE TABLE guard (nu TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL)"
_ACQUIRE: Final = text(
    "INSERT INTO guard (nu, owner, until) VALUES (:nu, :owner, :until) ON CONFLICT (nu) DO UPDATE"
    " SET owner = excluded.owner, until = excluded.until WHERE guard.until < :now"
)
_RELEASE: Final = text("DELETE FROM guard WHERE nu = :nu AND owner = :owner")


class LeaseLocked(CapLease):
    """Check, then act, with a lock that one may lose without noticing."""

    take = TAKE.where(slot.c.holder == bindparam("giver")).values(receipt=null())

    def _admit(self, request: Request) -> Admission | Replayed:
        with self._guard(request.nu):
            with self.store.reading():
                found = self._examine(request)
            if not isinstance(found, Free):
                return found
            with self.store.writing():
                self._lock(request.nu).check_alive(self.env.now())
                return self._take(found, request)

    @contextmanager
    def _guard(self, nu: str) -> Iterator[None]:
        owner = secrets.token_hex(8)
        give_up = time.monotonic() + self.env.patience_s
        while not self._acquired(nu, owner):
            if time.monotonic() >= give_up:
                raise lost_race()
            time.sleep(_POLL_S)
        try:
            yield
        finally:
            with self.store.writing():
                self.store.run(_RELEASE, nu=nu, owner=owner)

    def _acquired(self, nu: str, owner: str) -> bool:
        now = time.time()
        with self.store.writing():
            return self.store.run(_ACQUIRE, nu=nu, owner=owner, until=now + TTL_S, now=now) == 1


class MP1LeaseLock(CapLeaseSqlite):
    """The target ``builtin:broken/MP1-lease-lock``."""

    name = TargetName("admitone", "broken/MP1-lease-lock", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO104", "AO304")
    never_by: tuple[str, ...] = ("AO101", "AO203", "AO704", "AO801")

    def deploy(self, workspace: Path) -> Deployment:
        deployment = super().deploy(workspace)
        database = cast("dict[str, str]", deployment.store)["database"]
        with closing(sqlite3.connect(workspace / database)) as connection:
            connection.execute(_TABLE)
        return deployment

    def ledger_class(self) -> type[CapLease]:
        return LeaseLocked
