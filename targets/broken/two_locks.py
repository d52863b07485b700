"""two-locks: a coupon is chosen under one file lock, and taken under the next.

Changed: take() looks for the attempt's coupon, or for a free one, in one locked block, and writes
it down in another, where it is not looked at again. Between the two the lock is nobody's, since the
descriptor was closed: whoever comes through there has chosen the same coupon.

Real class: every helper takes the lock for itself, and a caller makes one decision of two of them;
a lock that was narrowed to be held for a shorter time.
"""

from __future__ import annotations

import secrets
from typing import Any

from .. import contract as c
from ..correct.json_flock import JsonFlockTarget, TicketFile


class LooksThenTakes(TicketFile):
    """Two blocks."""

    def take(self, number: str, holder: str, attempt: str) -> tuple[Any, c.Call] | None:
        with self._book() as book:
            ticket = book["tickets"].get(number)
            if ticket is None or ticket["holder"] != holder:
                return None
            coupons = ticket["coupons"]
            coupon = next((x for x in coupons if x.get("attempt") == attempt), None)
            if coupon is not None:
                return coupon, c.Call(**ticket["call"])
            chosen = next((x["name"] for x in coupons if x["state"] == "free"), None)
        if chosen is None:
            return None
        with self._book() as book:
            ticket = book["tickets"][number]
            coupon = next(x for x in ticket["coupons"] if x["name"] == chosen)
            coupon |= {"state": "taken", "attempt": attempt, "key": secrets.token_hex(16)}
        return coupon, c.Call(**ticket["call"])


class TwoLocks(JsonFlockTarget):
    """The target ``builtin:broken/two-locks``."""

    name = c.TargetName("admitone", "broken/two-locks", "1")
    convicted_by: tuple[str, ...] = ("AO104", "AO201")
    never_by: tuple[str, ...] = ("AO101", "AO801", "AO806")
    file_class = LooksThenTakes
