"""Ledgers that are broken in ways which once ended in "passed"."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from admitone.targets import contract as c
from admitone.targets import identity as ids
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.correct.json_flock import JsonFlockLedger, JsonFlockTarget, TicketFile
from tests.varied_ledgers import Tickets, Varied


def declared(boundaries: tuple[c.Boundary, ...] = (), **facts: Any) -> c.Declaration:
    """What the correct ledger declares, but for this."""
    right = JsonFlockTarget.declaration
    return replace(right, facts=replace(right.facts, **facts), boundaries=boundaries)


class CommitsNothing(JsonFlockTarget):
    """It has a commit, and says that it has none."""

    declaration = declared(commits=False)


class HoldsNothing(JsonFlockTarget):
    """It keeps its records in the store, and says that they are tokens in somebody's hand."""

    declaration = declared(issues="held")


class BoundedByNothing(JsonFlockTarget):
    """Its documented limit names a check that does not exist."""

    declaration = declared((c.Boundary("limit", "A sentence.", ("AO102", "AO1O2")),))


class ShowsNothing(JsonFlockTarget):
    """It cannot be looked into."""

    def inspect(self, store: c.Json, approval: c.Approval) -> Any:
        return None


class _Idle(JsonFlockLedger):
    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        return c.Recovered()


class RecoversNothing(JsonFlockTarget):
    """Its recovery never finds anything; a client that asks again hides that."""

    def open(self, store: c.Json, env: c.Env) -> JsonFlockLedger:
        right = super().open(store, env)
        return _Idle(right._file, right._confirmation_key)


class _Marked(TicketFile):
    """Its lock is a file that whoever is killed leaves behind."""

    @contextmanager
    def _book(self) -> Iterator[Any]:
        mark = self._path.with_suffix(".mark")
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        try:
            with super()._book() as book:
                yield book
        finally:
            mark.unlink()


class KnowsNothingAfterAKill(JsonFlockTarget):
    """What a dead process leaves locked is answered by Unknown, for ever."""

    def open(self, store: c.Json, env: c.Env) -> JsonFlockLedger:
        right = super().open(store, env)
        file = _Marked(Path(env.workspace) / str(store), 1.0, right._file._genuine)
        return JsonFlockLedger(file, right._confirmation_key)


class _IssuesOnce(JsonFlockLedger):
    def issue(self, call: c.Call, confirmation: c.Confirmation, *rest: Any) -> Any:
        if confirmation.event in self._file._path.read_text():
            return c.Refused("duplicate")
        return super().issue(call, confirmation, *rest)


class IssuesOnce(JsonFlockTarget):
    """Whoever did not hear the answer of Issue never gets it."""

    def open(self, store: c.Json, env: c.Env) -> JsonFlockLedger:
        right = super().open(store, env)
        return _IssuesOnce(right._file, right._confirmation_key)


class RecordsNothing(CapLeaseSqlite):
    """Its audit chain verifies, because it stays empty."""

    def ledger_class(self) -> Any:
        class Mute(super().ledger_class()):  # type: ignore[misc]
            def _append(self, *entries: Any) -> None:
                pass

        return Mute


class _FirstBusy(JsonFlockLedger):
    asked = 0

    def issue(self, *asked: Any) -> Any:
        self.asked += 1
        return c.Busy() if self.asked == 1 else super().issue(*asked)


class BusyAtFirst(JsonFlockTarget):
    """A correct one: it is Busy whenever a process first asks it for something."""

    def open(self, store: c.Json, env: c.Env) -> JsonFlockLedger:
        right = super().open(store, env)
        return _FirstBusy(right._file, right._confirmation_key)


class _Hashing(Tickets):
    def _admission(self, name: str, attempt: str, number: int | None) -> c.Admission:
        return replace(super()._admission(name, attempt, number), key=f"{hash((name, attempt))}")


class Hashing(Varied):
    """Its keys are made of ``hash()``, which means something else in every interpreter."""

    ledger_class = _Hashing


_DRAWN = secrets.token_hex(8)


class _Drawing(Tickets):
    def issue(self, *asked: Any) -> Any:
        granted = super().issue(*asked)
        if isinstance(granted, c.Authorization):
            return replace(granted, credential=ids.sink_key(_DRAWN, granted.record, ""))
        return granted

    def prepare(self, authorization: c.Authorization, *asked: Any) -> Any:
        if authorization.credential != ids.sink_key(_DRAWN, authorization.record, ""):
            return c.Refused("bad_credential")
        return super().prepare(authorization, *asked)


class Drawing(Varied):
    """It signs its credentials with a key that it drew when it was imported."""

    ledger_class = _Drawing


class _NotInTime(Tickets):
    def commit(self, admission: c.Admission, receipt: c.Receipt) -> Any:
        try:
            return super().commit(admission, receipt)
        except sqlite3.OperationalError:  # "somebody else is at it, so it will be done"
            return c.Done(receipt)


class NotInTime(Varied):
    """A lock that Commit did not get in time is answered as done."""

    ledger_class = _NotInTime
    declaration = replace(
        Varied.declaration,
        claims={**Varied.declaration.claims, "durable_process": "What was answered is kept."},
    )


class _ShrugsAtCommits(JsonFlockLedger):
    """Every Commit is made, and none is answered for."""

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> Any:
        super().commit(admission, receipt)
        return c.Unknown("it may have been written")


class ShrugsAtCommits(JsonFlockTarget):
    def open(self, store: c.Json, env: c.Env) -> JsonFlockLedger:
        right = super().open(store, env)
        return _ShrugsAtCommits(right._file, right._confirmation_key)
