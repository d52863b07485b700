"""The general judge: some order of the operations explains every answer, found by search.

Wing and Gong's search with the memory that Lowe gave it: an operation may come next if none that is
left had ended before it began, and what was reached once, the same operations done and the same
states possible, is not searched again. What is unknown may have happened or not; the specification
(``model.py``) then leaves both states possible. It knows no shortcut and no class of histories, so
it is slow, and the judge of the fast one (``budget.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..model import START, Reply, State, after
from .budget import Operation, Prepare

FEASIBLE: Final = 12
"""Most operations for which the search is affordable wherever it is made."""

Reached = tuple[int, frozenset[State]]
"""Which operations are done, one bit each, and what may hold then."""


def linearizable(budget: int, operations: Sequence[Operation]) -> bool:
    """Whether the history of one issued budget has an order that explains it. Exponential."""
    whole = (1 << len(operations)) - 1
    begin = after({START}, "issue", "granted", budget=budget)
    seen: set[Reached] = set()
    ahead: list[Reached] = [(0, begin)]
    while ahead:
        done, states = ahead.pop()
        if done == whole:
            return True
        for number in _next(done, operations):
            then = (done | 1 << number, _after(states, operations[number], str(number)))
            if then[1] and then not in seen:
                seen.add(then)
                ahead.append(then)
    return False


def _next(done: int, operations: Sequence[Operation]) -> list[int]:
    """Those of the operations left that may come next in real time."""
    left = [number for number in range(len(operations)) if not done >> number & 1]
    first_end = min(operations[number].ended for number in left)
    return [number for number in left if operations[number].began <= first_end]


def _after(states: frozenset[State], op: Operation, attempt: str) -> frozenset[State]:
    """Every request is an attempt of its own here."""
    if isinstance(op, Prepare):
        return after(states, "prepare", op.kind, attempt=attempt, cause=op.cause)
    reply: Reply = "unknown" if op.unknown else "granted"
    return after(states, "revoke", reply, stopped=op.stopped)
