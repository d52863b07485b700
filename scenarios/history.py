"""A history: what one schedule left, and all that a check may read.

The header names the schedule and what the target declared; the events follow in order. A
history is validated before it is judged (``validate``): a history that breaks its own rules
says something about the harness, never about a ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from ..chaos.events import Event, Recorded
from ..targets.declaration import Declaration
from ..targets.terms import TargetName

SinkKind = Literal["idempotent", "control"]

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Header:
    """Who was tried, under which plan. ``schedule`` is the self-contained id.

    ``operations``: the methods that the target's ledger has. ``reference``: whether what is
    durable at a point is asserted (the suite's own ledgers) or only shown. ``lease_s``: how long
    the ledger was told to keep a lease, seconds; 0: nobody said.
    """

    schedule: str
    target: TargetName
    declaration: Declaration
    operations: tuple[str, ...]
    sink: SinkKind = "idempotent"
    reference: bool = False
    lease_s: float = 0.0

    @property
    def guarded(self) -> bool:
        """The ledger runs the effect itself."""
        return "execute" in self.operations


@dataclass(frozen=True, slots=True)
class History:
    """One schedule's header and events, in the order in which they were recorded."""

    header: Header
    lines: Sequence[Recorded] = field(default_factory=tuple)

    def events(self, kind: type[E]) -> Iterator[E]:
        """All events of one class, in order."""
        for line in self.lines:
            if isinstance(line.event, kind):
                yield line.event

    def __iter__(self) -> Iterator[Event]:
        return (line.event for line in self.lines)
