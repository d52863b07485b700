"""AO1xx, budget, as the sink saw it: effects against b, admissions and requests.

Effects are counted on the idempotent sink only: on the control sink a correct ledger that sends
again doubles its effects, and that judges the sink. Everything unknown counts as admitted here,
because it excuses.
"""

from __future__ import annotations

from bisect import bisect_left

from ..story import Admitted, EffectStory, LabelStory, Reading, Story
from ..story.calls import FOREVER
from .ruling import Check, Docket, Ruling


def _applied(story: Story) -> Ruling:
    docket = Docket()
    if not story.idempotent:
        return docket.ruling()
    for label in story.labels:
        effects = len(label.applications)
        docket.tried(effects)
        at = tuple(a.at for a in label.applications)
        if label.bound is not None and effects > label.bound:
            docket.breach(
                label.label,
                f"N_effect = {effects} > b = {label.bound}",
                f"at most {label.bound} effects under this approval",
                f"the sink applied {effects}",
                at,
            )
        possible = _possible_admissions(label)
        if possible is not None and effects > possible:
            docket.breach(
                label.label,
                f"N_effect = {effects} > N_admit = {possible}",
                "each effect belongs to an admission of its own",
                f"the sink applied {effects}; at most {possible} units can have been admitted",
                at,
            )
    return docket.ruling()


def _possible_admissions(label: LabelStory) -> int | None:
    """At most so many units were ever admitted, counting all that is not known; None: no idea."""
    if label.unnamed:
        return None
    owners = label.possible_owners(before=FOREVER)
    proven = {e.owner for a in label.admissions for e in a.evidence}
    # an admission that names nobody is that of an attempt whose reply is unknown, if there is one
    nobodys = sum(1 for a in label.admissions if all(e.owner not in owners for e in a.evidence))
    attempts = len(owners) + max(0, nobodys - len(owners - proven))
    # one attempt that was given two units was admitted twice, wrong as that is
    return max(attempts, len(label.admissions))


def _before_admission(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        whole = label.single and len(label.records) <= 1  # a reading shows one record
        for reading in label.readings if whole else ():
            if not reading.says_units:
                continue
            if not reading.known and story.facts.retention_s is not None:
                continue
            standing = [e for e in label.effects if _stands(e, story, reading)]
            units = _units(label, standing, story.header.guarded)
            if not standing or any(a is not None and a.freed <= reading.at for a in units):
                continue
            docket.tried()
            free = [a for a in units if a is not None and _shown_free(a, reading)]
            # without a name to tell them apart, several requests may serve one admission
            needed = max(1, len(units - {None}))
            if reading.admitted < needed or free:
                docket.breach(
                    label.label,
                    f"N_effect = {needed} > N_admit = {min(reading.admitted, needed - len(free))}",
                    "a unit is durably admitted before its effect is sent, and stays so",
                    f"{needed} effect(s) stood at the sink while the view ({reading.moment}) "
                    f"showed {reading.admitted} unit(s) taken"
                    + "".join(f", and {a.name} free" for a in free),
                    (*(e.sent for e in standing), reading.at),
                )
    return docket.ruling()


def _stands(effect: EffectStory, story: Story, reading: Reading) -> bool:
    """The effect was applied, or stands held at the sink for a call that waits for it."""
    if effect.sent >= reading.began or effect.refused <= reading.at:
        return False
    # what the target does not claim to survive may have taken the admission with it
    if not story.keeps_until(effect.sent, reading.at):
        return False
    if effect.applied and effect.applied[0] < reading.began:
        return True
    waits = effect.call is not None and effect.call.ended > reading.at
    return effect.held_at(reading.began) and effect.held_at(reading.at) and waits


def _units(label: LabelStory, effects: list[EffectStory], guarded: bool) -> set[Admitted | None]:
    """The admissions that these effects were sent for; None stands for those that name none."""
    found: set[Admitted | None] = set()
    for effect in effects:
        call = effect.call
        about = call.invoked.admission if call is not None else None
        if guarded:
            found.add(label.book.of_effect(effect.event.number))
        elif about is None:
            found.add(None)
        else:
            found.add(label.book.used_at(about, effect.attempt, effect.sent))
    return found


def _shown_free(admitted: Admitted, reading: Reading) -> bool:
    slot = reading.slots.get(admitted.slot or "")
    return slot is not None and slot.state in ("issued", "revoked")


def _one_per_request(story: Story) -> Ruling:
    docket = Docket()
    if not story.idempotent:
        return docket.ruling()
    for label in story.labels:
        begun = sorted(_requests_begun(label).values())
        docket.tried(len(label.applications))
        for count, application in enumerate(label.applications, 1):
            known = bisect_left(begun, application.at)
            if count > known:
                docket.breach(
                    label.label,
                    f"N_effect = {count} > requests = {known}",
                    "one effect for each thing that the user wanted done",
                    f"the sink had applied {count} when {known} request(s) had begun that were "
                    "not definitely turned away",
                    tuple(a.at for a in label.applications[:count]),
                )
                break
    return docket.ruling()


def _requests_begun(label: LabelStory) -> dict[str, int]:
    """Requests by name, with the moment at which they began, without those turned away."""
    begun: dict[str, int] = {}
    alive: set[str] = set()
    tried: set[str] = set()
    for call in label.of("issue", "prepare", "execute"):
        name = call.invoked.request or call.owner
        if call.op == "issue" and call.invoked.request is None:
            continue
        begun.setdefault(name, call.began)
        if call.op != "issue":
            tried.add(name)
            if not call.took_nothing:
                alive.add(name)
    return {name: at for name, at in begun.items() if name in alive or name not in tried}


CHECKS = (
    Check(
        "AO103",
        "more effects than approved or admitted",
        None,
        "the paper: bounded effects, N_effect <= N_admit",
        "The idempotent sink applied more effects under one label than b, or more than the "
        "units that can have been admitted, with everything unknown counted as admitted.",
        "A resent effect carries another key (a new uuid, an attempt number), so that even an "
        "idempotent sink cannot know it as the same.",
        "Derive the sink key from record, slot and tool alone (k = H(nu || j || tool)), or store "
        "it with the admission before the effect is sent.",
        _applied,
    ),
    Check(
        "AO105",
        "an effect without an admission behind it",
        None,
        "the paper: effects only of admitted slots; admission is durable before the effect",
        "While an effect stood at the sink, the ledger's own view had no unit taken for it: it "
        "was sent before the admission was durable, or the unit was set free under it.",
        "The effect is sent inside the transaction of Prepare, or a time-out is taken for a "
        "failure and frees the unit.",
        "Send only after the COMMIT of Prepare has returned; free a unit only on a definite "
        "non-effect.",
        _before_admission,
    ),
    Check(
        "AO106",
        "more effects than requests",
        None,
        "the paper: at most one effect for each logical request",
        "At some instant the sink had applied more effects than requests had begun, not counting "
        "requests whose every reply was a refusal, Busy, or a replay of what was done before they "
        "began. Every bound up to b can hold while one request is carried out twice.",
        "A retry or a recovery took the next unit instead of continuing the first.",
        "Store the attempt with the unit and answer a repeated attempt with it; let recovery "
        "continue the same record, slot and key.",
        _one_per_request,
    ),
)
