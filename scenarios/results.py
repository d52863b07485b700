"""What a schedule came to, and what a run came to: the values that reports are made of.

A ``ScheduleResult`` is small (under 2 kB as JSON): it is the journal's line for one schedule.
The whole history is kept beside it only for violations, for what could not be judged, and for a
seeded sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal[
    "passed",
    "violation",
    "known",
    "stale",
    "not_claimed",
    "not_applicable",
    "not_exercised",
    "could_not_run",
    "inconclusive",
    "harness_error",
]

SEVERITY: tuple[Verdict, ...] = (
    "violation",
    "stale",
    "harness_error",
    "inconclusive",
    "could_not_run",
    "not_exercised",
    "known",
    "not_claimed",
    "not_applicable",
    "passed",
)
"""Worst first. A violation outranks everything: "unknown" must never hide "false"."""


def worst(verdicts: list[Verdict]) -> Verdict:
    """The verdict that a collection comes to; an empty one was not exercised."""
    return min(verdicts, key=SEVERITY.index) if verdicts else "not_exercised"


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule in one history.

    ``inequality``: the broken relation with its numbers, e.g. "N_effect = 2 > N_admit = 1".
    ``at``: sequence numbers of the events that show it, for the lane diagram.
    ``claim``: the claim under which it falls, None for the core.
    """

    code: str
    title: str
    label: str
    inequality: str
    expected: str
    seen: str
    remedy: str
    at: tuple[int, ...] = ()
    claim: str | None = None


@dataclass(frozen=True, slots=True)
class PointUse:
    """One failure point in one schedule. ``how``: "kill commit 1 of 1", "drop reply", …"""

    name: str
    armed: int
    fired: int
    how: str


@dataclass(frozen=True, slots=True)
class ScheduleResult:
    """One schedule's line in the journal.

    ``opportunities``: per check code, how often this history could have broken it. ``claims``:
    the claims that it put to the test. ``digest``: SHA-256 of the canonical history (random ids
    renamed), equal for two runs of one deterministic schedule; left empty for most that passed.
    """

    id: str
    target: str
    family: str
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    opportunities: Mapping[str, int] = field(default_factory=dict)
    points: tuple[PointUse, ...] = ()
    claims: tuple[str, ...] = ()
    kills: int = 0
    drops: int = 0
    pauses: int = 0
    admits: int = 0
    effects: int = 0
    races_started: int = 0
    races_overlapped: int = 0
    relies_on_sink: Literal["yes", "no", "not exercised"] = "not exercised"
    reason: str = ""
    digest: str = ""
    duration_s: float = 0.0
    history_kept: str | None = None
