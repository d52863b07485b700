"""AO303, a part of it: a unit that was given back is nobody's, so recovery has nothing to resume.

A ledger that forgets a Release (a fold that passes over the event, a mark that recovery does not
look at) hands the admission out once more: what its client was told is over, for good, is carried
out all the same.
"""

from __future__ import annotations

from ..story import Admitted, LabelStory
from ..story.calls import CallStory
from .ruling import Docket


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
