"""The lane diagram: one finding's history on a page of plain text.

Time runs down, every client node, the ledger, the sink and the faults have a lane::

    order  who         1 L S F
        8  n1 alice    ● │ │ │  prepare r1 a1 → granted slot 0 key 9d1f…
       12  sink        ┃ │ ● │  effect #1 applied key 9d1f…
    ▶  17  n1 alice    ✗ │ │ ✗  killed at commit.write1.before (COMMIT) [FP9]

``┃`` a call is under way, a lane ends where its node died, ``▶`` marks the events that the
finding names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..scenarios.history import History
from ..scenarios.results import Finding
from .retelling import FAULT, LEDGER, NO_LANE, SINK, Retelling, Row
from .summary_json import is_replayable, replay_command
from .text import clean, columns, fit, wrapped

MOST_LINES: Final = 60
_MOST_LANES: Final = 9
_WHO: Final = 14
_FIXED: Final = {LEDGER: "L", SINK: "S", FAULT: "F"}


def lanes(history: History, finding: Finding, width: int = 100) -> str:
    """The diagram and what it shows, at most ``MOST_LINES`` lines of at most ``width`` columns."""
    width = max(width, 60)
    story = Retelling(history, finding)
    head = _head(history, finding, width)
    tail = conclusion(finding, history.header.schedule, width)
    body = _diagram(story, width, MOST_LINES - len(head) - len(tail))
    return "\n".join(head + body + tail)


def conclusion(finding: Finding, schedule: str, width: int) -> list[str]:
    """The lines with which every finding ends: what broke, and how to go on."""
    said = {
        "broken": finding.inequality,
        "expected": finding.expected,
        "seen": finding.seen,
        "remedy": finding.remedy,
    }
    lines = []
    for name, text in said.items():
        if text:
            first, *rest = wrapped(text, width - 12, 3)
            lines += [f"  {name:<9} {first}", *(f"{'':<12}{line}" for line in rest)]
    # Never cut: they are there to be pasted.
    lines.append(f"  repeat:   {replay_command(schedule)}")
    if not is_replayable(schedule):
        lines.append("            not replayable: free processes raced; try it several times")
    lines.append(f"  explain:  admitone explain {clean(finding.code, 20)}")
    return lines


def _head(history: History, finding: Finding, width: int) -> list[str]:
    header = history.header
    name = f"{clean(header.target.library, 40)} {clean(header.target.version, 20)}"
    claim = f", claim {clean(finding.claim, 30)}" if finding.claim else ""
    return [
        *wrapped(f"{clean(finding.code, 20)}  {clean(finding.title, 160)}", width, 2),
        fit(
            f"  {name}, {header.sink} sink, label {clean(finding.label, 30)}{claim}", width
        ).rstrip(),
    ]


def _diagram(story: Retelling, width: int, most: int) -> list[str]:
    lanes_ = _columns(story, width)
    signs = [_FIXED.get(lane, str(n)) for n, lane in enumerate(lanes_, 1)]
    gutter = 2 * len(lanes_)
    lines_of = [(row, _lines(row, story, lanes_, width - 12 - _WHO - gutter)) for row in story.rows]
    kept, left_out = _reduced(lines_of, most - 2)
    title = f"  order  {fit('who', _WHO)} {' '.join(signs)}"
    body = [line for _, lines in kept for line in lines]
    if left_out:
        body.append(f"  … {left_out} of {len(story.rows)} steps left out")
    return [title, *body]


def _columns(story: Retelling, width: int) -> list[str]:
    """Client lanes in order of appearance, as many as fit; the others are told without a lane."""
    most = min(_MOST_LANES, (width - 40) // 6)
    return [*list(story.lanes)[:most], LEDGER, SINK, FAULT]


def _lines(row: Row, story: Retelling, lanes_: Sequence[str], width: int) -> list[str]:
    if row.mark == "─":
        room = width + 2 * len(lanes_) - columns(row.text) - 4
        return [f"{'':<9}{'─' * _WHO} ── {row.text} {'─' * room}"]
    executor = story.lanes.get(row.lane, "")
    who = f"{row.lane} {executor}" if executor not in ("", row.lane) else row.lane
    gutter = " ".join(_sign(row, lane) for lane in lanes_)
    first, *rest = wrapped(row.text, width, 3)
    arrow = "▶" if row.shown else " "
    lines = [f"{arrow} {row.seq:>5}  {fit(clean(who, 60), _WHO)} {gutter}  {first}"]
    idle = " ".join(_idle(row, lane) for lane in lanes_)
    lines += [f"{'':<9}{'':<{_WHO}} {idle}  {line}" for line in rest]
    return lines


def _sign(row: Row, lane: str) -> str:
    if lane in (row.lane, row.also) and lane != NO_LANE:
        return row.mark or _idle(row, lane)
    return _idle(row, lane)


def _idle(row: Row, lane: str) -> str:
    if lane in row.dead:
        return " "
    return "┃" if lane in row.open else "│"


def _reduced(
    lines_of: list[tuple[Row, list[str]]], most: int
) -> tuple[list[tuple[Row, list[str]]], int]:
    """Drop the least telling rows, the middle of the story before its ends, until it fits."""
    total = sum(len(lines) for _, lines in lines_of)
    middle = len(lines_of) / 2
    order = sorted(
        range(len(lines_of)),
        key=lambda n: (lines_of[n][0].shown, lines_of[n][0].weight, abs(n - middle)),
    )
    dropped: set[int] = set()
    for n in order:
        if total <= most:
            break
        dropped.add(n)
        total -= len(lines_of[n][1])
    return [item for n, item in enumerate(lines_of) if n not in dropped], len(dropped)
