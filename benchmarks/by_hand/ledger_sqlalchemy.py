"""The same small ledger, written with SQLAlchemy Core."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert

metadata = MetaData()
auth = Table(
    "auth",
    metadata,
    Column("nu", Text, primary_key=True),
    Column("sigma", Text),
    Column("event", Text, unique=True),
    Column("budget", Integer),
)
slot = Table(
    "slot",
    metadata,
    Column("nu", Text, primary_key=True),
    Column("j", Integer, primary_key=True, autoincrement=False),
    Column("state", Text),
    Column("attempt", Text),
    Column("k", Text),
    Column("receipt", Text),
)
audit = Table(
    "audit",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("prev", Text),
    Column("hash", Text),
    Column("entry", Text),
)

Stand = Callable[[str], None]


class Ledger:
    """One client. ``stand`` is called at the points where the test may want to kill."""

    def __init__(self, path: str, stand: Stand) -> None:
        self._engine = create_engine(f"sqlite:///{path}")
        event.listen(self._engine, "connect", _configure)
        event.listen(self._engine, "begin", _begin)
        metadata.create_all(self._engine)
        self._db = self._engine.connect()
        self._stand = stand

    def issue(self, sigma: str, event_: str, budget: int) -> str:
        nu = hashlib.sha256(f"{sigma}|{event_}".encode()).hexdigest()
        added = self._db.execute(
            upsert(auth)
            .values(nu=nu, sigma=sigma, event=event_, budget=budget)
            .on_conflict_do_nothing()
        ).rowcount
        if added:
            rows = [{"nu": nu, "j": j, "state": "Issued"} for j in range(budget)]
            self._db.execute(insert(slot), rows)
            self._append(f"issue {nu}")
        self._commit("issue")
        return nu

    def prepare(self, nu: str, attempt: str) -> tuple[int, str] | None:
        """The attempt's slot and key; None: nothing is left."""
        row = self._db.execute(
            select(slot.c.j, slot.c.k).where(slot.c.nu == nu, slot.c.attempt == attempt)
        ).fetchone()
        found = None if row is None else (row.j, row.k)
        if found is None:
            j = self._db.execute(
                select(slot.c.j)
                .where(slot.c.nu == nu, slot.c.state == "Issued")
                .order_by(slot.c.j)
                .limit(1)
            ).scalar()
            if j is None:
                self._db.rollback()
                return None
            key = hashlib.sha256(f"{nu}|{j}".encode()).hexdigest()
            self._db.execute(
                update(slot)
                .where(slot.c.nu == nu, slot.c.j == j)
                .values(state="Prepared", attempt=attempt, k=key)
            )
            self._append(f"prepare {nu} {j}")
            found = (j, key)
        self._commit("prepare")
        return found

    def commit(self, nu: str, j: int, receipt: str) -> None:
        self._db.execute(
            update(slot)
            .where(slot.c.nu == nu, slot.c.j == j)
            .values(state="Committed", receipt=receipt)
        )
        self._append(f"commit {nu} {j}")
        self._commit("commit")

    def unfinished(self) -> list[tuple[str, int, str]]:
        rows = self._db.execute(
            select(slot.c.nu, slot.c.j, slot.c.k).where(slot.c.state == "Prepared")
        ).fetchall()
        self._db.rollback()
        return [(row.nu, row.j, row.k) for row in rows]

    def states(self) -> list[str]:
        states = list(self._db.execute(select(slot.c.state).order_by(slot.c.j)).scalars())
        self._db.rollback()
        return states

    def _append(self, entry: str) -> None:
        last = self._db.execute(select(audit.c.hash).order_by(audit.c.seq.desc()).limit(1)).scalar()
        hash_ = hashlib.sha256(f"{last or ''}|{entry}".encode()).hexdigest()
        self._db.execute(insert(audit).values(prev=last or "", hash=hash_, entry=entry))

    def _commit(self, operation: str) -> None:
        self._stand(f"before {operation}")
        self._db.commit()
        self._stand(f"after {operation}")


def _configure(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
