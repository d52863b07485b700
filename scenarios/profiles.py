"""Profiles: how much of a campaign is required, and how long sampling may go on.

Each has a *required set*, which must be played to its end, and *sampling* after it. ``quick``
requires every place once, in one of its variants, and then samples kills, which are cheap and find
most; ``ci`` and ``deep`` require every variant and sample everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Reach = Literal["places", "all"]
Samples = Literal["kills", "all"]


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile. ``max_time_s`` ends sampling, not the required set; ``schedules``
    bounds each target's number. ``samples``: what is drawn after the required set, kills at the
    failure points or anything."""

    name: str
    required: Reach
    samples: Samples
    max_time_s: float
    schedules: int


PROFILES: Final[dict[str, Profile]] = {
    profile.name: profile
    for profile in (
        Profile("quick", "places", "kills", 17.2, 2_000),
        Profile("ci", "all", "all", 165.0, 20_000),
        Profile("deep", "all", "all", 3_600.0, 1_000_000),
    )
}
