"""ME4, timeout-releases-unit: no answer from the sink is taken for "it did not happen".

Changed (over ``correct/guarded``): a run whose request got no answer is taken back like one that
was refused. The effect may stand, or still arrive; the unit is free, and the next request is let
through under a key of its own.

Real class: ``except Timeout: rollback()``; a client that treats a lost reply as a failure and asks
for another approval. Agents do exactly this.
"""

from __future__ import annotations

from ..contract import EffectUnknown
from ..correct.guarded import Gate, GuardedTarget
from ..terms import Receipt, TargetName

_TAKE_BACK = "UPDATE runs SET state = 'taken back' WHERE key = ? AND state = 'running'"


class SilenceIsNo(Gate):
    """Nothing heard, nothing happened."""

    def _ask(self, tool: str, args: str, key: str) -> Receipt:
        try:
            return super()._ask(tool, args, key)
        except EffectUnknown:
            with self._writing() as db:
                db.execute(_TAKE_BACK, (key,))
            raise


class ME4(GuardedTarget):
    """The target ``builtin:broken/ME4``."""

    library = SilenceIsNo
    name = TargetName("admitone", "broken/ME4", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO103", "AO105")
    never_by: tuple[str, ...] = ("AO101", "AO203", "AO704", "AO801")
