"""receipt-replaced: the last receipt that is brought for a used coupon is the one that is kept.

Changed (over ``correct/json-flock``): the first receipt is verified as it should be. Of a coupon
that is used up, a further genuine one is taken for the same again, and is written over the first.
The ledger then shows the receipt of another effect as the evidence of this one.

Real class: an upsert on delivery of a notification, whose second delivery is of something else.
"""

from __future__ import annotations

from dataclasses import asdict

from .. import contract as c
from ..correct.json_flock import JsonFlockTarget, TicketFile


class LastReceipt(TicketFile):
    """What was brought last is kept."""

    def use_up(self, number: str, name: str, receipt: c.Receipt) -> bool | None:
        fresh = super().use_up(number, name, receipt)
        if fresh is not None or not self._genuine(receipt):
            return fresh
        with self._book() as book:
            ticket = book["tickets"].get(number, {"coupons": ()})
            for coupon in ticket["coupons"]:
                if coupon["name"] == name and coupon["state"] == "used up":
                    coupon["receipt"] = asdict(receipt)
                    return False
        return None


class ReceiptReplaced(JsonFlockTarget):
    """The target ``builtin:broken/receipt-replaced``."""

    name = c.TargetName("admitone", "broken/receipt-replaced", "1")
    convicted_by: tuple[str, ...] = ("AO206",)
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO103", "AO104", "AO201", "AO203", "AO801")
    file_class = LastReceipt
