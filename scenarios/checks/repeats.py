"""AO305: a Commit that was answered as done is answered so again.

A client whose reply was lost commits once more, and so does whoever recovers beside it. To be
refused then tells it that an effect which stands was not counted.
"""

from __future__ import annotations

from ..story import LabelStory, Story
from ..story.calls import CallStory
from .ruling import Check, Docket, Ruling


def _again(story: Story) -> Ruling:
    docket = Docket()
    if story.facts.retention_s is not None:
        return docket.ruling()  # what is committed may be forgotten
    for label in story.labels:
        done: list[CallStory] = []
        for call in label.of("commit"):
            first = next((c for c in done if _repeats(label, call, c)), None)
            if first is not None and call.replied is not None and _one_receipt(label, call):
                docket.tried()
                if call.outcome == "refused":
                    docket.breach(
                        label.label,
                        "repeated Commits that were refused = 1 > 0",
                        "what was committed is answered as done when it is committed again",
                        f"call {call.invoked.call} said what call {first.invoked.call} had said, "
                        "which stands, and was refused",
                        (first.ended, call.ended),
                    )
            if not call.invoked.forged and not call.took_nothing:
                done.append(call)
    return docket.ruling()


def _repeats(label: LabelStory, call: CallStory, first: CallStory) -> bool:
    """The same unit, on genuine evidence, after the first one was over and is known to stand: by
    its answer, or by a reading, where nobody heard that."""
    same = call.invoked.admission == first.invoked.admission and not call.invoked.forged
    if not same or first.ended > call.began:
        return False
    return first.granted or _is_read(label, first, call.began)


def _is_read(label: LabelStory, commit: CallStory, before: int) -> bool:
    """A reading between the two shows the unit as committed."""
    about = commit.invoked.admission
    slot = about.slot if about is not None else None
    for reading in label.readings:
        if not commit.began < reading.began <= reading.at < before or not reading.says_units:
            continue
        found = reading.slots.get(slot) if reading.slots and slot is not None else None
        if found is not None:
            return found.state == "committed"
        if label.bound == 1 and label.single and reading.count("committed") == 1:
            return True
    return False


def _one_receipt(label: LabelStory, call: CallStory) -> bool:
    """There was one application that this can be about, so that both showed its receipt: on a sink
    that does not look at keys, a resend gives another one."""
    about = call.invoked.admission
    key = about.key if about is not None else None
    mine = [
        a
        for a in label.applications
        if a.event.key == key or a.effect is None or a.effect.attempt in (None, call.attempt)
    ]
    return len(mine) == 1


CHECKS = (
    Check(
        "AO305",
        "a repeated Commit was refused",
        "repeat_commit",
        "the paper: Commit is idempotent",
        "The same admission was committed again with the same receipt, after the ledger had "
        "answered that it is done, or a reading had shown it, and was refused.",
        "The state is compared with Prepared alone, or the receipt is unique and its second "
        "insert is taken for an error.",
        "Where the unit is committed with this very receipt, answer Done.",
        _again,
    ),
)
