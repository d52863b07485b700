"""Correct ledgers of a make that none of those that ship has, for tests of families."""

from __future__ import annotations

import queue
import sqlite3
import threading
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from admitone.targets import contract as c
from admitone.targets.correct.counter import CounterTarget, UseCounter, _text
from admitone.targets.correct.guarded import SCHEMA, VIEW, Gate, GuardedTarget, Shut
from admitone.targets.correct.plain import PlainLedger, PlainTarget


class _Moves(UseCounter):
    def approve(self, *asked: Any) -> None:
        super().approve(*asked)
        _, context, said, _ = asked
        move = "UPDATE approval SET context = ? WHERE event = ?"
        with self._transaction() as db:
            db.execute(move, (_text(context), said.event))


class MovesContext(CounterTarget):
    """An approval belongs to the context that it was last presented in."""

    library = _Moves
    declaration = replace(
        CounterTarget.declaration,
        facts=replace(CounterTarget.declaration.facts, context_update="replace"),
    )


class _LooksFirst(UseCounter):
    def use(self, event: str, call: c.Call, context: c.Context, attempt: str) -> str | None:
        query = "SELECT receipt FROM use WHERE event = ? AND attempt = ?"
        with closing(sqlite3.connect(self._uri, uri=True)) as db:
            mine = db.execute(query, (event, attempt)).fetchone()
        return mine[0] if mine is not None else super().use(event, call, context, attempt)


class LooksFirst(CounterTarget):
    """Whoever asks again is answered without a lock, and waits for one in his commit."""

    library = _LooksFirst
    declaration = replace(
        CounterTarget.declaration,
        claims={k: v for k, v in CounterTarget.declaration.claims.items() if k != "release"},
    )


class _FinalLedger:
    def __init__(self, ledger: Any) -> None:
        self.issue, self.prepare = ledger.issue, ledger.prepare


class FinalWhenAdmitted(CounterTarget):
    """No commit step: whoever is admitted has had his use, and the ledger hears no more of it."""

    declaration = c.Declaration(
        replace(CounterTarget.declaration.facts, commits=False, recovery="none"),
        {"multi_budget": CounterTarget.declaration.claims["multi_budget"]},
    )

    def open(self, store: c.Json, env: c.Env) -> Any:
        return _FinalLedger(super().open(store, env))


_LOOKS = (
    ("SELECT 1 FROM ticket WHERE name = ? AND taken = uses", c.Refused("exhausted")),
    ("SELECT 1 FROM use WHERE ticket = ? AND done = 0", c.Busy("in_flight")),
)


class _OneOut(PlainLedger):
    def prepare(self, authorization: c.Authorization, *asked: Any) -> Any:
        for query, answer in _LOOKS:
            if self.db.execute(query, (authorization.record,)).fetchone():
                return answer
        return super().prepare(authorization, *asked)


class OneAtATime(PlainTarget):
    """Nobody is admitted (mostly) before the one that was has said that it is done."""

    ledger_class = _OneOut


class NamesNoLock(PlainTarget):
    """Its adapter has not thought of locks."""

    def classify(self, exc: BaseException) -> None:
        return None


class _Bearer:
    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger
        self.recover = ledger.recover

    def issue(self, *asked: Any) -> Any:
        granted = self._ledger.issue(*asked)
        if isinstance(granted, c.Authorization):
            return replace(granted, credential=granted.record)
        return granted

    def execute(self, authorization: c.Authorization, *asked: Any) -> Any:
        named = replace(authorization, record=str(authorization.credential))
        return self._ledger.execute(named, *asked)


class CredentialAlone(GuardedTarget):
    """What a caller brings is the credential; the record's name is nothing that it looks at."""

    declaration = c.Declaration(
        GuardedTarget.declaration.facts,
        {k: v for k, v in GuardedTarget.declaration.claims.items() if k != "revoke"},
    )

    def open(self, store: c.Json, env: c.Env) -> Any:
        return _Bearer(super().open(store, env))


class _PooledGate(Gate):
    """Whoever asked last is served first."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._jobs: queue.LifoQueue[tuple[Future[c.Receipt], tuple[str, str, str]]]
        self._jobs = queue.LifoQueue()
        threading.Thread(target=self._serve, daemon=True).start()

    def _ask(self, tool: str, args: str, key: str) -> c.Receipt:
        answer: Future[c.Receipt] = Future()
        self._jobs.put((answer, (tool, args, key)))
        return answer.result()

    def _serve(self) -> None:
        while True:
            answer, job = self._jobs.get()
            try:
                answer.set_result(super()._ask(*job))
            except BaseException as exc:
                answer.set_exception(exc)


class SendsInAThread(GuardedTarget):
    """The effects of all its callers are sent by one thread of the client's."""

    library = _PooledGate


class _BlockingGate(Gate):
    def _let_through(self, db: sqlite3.Connection, *asked: Any) -> Any:
        grant, _, attempt = asked
        query = "SELECT 1 FROM runs WHERE grant_id = ? AND attempt = ? AND state = 'blocked'"
        if db.execute(query, (grant, attempt)).fetchone():
            raise Shut("exhausted")
        return super()._let_through(db, *asked)

    def _ask(self, tool: str, args: str, key: str) -> c.Receipt:
        try:
            return super()._ask(tool, args, key)
        except c.NotApplied:
            with self._writing() as db:
                db.execute("UPDATE runs SET state = 'blocked' WHERE key = ?", (key,))
            raise


class Blocks(GuardedTarget):
    """A run that was definitely not applied is over for good: its unit is lost."""

    library = _BlockingGate
    declaration = replace(
        GuardedTarget.declaration,
        facts=replace(GuardedTarget.declaration.facts, after_not_applied="blocked"),
        claims={k: v for k, v in GuardedTarget.declaration.claims.items() if k != "release"},
    )

    def deploy(self, workspace: Path) -> c.Deployment:
        with closing(sqlite3.connect(workspace / "gate.db")) as db:
            db.executescript(SCHEMA.replace("'taken back')", "'taken back', 'blocked')"))
        return c.Deployment("gate.db")

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        view = super().inspect(store, approval)
        blocked = VIEW.replace("state = 'done'", "state = 'blocked'")
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            row = db.execute(blocked, (approval.confirmation.event,)).fetchone()
        if row is None or view.counts is None or not row[-1] or view.revoked:
            return view
        lost = replace(view.counts, issued=view.counts.issued - row[-1], revoked=row[-1])
        return replace(view, counts=lost, linearizable=False)


class _Sweeping(UseCounter):
    """Correct: what has expired is written down when somebody recovers, and stays so."""

    def unfinished(self) -> list[tuple[str, str]]:
        with self._transaction() as db:
            over = "UPDATE approval SET used = budget WHERE expires_s <= ?"
            db.execute(over, (self._now(),))
        return super().unfinished()


class SweepsTheExpired(CounterTarget):
    library = _Sweeping
