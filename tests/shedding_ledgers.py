"""Ledgers that shed load: the first call of a client, and every other one, is told to come again.

For tests alone: ``py:tests.shedding_ledgers:NAME``.
"""

from __future__ import annotations

from typing import Any

from admitone.targets import contract as c
from admitone.targets.broken.two_steps import TakesThenWrites
from admitone.targets.correct.plain import PlainLedger, PlainTarget


class Shedding:
    """Busy before anything was looked at, by turns.

    What it is mixed into is a ledger, which this class does not name: ``super()`` is ignored below.
    """

    asked = 0

    def _sheds(self) -> bool:
        self.asked += 1
        return self.asked % 2 == 1

    def issue(self, *asked: Any) -> Any:
        return c.Busy() if self._sheds() else super().issue(*asked)  # type: ignore[misc]

    def prepare(self, *asked: Any) -> Any:
        return c.Busy() if self._sheds() else super().prepare(*asked)  # type: ignore[misc]

    def commit(self, *asked: Any) -> Any:
        return c.Busy() if self._sheds() else super().commit(*asked)  # type: ignore[misc]


class ShedsPlainly(Shedding, PlainLedger):
    pass


class Sheds(PlainTarget):
    """Correct."""

    ledger_class = ShedsPlainly


class ShedsInTwoSteps(Shedding, TakesThenWrites):
    pass


class TwoSteps(PlainTarget):
    """``broken/two-steps``, which sheds load."""

    ledger_class = ShedsInTwoSteps
