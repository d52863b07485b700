"""ME3, effect-before-durable-admission: the effect is sent inside the transaction that admits it.

Changed (over ``correct/guarded``): the effect leaves before COMMIT. Who is killed in between, or
gets no answer from the sink, rolls the admission back while the effect stands. The ledger then
knows nothing of it: the next request, or the same one again, is let through under a new key.

Real class: HTTP calls inside ``with transaction.atomic()``, "send, then save".
"""

from __future__ import annotations

import json

from .. import identity
from ..correct.guarded import Gate, GuardedTarget
from ..terms import Call, Receipt, TargetName


class SendsFirst(Gate):
    """One transaction around everything."""

    def run(self, grant: str, call: Call, executor: str, attempt: str) -> tuple[bool, Receipt]:
        bound = (identity.action_identity(call), executor)
        with self._writing() as db:
            let = self._let_through(db, grant, bound, attempt)
            if isinstance(let, Receipt):
                return False, let
            tool, args, key = let
            receipt = self._send(tool, json.loads(args), key)
            self._done(db, receipt, key)
        return True, receipt


class ME3(GuardedTarget):
    """The target ``builtin:broken/ME3``."""

    library = SendsFirst
    name = TargetName("admitone", "broken/ME3", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO103", "AO105", "AO106", "AO201")
    never_by: tuple[str, ...] = ("AO101", "AO203", "AO704", "AO801")
