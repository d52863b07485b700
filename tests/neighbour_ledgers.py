"""Ledgers that look at other tickets before they take a coupon: wrong ones, and some that may."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from admitone.targets import contract as c
from admitone.targets.broken.one_out_per_user import OneOutPerUser
from admitone.targets.correct.json_flock import JsonFlockTarget, Locked, TicketFile


class _OnePerAction(TicketFile):
    """While a coupon is out, none for the same action is taken of another ticket."""

    def take(self, number: str, holder: str, attempt: str) -> tuple[Any, c.Call] | None:
        with self._book() as book:
            tickets = book["tickets"]
            out = [
                ticket["action"]
                for other, ticket in tickets.items()
                if other != number and any(x["state"] == "taken" for x in ticket["coupons"])
            ]
            mine = tickets.get(number, {"action": None})["action"]
        return None if mine in out else super().take(number, holder, attempt)


class OnePerAction(JsonFlockTarget):
    """It says nothing of it."""

    file_class = _OnePerAction


class OnePerActionAsDeclared(OnePerAction):
    """It does."""

    declaration = replace(
        JsonFlockTarget.declaration,
        facts=replace(JsonFlockTarget.declaration.facts, reapproval="refuse"),
    )


class _WaitsForTheUser(OneOutPerUser):
    """Whoever has to wait is told to come again, and not that there is nothing."""

    def take(self, number: str, holder: str, attempt: str) -> tuple[Any, c.Call] | None:
        found = super().take(number, holder, attempt)
        with self._book() as book:
            coupons = book["tickets"].get(number, {"coupons": ()})["coupons"]
        if found is None and any(coupon["state"] == "free" for coupon in coupons):
            raise Locked("for another ticket of the user")
        return found


class WaitsForTheUser(JsonFlockTarget):
    """Busy, as long as somebody else takes."""

    file_class = _WaitsForTheUser
