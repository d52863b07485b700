"""AO803's judge: what a benign retry cost, and whether its request came to an end.

A retry is benign when the client could not know: the same attempt, asked again after a reply
that was unknown to it.
"""

from __future__ import annotations

from ..story import LabelStory, Reading, Story
from ..story.calls import FOREVER, CallStory
from .lapses import lapsed_before
from .ruling import Docket, Ruling


def judge_retries(story: Story) -> Ruling:
    """Opportunities are benign retries whose label has a trusted reading afterwards."""
    docket = Docket()
    for label in story.labels:
        retried = _benign_retries(label)
        if not retried or not label.single:
            continue
        for reading in label.readings:
            if any(calls[-1].ended < reading.began for calls in retried.values()):
                docket.tried()
                _cost(label, retried, reading, docket)
        if label.final is not None and story.facts.commits:
            for attempt, calls in retried.items():
                _ended(story, label, label.final, attempt, calls, docket)
    return docket.ruling()


def _benign_retries(label: LabelStory) -> dict[str, list[CallStory]]:
    by_attempt: dict[str, list[CallStory]] = {}
    for call in label.uses():
        if call.invoked.attempt is not None and call.honest:
            by_attempt.setdefault(call.invoked.attempt, []).append(call)
    return {
        attempt: calls
        for attempt, calls in by_attempt.items()
        if len(calls) > 1 and calls[0].outcome == "unknown" and calls[1].began > calls[0].ended
    }


def _cost(
    label: LabelStory, retried: dict[str, list[CallStory]], reading: Reading, docket: Docket
) -> None:
    """Each attempt costs at most one unit: the view must not show more than there are attempts."""
    if label.asked("delegate", before=reading.at):
        return
    owners = label.possible_owners_at(reading)
    others = sum(1 for a in label.admissions if a.evidence[0].owner is None) + label.unnamed
    named = [s.attempt for s in reading.slots.values() if s.state in _TAKEN]
    twice = [attempt for attempt in retried if named.count(attempt) > 1]
    if reading.admitted > len(owners) + others or twice:
        docket.breach(
            label.label,
            f"units taken = {reading.admitted} > attempts = {len(owners)}",
            "a repeated attempt costs one unit, however often it is asked",
            f"after the retry of {', '.join(twice or retried)} the view ({reading.moment}) shows "
            f"{reading.admitted} units taken by {len(owners)} attempt(s)",
            (*(c.ended for calls in retried.values() for c in calls), reading.at),
        )


_TAKEN = ("prepared", "committed", "in_doubt")


def _ended(
    story: Story,
    label: LabelStory,
    final: Reading,
    attempt: str,
    calls: list[CallStory],
    docket: Docket,
) -> None:
    """The unit of a retried attempt is not left prepared, if the ledger let it come to an end."""
    granted = calls[-1].granted
    if not granted and story.facts.recovery == "none" and not story.claims("recover"):
        return  # it says that prepared units do not end, and refused to continue this one
    if label.turned_away:
        return
    if not granted and not _nobodys(story, calls[-1]):
        return  # whoever stopped while it was at the unit may have a lease of it still
    if granted and not story.header.guarded and not _pursued(label, attempt):
        return
    docket.tried()
    slots = [s for s in final.slots.values() if s.attempt == attempt and s.state == "prepared"]
    if not all(s.attempt for s in final.slots.values()) or not final.slots:
        unfinished = {c.owner for c in label.uses() if not c.took_nothing} - _finished(label)
        left = final.count("prepared") - len(unfinished - {attempt})
    else:
        left = len(slots)
    if left > 0:
        docket.breach(
            label.label,
            f"unsettled requests that were retried = {left} > 0",
            "the request of a benign retry ends Committed, or in the declared manual state",
            f"{attempt} was asked again after an unknown reply; at the end its unit is prepared",
            (*(c.ended for c in calls), final.at),
        )


def _nobodys(story: Story, last: CallStory) -> bool:
    """The ledger's own recovery, or its worker, came when every lease had lapsed, and after the
    last call, if nobody knows what that did. A refusal needs neither: it said that this is all."""
    drain, doubtful = story.phases.get("drain", FOREVER), last.outcome == "unknown"
    if story.facts.lapse == "none" and not doubtful:
        return True
    return any(
        c.op in ("recover", "work")
        and c.granted
        and (c.began > last.began or not doubtful)
        and lapsed_before(story, c, drain)
        for c in story.calls.values()
    )


def _pursued(label: LabelStory, attempt: str) -> bool:
    """The workload went on with the granted retry up to a commit that was answered."""
    return any(c.attempt == attempt and c.outcome != "unknown" for c in label.of("commit"))


def _finished(label: LabelStory) -> set[str | None]:
    return {e.owner for a in label.admissions if a.committed < FOREVER for e in a.evidence}
