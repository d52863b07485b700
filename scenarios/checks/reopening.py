"""AO806: a ledger is of use again after a process of it was killed, or its store failed once.

Everything else judges what a ledger says. One that cannot be opened any more, or that raises at
every call, says nothing, and keeps every bound. What nobody classified is otherwise the adapter's
own matter; here the same adapter was answered in the same schedule, before that.
"""

from __future__ import annotations

from typing import Final

from ..story import Story
from ..story.calls import CallStory
from .ruling import Check, Docket, Ruling

USES: Final = ("issue", "prepare", "execute", "commit", "recover", "revoke")
OPENS_CERTAIN: Final = 2
"""As many fresh processes must have failed to open it, and none have succeeded."""
USES_CERTAIN: Final = 3
"""As many calls must have raised, of processes that were fresh, and none been answered."""


def _useful_again(story: Story) -> Ruling:
    docket = Docket()
    calls = sorted(story.calls.values(), key=lambda call: call.began)
    worked = next((c for c in calls if c.op in USES and _answered(c)), None)
    opened = next((c for c in calls if c.op == "open" and c.granted), None)
    before = worked or opened
    moments = sorted((*story.kills, *story.errors))
    blows = [seq for seq in moments if before is not None and before.ended < seq]
    if before is None or not blows or not story.labels:
        return docket.ruling()
    for number, struck in enumerate(blows):
        until = blows[number + 1] if number + 1 < len(blows) else None
        docket.tried(any(c.began > struck and (until is None or c.began < until) for c in calls))
    silent = _since_it_was_last_of_use(story, calls, blows)
    opens = [c for c in silent if c.op == "open"]
    uses = [c for c in silent if c.op in USES]
    if len(opens) >= OPENS_CERTAIN or len(uses) >= USES_CERTAIN:
        last = silent[-1].replied
        docket.breach(
            story.labels[0].label,
            f"calls answered since the fault = 0 of {len(opens) + len(uses)}",
            "what was answered before is answered again, by fresh processes, after the fault",
            f"{silent[-1].op} raised: {last.detail[:200] if last is not None else ''}",
            (before.ended, *(call.ended for call in silent[:6])),
        )
    return docket.ruling()


def _since_it_was_last_of_use(
    story: Story, calls: list[CallStory], blows: list[int]
) -> list[CallStory]:
    """The calls that raised in processes opened after a fault, with nothing in their way, since the
    last time that anybody was answered."""
    fresh: set[str] = set()
    silent: list[CallStory] = []
    for call in calls:
        node = call.invoked.node
        after_one = any(seq < call.began for seq in blows)
        if call.op == "open" and after_one:
            fresh.add(node)
        if call.op not in (*USES, "open"):
            continue
        if call.op == "open" and call.granted:
            # it can be opened, and may be of no use all the same
            silent = [c for c in silent if c.op != "open"]
        elif call.op != "open" and _answered(call):
            silent = []
        elif node in fresh and _raised(call) and not _standing(story, call):
            silent.append(call)
    return silent


def _answered(call: CallStory) -> bool:
    return call.replied is not None and call.outcome != "unknown"


def _raised(call: CallStory) -> bool:
    return call.replied is not None and call.replied.why == "unclassified"


def _standing(story: Story, call: CallStory) -> bool:
    """Something was held or down while the call ran. That it raised does not count as such."""
    return any(
        d.began < call.ended and d.ended > call.began and d.began != d.ended
        for d in story.disturbances
    )


CHECKS = (
    Check(
        "AO806",
        "the ledger is of no use after a fault",
        None,
        "the paper, table 6: recovery after each failure point; liveness once faults have ended",
        "The ledger had been answering in this schedule. Then a process of it was killed, or "
        "its disk was full or failed once, and no fresh process could open the store since then, "
        "or every call of one raised what classify() does not name.",
        "A file is written in place, or in two steps, and read as if in one (a torn line, an empty "
        "file, a half-written header); or a lock file of the dead is taken for one of the living.",
        "Write aside and rename, or cut off what is torn before anything is read or appended; bind "
        "locks to the process.",
        _useful_again,
    ),
)
