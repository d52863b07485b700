"""AO7xx, durability and audit: acknowledged is durable, refused stays undone, the chain grows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from ...targets.terms import SlotView
from ..story import LabelStory, Reading, Story
from ..story.calls import FOREVER, CallStory
from ..story.changes import surely_changed
from ..story.withdrawals import one_record
from .ruling import Check, Docket, Ruling

_KEEPS_HELD = ("none", "takeover", "in_doubt")
"""What ``lapse`` may be for a held unit to be still there after any time."""


def _acknowledged(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        if not label.single or len(label.records) > 1:
            continue
        for reading in label.readings:
            if reading.says_units and (reading.known or story.facts.retention_s is None):
                _record_kept(story, label, reading, docket)
                _units_kept(story, label, reading, docket)
    return docket.ruling()


def _record_kept(story: Story, label: LabelStory, reading: Reading, docket: Docket) -> None:
    issued = [c for c in label.of("issue") if c.acknowledged and c.ended < reading.began]
    if not issued or story.facts.issues != "stored":
        return
    docket.tried(1 if story.killed_between(issued[0].ended, reading.began) else 0)
    if not reading.known:
        docket.breach(
            label.label,
            "records acknowledged = 1 > records durable = 0",
            "a record whose Issue was acknowledged survives",
            f"the view ({reading.moment}) knows no such record",
            (issued[0].ended, reading.at),
        )


def _units_kept(story: Story, label: LabelStory, reading: Reading, docket: Docket) -> None:
    """Compare what was acknowledged as admitted and as committed with what the view shows."""
    heard = {c.ended for c in label.of("prepare") if c.acknowledged}
    ran = {c.owner for c in label.of("execute") if c.acknowledged and c.ended < reading.began}
    admitted, committed = [], []
    for a in label.admissions:
        if a.freed <= reading.at or a.release_asked:
            continue
        heard_of = any(e.kind == "reply" and e.at in heard for e in a.evidence)
        if a.committed < reading.began and _commit_heard(label, a.committed):
            committed.append(a)
        if a.since < reading.began and (
            heard_of or any(e.kind == "entry" and e.owner in ran for e in a.evidence)
        ):
            admitted.append(a)
    if story.facts.lapse not in _KEEPS_HELD:
        admitted = committed
    struck = any(story.killed_between(a.since, reading.began) for a in (*admitted, *committed))
    docket.tried(1 if struck else 0)
    slots = reading.slots
    for wanted, states, word in (
        (admitted, ("prepared", "committed", "in_doubt"), "admitted"),
        (committed, ("committed",), "committed"),
    ):
        missing = [a for a in wanted if a.slot and slots and _state(slots, a.slot) not in states]
        durable = reading.count(*states)
        if len(wanted) > durable or missing:
            docket.breach(
                label.label,
                f"units acknowledged as {word} = {len(wanted)} > durable = "
                f"{min(durable, len(wanted) - len(missing))}",
                f"a unit that was acknowledged as {word} survives",
                f"the view ({reading.moment}) shows {durable} {word}"
                + "".join(f"; {a.name} is not among them" for a in missing),
                (*(a.since for a in wanted), reading.at),
            )
            return


def _commit_heard(label: LabelStory, at: int) -> bool:
    return any(c.acknowledged and c.ended == at for c in label.of("commit"))


def _state(slots: Mapping[str, SlotView], name: str) -> str | None:
    slot = slots.get(name)
    return slot.state if slot is not None else None


def _refused(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        refused = _turned_away(label)
        docket.tried(len(refused))
        for owner, calls in refused.items():
            at = _appeared(label, owner, calls)
            if at is not None:
                docket.breach(
                    label.label,
                    f"units or effects of the refused {owner} = 1 > 0",
                    "what was definitely refused never happens unless it is asked for again",
                    f"every reply to {owner} was a refusal or Busy; later it shows",
                    (*(c.ended for c in calls), at),
                )
        _refused_by_count(label, refused, docket)
    return docket.ruling()


def _turned_away(label: LabelStory) -> dict[str, list[CallStory]]:
    """Owners whose every call was definitely refused, or answered Busy, with these calls. Not where
    the refusal is the sink's, and the unit is kept to be sent once more."""
    found: dict[str, list[CallStory]] = {}
    others: set[str] = set()
    for call in label.uses():
        found.setdefault(call.owner, []).append(call)
        if call.outcome not in ("refused", "busy") or call.keeps:
            others.add(call.owner)
    return {owner: calls for owner, calls in found.items() if owner not in others}


