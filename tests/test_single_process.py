"""Stores that a process has for itself, or opens once: said before anything runs."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO, Any

import pytest

from admitone.chaos.parent import TargetProblem
from admitone.targets import contract as c
from admitone.targets.correct.plain import PlainTarget
from tests.harness_world import conducted

OPEN: set[int] = set()
LOCKS: list[IO[bytes]] = []


class ForOneProcess(PlainTarget):
    """Whoever has the ledger open keeps others out."""

    def open(self, store: c.Json, env: c.Env) -> Any:
        lock = (env.workspace / "lock").open("ab")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        LOCKS.append(lock)
        return super().open(store, env)

    def classify(self, exc: BaseException) -> c.Busy | None:
        return c.Busy() if isinstance(exc, BlockingIOError) else None


class OpenOnce(PlainTarget):
    """A process may have the store open once: inspect must do with that."""

    def open(self, store: c.Json, env: c.Env) -> Any:
        OPEN.add(os.getpid())
        return super().open(store, env)

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        if os.getpid() in OPEN:
            raise RuntimeError("already open in this process")
        return super().inspect(store, approval)


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("ForOneProcess", "open in a second process.*answered Busy.*cannot be tested"),
        ("OpenOnce", "inspect in a process that has the ledger open.*already open"),
    ],
)
def test_the_adapter_check_says_what_the_store_does_not_allow(
    target: str, what: str, scratch: Path
) -> None:
    name = f"py:tests.test_single_process:{target}"
    with pytest.raises(TargetProblem, match=what), conducted(name, scratch):
        pass
