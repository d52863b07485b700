"""The operations that must have made the audit chain longer: each surely changed the ledger.

What may have been a repetition, or may have found nothing to do, is left out: a Close of a child
that had nothing left, a Revoke behind another one, a Delegate for a child that lives already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...targets.replies import Revoked
from .calls import CallStory
from .kinship import Birth, actor, births, descendants
from .labels import LabelStory, bound_of
from .story import Story
from .withdrawals import one_record

What = tuple[str | None, ...]
"""What was asked for: asked again in these words, it is the same change."""


def surely_changed(story: Story) -> Iterator[CallStory]:
    """Changes of the ledger that surely happened, each once: the first grant that was heard of.

    Where the same was asked before, and nobody heard of it, the change may be of that time: the
    call that is told then begins with the first that asked.
    """
    asked: dict[What, int] = {}
    told: set[What] = set()
    fresh: set[tuple[str | None, str]] = set()  # admitted since, so nobody else settled them
    recovered = -1
    handed = _handed_on(story)
    for call in story.calls.values():
        invoked, what = call.invoked, _what(call)
        began = asked.setdefault(what, call.began)
        if call.op in ("recover", "work"):
            recovered = max(recovered, call.ended)
            fresh.clear()
        if what in told or not call.acknowledged:
            continue
        if call.op == "prepare" and began > recovered:
            fresh.add((invoked.label, call.owner))
        changed = {
            "issue": story.facts.issues == "stored",
            "prepare": True,
            "execute": call.replied is not None and call.replied.effects > 0,
            "commit": recovered < 0 or (invoked.label, call.owner) in fresh,
            "release": True,
            "revoke": _stopped_some(call.value),
            "delegate": invoked.call in handed,
            "close": invoked.call in handed,
        }
        if changed.get(call.op, False):
            told.add(what)
            yield call if began == call.began else replace(call, began=began)


def _what(call: CallStory) -> What:
    invoked = call.invoked
    if call.op in ("issue", "revoke"):
        return call.op, invoked.label
    if call.op in ("delegate", "close"):
        # whatever else of the context differs, and whoever asks: a child is told by its executor
        return call.op, invoked.label, invoked.context.executor if invoked.context else None
    about = invoked.admission
    unit = None if about is None else f"{about.record}/{about.slot}/{about.key}/{call.attempt}"
    return call.op, invoked.label, unit or call.owner


def _stopped_some(value: object) -> bool:
    if not isinstance(value, Revoked) or value.stopped is None:
        return False
    return value.stopped > 0 if isinstance(value.stopped, int) else len(value.stopped) > 0


def _handed_on(story: Story) -> set[int]:
    """The numbers of the Delegates and Closes that moved units from hand to hand: they made a
    child that has some, or took from one what it surely had left. Only where the ledger keeps its
    records, and says that children share their parent's budget."""
    if story.facts.issues != "stored" or not story.claims("delegate"):
        return set()
    labels = [label for label in story.labels if one_record(label)]
    return {c.invoked.call for label in labels for c in _moving(story, label)}


def _moving(story: Story, label: LabelStory) -> Iterable[CallStory]:
    born = {birth.name: birth for birth in births(label)}
    for call in label.of("delegate"):
        birth = born.get(call.invoked.context.executor) if call.invoked.context else None
        if birth is not None and birth.size > 0 and birth.name != birth.parent:
            yield call
    if story.facts.child_refund != "on_close" or label.may_expire:
        return
    for call in label.of("close"):
        birth = born.get(actor(label, call))
        # whoever is revoked is closed as well, and what came back then does not come back again
        if birth is None or label.asked("revoke", before=call.ended):
            continue
        if birth.call.ended < call.began and _left(label, birth, call) > 0:
            yield call


def _left(label: LabelStory, birth: Birth, call: CallStory) -> int:
    """What a child surely had left when it was closed: neither used nor given to its own."""
    family = descendants(label, birth.name) | {birth.name}
    takers = {
        c.owner
        for c in label.uses()
        if c.began < call.ended and not c.took_nothing and actor(label, c) in family
    }
    given = [
        bound_of(c.invoked.budget)
        for c in label.of("delegate")
        if c.began < call.ended and not c.took_nothing and c.invoked.executor in family
    ]
    if None in given:
        return 0
    return birth.size - len(takers) - sum(units or 0 for units in given)
