"""release-by-stranger: anybody can give back what somebody else holds.

Changed (over ``correct/counter``): a release is not asked whose use it gives back. While its holder
is at work the use is free again, and somebody else is admitted to it.

Real class: ``DELETE lock`` without the owner's token, unlock endpoints that take an id and nothing
else.
"""

from __future__ import annotations

from ..correct.counter import CounterTarget, UseCounter
from ..terms import TargetName


class Anybodys(UseCounter):
    """Whoever asks is believed."""

    def _check_holder(self, context: str) -> None:
        pass


class ReleaseByStranger(CounterTarget):
    """The target ``builtin:broken/release-by-stranger``."""

    library = Anybodys
    name = TargetName("admitone", "broken/release-by-stranger", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO105")
    never_by: tuple[str, ...] = ("AO101", "AO104", "AO201", "AO203", "AO304", "AO801")
