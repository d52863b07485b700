"""Ledgers whose recovery comes to no end where one unit fails, each in a way of its own.

For tests alone: ``py:tests.stopping_ledgers:NAME``. The one that ships is ``broken/recover-stops``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from admitone.targets import contract as c
from admitone.targets.caplease.denials import answering
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.records import record_from
from admitone.targets.caplease.recover import RECORD_COLUMNS, UNFINISHED
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.correct.counter import CounterTarget, UseCounter
from admitone.targets.correct.guarded import Gate, GuardedTarget
from tests.outbox_ledgers import Outbox, OutboxLedger, Row


class OldestOnly(UseCounter):
    """Recovery hands out the oldest use that is not finished, and no other before that is."""

    def unfinished(self) -> list[tuple[str, str]]:
        return super().unfinished()[:1]


class OneAtATime(CounterTarget):
    library = OldestOnly


class PassesOverRefusals(Gate):
    """What was turned away is passed over; where nobody answers, recovery ends."""

    def resume(self) -> list[tuple[str, str, str]]:
        query = "SELECT grant_id, attempt, key, tool, args FROM runs JOIN grants ON grant_id = id"
        with self._writing() as db:
            running = db.execute(query + " WHERE state = 'running'").fetchall()
        ended = []
        for grant, attempt, key, tool, args in running:
            try:
                self._ask(tool, args, key)
            except c.NotApplied:
                continue
            except c.EffectUnknown as unknown:
                if unknown.__cause__ is None:
                    break
                continue
            ended.append((grant, attempt, key))
        return ended


class StopsInSilence(GuardedTarget):
    library = PassesOverRefusals


class StopsTheRelay(OutboxLedger):
    """The relay has its ``try`` around the loop."""

    def relay(self, send: Callable[[Row], None]) -> None:
        query = "SELECT id, tool, args FROM outbox WHERE NOT sent ORDER BY id"
        with self._db() as db:
            for row in db.execute(query).fetchall():
                send(row)
                db.execute("UPDATE outbox SET sent = 1 WHERE id = ?", row[:1])


class RecoveringOutbox(Outbox):
    """Correct: the relay is the recovery."""

    declaration = replace(
        Outbox.declaration,
        claims={**Outbox.declaration.claims, "recover": "The relay sends whatever is not sent."},
    )


class StoppedOutbox(RecoveringOutbox):
    def open(self, store: Any, env: Any) -> OutboxLedger:
        return StopsTheRelay(env.workspace / str(store), env.patience_s)


class ChecksTheLiving(CapLease):
    """Recovery looks at each record as Prepare does, and refuses as Prepare does."""

    @answering
    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        with self.store.writing():
            now_s = self._now()
            resume = []
            for row in self.store.all(UNFINISHED):
                record = record_from(row[:RECORD_COLUMNS])
                record.check_alive(now_s)
                resume.append(self._admission(row, record))
        return c.Recovered(resume=tuple(resume))


class RefusesToRecover(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return ChecksTheLiving
