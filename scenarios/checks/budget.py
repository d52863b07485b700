"""AO1xx, budget: N_effect <= N_admit <= N_issue <= b, slot by slot and request by request.

This file judges the ledger's own side, N_issue and N_admit; ``budget_effects`` judges N_effect.
Totals are blind where b is at least the number of callers, so AO104 counts per slot.
"""

from __future__ import annotations

from itertools import pairwise

from ...targets.replies import Revoked
from ..story import Admitted, Evidence, LabelStory, Reading, Story
from ..story.labels import bound_of
from .ruling import Check, Docket, Ruling


def _issued(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        b = label.bound
        if b is None:
            continue
        for reading in label.readings if label.single else ():
            docket.tried()
            if reading.total > b:
                docket.breach(
                    label.label,
                    f"N_issue = {reading.total} > b = {b}",
                    f"at most {b} units ever made available under this approval",
                    f"the ledger's own view ({reading.moment}) holds {reading.total} units",
                    (reading.at,),
                )
        if story.facts.issues == "stored":
            _records(label, b, docket)
        if story.facts.slot_identity:
            _distinct_slots(label, b, docket)
    return docket.ruling()


def _records(label: LabelStory, b: int, docket: Docket) -> None:
    """Each record holds its budget: the one that Issue said, else the one that was asked for."""
    records = label.records
    if sum(not c.took_nothing for c in label.of("issue")) < 2:
        return
    docket.tried()
    sizes = [_size(budget, label) for _, budget in records.values()]
    if len(records) > len(label.approvals) and sum(sizes) > b:
        docket.breach(
            label.label,
            f"N_issue = {sum(sizes)} > b = {b}",
            "issuing the same action and confirmation again answers the first record",
            f"{len(records)} records were answered: {', '.join(records)}",
            tuple(at for at, _ in records.values()),
        )


def _size(budget: object, label: LabelStory) -> int:
    asked = bound_of(budget) if budget is not None else None
    return asked if asked is not None else max(1, (label.bound or 1) // len(label.approvals))


def _distinct_slots(label: LabelStory, b: int, docket: Docket) -> None:
    """Slots have stable names: every name ever seen is a unit that was made available."""
    seen: dict[tuple[str, str], int] = {}
    for admitted in label.admissions:
        for e in admitted.evidence:
            if e.admission.slot:
                seen.setdefault((e.admission.record, e.admission.slot), e.at)
    if label.single and len(label.records) == 1:
        record = next(iter(label.records))
        for reading in label.readings:
            for slot in reading.slots:
                seen.setdefault((record, slot), reading.at)
    if seen:
        docket.tried()
    if len(seen) > b:
        docket.breach(
            label.label,
            f"N_issue = {len(seen)} > b = {b}",
            f"at most {b} different slots under this approval",
            f"slots {', '.join(f'{record}/{slot}' for record, slot in seen)}",
            tuple(seen.values()),
        )


def _admitted(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        b = label.bound
        if b is None:
            continue
        docket.tried(len(label.admissions))
        changes = sorted(a.since for a in label.admissions)
        for seq in changes[b:]:
            held = label.held(seq)
            if len(held) > b:
                docket.breach(
                    label.label,
                    f"N_admit = {len(held)} > b = {b}",
                    f"at most {b} units admitted and not released at any time",
                    "held at once: " + "; ".join(a.name for a in held),
                    tuple(a.since for a in held),
                )
                break
        for reading in label.readings if label.single else ():
            docket.tried()
            _admitted_by_reading(story, label, b, reading, docket)
    return docket.ruling()


def _admitted_by_reading(
    story: Story, label: LabelStory, b: int, reading: Reading, docket: Docket
) -> None:
    """What a reading showed, and what was admitted to new attempts after it, adds up."""
    shown = reading.admitted
    if shown > b:
        docket.breach(
            label.label,
            f"N_admit = {shown} > b = {b}",
            f"at most {b} units prepared, committed or in doubt",
            f"the ledger's own view ({reading.moment}) shows {shown}",
            (reading.at,),
        )
    nameless = reading.view.slots is None or story.header.guarded
    if shown == 0 or (story.facts.lapse == "takeover" and nameless):
        return  # which unit a later grant continues cannot be told from counts, nor from entries
    earlier = {c.owner for c in label.uses() if c.began < reading.at}
    later = [
        a
        for a in label.admissions
        if a.since > reading.at
        and a.evidence[0].kind in ("reply", "dropped", "entry")
        and a.evidence[0].asked > reading.at
        and a.evidence[0].owner is not None
        and a.evidence[0].owner not in earlier
    ]
    for count, admitted in enumerate(later, 1):
        freed = sum(
            a.freed <= admitted.since and a.freed_until > reading.began for a in label.admissions
        )
        # a release whose answer nobody heard may take effect at any time
        released = sum(
            c.began < admitted.since
            and not c.took_nothing
            and not (c.granted and c.ended < reading.began)
            for c in label.of("release", "close")
        )
        still = shown + count - max(freed, released)
        if still > b:
            docket.breach(
                label.label,
                f"N_admit = {still} > b = {b}",
                f"no further admission while {b} units are taken",
                f"the view ({reading.moment}) showed {shown} taken; then {admitted.name} was "
                "admitted to an attempt that had not asked before",
                (reading.at, admitted.since),
            )
            return


def _one_attempt(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        for admitted in label.admissions:
            if not (admitted.slot or (admitted.key and not story.header.guarded)):
                continue
            granted = [e for e in admitted.evidence if e.owner is not None]
            docket.tried(len(granted))
            for first, second in pairwise(granted):
                if first.owner == second.owner:
                    continue
                if _is_takeover(story, label, admitted, first, second):
                    continue
                docket.breach(
                    label.label,
                    f"attempts holding {admitted.name} = 2 > 1",
                    "one unit is given to one attempt",
                    f"{admitted.name} was given to {first.owner} and to {second.owner}",
                    (first.at, second.at),
                )
    return docket.ruling()


def _is_takeover(
    story: Story, label: LabelStory, admitted: Admitted, first: Evidence, second: Evidence
) -> bool:
    """A lapsed holder's unit may pass on: under the same key, never free in between, and not
    counted as stopped by a revocation."""
    if story.facts.lapse != "takeover":
        return False
    keys = {e.admission.key for e in (first, second) if e.admission.key}
    if len(keys) > 1:
        return False
    for reading in label.readings:
        slot = reading.slots.get(admitted.slot or "")
        between = first.at < reading.began and reading.at < second.at
        if between and slot is not None and slot.state == "issued":
            return False
    for call in label.of("revoke"):
        said = call.value
        stopped = said.stopped if isinstance(said, Revoked) else None
        if isinstance(stopped, tuple) and admitted.slot in stopped and call.began < second.at:
            return False
    return True


CHECKS = (
    Check(
        "AO101",
        "more units made available than approved",
        None,
        "the paper: bounded issuance, N_issue <= b",
        "Under one approval the ledger opened more than b units: more slots in its view, slots "
        "under more than b names, or a second record for the same action and confirmation. "
        "Deleted and revoked units count, because each of them could once have been used.",
        "Issue looks for the record first and inserts it later, or the unique key contains "
        "something besides the action and the confirmation (a session, a nullable column).",
        "Put a unique constraint on (sigma, e_u) and insert-or-return in one transaction; never "
        "reset an existing record.",
        _issued,
    ),
    Check(
        "AO102",
        "more uses admitted than approved",
        None,
        "the paper: bounded admission, N_admit <= b",
        "At one instant more than b admissions were proven that nobody had given back: by ok "
        "replies, by recovery, by entries into the effect, or by the ledger's own view. Two ok "
        "replies for one attempt, and recovery of an admission by another executor, are one.",
        "Prepare checks in one statement and takes in another, an affected-row count is not "
        "looked at, an acknowledged admission was lost, or a held unit was set free.",
        "Take the unit by one conditional update whose row count decides, inside a transaction "
        "that also locks the authorization; never free a unit because its holder is silent.",
        _admitted,
    ),
    Check(
        "AO104",
        "one unit given to two attempts",
        None,
        "the paper: linearizable Prepare, one winner a slot",
        "The same slot (or, where slots have no names, the same sink key) was admitted to two "
        "different attempts without having been given back. A total hides this where b is at "
        "least the number of callers. A takeover is legal where the declaration says so.",
        "The candidate is selected by a subquery and updated without checking its state again; "
        "or a reaper freed the unit while its holder was only slow.",
        "Repeat the state in the WHERE of the update, or lock the row when it is selected.",
        _one_attempt,
    ),
)
