"""any-receipt: whatever looks like a receipt is one.

Changed (over ``correct/json-flock``): a receipt is compared with the coupon's key and payload, and
its authenticator is not verified. Both are known to everybody who holds the coupon, so that anybody
can use it up without the sink, and the ledger then shows a made-up receipt as its evidence.

Real class: webhooks and payment notifications whose signature is not checked, ``verify=False``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .. import contract as c
from ..correct.json_flock import JsonFlockTarget, TicketFile


class Credulous(TicketFile):
    """Every receipt is genuine."""

    def __init__(self, path: Path, wait_s: float, genuine: Callable[[c.Receipt], bool]) -> None:
        super().__init__(path, wait_s, lambda _: True)


class AnyReceipt(JsonFlockTarget):
    """The target ``builtin:broken/any-receipt``."""

    name = c.TargetName("admitone", "broken/any-receipt", "1")
    convicted_by: tuple[str, ...] = ("AO206",)
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO103", "AO104", "AO201", "AO203", "AO801")
    file_class = Credulous
