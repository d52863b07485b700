"""AO804, liveness: a call that nothing disturbs comes to its end, and to an answer.

Judged are honest requests, in their own operation each, while no fault could reach them.
"""

from __future__ import annotations

from collections import Counter

from ...targets.contract import OPERATIONS
from ...targets.replies import Busy
from ..story import LabelStory, Story
from ..story.calls import FOREVER, CallStory
from .ruling import Check, Docket, Ruling

_QUIET_PHASES = (None, "recover", "drain", "end")


def _ends(story: Story) -> Ruling:
    docket = Docket()
    waits_s = story.facts.waits_s
    for label in story.labels:
        for calls in _calm_chains(story, label):
            docket.tried()
            _busy_to_the_end(story, label, calls, docket)
        for calls in _quiet_chains(story, label):
            docket.tried()
            for call in calls:
                own_s = (call.ended_ns - call.began_ns) / 1e9
                silent = call.replied is not None and call.replied.why == "silent"
                if silent and own_s > waits_s:
                    _too_long(docket, label, call, own_s, waits_s, "silent")
            _busy_to_the_end(story, label, calls, docket)
        _never_known(story, label, docket)
    return docket.ruling()


def _never_known(story: Story, label: LabelStory, docket: Docket) -> None:
    """Of no Commit is it known whether it stands, though nothing disturbed any: as in a drain, one
    doubt is honest, and several of one process without a single answer are not, unless a worker
    commits them."""
    works = any(call.op == "work" for call in story.calls.values())
    asked = [c for c in label.of("commit") if c.honest and c.replied is not None]
    repeating = max(Counter(c.invoked.node for c in asked).values(), default=0)
    if works or repeating < 2 or not story.undisturbed(-1, max(c.ended for c in asked)):
        return
    docket.tried()
    if all(c.outcome == "unknown" for c in asked):
        docket.breach(
            label.label,
            f"commits known to stand = 0 < {len(asked)}",
            "of a Commit that nothing disturbs it is known whether it stands",
            f"each of {len(asked)} was answered unknown",
            tuple(c.ended for c in asked),
        )


def _busy_to_the_end(
    story: Story, label: LabelStory, calls: list[CallStory], docket: Docket
) -> None:
    """Asked more than once, and never anything but Busy, with nobody else there."""
    last = calls[-1]
    if len(calls) < 2 or any(c.outcome != "busy" for c in calls):
        return
    waited_s = (last.ended_ns - calls[0].began_ns) / 1e9
    allowed_s = max(story.facts.waits_s, *(_asked_to_wait_s(c) for c in calls))
    crowded = any(
        other is not last and other.began < last.ended and other.ended > last.began
        for other in story.calls.values()
    )
    if waited_s > allowed_s and not crowded and not _honestly_held(story, label, last):
        _too_long(docket, label, last, waited_s, allowed_s, "Busy")


def _quiet_chains(story: Story, label: LabelStory) -> list[list[CallStory]]:
    """For every operation of an honest request, its calls while nothing could disturb them."""
    chains: dict[tuple[str, str], list[CallStory]] = {}
    for call in label.calls:
        quiet = call.phase in _QUIET_PHASES and call.op in OPERATIONS and call.replied is not None
        calm = quiet and story.undisturbed(call.began, call.ended)
        if calm and (call.honest or call.of_no_request):
            chains.setdefault((call.op, call.owner), []).append(call)
    return list(chains.values())


def _calm_chains(story: Story, label: LabelStory) -> list[list[CallStory]]:
    """The same before anything was hurt, and while nobody had a unit in his hand: what is in the
    way then was left there by a call that is over, as by one that was refused."""
    chains: dict[tuple[str, str], list[CallStory]] = {}
    for call in label.calls:
        if call.phase == "hurt" and call.op in OPERATIONS and call.replied is not None:
            chains.setdefault((call.op, call.owner), []).append(call)
    return [
        calls
        for calls in chains.values()
        if all(c.honest or c.of_no_request for c in calls)
        and story.undisturbed(0, calls[-1].ended)
        and not _in_hand(story, calls[-1].ended)
    ]


def _in_hand(story: Story, at: int) -> bool:
    """Some unit may have been admitted before this moment and not brought to its end."""
    return any(
        call.began < at and (call.ended > at or call.outcome == "unknown")
        for call in story.calls.values()
    ) or any(
        a.since < at and not (a.freed_until < at or a.committed < at)
        for label in story.labels
        for a in label.admissions
    )


def _asked_to_wait_s(call: CallStory) -> float:
    value = call.value
    wait_s = value.retry_after_s if isinstance(value, Busy) else None
    return wait_s or 0.0


def _honestly_held(story: Story, label: LabelStory, call: CallStory) -> bool:
    """In flight, because a unit is unsettled that nobody claims to have settled by now: a lease
    may still run, or there is no recovery."""
    in_flight = isinstance(call.value, Busy) and call.value.cause == "in_flight"
    proven = {e.owner for a in label.admissions for e in a.evidence}
    unsettled = any(a.freed_until == a.committed == FOREVER for a in label.admissions) or any(
        c.outcome == "unknown" and c.owner not in proven for c in label.uses()
    )
    settles = story.claims("recover") and story.facts.lapse == "none"
    return in_flight and unsettled and not (settles and _recovered_before(story, call))


def _recovered_before(story: Story, call: CallStory) -> bool:
    """Recovery had been run to its end, after the last fault and before this call."""
    struck = max((d.ended for d in story.disturbances if d.began < call.began), default=-1)
    return any(
        c.op == "recover" and c.granted and c.began > struck and c.ended < call.began
        for c in story.calls.values()
    )


def _too_long(
    docket: Docket, label: LabelStory, call: CallStory, seen_s: float, most_s: float, how: str
) -> None:
    docket.breach(
        label.label,
        f"{how} for {seen_s:.3f} s > {most_s:.3f} s",
        "a call that nothing disturbs is answered, and Busy ends, within waits_s",
        f"{call.op} (call {call.invoked.call}) was still {how} at its end",
        (call.began, call.ended),
    )


CHECKS = (
    Check(
        "AO804",
        "a call never came to an end",
        None,
        "the paper: liveness once faults have ended",
        "Without any fault, a call passed its deadline in silence, or stayed Busy through every "
        "repetition for longer than the target says that calls wait; or every one of several "
        "Commits was answered as unknown.",
        "A lock or claim of a dead process is never cleared.",
        "Bind locks to the connection or to a lease, and clear claims of the dead in recovery.",
        _ends,
    ),
)
