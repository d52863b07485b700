"""MP4a, counter-bound-wrong: one use more than approved.

Changed (over ``correct/counter``): a use is taken while used <= b and no longer while used < b. The
(b + 1)-th use succeeds, in sequence, without any fault; who stops asking after b successes never
sees it.

Real class: an off-by-one in a quota (``if count > limit: deny`` before counting).
"""

from __future__ import annotations

from ..correct.counter import CounterTarget, UseCounter
from ..terms import TargetName


class OneMore(UseCounter):
    """The bound includes itself."""

    TAKE = UseCounter.TAKE.replace("used < budget", "used <= budget")


class MP4a(CounterTarget):
    """The target ``builtin:broken/MP4a``."""

    library = OneMore
    name = TargetName("admitone", "broken/MP4a", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO103")
    never_by: tuple[str, ...] = ("AO101", "AO104", "AO106", "AO201", "AO203", "AO301", "AO801")
