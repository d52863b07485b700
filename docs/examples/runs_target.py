"""A guarded ledger, asynchronous: it runs the effect itself; library and adapter in one file."""

import json
import sqlite3
from contextlib import closing, suppress

from admitone.targets import contract as c

SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE permit (name TEXT PRIMARY KEY, uses INTEGER NOT NULL);
CREATE TABLE run (key TEXT PRIMARY KEY, permit TEXT NOT NULL, tool TEXT NOT NULL,
    args TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0);
"""
ADMIT = """
INSERT INTO run (key, permit, tool, args) SELECT ?, name, ?, ? FROM permit
WHERE name = ? AND uses > (SELECT count(*) FROM run WHERE permit = name)
ON CONFLICT (key) DO NOTHING
"""


class Runs:
    def __init__(self, path, wait_s, send):
        self.db = sqlite3.connect(path, timeout=wait_s)
        self.send = send

    def permit(self, name, uses):
        with self.db:
            self.db.execute("INSERT OR IGNORE INTO permit VALUES (?, ?)", (name, uses))

    async def run(self, name, tool, args, attempt):
        """Whether the effect was sent by this call; a run is known by its permit and attempt."""
        key = f"{name}/{attempt}"
        with self.db:
            self.db.execute(ADMIT, (key, tool, json.dumps(args), name))
        row = self.db.execute("SELECT done FROM run WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise PermissionError(f"{name} is used up")
        if row[0]:
            return False
        await self.send(tool, args, key)
        self.finish(key)
        return True

    async def resume(self):
        """Send what was admitted and not finished once more, under its own key. One that fails
        keeps nobody behind it waiting."""
        query = "SELECT key, permit, tool, args FROM run WHERE NOT done"
        ended = []
        for key, permit, tool, args in self.db.execute(query).fetchall():
            with suppress(c.NotApplied, c.EffectUnknown):  # the next resume() sends it again
                await self.send(tool, json.loads(args), key)
                self.finish(key)
                ended.append((key, permit))
        return ended

    def finish(self, key):
        with self.db:
            self.db.execute("UPDATE run SET done = 1 WHERE key = ?", (key,))


class RunsLedger:
    def __init__(self, runs):
        self.runs = runs

    async def issue(self, call, confirmation, budget, context, validity):
        if type(budget) is not int or not 0 < budget < 2**31:
            return c.Refused("invalid")
        self.runs.permit(confirmation.event, budget)
        return c.Authorization(record=confirmation.event, budget=budget)

    async def execute(self, authorization, call, context, attempt):
        sent = await self.runs.run(authorization.record, call.tool, call.args, attempt)
        return c.Done() if sent else c.Replayed()

    async def recover(self, known):
        ended = await self.runs.resume()
        return c.Recovered(
            settled=tuple(c.Admission(record=permit, key=key) for key, permit in ended)
        )


class RunsTarget:
    name = c.TargetName("runs", version="1")
    declaration = c.Declaration(
        c.Facts(
            keyed_by="confirmation",
            key="stored",
            attempt_identity=True,
            recovery="resend",
            waits_s=4.0,
        ),
        {
            "multi_budget": "A permit lets through as many runs as it says.",
            "recover": "resume() ends every run that was let through.",
            "finds_unfinished": "resume() finds them in the store.",
        },
    )

    def deploy(self, workspace):
        with closing(sqlite3.connect(workspace / "runs.db")) as db:
            db.executescript(SCHEMA)
        return c.Deployment(store="runs.db")

    async def open(self, store, env):
        return RunsLedger(Runs(env.workspace / store, env.patience_s, env.effect_async))

    def inspect(self, store, approval):
        query = (
            "SELECT uses - count(key), count(key) - coalesce(sum(done), 0), coalesce(sum(done), 0)"
            " FROM permit LEFT JOIN run ON permit = name WHERE name = ? GROUP BY name"
        )
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            row = db.execute(query, (approval.confirmation.event,)).fetchone()
        if row is None:
            return c.View(known=False, linearizable=True)
        return c.View(known=True, counts=c.Counts(*row), linearizable=True)

    def classify(self, exc):
        if isinstance(exc, PermissionError):
            return c.Refused("exhausted")
        return None
