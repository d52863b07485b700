"""The targets that ship, by name. To add one is to write its file and one entry here.

Factories are given as texts, relative to this package, and imported only when asked for: listing
the targets must not import any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["reference", "correct", "broken"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a shipped target lives, what it is for, and what it is in one line.

    ``factory`` is ``module:attribute`` below the package of the targets.
    """

    factory: str
    kind: Kind
    line: str


BUILTIN: Final[dict[str, Entry]] = {
    "caplease-sqlite": Entry(
        "caplease.target:CapLeaseSqlite",
        "reference",
        "the reference: Issue-Prepare-Commit with manifests, on one SQLite file",
    ),
    "correct/counter": Entry(
        "correct.counter:CounterTarget",
        "correct",
        "one counter per approval, without slots",
    ),
    "correct/json-flock": Entry(
        "correct.json_flock:JsonFlockTarget",
        "correct",
        "a JSON file under flock, replaced and synced",
    ),
    "correct/guarded": Entry(
        "correct.guarded:GuardedTarget",
        "correct",
        "runs the effect itself, inside a guard",
    ),
    "broken/MP1": Entry(
        "broken.mp1:MP1",
        "broken",
        "prepare looks at the slot first and takes it later",
    ),
    "broken/MP1-lease-lock": Entry(
        "broken.mp1_lease_lock:MP1LeaseLock",
        "broken",
        "the same under a lock that lapses, without fencing",
    ),
    "broken/ME1": Entry(
        "broken.me1:ME1",
        "broken",
        "a new sink key each time an admission is handed out",
    ),
    "broken/MP6": Entry(
        "broken.mp6:MP6",
        "broken",
        "a retried prepare takes the next slot",
    ),
}


def is_reference(target: str) -> bool:
    """Whether a target string names one of the suite's own reference ledgers."""
    entry = BUILTIN.get(target.removeprefix("builtin:"))
    return entry is not None and entry.kind == "reference"
