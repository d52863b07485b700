"""Guarded ledgers whose ``execute`` fills an outbox, and whose ``work`` empties it."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from admitone.targets import contract as c

SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE permit (name TEXT PRIMARY KEY, uses INTEGER NOT NULL);
CREATE TABLE outbox (id INTEGER PRIMARY KEY, permit TEXT NOT NULL, attempt TEXT NOT NULL,
    tool TEXT NOT NULL, args TEXT NOT NULL, sent INTEGER NOT NULL DEFAULT 0,
    UNIQUE (permit, attempt));
"""
PUT = """
INSERT INTO outbox (permit, attempt, tool, args) SELECT name, ?, ?, ? FROM permit
WHERE name = ? AND uses > (SELECT count(*) FROM outbox WHERE permit = name)
ON CONFLICT DO NOTHING
"""
Row = tuple[int, str, str]


class OutboxLedger:
    """One client. Each statement is a transaction of its own."""

    def __init__(self, path: Path, wait_s: float) -> None:
        self._path, self._wait_s = path, wait_s

    def _db(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(self._path, timeout=self._wait_s, isolation_level=None))

    def issue(
        self, call: c.Call, confirmation: c.Confirmation, budget: c.Budget, *_: object
    ) -> c.Authorization | c.Refused:
        """The permit of a confirmation, made now or before."""
        if type(budget) is not int or not 0 < budget < 2**31:
            return c.Refused("invalid")
        with self._db() as db:
            db.execute("INSERT OR IGNORE INTO permit VALUES (?, ?)", (confirmation.event, budget))
        return c.Authorization(confirmation.event, budget)

    def execute(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> object:
        """Take a use, and leave its effect to the relay."""
        name, args = authorization.record, json.dumps(dict(call.args))
        with self._db() as db:
            db.execute(PUT, (attempt, call.tool, args, name))
            query = "SELECT sent FROM outbox WHERE permit = ? AND attempt = ?"
            row = db.execute(query, (name, attempt)).fetchone()
        if row is None:
            return c.Refused("exhausted")
        return c.Replayed() if row[0] else "queued"

    QUERY = "SELECT id, tool, args FROM outbox WHERE NOT sent ORDER BY id"

    def _rows(self, db: sqlite3.Connection) -> list[Row]:
        return db.execute(self.QUERY).fetchall()

    def relay(self, send: Callable[[Row], None]) -> None:
        """Send what is not sent; what is not answered is sent again by the next pass."""
        with self._db() as db:
            for row in self._rows(db):
                try:
                    send(row)
                except (c.NotApplied, c.EffectUnknown):
                    continue
                db.execute("UPDATE outbox SET sent = 1 WHERE id = ?", row[:1])


class Outbox:
    """Correct: the key of an effect is the row's number."""

    name = c.TargetName("outbox")
    declaration = c.Declaration(
        c.Facts(keyed_by="confirmation", key="stored", attempt_identity=True, waits_s=4.0),
        {"multi_budget": "A permit lets through as many uses as it says."},
    )

    def deploy(self, workspace: Path) -> c.Deployment:
        """Empty tables."""
        with closing(sqlite3.connect(workspace / "outbox.db")) as db:
            db.executescript(SCHEMA)
        return c.Deployment("outbox.db")

    def open(self, store: c.Json, env: c.Env) -> OutboxLedger:
        """Nothing is opened before it is used."""
        return OutboxLedger(env.workspace / str(store), env.patience_s)

    def work(self, store: c.Json, env: c.Env) -> None:
        """One pass of the relay."""
        self.open(store, env).relay(lambda row: self._send(row, env))

    def _send(self, row: Row, env: c.Env) -> None:
        env.effect(row[1], json.loads(row[2]), f"outbox/{row[0]}")

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        """One SELECT."""
        query = (
            "SELECT uses - count(id), count(id) - coalesce(sum(sent), 0), coalesce(sum(sent), 0)"
            " FROM permit LEFT JOIN outbox ON permit = name WHERE name = ? GROUP BY name"
        )
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            row = db.execute(query, (approval.confirmation.event,)).fetchone()
        counts = c.Counts(*row) if row is not None else None
        return c.View(row is not None, counts=counts, linearizable=True)


class MeetsALock(Outbox):
    """The first pass of each process comes at a bad time; the next ones do what there is to do."""

    def __init__(self) -> None:
        self._passes = 0

    def work(self, store: c.Json, env: c.Env) -> None:
        """One pass of the relay."""
        self._passes += 1
        if self._passes == 1:
            raise sqlite3.OperationalError("database is locked")
        super().work(store, env)

    def classify(self, exc: BaseException) -> c.Busy | None:
        """A lock did nothing."""
        return c.Busy() if "locked" in str(exc) else None


class ClaimingLedger(OutboxLedger):
    """A row is one relay's for a while, before anything of it is sent."""

    QUERY = (
        "UPDATE outbox SET claimed_s = ? WHERE NOT sent AND claimed_s <= ? RETURNING id, tool, args"
    )

    def __init__(self, path: Path, wait_s: float, env: c.Env) -> None:
        super().__init__(path, wait_s)
        self._env = env

    def _rows(self, db: sqlite3.Connection) -> list[Row]:
        now_s = self._env.now()
        return db.execute(self.QUERY, (self._until_s(now_s), now_s)).fetchall()

    def _until_s(self, now_s: float) -> float:
        return now_s + self._env.lease_s


class Claims(Outbox):
    """Correct: what a relay died of is the next one's when its lease has lapsed, and not before."""

    ledger_class: type[ClaimingLedger] = ClaimingLedger
    declaration = c.Declaration(
        replace(Outbox.declaration.facts, lapse="takeover", recovery="resend", clock="injected"),
        Outbox.declaration.claims,
    )

    def deploy(self, workspace: Path) -> c.Deployment:
        """One column more."""
        deployment = super().deploy(workspace)
        with closing(sqlite3.connect(workspace / "outbox.db")) as db:
            db.execute("ALTER TABLE outbox ADD COLUMN claimed_s REAL NOT NULL DEFAULT 0")
        return deployment

    def open(self, store: c.Json, env: c.Env) -> OutboxLedger:
        """With a clock."""
        return self.ledger_class(env.workspace / str(store), env.patience_s, env)


class _ForEver(ClaimingLedger):
    def _until_s(self, now_s: float) -> float:
        return now_s + 1e9


class ClaimsForEver(Claims):
    """What a relay died of is nobody else's, ever; and of leases it says nothing."""

    ledger_class = _ForEver
    declaration = c.Declaration(
        replace(Claims.declaration.facts, lapse="none"), Outbox.declaration.claims
    )


class NewKeys(Outbox):
    """ME1: a key for each time that it is sent."""

    def _send(self, row: Row, env: c.Env) -> None:
        env.effect(row[1], json.loads(row[2]), uuid.uuid4().hex)


class SendsNothing(Outbox):
    """Every use is let through, and none is carried out."""

    def work(self, store: c.Json, env: c.Env) -> None:
        """Nobody is at home."""


class FirstOfEach(OutboxLedger):
    """The relay takes the first row of each permit, and no other."""

    def relay(self, send: Callable[[Row], None]) -> None:
        first = "id IN (SELECT min(id) FROM outbox GROUP BY permit)"
        with self._db() as db:
            rows = db.execute(f"SELECT id, tool, args FROM outbox WHERE NOT sent AND {first}")
            for row in rows.fetchall():
                send(row)
                db.execute("UPDATE outbox SET sent = 1 WHERE id = ?", row[:1])


class LeavesLater(Outbox):
    def open(self, store: c.Json, env: c.Env) -> OutboxLedger:
        return FirstOfEach(env.workspace / str(store), env.patience_s)


class NewestFirst(OutboxLedger):
    """Correct: the relay takes one row a pass."""

    def relay(self, send: Callable[[Row], None]) -> None:
        query = "SELECT id, tool, args FROM outbox WHERE NOT sent ORDER BY id DESC LIMIT 1"
        with self._db() as db:
            for row in db.execute(query).fetchall():
                try:
                    send(row)
                except (c.NotApplied, c.EffectUnknown):
                    continue
                db.execute("UPDATE outbox SET sent = 1 WHERE id = ?", row[:1])


class OneAPass(Outbox):
    def open(self, store: c.Json, env: c.Env) -> OutboxLedger:
        return NewestFirst(env.workspace / str(store), env.patience_s)


class SaysSent(Outbox):
    """The relay writes down what it has not done."""

    def _send(self, row: Row, env: c.Env) -> None:
        pass
