"""The requirements that the suite answers to, and which family asserts which of them.

The list ships as data (``data/requirements.json``); the coverage comes from the families' own
declarations (``Family.rows``), so a row that no family names is shown as uncovered.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

from .families import FAMILIES, family


@dataclass(frozen=True, slots=True)
class Requirement:
    """One testable statement: what is required, by which stimulus it shows, what is expected."""

    id: str
    group: str
    requirement: str
    stimulus: str
    expected: str
    source: str
    how: str


@cache
def requirements() -> tuple[Requirement, ...]:
    """All rows, in order."""
    text = (resources.files(__package__) / "data" / "requirements.json").read_text("utf-8")
    return tuple(Requirement(**row) for row in json.loads(text))


def covered_by(row: str) -> tuple[str, ...]:
    """The families that assert a row."""
    return tuple(name for name in FAMILIES if row in family(name).rows)
