"""lease-frees: a lapsed lease gives the unit away as a new one, with a new sink key.

Changed (over ``correct/lease``): as in ``MV1-lease`` a reaper (``work``) sets seats free whose
lease has ended, and it gives them a fresh key as well, "to keep the old holder out". It does not:
the old holder's effect may stand, and now the sink cannot know the second one for the same.

Real class: a job queue that re-enqueues a timed-out job as a new job with a new id.
"""

from __future__ import annotations

from ..terms import TargetName
from .mv1_lease import MV1Lease


class LeaseFrees(MV1Lease):
    """The target ``builtin:broken/lease-frees``."""

    reap = (
        "UPDATE seats SET occupant = NULL, until_s = NULL, key = lower(hex(randomblob(16)))"
        " WHERE receipt IS NULL AND until_s <= ?"
    )
    name = TargetName("admitone", "broken/lease-frees", "1")
    convicted_by = ("AO103", "AO104", "AO105", "AO201")
    never_by = ("AO101", "AO203", "AO304", "AO801")
