"""Uses that a guarded ledger left to its worker, and that this never carried out.

``execute`` answered before anything was sent, which is honest where the target has a ``work``: a
relay, a sweeper. Then a use is served when its effect is there, and not when it is queued.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...targets.replies import Unknown
from ..story import LabelStory, Story
from ..story.calls import CallStory


@dataclass(frozen=True, slots=True)
class Undone:
    """``wanted``: effects that the drain's uses should have had; ``seen``: that there were."""

    wanted: int
    seen: int
    at: tuple[int, ...]


def is_left(call: CallStory) -> bool:
    """It was answered, nothing was sent for it, and there is a worker that may send it."""
    corrected = call.replied is not None and call.replied.why == "corrected"
    return corrected and isinstance(call.value, Unknown)


def left_undone(
    story: Story, label: LabelStory, asked: Sequence[CallStory], drain: int, rest: int
) -> Undone | None:
    """What the worker owes for these last answers of a drain that nothing disturbs. None: nothing.

    ``rest``: units that nobody can have used before the drain. A worker may take one use a pass: it
    owes something only after as many passes as there are uses. A ledger may queue more than its
    budget, and find that out when it sends: it owes no more than the rest.
    """
    left = [call for call in asked if is_left(call)]
    if not left:
        return None
    last = max(call.ended for call in left)
    passes = sum(c.op == "work" and c.granted and c.began > last for c in story.calls.values())
    if passes < len({call.owner for call in label.uses()}):
        return None
    wanted = min(len(left), rest)
    applied = sum(a.at > drain for a in label.applications)
    return Undone(wanted, applied, tuple(call.ended for call in left))
