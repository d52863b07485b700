"""Profiles: how much of a campaign is required, and how long sampling may go on.

Each has a *required set*, which must be played to its end, and *sampling* after it. ``quick``
requires every place once, in one of its variants; ``ci`` and ``deep`` require every variant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Reach = Literal["places", "all"]


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile. ``max_time_s`` ends sampling; ``schedules`` bounds each target's number."""

    name: str
    required: Reach
    max_time_s: float
    schedules: int
    line: str


PROFILES: Final[dict[str, Profile]] = {
    profile.name: profile
    for profile in (
        Profile("quick", "places", 15.0, 2_000, "every place once, then samples: under 20 s"),
        Profile("ci", "all", 165.0, 20_000, "every variant, then samples: under 3 minutes"),
        Profile("deep", "all", 3_600.0, 1_000_000, "every variant, then samples for an hour"),
    )
}
