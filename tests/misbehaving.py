"""Targets that misbehave in one place in one way, and are else the correct ``correct/counter``.

``py:tests.misbehaving:early.PLACE.ACT`` does ACT of ``tests/acts.py`` in PLACE: an operation, or
one of warm, deploy, open, inspect. ``late.PLACE.ACT`` does so only after the adapter
check, whose stores have names of their own. The classes below are odd as a whole.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from admitone.targets import contract as c
from admitone.targets.correct.counter import CounterTarget
from tests.acts import ACTS, Act

CHECKED = ("first", "second", "third", "rest")
"""Names of the stores of the adapter check."""


class Twisted:
    """``thing``, but ``act`` in place of its method ``place``, while ``awake`` says so."""

    def __init__(self, thing: Any, place: str, act: Act, awake: Callable[[], bool]) -> None:
        self._thing, self._place, self._act, self._awake = thing, place, act, awake

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._thing, name)
        if name == "open":
            return lambda *args: self._opened(self._called(name, found, args))
        if name == self._place:
            return lambda *args: self._called(name, found, args)
        return found

    def _called(self, name: str, right: Any, args: tuple[object, ...]) -> Any:
        if name == self._place and self._awake():
            return self._act(right, *args)
        return right(*args)

    def _opened(self, ledger: Any) -> Any:
        operations = hasattr(ledger, self._place)
        return Twisted(ledger, self._place, self._act, self._awake) if operations else ledger


class Counter(CounterTarget):
    """The correct one, with what it could have in every place."""

    def warm(self) -> None:
        """Nothing to import."""


class _Place:
    def __init__(self, place: str, awake: Callable[[], bool]) -> None:
        self._place, self._awake = place, awake

    def __getattr__(self, act: str) -> Callable[[], Any]:
        if act not in ACTS:
            raise AttributeError(act)
        return lambda: Twisted(Counter(), self._place, ACTS[act], self._awake)


class _When:
    def __init__(self, awake: Callable[[], bool]) -> None:
        self._awake = awake

    def __getattr__(self, place: str) -> _Place:
        return _Place(place, self._awake)


early = _When(lambda: True)
late = _When(lambda: Path.cwd().name not in CHECKED)  # a node works in its workspace


class NeverStopsAsking(CounterTarget):
    """Each question to the sink is a good one; there is no last one."""

    def open(self, store: c.Json, env: c.Env) -> Any:
        def ask(*_: object) -> Any:
            while True:
                env.lookup("key")

        return Twisted(super().open(store, env), "prepare", ask, lambda: True)


class LeavesChildren(CounterTarget):
    """Each client starts a child with a child; ``children`` in the workspace has their numbers."""

    def open(self, store: c.Json, env: c.Env) -> Any:
        script = "sleep 1000 & echo $$ $! >> children; echo; wait"
        child = subprocess.Popen(
            ["/bin/sh", "-c", script], cwd=env.workspace, stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.readline()
        self.child = child
        return super().open(store, env)


class RaisesInClassify(CounterTarget):
    """A bug of the library meets one of the adapter."""

    def open(self, store: c.Json, env: c.Env) -> Any:
        return Twisted(super().open(store, env), "prepare", ACTS["raises"], lambda: True)

    def classify(self, exc: BaseException) -> Any:
        raise ZeroDivisionError("a bug of the adapter")


class ClassifiesNonsense(RaisesInClassify):
    def classify(self, exc: BaseException) -> Any:
        return "busy"


class ReturnsAbsolutePath(CounterTarget):
    def deploy(self, workspace: Path) -> c.Deployment:
        super().deploy(workspace)
        return c.Deployment(str(workspace / "uses.db"))


class LeavesAPipe(CounterTarget):
    def deploy(self, workspace: Path) -> c.Deployment:
        os.mkfifo(workspace / "pipe")
        return super().deploy(workspace)


class CanDoNothing(CounterTarget):
    def open(self, store: c.Json, env: c.Env) -> Any:
        return object()


class NeverCommits(CounterTarget):
    """Has prepare, says that it commits, and has no commit."""

    def open(self, store: c.Json, env: c.Env) -> Any:
        whole = super().open(store, env)

        class Half:
            prepare = whole.prepare

        return Half()


class ClaimsMore(CounterTarget):
    """Claims a Revoke, and has none."""

    declaration = replace(
        CounterTarget.declaration, claims={**CounterTarget.declaration.claims, "revoke": "It can."}
    )

    def open(self, store: c.Json, env: c.Env) -> Any:
        whole = super().open(store, env)

        class Half:
            issue, prepare, commit = whole.issue, whole.prepare, whole.commit

        return Half()


class InMemory:
    """Correct in one process, and of no use in two."""

    def __init__(self) -> None:
        self.left: dict[str, Any] = {}

    def deploy(self, workspace: Path) -> c.Deployment:
        return c.Deployment(None)

    def open(self, store: c.Json, env: c.Env) -> Any:
        return self

    def issue(
        self, call: c.Call, said: c.Confirmation, budget: Any, context: c.Context, valid: c.Validity
    ) -> c.Authorization:
        self.left.setdefault(said.event, budget)
        return c.Authorization(said.event, budget)

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Refused:
        if not self.left.get(authorization.record):
            return c.Refused("exhausted")
        self.left[authorization.record] -= 1
        return c.Admission(authorization.record)

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done:
        return c.Done(receipt)

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View | None:
        left = self.left.get(approval.confirmation.event)
        if left is None:
            return c.View(known=False)
        return c.View(True, counts=c.Counts(issued=left, committed=1 - left))


class InMemoryUnseen(InMemory):
    """And nobody can look."""

    def inspect(self, store: c.Json, approval: c.Approval) -> None:
        return None


class OneStoreForEver(CounterTarget):
    """Opens the first store that a process is given, whatever it is given later."""

    env: c.Env | None = None

    def open(self, store: c.Json, env: c.Env) -> Any:
        self.env = self.env or env
        return super().open(store, self.env)
