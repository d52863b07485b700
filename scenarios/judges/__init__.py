"""Judges of whole histories: a fast one for a class of them, and a search that knows no classes.

A conviction by the fast one is an accusation, so the search confirms it wherever it can afford to.
"""

from __future__ import annotations

from collections.abc import Sequence

from .budget import Operation, explain
from .general import FEASIBLE, linearizable


class JudgesDisagree(Exception):
    """One of them is wrong: the suite's own failure, whatever the ledger did."""


def contradicts(budget: int, operations: Sequence[Operation]) -> bool:
    """Whether no order explains the answers. Raises ``JudgesDisagree``."""
    if explain(budget, operations) is not None:
        return False
    if len(operations) <= FEASIBLE and linearizable(budget, operations):
        raise JudgesDisagree(f"b = {budget}: the search explains {list(operations)}")
    return True
