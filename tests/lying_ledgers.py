"""Ledgers that are broken in ways which once ended in "passed"."""

from __future__ import annotations

from collections.abc import Sequence

from admitone.targets import contract as c
from admitone.targets.correct.json_flock import JsonFlockLedger, JsonFlockTarget


class _Idle(JsonFlockLedger):
    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        return c.Recovered()


class RecoversNothing(JsonFlockTarget):
    """Its recovery never finds anything; a client that asks again hides that."""

    def open(self, store: c.Json, env: c.Env) -> JsonFlockLedger:
        right = super().open(store, env)
        return _Idle(right._file, right._confirmation_key)
