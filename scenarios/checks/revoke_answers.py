"""AO403's judge: what an acknowledged Revoke said of units, against what became of them.

Only the first Revoke that can have had an effect must count exactly; a repeated one may answer
nothing, or the same again. How a ledger calls committed units (too late, or none of its business)
is its own affair. What its children have of its budget is counted like the rest, for it is the same
units, and they are stopped with it.
"""

from __future__ import annotations

from ...targets.replies import Revoked
from ..story import Admitted, LabelStory, Story
from ..story.calls import FOREVER, CallStory
from ..story.withdrawals import acknowledged_revokes, one_record
from .ruling import Docket, Ruling

_EXPECTED = "Revoke stops exactly the units that are not admitted, and says so"


def judge_answers(story: Story) -> Ruling:
    """See the module."""
    docket = Docket()
    for label in story.labels:
        if not one_record(label) or label.unnamed or story.facts.lapse == "readmit":
            continue
        for call in acknowledged_revokes(label):
            said = call.value
            assert isinstance(said, Revoked)
            if said.stopped is None and said.too_late is None:
                continue
            docket.tried()
            if isinstance(said.stopped, tuple) or isinstance(said.too_late, tuple):
                _names(story, label, call, said, docket)
            _counts(story, label, call, said, docket)
    return docket.ruling()


def _names(story: Story, label: LabelStory, call: CallStory, said: Revoked, docket: Docket) -> None:
    stopped = said.stopped if isinstance(said.stopped, tuple) else ()
    too_late = said.too_late if isinstance(said.too_late, tuple) else ()
    for admitted in _ran(label, call):
        if admitted.slot in stopped:
            docket.breach(
                label.label,
                f"stopped units that ran = 1 > 0 ({admitted.name})",
                _EXPECTED,
                f"Revoke named {admitted.name} as stopped; it was admitted",
                (call.ended, admitted.since),
            )
    for reading in label.readings:
        for slot in reading.slots.values():
            free = slot.state in ("issued", "revoked") and reading.began > call.ended
            given_back = label.asked("release", "close", before=reading.at) or any(
                e.refused < reading.at for e in label.effects
            )
            lost = not story.keeps_until(call.began, reading.at)
            if free and slot.slot in too_late and not given_back and not lost:
                docket.breach(
                    label.label,
                    f"units too late that never ran = 1 > 0 (slot {slot.slot})",
                    _EXPECTED,
                    f"Revoke named slot {slot.slot} as too late; the view ({reading.moment}) "
                    f"shows it {slot.state}",
                    (call.ended, reading.at),
                )


def _counts(
    story: Story, label: LabelStory, call: CallStory, said: Revoked, docket: Docket
) -> None:
    b = label.bound
    if b is None or (label.asked("delegate", before=FOREVER) and not story.claims("delegate")):
        return
    stopped, too_late = _size(said.stopped), _size(said.too_late)
    ran = _ran(label, call)
    at = (call.ended, *(a.since for a in ran))
    if stopped is not None and stopped + len(ran) > b:
        docket.breach(
            label.label,
            f"stopped + admitted = {stopped} + {len(ran)} > b = {b}",
            _EXPECTED,
            f"Revoke says that it stopped {stopped}; {len(ran)} of {b} units ran all the same",
            at,
        )
    most = _may_have_run(label, call)
    first = not label.may_expire and not _ended_before(label, call) and not _given(label, call)
    if stopped is not None and first and stopped + most < b and not _gives_back(story, label):
        docket.breach(
            label.label,
            f"stopped + admitted = {stopped} + {most} < b = {b}",
            _EXPECTED,
            f"at most {most} units can have been admitted before; Revoke says that it stopped "
            f"{stopped}",
            at,
        )
    if too_late is not None and too_late > most:
        docket.breach(
            label.label,
            f"too late = {too_late} > admitted = {most}",
            _EXPECTED,
            f"Revoke says that it came too late for {too_late} units; at most {most} were admitted",
            at,
        )
    _forgotten(story, label, call, too_late, docket)


def _forgotten(
    story: Story, label: LabelStory, call: CallStory, too_late: int | None, docket: Docket
) -> None:
    """Units that were certainly admitted, and certainly not committed, when Revoke looked."""
    begun = {c.attempt for c in label.of("commit", "execute", "effect") if c.began < call.ended}
    held = [
        a
        for a in label.admissions
        if a.since < call.began
        and a.freed == FOREVER
        and a.evidence[0].kind in ("reply", "dropped")
        and not begun & {e.attempt for e in a.evidence}
        and a.committed > call.ended
    ]
    # a recovery may settle units of every label, whoever it was asked for
    recovered = any(
        c.op in ("recover", "work") and c.began < call.ended and not c.took_nothing
        for c in story.calls.values()
    )
    if _ended_before(label, call) or recovered:
        return
    if too_late is not None and too_late < len(held):
        docket.breach(
            label.label,
            f"too late = {too_late} < admitted = {len(held)}",
            "Revoke names every unit that is admitted and not settled as too late",
            f"{', '.join(a.name for a in held)} was admitted when Revoke was asked for, and is "
            "not counted",
            (call.ended, *(a.since for a in held)),
        )


def _ran(label: LabelStory, call: CallStory) -> list[Admitted]:
    """Units that were admitted for certain at some time, and not given back before the Revoke."""
    return [
        a
        for a in label.admissions
        if a.freed > call.ended and not (a.release_asked and a.freed < FOREVER)
    ]


def _may_have_run(label: LabelStory, call: CallStory) -> int:
    return max(len(label.possible_owners(before=call.ended)), len(label.admissions))


def _gives_back(story: Story, label: LabelStory) -> bool:
    """Some unit may be blocked for good, or be lost to a lease: neither stopped nor used."""
    failed = any(e.refused < FOREVER for e in label.effects)
    lost = story.facts.lapse not in ("none", "takeover")  # who takes a unit over has that one
    return failed or label.asked("release", before=FOREVER) or lost


def _ended_before(label: LabelStory, call: CallStory) -> bool:
    """Some unit may have been stopped or given back before, or meanwhile: by an earlier Revoke,
    also of a child alone, or by a Close."""
    ends = [c for c in label.of("revoke", "close") if c is not call]
    return any(c.began < call.ended and not c.took_nothing for c in ends)


def _given(label: LabelStory, call: CallStory) -> bool:
    """Some unit may have been on its way to a child while this Revoke ran."""
    gives = [c for c in label.of("delegate") if c.ended > call.began]
    return any(c.began < call.ended and not c.took_nothing for c in gives)


def _size(said: tuple[str, ...] | int | None) -> int | None:
    return len(said) if isinstance(said, tuple) else said
