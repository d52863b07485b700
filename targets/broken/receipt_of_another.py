"""receipt-of-another: a genuine receipt pays for any coupon of the same call.

Changed (over ``correct/json-flock``): the receipt's authenticator and payload are looked at, and
its key is not. One receipt of the sink then uses up every coupon that was taken for this call,
under whichever ticket, and the ledger shows as done what was never sent.

Real class: a payment notification that is verified, and whose order number is not compared.
"""

from __future__ import annotations

from dataclasses import asdict

from .. import contract as c
from .. import identity as ids
from ..correct.json_flock import JsonFlockTarget, TicketFile


class AnyCoupon(TicketFile):
    """A receipt is as good for one coupon as for another."""

    def use_up(self, number: str, name: str, receipt: c.Receipt) -> bool | None:
        paid = asdict(receipt)
        with self._book() as book:
            ticket = book["tickets"].get(number, {"coupons": ()})
            coupon = next((x for x in ticket["coupons"] if x["name"] == name), {"state": "free"})
            if coupon["state"] == "used up" and coupon["receipt"] == paid:
                return False
            if coupon["state"] != "taken" or not self._genuine(receipt):
                return None
            if receipt.digest != ids.effect_digest(ticket["call"]["tool"], ticket["call"]["args"]):
                return None
            coupon |= {"state": "used up", "receipt": paid}
        return True


class ReceiptOfAnother(JsonFlockTarget):
    """The target ``builtin:broken/receipt-of-another``."""

    name = c.TargetName("admitone", "broken/receipt-of-another", "1")
    convicted_by: tuple[str, ...] = ("AO206",)
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO103", "AO104", "AO201", "AO203", "AO801")
    file_class = AnyCoupon
