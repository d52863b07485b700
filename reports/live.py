"""Progress while a run goes on: a table redrawn in place, or now and then a plain line.

On a terminal each family has a row. Elsewhere (a CI log) a line every few seconds says the same
in total: a log must show that the run lives, and must not drown what matters.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TextIO

from ..scenarios.results import ScheduleResult
from ..scenarios.summary import RunFacts, RunTally
from ..scenarios.tallies import FamilyTally
from .terminal import BOLD, RED, is_terminal, paint, size, wants_color
from .text import clean, fit, put
from .writer import Silent

_FAMILY: Final = 14
_SHORTEST: Final = 8  # of a family's name, before a column is given up for it
_BAR: Final = 10


@dataclass(frozen=True, slots=True)
class Column:
    """A number of the table. ``drop``: the higher, the sooner a narrow terminal loses it."""

    title: str
    width: int
    drop: int
    value: Callable[[FamilyTally, int], str]


def _progress(row: FamilyTally, planned: int) -> str:
    if row.done > planned:  # the placed ones are done: samples, which nobody counted before
        return str(row.done)
    return f"{row.done}/{planned}"


def _bar(row: FamilyTally, planned: int) -> str:
    if not planned:
        return ""
    full = min(_BAR, _BAR * row.done // planned)
    return "█" * full + "░" * (_BAR - full)


COLUMNS: Final = (
    Column("", _BAR, 5, _bar),
    Column("schedules", 13, 1, _progress),
    Column("kills", 8, 4, lambda row, _: str(row.kills)),
    Column("admits", 8, 2, lambda row, _: str(row.admits)),
    Column("effects", 8, 3, lambda row, _: str(row.effects)),
    Column("violations", 11, 0, lambda row, _: str(row.violations)),
)


class Live(Silent):
    """The writer for whoever watches.

    ``every_s`` is the least time between plain lines, ``redraw_s`` between two pictures.
    """

    name = "progress"

    def __init__(
        self,
        stream: TextIO,
        *,
        every_s: float = 5.0,
        redraw_s: float = 0.1,
        clock: Callable[[], float] = time.monotonic,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._stream = stream
        self._terminal = is_terminal(stream, environ)
        self._color = wants_color(stream, environ)
        self._pause_s = redraw_s if self._terminal else every_s
        self._clock = clock
        self._began_s = self._shown_s = clock()
        self._planned: Mapping[str, int] = {}
        self._rows: dict[str, FamilyTally] = {}
        self._drawn = 0

    def begin(self, facts: RunFacts) -> None:
        """Show the empty table, so that a slow first schedule is no silence."""
        self._planned = facts.planned
        self._rows = {name: FamilyTally(name) for name in facts.planned}
        self._began_s = self._shown_s = self._clock()
        if self._terminal:
            self._draw()

    def result(self, result: ScheduleResult) -> None:
        """Count it; show it if it is time."""
        self._rows.setdefault(result.family, FamilyTally(result.family)).add(result)
        if self._clock() - self._shown_s >= self._pause_s:
            self._show()

    def end(self, tally: RunTally) -> None:
        """The last picture stays."""
        self._show()
        self._drawn = 0

    def clear(self) -> None:
        """Take the table away, so that something else can be printed; it comes back by itself."""
        if self._drawn:
            put(self._stream, f"\x1b[{self._drawn}F\x1b[J")
            self._drawn = 0

    def _show(self) -> None:
        self._shown_s = self._clock()
        if self._terminal:
            self._draw()
        else:
            put(self._stream, plain_line(self._total(), self._goal(), self._elapsed_s()) + "\n")

    def _draw(self) -> None:
        width, height = size(self._stream)
        lines = table(self._chosen(height - 4), self._planned, self._total(), width, self._color)
        up = f"\x1b[{self._drawn}F" if self._drawn else ""
        # Each line is erased first, what a taller picture left behind last.
        put(self._stream, up + "".join(f"\x1b[2K{line}\n" for line in lines) + "\x1b[J")
        self._drawn = len(lines)

    def _chosen(self, most: int) -> list[FamilyTally]:
        """Where not all rows fit, those that are at work."""
        rows = list(self._rows.values())
        if len(rows) <= most:
            return rows
        rows.sort(key=lambda row: not 0 < row.done < self._planned.get(row.name, row.done + 1))
        return rows[: max(most, 1)]

    def _total(self) -> FamilyTally:
        total = FamilyTally("total")
        for row in self._rows.values():
            total.absorb(row)
        return total

    def _goal(self) -> int:
        return sum(self._planned.values())

    def _elapsed_s(self) -> float:
        return self._clock() - self._began_s


def table(
    rows: list[FamilyTally],
    planned: Mapping[str, int],
    total: FamilyTally,
    width: int,
    color: bool,
) -> list[str]:
    """The table's lines, none wider than ``width`` - 1: a wrapped line could not be redrawn."""
    columns = _that_fit(width)
    name = max(min(_FAMILY, width - 1 - _taken(columns)), 1)
    title = fit("family", name) + "".join(f" {c.title:>{c.width}}" for c in columns)
    lines = [paint(fit(title, width - 1).rstrip(), BOLD, color)]
    for row in [*rows, total]:
        goal = sum(planned.values()) if row is total else planned.get(row.name, 0)
        cells = "".join(f" {column.value(row, goal):>{column.width}}" for column in columns)
        line = fit(fit(clean(row.name, 40), name) + cells, width - 1).rstrip()
        lines.append(paint(line, RED, color and row.violations > 0))
    return lines


def plain_line(total: FamilyTally, goal: int, elapsed_s: float) -> str:
    """One line of a log."""
    return (
        f"{elapsed_s:5.0f} s  {_progress(total, goal)} schedules  {total.kills} kills  "
        f"{total.admits} admits  {total.effects} effects  {total.violations} violations"
    )


def _that_fit(width: int) -> list[Column]:
    columns = list(COLUMNS)
    while len(columns) > 1 and _SHORTEST + _taken(columns) > width - 1:
        columns.remove(max(columns, key=lambda column: column.drop))
    return columns


def _taken(columns: list[Column]) -> int:
    return sum(column.width + 1 for column in columns)
