"""When leases had surely lapsed: before that, a unit of somebody who stopped is nobody else's."""

from __future__ import annotations

from typing import Final

from ..story import Story
from ..story.calls import ADMITTING, CallStory

_TAKING: Final = (*ADMITTING, "renew")
_CLAIMING: Final = ("recover", "work")
"""Whoever takes a unit up may have a lease of it, too."""


def lapsed_before(story: Story, call: CallStory, drain: int) -> bool:
    """Every lease taken before this call, or before the drain, had lapsed when it began."""
    if story.facts.lapse == "none":
        return True
    if story.header.lease_s <= 0:
        return False  # the history does not say how long a lease was
    taken = [
        other.ended_ns
        for other in story.calls.values()
        if (other.op in _TAKING and other.began < drain)
        or (other.op in _CLAIMING and other.began < call.began)
    ]
    lease_s = story.header.lease_s + story.facts.clock_error_s
    return call.began_ns >= max(taken, default=0) + int(lease_s * 1e9)