def _appeared(label: LabelStory, owner: str, calls: list[CallStory]) -> int | None:
    """When an admission or an application of this owner was seen."""
    mine = {c.invoked.call for c in calls}
    for admitted in label.admissions:
        if admitted.freed < FOREVER:
            continue  # entered, and definitely without effect: a refusal is true of it
        for e in admitted.evidence:
            if owner in (e.owner, e.admission.attempt or e.attempt):
                return e.at
    for application in label.applications:
        effect = application.effect
        if effect is not None and effect.event.call in mine:
            return application.at
    return None


def _refused_by_count(
    label: LabelStory, refused: dict[str, list[CallStory]], docket: Docket
) -> None:
    """A view with more units taken than anybody but the refused can have taken."""
    if not refused or not label.single or label.asked("delegate", before=FOREVER):
        return
    recoveries = [a.since for a in label.admissions if a.evidence[0].kind == "resume"]
    for reading in label.readings:
        possible = len(label.possible_owners_at(reading))
        asked = [c for calls in refused.values() for c in calls if c.began < reading.at]
        if not asked or any(at < reading.at for at in recoveries) or label.unnamed:
            continue
        if _asked_twice(label, reading):
            continue  # then a repetition may have taken the unit: that is AO303, AO803
        workers = sum(1 for a in label.admissions if a.evidence[0].owner is None)
        if reading.admitted > possible + workers:
            docket.breach(
                label.label,
                f"units taken = {reading.admitted} > attempts not refused = {possible}",
                "what was definitely refused takes no unit",
                f"the view ({reading.moment}) shows {reading.admitted} units taken, and only "
                f"{possible} attempt(s) were not refused",
                (*(c.ended for c in asked), reading.at),
            )


def _asked_twice(label: LabelStory, reading: Reading) -> bool:
    owners = [c.owner for c in label.uses() if c.began < reading.at and not c.took_nothing]
    return len(owners) > len(set(owners))


def _audit_grows(story: Story) -> Ruling:
    docket = Docket()
    changes = list(surely_changed(story))
    for before, after in pairwise(story.audits):
        if not story.keeps_until(before.began, after.at):
            continue
        inside = [c for c in changes if c.began > before.at and c.ended < after.began]
        docket.tried(len(inside))
        grown = after.view.count - before.view.count
        if 0 <= grown < len(inside):
            docket.breach(
                inside[0].invoked.label or "(audit)",
                f"audit records added = {grown} < operations = {len(inside)}",
                "each operation that changed the ledger left at least one record",
                ", ".join(f"{c.op} (call {c.invoked.call})" for c in inside)
                + f" were acknowledged; the count went {before.view.count} -> {after.view.count}",
                (before.at, *(c.ended for c in inside), after.at),
            )
    _audit_complete(story, docket)
    return docket.ruling()


def _audit_complete(story: Story, docket: Docket) -> None:
    """From the first copy to the last, a record for each transition that the last views show: also
    for one of which nobody heard, and which nobody asked for again."""
    if len(story.audits) < 2:
        return
    first, last = story.audits[0], story.audits[-1]
    calls = [c for c in story.calls.values() if c.op not in ("open", "audit")]
    inside = all(c.began > first.at and (c.took_nothing or c.ended < last.began) for c in calls)
    if not inside or not story.keeps_until(first.began, last.at):
        return
    shown = {label.label: _transitions(story, label) for label in story.labels}
    grown, needed = last.view.count - first.view.count, sum(shown.values())
    docket.tried(needed)
    if 0 <= grown < needed:
        docket.breach(
            next(label for label, count in shown.items() if count),
            f"audit records added = {grown} < transitions shown = {needed}",
            "each operation that changed the ledger left at least one record",
            f"the last view shows {needed} transitions (issued, admitted, committed); the count "
            f"went {first.view.count} -> {last.view.count}",
            (first.at, last.at, *(r.at for r in (x.final for x in story.labels) if r is not None)),
        )


