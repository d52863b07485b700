"""What the other end of a stream is: a person's terminal, or a file that will be read later."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, TextIO

_DEFAULT: Final = (80, 24)

RED: Final = "31"
GREEN: Final = "32"
YELLOW: Final = "33"
BOLD: Final = "1"


def is_terminal(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether lines can be redrawn. A dumb terminal cannot move its cursor."""
    try:
        return stream.isatty() and environ.get("TERM") != "dumb"
    except ValueError:  # closed
        return False


def wants_color(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """``NO_COLOR`` (any value) rules, then ``FORCE_COLOR``, then whether it is a terminal."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR") not in (None, "", "0"):
        return True
    return is_terminal(stream, environ)


def size(stream: TextIO) -> tuple[int, int]:
    """Columns and lines, asked anew each time: windows are resized while a run goes on."""
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return _DEFAULT
    return (columns or _DEFAULT[0], lines or _DEFAULT[1])


def paint(text: str, code: str, color: bool) -> str:
    """``text`` in a colour, or as it is."""
    return f"\x1b[{code}m{text}\x1b[0m" if color else text
