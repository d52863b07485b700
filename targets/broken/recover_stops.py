"""recover-stops: recovery ends at the first unit that it cannot bring to its end.

Changed: what the other side says of one run passes through resume(), and with it the loop is left.
The next resume() begins with the same run again. As long as that one is turned away, or nobody
answers, all those behind it stay as they are, of whomever, though nothing is wrong with them.

Real class: a poison message at the head of a queue, an outbox whose relay has its ``try`` around
the loop and not in it, a migration that is resumed at the row that failed.
"""

from __future__ import annotations

from ..correct.guarded import Gate, GuardedTarget
from ..terms import TargetName


class StopsAtTheFirst(Gate):
    """What fails is not passed over."""

    def resume(self) -> list[tuple[str, str, str]]:
        query = "SELECT grant_id, attempt, key, tool, args FROM runs JOIN grants ON grant_id = id"
        with self._writing() as db:
            running = db.execute(query + " WHERE state = 'running'").fetchall()
        for _, _, key, tool, args in running:
            with self._writing() as db:
                count = "UPDATE runs SET unanswered = unanswered + 1 WHERE key = ?"
                db.execute(count + " AND state = 'running'", (key,))
            self._ask(tool, args, key)
        return [(grant, attempt, key) for grant, attempt, key, _, _ in running]


class RecoverStops(GuardedTarget):
    """The target ``builtin:broken/recover-stops``."""

    library = StopsAtTheFirst
    name = TargetName("admitone", "broken/recover-stops", "1")
    convicted_by: tuple[str, ...] = ("AO301",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO105",
        "AO106",
        "AO201",
        "AO203",
        "AO302",
        "AO303",
        "AO304",
        "AO401",
        "AO402",
        "AO701",
        "AO702",
        "AO801",
    )
