"""Ledgers that are queues of jobs: a thread of every process carries out what any of them asked.

A worker takes what others asked for first. The correct one and two broken ones, for tests of who
sent an effect, and of what may be concluded.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import uuid
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from admitone.targets import contract as c

SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE permit (name TEXT PRIMARY KEY, uses INTEGER NOT NULL);
CREATE TABLE job (key TEXT PRIMARY KEY, permit TEXT NOT NULL, tool TEXT NOT NULL,
    args TEXT NOT NULL, client INTEGER NOT NULL, asked REAL NOT NULL,
    state TEXT NOT NULL DEFAULT 'queued');
"""
ADMIT = """
INSERT INTO job (key, permit, tool, args, client, asked) SELECT ?, name, ?, ?, ?, ? FROM permit
WHERE name = ? AND uses > (SELECT count(*) FROM job WHERE permit = name)
ON CONFLICT (key) DO NOTHING
"""
CLAIM = """
UPDATE job SET state = 'running' WHERE key =
    (SELECT key FROM job WHERE state = 'queued' AND (client <> ? OR asked < ?)
    ORDER BY rowid LIMIT 1) RETURNING key, tool, args
"""
VIEW = """
SELECT uses - count(key), coalesce(sum(state IN ('queued', 'running', 'doubt')), 0),
    coalesce(sum(state = 'done'), 0), coalesce(sum(state = 'failed'), 0)
FROM permit LEFT JOIN job ON permit = name WHERE name = ? GROUP BY name
"""
AGAIN = "UPDATE job SET state = 'queued' WHERE state IN ('running', 'doubt') RETURNING key, permit"
NAP_S = 0.005
POLITE_S = 0.2
"""So long a worker leaves its own process' jobs to the others."""


class Jobs:
    """The library: what is asked is written down, and the worker of some process does it."""

    admit = ADMIT

    def __init__(self, path: Path, env: c.Env) -> None:
        self.path, self.env = path, env
        threading.Thread(target=self._work, daemon=True).start()

    def ask(self, permit: str, call: c.Call, attempt: str) -> tuple[bool, str]:
        """Whether this call is new, and how its job stands when it is over, or time is."""
        key = f"{permit}/{attempt}"
        until = time.monotonic() + self.env.patience_s
        with self.open() as db:
            args = json.dumps(dict(call.args))
            asked = (key, call.tool, args, os.getpid(), time.time(), permit)
            new = db.execute(self.admit, asked).rowcount > 0
            state = self.state(db, key)
            while state in ("queued", "running") and time.monotonic() < until:
                time.sleep(NAP_S)
                state = self.state(db, key)
        return new, state

    def again(self) -> list[tuple[str, str]]:
        """Have what was left be done once more under its own key, and wait for it."""
        until = time.monotonic() + self.env.patience_s
        with self.open() as db:
            left = db.execute(AGAIN).fetchall()
            while any(self.state(db, key) in ("queued", "running") for key, _ in left):
                if time.monotonic() > until:
                    break
                time.sleep(NAP_S)
            return [(key, permit) for key, permit in left if self.state(db, key) == "done"]

    @staticmethod
    def state(db: sqlite3.Connection, key: str) -> str:
        row = db.execute("SELECT state FROM job WHERE key = ?", (key,)).fetchone()
        return "none" if row is None else str(row[0])

    def open(self) -> closing[sqlite3.Connection]:
        wait_s = self.env.patience_s
        return closing(sqlite3.connect(self.path, timeout=wait_s, isolation_level=None))

    def _work(self) -> None:
        while True:
            rows: list[tuple[str, str, str]] = []
            with suppress(sqlite3.OperationalError), self.open() as db:
                who = (os.getpid(), time.time() - POLITE_S)
                rows = db.execute(CLAIM, who).fetchall()
            for key, tool, args in rows:
                state = self._send(tool, json.loads(args), key)
                while True:
                    with suppress(sqlite3.OperationalError), self.open() as db:
                        db.execute("UPDATE job SET state = ? WHERE key = ?", (state, key))
                        break
            if not rows:
                time.sleep(NAP_S)

    def _send(self, tool: str, args: dict[str, Any], key: str) -> str:
        try:
            self.env.effect(tool, args, key)
        except c.NotApplied:
            return "failed"
        except c.EffectUnknown:
            return "doubt"
        return "done"


class JobsLedger:
    """One client."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs

    def issue(
        self, call: c.Call, said: c.Confirmation, budget: c.Budget, _: c.Context, __: c.Validity
    ) -> c.Authorization | c.Refused:
        if type(budget) is not int or not 0 < budget < 2**31:
            return c.Refused("invalid")
        with self.jobs.open() as db:
            db.execute("INSERT OR IGNORE INTO permit VALUES (?, ?)", (said.event, budget))
        return c.Authorization(record=said.event, budget=budget)

    def execute(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> object:
        if authorization is None:
            return c.Refused("bad_credential")
        new, state = self.jobs.ask(authorization.record, call, attempt)
        match state:
            case "done":
                return c.Done() if new else c.Replayed()
            case "none":
                return c.Refused("exhausted")
            case "failed":
                return c.Refused("unspecified")
        return c.Unknown(f"the job is {state}")

    def recover(self, known: object) -> c.Recovered:
        ended = self.jobs.again()
        return c.Recovered(settled=tuple(c.Admission(permit, key=key) for key, permit in ended))


class JobsTarget:
    name = c.TargetName("jobs", version="1")
    library: type[Jobs] = Jobs
    declaration = c.Declaration(
        c.Facts(
            keyed_by="confirmation", key="stored", attempt_identity=True, lapse="takeover",
            recovery="resend", waits_s=4.0,
        ),
        {
            "multi_budget": "A permit lets through as many jobs as it says.",
            "recover": "again() ends every job that was let through.",
            "finds_unfinished": "again() finds them in the store.",
        },
    )  # fmt: skip

    def deploy(self, workspace: Path) -> c.Deployment:
        with closing(sqlite3.connect(workspace / "jobs.db")) as db:
            db.executescript(SCHEMA)
        return c.Deployment(store="jobs.db")

    def open(self, store: c.Json, env: c.Env) -> JobsLedger:
        return JobsLedger(self.library(env.workspace / str(store), env))

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            row = db.execute(VIEW, (approval.confirmation.event,)).fetchone()
        if row is None:
            return c.View(known=False, linearizable=True)
        return c.View(known=True, counts=c.Counts(*row), linearizable=True)


class _NewKeys(Jobs):
    def _send(self, tool: str, args: dict[str, Any], key: str) -> str:
        super()._send(tool, args, f"{key}/{uuid.uuid4()}")
        return super()._send(tool, args, f"{key}/{uuid.uuid4()}")


class SendsTwice(JobsTarget):
    """Broken: each job is carried out twice, under two keys."""

    library = _NewKeys


class _Uncounted(Jobs):
    admit = ADMIT.replace("uses > (SELECT count(*) FROM job WHERE permit = name)", "uses > 0")


class CountsNothing(JobsTarget):
    """Broken: a permit lets through whatever is asked."""

    library = _Uncounted


class _GivesUp(Jobs):
    def again(self) -> list[tuple[str, str]]:
        return []


class ShowsADoubtAsLost(JobsTarget):
    """Broken: what may have been done is shown as taken by nobody; yet it is not given out again,
    and no more than that can be asked."""

    library = _GivesUp

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        view = super().inspect(store, approval)
        if view.counts is None:
            return view
        stuck = view.counts.prepared
        counts = replace(view.counts, prepared=0, revoked=view.counts.revoked + stuck)
        return replace(view, counts=counts)
