"""Correct ledgers of a make that none of those that ship has, for tests of families."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

from admitone.targets import contract as c
from admitone.targets.correct.counter import CounterTarget, UseCounter, _text
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
