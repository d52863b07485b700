"""The plainest ledger that is correct: counted tickets, that bind nobody and know no attempts.

There is nothing to hold on to: no attempt identity, no slots, no keys, no recovery, no record but
the confirmation's own, and whoever knows that may use it. It says so, and claims a budget alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import cast

from .. import contract as c

SCHEMA = """
CREATE TABLE ticket (name TEXT PRIMARY KEY, uses INTEGER NOT NULL, taken INTEGER NOT NULL);
CREATE TABLE use (number INTEGER PRIMARY KEY, ticket TEXT NOT NULL, done INTEGER NOT NULL);
"""


class PlainLedger:
    """One client: a ticket is granted once and can be taken as often as it says."""

    def __init__(self, path: Path, wait_s: float) -> None:
        self.db = sqlite3.connect(path, timeout=wait_s, isolation_level=None)

    def issue(
        self,
        call: c.Call,
        confirmation: c.Confirmation,
        budget: c.Budget,
        context: c.Context,
        validity: c.Validity,
    ) -> c.Authorization | c.Refused:
        if type(budget) is not int or not 0 < budget < 2**31:
            return c.Refused("invalid")
        insert = "INSERT OR IGNORE INTO ticket VALUES (?, ?, 0)"
        self.db.execute(insert, (confirmation.event, budget))
        return c.Authorization(record=confirmation.event, budget=budget)

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Refused:
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            take = "UPDATE ticket SET taken = taken + 1 WHERE name = ? AND taken < uses"
            if self.db.execute(take, (authorization.record,)).rowcount == 0:
                return c.Refused("exhausted")
            use = "INSERT INTO use VALUES (NULL, ?, 0)"
            number = self.db.execute(use, (authorization.record,)).lastrowid
        return c.Admission(record=authorization.record, handle=number)

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done:
        self.db.execute("UPDATE use SET done = 1 WHERE number = ?", (admission.handle,))
        return c.Done()


class PlainTarget:
    """The target ``builtin:correct/plain``."""

    ledger_class: type[PlainLedger] = PlainLedger
    name = c.TargetName("admitone", "correct/plain", "1")
    declaration = c.Declaration(
        c.Facts(keyed_by="confirmation", waits_s=2.0),
        {"multi_budget": "A ticket can be taken as often as it says."},
    )

    def deploy(self, workspace: Path) -> c.Deployment:
        with closing(sqlite3.connect(workspace / "plain.db")) as db:
            db.executescript(SCHEMA)
        return c.Deployment({"file": "plain.db"})

    def open(self, store: c.Json, env: c.Env) -> PlainLedger:
        return self.ledger_class(env.workspace / _file(store), env.patience_s)

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        query = (
            "SELECT uses - taken, count(number), coalesce(sum(done), 0)"
            " FROM ticket LEFT JOIN use ON ticket = name WHERE name = ? GROUP BY name"
        )
        with closing(sqlite3.connect(f"file:{_file(store)}?mode=rw", uri=True)) as db:
            db.execute("PRAGMA query_only=ON")
            row = db.execute(query, (approval.confirmation.event,)).fetchone()
        if row is None:
            return c.View(known=False, linearizable=True)
        left, used, done = row
        counts = c.Counts(issued=left, prepared=used - done, committed=done)
        return c.View(known=True, counts=counts, linearizable=True)

    def classify(self, exc: BaseException) -> c.Busy | None:
        return c.Busy("contention") if "locked" in str(exc) else None


def _file(store: c.Json) -> str:
    return cast("Mapping[str, str]", store)["file"]
