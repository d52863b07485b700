"""one-out-per-user: while a coupon of a user is out, none of another ticket of that user is taken.

Changed (over ``correct/json-flock``): before a coupon is taken, every ticket of the same principal
is looked at. Two agents of one user then hinder each other, and whoever dies with a coupon in hand
blocks its user until somebody recovers.

Real class: a lock or a rate limit on the user where one on the permit was meant.
"""

from __future__ import annotations

from typing import Any

from .. import contract as c
from ..correct.json_flock import JsonFlockTarget, TicketFile


class OneOutPerUser(TicketFile):
    """Who has something in hand gets nothing else."""

    def take(self, number: str, holder: str, attempt: str) -> tuple[Any, c.Call] | None:
        with self._book() as book:
            users = {n: t["call"]["principal"] for n, t in book["tickets"].items()}
            taken = {
                users[n]
                for n, ticket in book["tickets"].items()
                if n != number and any(x["state"] == "taken" for x in ticket["coupons"])
            }
        return None if users.get(number) in taken else super().take(number, holder, attempt)


class OneOutPerUserTarget(JsonFlockTarget):
    """The target ``builtin:broken/one-out-per-user``."""

    name = c.TargetName("admitone", "broken/one-out-per-user", "1")
    convicted_by: tuple[str, ...] = ("AO801", "AO805")
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO103", "AO104", "AO201", "AO202", "AO203")
    file_class = OneOutPerUser
