"""A small ledger as one would write it for a test: the standard library's ``sqlite3``, nothing
else. Issue, Prepare, Commit and Recover on a write-ahead log with synced commits."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable

SCHEMA = """
CREATE TABLE IF NOT EXISTS auth (nu TEXT PRIMARY KEY, sigma TEXT, event TEXT UNIQUE, budget INT);
CREATE TABLE IF NOT EXISTS slot (
    nu TEXT, j INT, state TEXT, attempt TEXT, k TEXT, receipt TEXT, PRIMARY KEY (nu, j));
CREATE TABLE IF NOT EXISTS audit (seq INTEGER PRIMARY KEY, prev TEXT, hash TEXT, entry TEXT);
"""

Stand = Callable[[str], None]


class Ledger:
    """One client. ``stand`` is called at the points where the test may want to kill."""

    def __init__(self, path: str, stand: Stand) -> None:
        self._db = sqlite3.connect(path, timeout=60, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.executescript(SCHEMA)
        self._stand = stand

    def issue(self, sigma: str, event: str, budget: int) -> str:
        nu = hashlib.sha256(f"{sigma}|{event}".encode()).hexdigest()
        self._db.execute("BEGIN IMMEDIATE")
        added = self._db.execute(
            "INSERT OR IGNORE INTO auth VALUES (?, ?, ?, ?)", (nu, sigma, event, budget)
        ).rowcount
        if added:
            rows = [(nu, j) for j in range(budget)]
            self._db.executemany("INSERT INTO slot (nu, j, state) VALUES (?, ?, 'Issued')", rows)
            self._append(f"issue {nu}")
        self._commit("issue")
        return nu

    def prepare(self, nu: str, attempt: str) -> tuple[int, str] | None:
        """The attempt's slot and key; None: nothing is left."""
        self._db.execute("BEGIN IMMEDIATE")
        row = self._db.execute(
            "SELECT j, k FROM slot WHERE nu = ? AND attempt = ?", (nu, attempt)
        ).fetchone()
        if row is None:
            free = self._db.execute(
                "SELECT j FROM slot WHERE nu = ? AND state = 'Issued' ORDER BY j LIMIT 1", (nu,)
            ).fetchone()
            if free is None:
                self._db.execute("ROLLBACK")
                return None
            key = hashlib.sha256(f"{nu}|{free[0]}".encode()).hexdigest()
            self._db.execute(
                "UPDATE slot SET state = 'Prepared', attempt = ?, k = ? WHERE nu = ? AND j = ?",
                (attempt, key, nu, free[0]),
            )
            self._append(f"prepare {nu} {free[0]}")
            row = (free[0], key)
        self._commit("prepare")
        return row[0], row[1]

    def commit(self, nu: str, j: int, receipt: str) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(
            "UPDATE slot SET state = 'Committed', receipt = ? WHERE nu = ? AND j = ?",
            (receipt, nu, j),
        )
        self._append(f"commit {nu} {j}")
        self._commit("commit")

    def unfinished(self) -> list[tuple[str, int, str]]:
        return self._db.execute("SELECT nu, j, k FROM slot WHERE state = 'Prepared'").fetchall()

    def states(self) -> list[str]:
        return [state for (state,) in self._db.execute("SELECT state FROM slot ORDER BY j")]

    def _append(self, entry: str) -> None:
        last = self._db.execute("SELECT hash FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
        prev = last[0] if last else ""
        hash_ = hashlib.sha256(f"{prev}|{entry}".encode()).hexdigest()
        self._db.execute(
            "INSERT INTO audit (prev, hash, entry) VALUES (?, ?, ?)", (prev, hash_, entry)
        )

    def _commit(self, operation: str) -> None:
        self._stand(f"before {operation}")
        self._db.execute("COMMIT")
        self._stand(f"after {operation}")
