"""The live table, on a terminal and elsewhere."""

from __future__ import annotations

import fcntl
import io
import os
import re
import struct
import termios
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from admitone.reports.closing import Closing
from admitone.reports.live import Live, plain_line, table
from admitone.reports.terminal import is_terminal, wants_color
from admitone.reports.text import columns
from admitone.scenarios.tallies import FamilyTally
from tests.report_world import Clock, a_tally, facts, results, same_as_snapshot


def test_plain_lines_are_few() -> None:
    stream, clock = io.StringIO(), Clock()
    live = Live(stream, clock=clock, environ={})
    live.begin(facts())
    for _ in range(100):
        clock.now_s += 0.125
        live.result(results()[0])
    live.end(a_tally())
    same_as_snapshot("live_plain", stream.getvalue().rstrip("\n"))
    assert len(stream.getvalue().splitlines()) == 3


@pytest.mark.parametrize("width", [100, 60, 40, 20])
def test_the_table_never_wraps(width: int) -> None:
    crash = FamilyTally("crash")
    for result in results()[:3]:
        crash.add(result)
    lines = table([crash, FamilyTally("x" * 90)], {"crash": 6}, crash, width, color=False)
    same_as_snapshot(f"live_table_{width}", "\n".join(lines))
    assert max(map(columns, lines)) < width


@pytest.fixture
def terminal() -> Iterator[tuple[Any, Any]]:
    main, side = os.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with os.fdopen(side, "w", encoding="utf-8") as stream, os.fdopen(main, "rb", 0) as reader:
        yield stream, reader


def shown_on(reader: Any, stream: Any) -> str:
    """What the stream wrote to the terminal: read until the mark that is written last."""
    stream.write("<end>")
    stream.flush()
    data = b""
    while not data.endswith(b"<end>"):
        data += reader.read(4096)
    return data[:-5].decode("utf-8")


def on_screen(output: str) -> list[str]:
    """A terminal small enough to be obviously right: the few moves that Live may use."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[\d*[A-Za-z]|\r\n|[^\x1b\r]+", output):
        if part == "\r\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part.endswith("F") and part.startswith("\x1b"):
            row -= int(part[2:-1])
            assert row >= 0
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part == "\x1b[J":
            del lines[row + 1 :]
            lines[row] = ""
        elif part.startswith("\x1b"):
            assert part.endswith("m"), part
        else:
            lines[row] += part
    return [line for line in lines if line]


def test_the_table_is_redrawn_in_place_on_a_terminal(terminal: tuple[Any, Any]) -> None:
    stream, reader = terminal
    clock = Clock()
    live = Live(stream, clock=clock, environ={"TERM": "xterm"})
    live.begin(facts())
    for result in results():
        clock.now_s += 1.0
        live.result(result)
    live.end(a_tally())
    output = shown_on(reader, stream)
    assert output.count("family") == 6  # six pictures were drawn ...
    screen = on_screen(output)
    same_as_snapshot("live_terminal", "\n".join(screen))
    assert len(screen) == 5  # ... one stays: title, three families, total
    assert "\x1b[31m" in output  # violations stand out


def test_no_color_is_kept_on_a_terminal(terminal: tuple[Any, Any]) -> None:
    stream, reader = terminal
    live = Live(stream, environ={"TERM": "xterm", "NO_COLOR": "1", "FORCE_COLOR": "1"})
    live.begin(facts())
    live.result(results()[1])
    live.end(a_tally())
    live.clear()
    assert not re.search(r"\x1b\[\d+m", shown_on(reader, stream))


def test_a_cleared_table_leaves_nothing_behind(terminal: tuple[Any, Any]) -> None:
    stream, reader = terminal
    live = Live(stream, environ={"TERM": "xterm"})
    live.begin(facts())
    live.clear()
    assert on_screen(shown_on(reader, stream)) == []


def test_more_families_than_lines_show_those_at_work(terminal: tuple[Any, Any]) -> None:
    stream, reader = terminal
    fcntl.ioctl(stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 8, 80, 0, 0))
    live = Live(stream, redraw_s=0.0, environ={"TERM": "xterm", "NO_COLOR": "1"})
    live.begin(replace(facts(), planned={f"family{n}": 9 for n in range(30)}))
    live.result(replace(results()[0], family="family29"))
    screen = on_screen(shown_on(reader, stream))
    assert len(screen) == 6
    assert screen[1].startswith("family29")


def test_a_dumb_terminal_gets_plain_lines(terminal: tuple[Any, Any]) -> None:
    stream, reader = terminal
    live = Live(stream, environ={"TERM": "dumb"})
    live.begin(facts())
    live.result(results()[1])
    live.end(a_tally())
    output = shown_on(reader, stream)
    assert "schedules" in output
    assert "\x1b" not in output
    assert is_terminal(stream, {"TERM": "xterm"})
    assert not is_terminal(stream, {"TERM": "dumb"})
    assert wants_color(io.StringIO(), {"FORCE_COLOR": "1"})
    assert not wants_color(io.StringIO(), {})


def test_a_stream_without_the_signs_gets_ascii() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    live = Live(stream, environ={})
    live.begin(facts())
    live.end(a_tally())
    closing_ = Closing(stream, width=100)
    closing_.end(a_tally())
    stream.seek(0)
    assert "(<= 95 %)" in stream.read()


def test_the_plain_line_has_the_numbers() -> None:
    assert "0/7 schedules" in plain_line(FamilyTally("total"), 7, 0.0)