def _transitions(story: Story, label: LabelStory) -> int:
    """The fewest operations that can have led to what the last view shows."""
    final = label.final
    if final is None or not final.known or not final.says_units or not one_record(label):
        return 0
    issued = story.facts.issues == "stored" and any(True for _ in label.of("issue"))
    committing = {c.owner for c in label.of("commit") if not c.took_nothing}
    settled = label.unnamed or any(
        e.kind == "settled" for a in label.admissions for e in a.evidence
    )
    committed = 0 if settled else min(final.count("committed"), len(committing))
    return issued + final.admitted + committed


def _audit_holds(story: Story) -> Ruling:
    docket = Docket()
    seen: dict[str, int] = {}
    last = None
    for copy in story.audits:
        docket.tried()
        view = copy.view
        wrong = ""
        if not view.chain_ok:
            wrong = "the chain does not verify"
        elif last is not None and copy.began > last.at and story.keeps_until(last.began, copy.at):
            if view.count < last.view.count:
                wrong = f"the count shrank: {last.view.count} -> {view.count}"
            elif view.count == last.view.count and view.head != last.view.head:
                wrong = f"another head for the same {view.count} records"
            elif seen.get(view.head, view.count) != view.count:
                wrong = f"the head of {seen[view.head]} records is back, at {view.count}"
        if wrong:
            docket.breach(
                "(audit)",
                f"audit chain: {wrong}",
                "records are only ever appended, each linked to the one before",
                f"at {copy.moment}: {wrong}",
                (*((last.at,) if last is not None else ()), copy.at),
            )
        seen[view.head] = view.count
        last = copy
    return docket.ruling()


CHECKS = (
    Check(
        "AO701",
        "what was acknowledged is gone",
        "durable_process",
        "the paper: storage is synced before the reply",
        "The ledger acknowledged an Issue, a Prepare or a Commit, its client heard it, and a "
        "later reading of the ledger does not show it.",
        "The reply is sent before COMMIT, an error of COMMIT is swallowed, or the state lives in "
        "memory.",
        "Reply only after COMMIT returned without an error; treat every error of COMMIT as "
        "unknown.",
        _acknowledged,
    ),
    Check(
        "AO702",
        "what was refused happened all the same",
        None,
        "the paper: a refusal is definite",
        "Every reply to an attempt was a refusal or Busy, and it was not asked for again; later "
        "it holds a unit or has an effect.",
        "A time-out or a lock error after the write is reported as a refusal.",
        "Report as refused only what was rolled back for certain; say unknown otherwise.",
        _refused,
    ),
    Check(
        "AO703",
        "an operation left no audit record",
        "audit",
        "the paper: every transition appends to the audit chain",
        "Between two copies of the audit head the count grew by less than the number of "
        "acknowledged operations that changed the ledger (a Delegate that gave units away and a "
        "Close that took some back are such), or, from the first copy to the last, by less than "
        "the transitions that the last view shows. Repetitions are not counted.",
        "The audit row is written in a transaction of its own, or its failure is only logged.",
        "Append the record in the transaction of the transition that it describes.",
        _audit_grows,
    ),
    Check(
        "AO704",
        "the audit chain was cut or altered",
        "audit",
        "the paper: the chain cannot be cut or altered unseen",
        "The chain does not verify, its count shrank, or a head changed without a new record.",
        "Two writers append to the same predecessor, rows are deleted, or a copy was restored.",
        "Make the predecessor unique; keep count and head where the ledger cannot rewrite them.",
        _audit_holds,
    ),
)
