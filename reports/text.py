"""Text for people, made safe: whatever a target wrote is shown, and none of it acts.

A ledger under test may answer with terminal escapes, line breaks, right-to-left marks or a
megabyte of one letter. Everything that came from it passes through ``clean`` on its way into a
line, and every block passes through ``carried_by`` on its way to a stream.
"""

from __future__ import annotations

import unicodedata
from typing import Final, TextIO

GLYPHS: Final = {
    "→": "->",
    "…": "~",
    "✗": "x",
    "●": "o",
    "■": "#",
    "│": "|",
    "┃": "!",
    "┌": "+",
    "└": "+",
    "─": "-",
    "≤": "<=",
    "×": "x",
    "·": "-",
    "—": "-",
    "▶": ">",
    "█": "#",
    "░": ".",
}
"""The signs that reports draw with, and what stands for them where they cannot be carried."""


def clean(text: object, limit: int = 200) -> str:
    """``text`` on one line without anything that acts on a terminal, at most ``limit`` long.

    Control, format and private characters, line separators and lone surrogates become escapes
    (``\\x1b``, ``\\u202e``). The middle is cut, because beginnings and ends tell the most.
    """
    raw = text if isinstance(text, str) else str(text)
    ends, cut = _ends(raw, limit)
    return shorten("".join(map(_visible, ends)), limit, cut=cut)


def clean_lines(text: object, limit: int = 2000) -> str:
    """``text`` with its line breaks, each line as ``clean`` makes it."""
    return "\n".join(clean(line, limit) for line in str(text).split("\n"))


def shorten(text: str, limit: int, *, cut: bool = False) -> str:
    """At most ``limit`` columns, the middle replaced by one ``…`` where something is left out."""
    text, too_long = _ends(text, limit)
    if not (cut or too_long) and columns(text) <= limit:
        return text
    if limit <= 1:
        return "…"[:limit]
    tail = min(limit // 4, 20)
    head = limit - tail - 1
    end = _head(text[::-1], tail)[::-1]
    return f"{_head(text, head)}…{end}"


def fit(text: str, width: int) -> str:
    """Exactly ``width`` columns: cut at the end or filled with spaces."""
    if columns(text) > width:
        text = _head(text, max(width - 1, 0)) + "…"[:width]
    return text + " " * (width - columns(text))


def columns(text: str) -> int:
    """How many terminal columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def wrapped(text: str, width: int, most: int) -> list[str]:
    """A cleaned text in at most ``most`` lines of ``width``, cut with ``…`` beyond."""
    left = clean(text, width * most)
    lines: list[str] = []
    while left:
        if columns(left) <= width:
            lines.append(left)
            break
        if len(lines) == most - 1:
            lines.append(fit(left, width))
            break
        part = _head(left, width)
        space = part.rfind(" ")
        at = space if space > width // 2 else max(len(part), 1)
        lines.append(left[:at].rstrip())
        left = left[at:].lstrip()
    return lines or [""]


def carried_by(text: str, encoding: str | None) -> str:
    """``text`` in signs that the encoding has: arrows become ``->``, the rest escapes."""
    name = encoding or "ascii"
    try:
        text.encode(name)
    except (UnicodeEncodeError, LookupError):
        plain = "".join(GLYPHS.get(sign, sign) for sign in text)
        try:
            return plain.encode(name, "backslashreplace").decode(name)
        except LookupError:
            return plain.encode("ascii", "backslashreplace").decode("ascii")
    return text


def put(stream: TextIO, text: str) -> None:
    """Write a block to a stream in signs that it can carry, and send it off."""
    stream.write(carried_by(text, getattr(stream, "encoding", None) or "utf-8"))
    stream.flush()


def _ends(text: str, limit: int) -> tuple[str, bool]:
    """Beginning and end, where a text is so long that walking through it is a waste."""
    if len(text) <= 4 * limit + 8:
        return text, False
    return text[: 2 * limit] + text[-2 * limit :], True


def _visible(sign: str) -> str:
    if sign.isprintable():
        return sign
    code = ord(sign)
    if sign in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[sign]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _width(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def _head(text: str, width: int) -> str:
    """The longest beginning of ``text`` that takes at most ``width`` columns."""
    if text.isascii():
        return text[:width]
    taken = 0
    for index, sign in enumerate(text):
        taken += _width(sign)
        if taken > width:
            return text[:index]
    return text
