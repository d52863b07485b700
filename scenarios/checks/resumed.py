"""What recovery has no business with: parts of AO303 and of AO304.

A unit that was given back is nobody's. A ledger that forgets a Release (a fold that passes over the
event, a mark that recovery does not look at) hands the admission out once more: what its client was
told is over, for good, is carried out all the same. A unit whose Commit was acknowledged is done.
Who resumes it nevertheless (events folded in another order than they were written, a list that is
kept beside the states) has it sent again, and a sink that has forgotten the key does it twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...targets.terms import Admission
from ..story import Admitted, LabelStory, Story
from ..story.admissions import Evidence
from ..story.calls import FOREVER, CallStory
from .ruling import Docket


def resumed_after_commit(story: Story, label: LabelStory, docket: Docket) -> None:
    """Judged where a recovery began behind the acknowledged Commit of a unit that has a name of its
    own. Where a lapsed unit is free again it may be somebody else's by then."""
    if len(label.records) > 1 or story.facts.lapse == "readmit":
        return
    for admitted in label.admissions:
        done = admitted.committed
        granted = [e.admission for e in admitted.grants() if e.at < done]
        if done == FOREVER or not granted:
            continue
        for again in _resumptions(label):
            if again.asked < done or not story.keeps_until(done, again.at):
                continue
            docket.tried()
            if any(_same_unit(admitted, first, again.admission) for first in granted):
                docket.breach(
                    label.label,
                    f"{admitted.name}: committed -> resumed",
                    "a unit that is committed stays so, and recovery continues what is prepared",
                    f"the Commit of {admitted.name} was acknowledged, and a recovery that began "
                    "later handed it out, to be sent again",
                    (done, again.at),
                )


def _resumptions(label: LabelStory) -> Iterator[Evidence]:
    """Everything that a recovery handed out."""
    for admitted in label.admissions:
        yield from (e for e in admitted.evidence if e.kind == "resume")


def _same_unit(admitted: Admitted, first: Admission, again: Admission) -> bool:
    """They are one unit for certain: by the strongest name that the ledger gives. A handle is none
    where several attempts have it, for it may be one of the whole record."""
    if first.slot or again.slot:
        return first.slot == again.slot
    if first.key or again.key:
        return first.key == again.key
    attempts = {e.attempt for e in admitted.evidence} | {again.attempt}
    return first.handle is not None and first.handle == again.handle and len(attempts - {None}) < 2


def resumed_after_release(label: LabelStory, docket: Docket) -> None:
    """Judged where one holder alone had it, and nobody asked for a unit between the two calls."""
    if len(label.records) > 1:
        return
    for release in label.of("release"):
        given = _given_back(label, release)
        if given is None:
            continue
        for again in label.admissions:
            first = again.evidence[0]
            if first.kind != "resume" or first.asked < release.ended or again is given:
                continue
            if _asked_between(label, release, first.at):
                continue
            docket.tried()
            if _one_unit(given, again):
                docket.breach(
                    label.label,
                    "units resumed after their release = 1 > 0",
                    "a unit that was given back is free, and recovery resumes what is prepared",
                    f"{given.name} was given back, nobody asked for a unit since, and recovery "
                    "resumed it",
                    (release.ended, first.at),
                )


def _given_back(label: LabelStory, release: CallStory) -> Admitted | None:
    """What this Release gave back: its client heard so, and had it alone."""
    about = release.invoked.admission
    if about is None or not release.acknowledged:
        return None
    for admitted in label.admissions:
        before = [e for e in admitted.evidence if e.at < release.ended and e.kind != "reading"]
        if len(before) == 1 and before[0].kind == "reply" and before[0].admission == about:
            return admitted
    return None


def _asked_between(label: LabelStory, release: CallStory, until: int) -> bool:
    """Somebody may have been admitted since: whatever was still open when it was given back, or
    was asked for later."""
    return any(
        not call.took_nothing
        and call.began < until
        and (call.ended > release.began or call.replied is None or call.replied.why == "silent")
        for call in label.uses()
    )


def _one_unit(given: Admitted, again: Admitted) -> bool:
    """The strongest name that both have is the same."""
    for name in ("key", "slot"):
        ours, theirs = getattr(given, name), getattr(again, name)
        if ours and theirs:
            return bool(ours == theirs)
    mine, found = given.evidence[0], again.evidence[0].admission
    return bool(found.attempt) and found.attempt in (mine.attempt, mine.admission.attempt)
