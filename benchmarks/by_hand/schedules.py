"""Kill schedules as one writes them by hand: two fresh interpreters each, and a count at the end.

The same work as the suite's: a fresh store, Issue to Commit with a synced sink, one SIGKILL by
handshake, a fresh process that recovers and uses what is left to the refusal, a judgement, a line
in a journal. What a suite has beside it is left out: histories, probes, replies that are lost.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, Literal

HERE: Final = Path(__file__).parent
POINTS: Final = (
    "before issue",
    "after issue",
    "before prepare",
    "after prepare",
    "before effect",
    "effect held",
    "effect unanswered",
    "before commit",
    "after commit",
)
Kind = Literal["ledger_sqlite3", "ledger_sqlalchemy"]


class Sink:
    """Applies effects and counts them; idempotent by key, or not at all (control)."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE IF NOT EXISTS applied (key TEXT, receipt TEXT)")

    def apply(self, key: str, idempotent: bool) -> str:
        self._db.execute("BEGIN IMMEDIATE")
        known = self._db.execute("SELECT receipt FROM applied WHERE key = ?", (key,)).fetchone()
        receipt = known[0] if known else hashlib.sha256(key.encode()).hexdigest()
        if not (known and idempotent):
            self._db.execute("INSERT INTO applied VALUES (?, ?)", (key, receipt))
        self._db.execute("COMMIT")
        return str(receipt)

    def counts(self) -> tuple[int, int]:
        """Applications, and different keys among them."""
        found: tuple[int, int] = self._db.execute(
            "SELECT count(*), count(DISTINCT key) FROM applied"
        ).fetchone()
        return found

    def reset(self) -> None:
        self._db.execute("DELETE FROM applied")


class Test:
    """One worker's schedules, one after another."""

    def __init__(self, kind: Kind, seed: int, base: str) -> None:
        self._kind = kind
        self._draws = random.Random(seed)  # repeatable, no secret
        self._folder = Path(tempfile.mkdtemp(prefix="by-hand-", dir=base))
        self._sink = Sink(self._folder / "sink")
        self._journal = (self._folder / "journal").open("a")

    def play(self) -> None:
        """One schedule; fails on a violation."""
        draws, sink = self._draws, self._sink
        point, budget, idempotent = draws.choice(POINTS), draws.choice((1, 2)), draws.random() < 0.5
        store = Path(tempfile.mkdtemp(dir=self._folder))
        sink.reset()
        late = self._hurt(store, point, budget, idempotent)
        admitted, states = self._heal(store, budget, idempotent)
        if late is not None:
            sink.apply(late, idempotent)
        applied, keys = sink.counts()
        assert admitted == budget == keys, (point, admitted, keys)
        assert states == ["Committed"] * budget, (point, states)
        assert applied == budget or not idempotent, (point, applied)
        self._journal.write(json.dumps([point, budget, idempotent, admitted, applied]) + "\n")
        self._journal.flush()
        shutil.rmtree(store)

    def close(self) -> None:
        self._journal.close()
        shutil.rmtree(self._folder)

    def _start(self, store: Path, role: str, point: str, budget: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                sys.executable,
                str(HERE / "process.py"),
                self._kind,
                str(store / "ledger"),
                role,
                point,
                str(budget),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _hurt(self, store: Path, point: str, budget: int, idempotent: bool) -> str | None:
        """Run the victim to its point and kill it; the key of a request that is on its way."""
        with self._start(store, "victim", point, budget) as victim:
            assert victim.stdin
            assert victim.stdout
            late = None
            for line in victim.stdout:
                word, _, rest = line.strip().partition(" ")
                if word == "at":
                    break
                assert word == "effect", line
                if point == "effect held":
                    late = rest
                    break
                receipt = self._sink.apply(rest, idempotent)
                if point == "effect unanswered":
                    break
                victim.stdin.write(receipt + "\n")
                victim.stdin.flush()
            os.kill(victim.pid, signal.SIGKILL)
            assert victim.wait() == -signal.SIGKILL
        return late

    def _heal(self, store: Path, budget: int, idempotent: bool) -> tuple[int, list[str]]:
        with self._start(store, "healer", "-", budget) as healer:
            assert healer.stdin
            assert healer.stdout
            for line in healer.stdout:
                word, _, rest = line.strip().partition(" ")
                if word == "done":
                    admitted, states = json.loads(rest)
                    return admitted, states
                healer.stdin.write(self._sink.apply(rest, idempotent) + "\n")
                healer.stdin.flush()
        raise AssertionError("the healer ended early")


def main(kind: Kind, number: int, seed: int, base: str) -> None:
    """Play so many."""
    test = Test(kind, seed, base)
    try:
        for _ in range(number):
            test.play()
    finally:
        test.close()
