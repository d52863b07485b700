"""Correct ledgers of a make that none of those that ship has, for tests of families."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from admitone.targets.correct.counter import CounterTarget, UseCounter, _text


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
