"""release-after-effect: what was used can be given back.

Changed (over ``correct/counter``): a release does not look whether the use was finished, or handed
out twice. The effect stands, its unit is free, and the next request is admitted to it.

Real class: refund and cancel endpoints that check who asks and not in which state the order is.
"""

from __future__ import annotations

from ..correct.counter import CounterTarget, UseCounter
from ..terms import TargetName


class Refunding(UseCounter):
    """Used or not, it comes back."""

    def _check_without_effect(self, receipt: str | None, asked: int) -> None:
        pass


class ReleaseAfterEffect(CounterTarget):
    """The target ``builtin:broken/release-after-effect``."""

    library = Refunding
    name = TargetName("admitone", "broken/release-after-effect", "1")
    convicted_by: tuple[str, ...] = ("AO103", "AO304")
    never_by: tuple[str, ...] = ("AO101", "AO104", "AO201", "AO203", "AO801")
