"""Everything about one label: what was approved, asked, admitted, applied and read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ...targets.terms import Approval
from .admissions import Admitted, Book
from .calls import ADMITTING, FOREVER, CallStory
from .readings import Reading
from .sinklog import Application, EffectStory

LONG_LIVED_S: Final = 3600.0
"""An approval that lives this long is taken not to expire within a schedule."""


@dataclass(slots=True)
class LabelStory:
    """One authorization, or several that share their arguments, as the history shows it.

    ``bound``: b, the sum over its confirmations; None if no number of uses could break it.
    ``unnamed``: admissions that a recovery named by nothing at all.
    """

    label: str
    approvals: tuple[Approval, ...]
    bound: int | None
    calls: list[CallStory] = field(default_factory=list)
    book: Book = field(default_factory=Book)
    effects: list[EffectStory] = field(default_factory=list)
    applications: list[Application] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    records: dict[str, tuple[int, object]] = field(default_factory=dict)
    unnamed: int = 0

    @property
    def admissions(self) -> list[Admitted]:
        return self.book.admissions

    @property
    def single(self) -> bool:
        """One confirmation: a reading of the label is a reading of it."""
        return len(self.approvals) == 1

    @property
    def final(self) -> Reading | None:
        """The last trusted reading, if it was made when everything was over."""
        last = self.readings[-1] if self.readings else None
        return last if last is not None and last.moment == "final" else None

    @property
    def turned_away(self) -> bool:
        """The sink, or the way to it, turned some effect away for certain: its unit may be blocked
        for good."""
        return any(e.refused < FOREVER for e in self.effects) or any(c.keeps for c in self.uses())

    def of(self, *ops: str) -> Iterable[CallStory]:
        return [call for call in self.calls if call.invoked.op in ops]

    def uses(self) -> Iterable[CallStory]:
        """Every call that asked for a unit."""
        return self.of(*ADMITTING)

    def possible_owners(self, before: int) -> set[str]:
        """Everybody who may have a unit, by calls that began before: granted, or not known."""
        return {c.owner for c in self.uses() if c.began < before and not c.took_nothing}

    def possible_owners_at(self, reading: Reading) -> set[str]:
        """The same at a reading: also whoever was refused only afterwards, for that the sink turned
        it away, had its unit until then."""
        waited = {c.owner for c in self.uses() if c.began < reading.at and c.ended > reading.began}
        return waited | self.possible_owners(before=reading.at)

    def held(self, seq: int) -> list[Admitted]:
        """Admissions that are proven to be held at that moment."""
        return [a for a in self.admissions if a.held_at(seq)]

    def asked(self, *ops: str, before: int) -> bool:
        """Whether such a call began earlier and was not definitely refused."""
        return any(c.began < before and not c.took_nothing for c in self.of(*ops))

    @property
    def may_expire(self) -> bool:
        """Some confirmation could reach t_e while the schedule runs."""
        return any(
            a.validity.expires_s is not None
            and a.validity.expires_s - a.validity.issued_s < LONG_LIVED_S
            for a in self.approvals
        )


def bound_of(budget: object) -> int | None:
    """The most generous whole number of uses that a budget can mean; None: any number.

    The suite also asks for budgets that are none. Refusing them is judged elsewhere; here a
    ledger that takes "1" for 1 is not accused, and one that takes NaN for "no limit" is.
    """
    if isinstance(budget, str):
        try:
            budget = float(budget)
        except ValueError:
            return 0
    if isinstance(budget, int):  # also True and False
        return max(int(budget), 0)
    if isinstance(budget, float):
        if math.isnan(budget):
            return 0
        return None if math.isinf(budget) and budget > 0 else max(math.floor(max(budget, 0.0)), 0)
    return 0


def is_ordinary(budget: object) -> bool:
    """A budget that every ledger of its kind must serve."""
    return type(budget) is int and 1 <= budget < 2**31
