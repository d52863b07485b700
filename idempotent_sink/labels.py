"""Labels, and the bounded survey of arguments that nobody here may trust.

The workload plants one label per authorization in the arguments of its calls. Applications are
grouped by it and by nothing that the ledger under test chose, so it must be found whatever the
ledger did to the arguments around it: anywhere in any text, names of members included.

What comes from a target may be built to hurt: nested a hundred thousand deep, cyclic, shared so
that it unfolds without end, huge, or without a canonical form. The survey goes level by level
under fixed limits; its cost is bounded by them and never by the input.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

LABEL: Final = re.compile(r"ao:[0-9a-f]{16}")

MAX_DEPTH: Final = 64
MAX_ITEMS: Final = 10_000
MAX_TEXT: Final = 256 * 1024
MAX_INT_BITS: Final = 1024


def make_label(rng: random.Random) -> str:
    """A new label; 64 random bits, so that no two authorizations of a run share one."""
    return f"ao:{rng.getrandbits(64):016x}"


def find_label(args: object) -> str | None:
    """The label in these arguments: the outermost, and of those the first. Never raises."""
    return survey(args).label


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found: the label, if any, and why the arguments are unfit, if they are."""

    label: str | None
    problem: str


def survey(args: object) -> Survey:
    """Look once at everything in ``args``, within the limits. Never raises."""
    walk = _Walk()
    try:
        problem = walk.all(args)
    except Exception as hostile:  # a mapping or iterator of the target's own making
        problem = f"the arguments cannot be read: {type(hostile).__name__}"
    return Survey(walk.label, problem)


class _Walk:
    """One survey under way. Methods return a problem, or the empty text."""

    __slots__ = ("items", "label", "text")

    def __init__(self) -> None:
        self.label: str | None = None
        self.items = 0
        self.text = 0

    def all(self, args: object) -> str:
        level: list[object] = [args]
        for _ in range(MAX_DEPTH):
            below: list[object] = []
            for item in level:
                if problem := self._one(item, below):
                    return problem
            if not below:
                return ""
            level = below
        return f"the arguments are nested deeper than {MAX_DEPTH} levels"

    def _one(self, item: object, below: list[object]) -> str:
        kind = type(item)
        if kind is str:
            return self._text(item)  # type: ignore[arg-type]  # just found to be a text
        if item is None or kind is bool:
            return ""
        if isinstance(item, Mapping):
            return self._members(item, below)
        if kind is list or kind is tuple:
            return self._items(item, below)  # type: ignore[arg-type]  # just found to be one
        if isinstance(item, int) and kind is int:
            fits = item.bit_length() <= MAX_INT_BITS
            return "" if fits else f"an integer has more than {MAX_INT_BITS} bits"
        if isinstance(item, float) and kind is float:
            return "" if math.isfinite(item) else "a number is not finite"
        if isinstance(item, bytes) and kind is bytes:
            return self._sized(len(item))
        return f"a {kind.__name__[:40]} is no argument"

    def _members(self, item: Mapping[object, object], below: list[object]) -> str:
        for name, value in item.items():  # counted one by one: a length may be a lie
            if type(name) is not str:
                return "the name of a member is no text"
            if problem := self._counted() or self._text(name):
                return problem
            below.append(value)
        return ""

    def _items(self, items: Iterable[object], below: list[object]) -> str:
        for item in items:
            if problem := self._counted():
                return problem
            below.append(item)
        return ""

    def _counted(self) -> str:
        self.items += 1
        return "" if self.items <= MAX_ITEMS else f"more than {MAX_ITEMS} items"

    def _sized(self, more: int) -> str:
        self.text += more
        return "" if self.text <= MAX_TEXT else f"more than {MAX_TEXT} characters of text"

    def _text(self, text: str) -> str:
        if problem := self._sized(len(text)):
            return problem
        if self.label is None and (found := LABEL.search(text)):
            self.label = found.group()
        return "" if is_unicode(text) else "a text has a lone surrogate"


def is_unicode(text: str) -> bool:
    """Whether the text has a UTF-8 form: a lone surrogate has none."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
