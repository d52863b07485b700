"""AO2xx, identity: what is applied is what was approved, and the sink key is stable.

What would be *sent* is compared with what was approved under its label, value by value and type
by type (True is not 1, nor is "1"): the suite's canonicalizer has no say in it. Only 1 and 1.0,
which are one number in JSON (RFC 8785), are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...chaos.events import SinkRequested
from ...targets.terms import Admission, Approval, Call
from ...targets.values import encode
from ..story import Admitted, LabelStory, Story
from ..story.calls import FOREVER, CallStory
from .ruling import Check, Docket, Ruling


def _stable_key(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        for name, seen in _keys_of_units(story, label).items():
            docket.tried(max(0, len(seen) - 1))
            keys = sorted({key for key, _ in seen})
            if len(keys) > 1:
                docket.breach(
                    label.label,
                    f"sink keys of {name} = {len(keys)} > 1",
                    "one unit keeps one sink key, through retries, recovery and restarts",
                    f"{name} was used with the keys {', '.join(key[:16] for key in keys)}",
                    tuple(at for _, at in seen),
                )
    return docket.ruling()


def _keys_of_units(story: Story, label: LabelStory) -> dict[str, list[tuple[str, int]]]:
    """The keys that the ledger itself gave or sent for each admission, with their moments."""
    derived = story.facts.key == "derived"
    found: dict[str, list[tuple[str, int]]] = {}
    for admitted in label.admissions:
        name = _unit_name(label, admitted, derived)
        seen = found.setdefault(name, [])
        seen += [(e.admission.key, e.at) for e in admitted.evidence if e.admission.key]
    for effect in label.effects:
        if effect.event.key is None:
            continue
        if story.header.guarded:
            unit = label.book.of_effect(effect.event.number)
            mine = effect.call is not None and effect.call.op == "execute"
        else:
            about = effect.call.invoked.admission if effect.call is not None else None
            used = label.book.used_at
            unit = used(about, effect.attempt, effect.sent) if about is not None else None
            mine = about is not None and about.key is not None
        if unit is None or not mine:
            continue
        name = _unit_name(label, unit, derived)
        found[name].append((effect.event.key, effect.sent))
    return found


def _unit_name(label: LabelStory, admitted: Admitted, derived: bool) -> str:
    """A stored key is made anew when a freed unit is admitted again; a derived one is not. Two
    confirmations of one call have slots of the same names."""
    if not (derived and admitted.slot):
        return f"{admitted.name} ({label.admissions.index(admitted) + 1})"
    return admitted.name if len(label.records) < 2 else f"{admitted.name} of {admitted.record}"


def _as_approved(story: Story) -> Ruling:
    docket = Docket()
    labels = {label.label: label for label in story.labels}
    compares = bool({"tool", "args"} & set(story.facts.binds))
    for application in story.sink.applications:
        effect = application.effect
        label = labels.get(application.label or "")
        docket.tried(1 if label is None or compares else 0)
        if label is None:
            docket.breach(
                application.label or "(none)",
                "approvals of this effect = 0 < 1",
                "every effect carries the mark of an approval",
                f"the sink applied an effect under the label {application.label!r}, "
                "which nobody approved",
                (application.at,),
            )
        elif effect is not None:
            differs = _differing_effect(story, label, effect.event)
            if differs:
                _accuse(docket, label, "an applied effect", differs, (effect.sent, application.at))
    for label in story.labels:
        for said, at in _calls_to_send(label) if story.facts.binds else ():
            docket.tried()
            differs = _differing_call(story, label, said)
            if differs:
                _accuse(docket, label, "an admitted call", differs, (at,))
        for call in label.uses():
            _presented(story, label, call, docket)
    return docket.ruling()


def _presented(story: Story, label: LabelStory, call: CallStory, docket: Docket) -> None:
    """A call that was presented otherwise than approved, judged by what would be sent: the call
    that the admission says, else the presented one. Of a guarded ledger the effect shows tool and
    arguments; the rest of what it compares can only be seen here."""
    presented = call.invoked.presented
    if presented is None or call.replied is None:
        return
    differs = _differing_call(story, label, presented)
    if not differs or (story.header.guarded and differs in ("tool", "args")):
        return
    docket.tried()
    said_another = isinstance(call.said, Admission) and call.said.call is not None
    at = admitted_by(story, label, call)
    if at is not None and not said_another:
        _accuse(docket, label, "an admitted call", differs, (call.began, at))


def admitted_by(story: Story, label: LabelStory, call: CallStory) -> int | None:
    """When this very call was admitted: by its grant, or by its entry into the effect."""
    if isinstance(call.said, Admission):
        return call.ended
    if not story.header.guarded:
        return None
    entries = (e.sent for e in label.effects if e.call is call and e.refused == FOREVER)
    return next(entries, None)


def _accuse(
    docket: Docket, label: LabelStory, what: str, differs: str, at: tuple[int, ...]
) -> None:
    docket.breach(
        label.label,
        f"{what} differs from the approved call in: {differs}",
        "exactly the call that was displayed and confirmed",
        f"{what} under {label.label} with another {differs}",
        at,
    )


def _calls_to_send(label: LabelStory) -> Iterator[tuple[Call, int]]:
    for admitted in label.admissions:
        for e in admitted.evidence:
            if e.admission.call is not None:
                yield e.admission.call, e.at


def _differing_effect(story: Story, label: LabelStory, sent: SinkRequested) -> str:
    """The bound field in which the effect differs from every approval of its label, or ""."""
    found = [
        _first_difference(story, approval, {"tool": sent.tool, "args": sent.args})
        for approval in label.approvals
    ]
    return "" if "" in found else found[0]


def _differing_call(story: Story, label: LabelStory, said: Call) -> str:
    fields = ("tool", "args", "principal", "resource", "tool_version")
    values = {name: getattr(said, name) for name in fields}
    found = [_first_difference(story, approval, values) for approval in label.approvals]
    return "" if "" in found else found[0]


def _first_difference(story: Story, approval: Approval, values: dict[str, object]) -> str:
    """A field that the ledger does not claim to bind is not judged: it says so by ``binds``."""
    for name, value in values.items():
        if name in story.facts.binds and not same(getattr(approval.call, name), value):
            return name
    return ""


def same(first: object, second: object) -> bool:
    """Whether two values are one: see ``_alike``."""
    return _alike(encode(first), encode(second))


def _alike(first: object, second: object) -> bool:
    """Equal as tagged JSON: also the same type at every leaf, in the same place."""
    if {type(first), type(second)} == {int, float}:
        return bool(first == second)
    if type(first) is not type(second):
        return False
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_alike(first[k], second[k]) for k in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_alike, first, second))
    return bool(first == second)


def _different_keys(story: Story) -> Ruling:
    docket = Docket()
    users: dict[str, tuple[str, str, str, int]] = {}
    slots: set[tuple[str, str, str]] = set()
    for label in story.labels:
        for admission, at in _keyed_slots(label):
            key, slot = admission.key or "", admission.slot or ""
            first = users.setdefault(key, (label.label, admission.record, slot, at))
            slots.add((label.label, admission.record, slot))
            if first[:3] != (label.label, admission.record, slot):
                docket.breach(
                    label.label,
                    f"slots with the sink key {key[:16]} = 2 > 1",
                    "each slot has a sink key of its own",
                    f"slot {first[2]} of {first[0]} and slot {slot} of {label.label} share it: "
                    "the sink would take the second effect for the first",
                    (first[3], at),
                )
    docket.tried(max(0, len(slots) - 1))  # it takes two to share
    _across_records(story, docket)
    if story.header.guarded and story.claims("attempt_identity"):
        for label in story.labels:
            _across_requests(label, docket)
    return docket.ruling()


def _across_requests(label: LabelStory, docket: Docket) -> None:
    """A guarded ledger names no units, but a request that was carried out has one of its own. Who
    asks after it was answered can have none of it: what is done passes to nobody."""
    users: dict[str, CallStory] = {}
    for effect in sorted(label.effects, key=lambda e: e.sent):
        call, key = effect.call, effect.event.key
        if call is None or call.op != "execute" or not call.granted or not key:
            continue
        first = users.setdefault(key, call)
        if first.owner == call.owner or first.ended > call.began:
            continue
        docket.breach(
            label.label,
            f"requests done under the sink key {key[:16]} = 2 > 1",
            "each unit has a sink key of its own",
            f"{first.owner} was carried out and answered, and then {call.owner} under the same "
            "key: the sink takes the second effect for the first",
            (first.ended, call.ended),
        )
    docket.tried(max(0, len(users) - 1))


def _across_records(story: Story, docket: Docket) -> None:
    """Where units have no names, two attempts of one record that share a key are one admission
    (AO104); two records that share one are two approvals, of which the sink carries out one."""
    users: dict[str, tuple[str, str, int]] = {}
    records: set[tuple[str, str]] = set()
    for label in story.labels:
        for admission, at in _keyed_without_slot(label):
            key, mine = admission.key or "", (label.label, admission.record)
            first = users.setdefault(key, (*mine, at))
            records.add(mine)
            if first[:2] != mine:
                docket.breach(
                    label.label,
                    f"records with the sink key {key[:16]} = 2 > 1",
                    "no two records share a sink key",
                    f"{first[1][:16]} of {first[0]} and {admission.record[:16]} of {label.label} "
                    "share it: the sink would take the second effect for the first",
                    (first[2], at),
                )
    docket.tried(max(0, len(records) - 1))


def _keyed_without_slot(label: LabelStory) -> Iterator[tuple[Admission, int]]:
    """Of the records that Issue answered: a child's is its root's under another name."""
    for admitted in label.admissions:
        for e in admitted.evidence:
            named = e.admission.slot or e.admission.record not in label.records
            if e.admission.key and not named:
                yield e.admission, e.at


def _keyed_slots(label: LabelStory) -> Iterator[tuple[Admission, int]]:
    for admitted in label.admissions:
        for e in admitted.evidence:
            if e.admission.slot and e.admission.key:
                yield e.admission, e.at
    if label.single and len(label.records) == 1:
        record = next(iter(label.records))
        for reading in label.readings:
            for slot in reading.slots.values():
                if slot.key:
                    yield Admission(record, slot.slot, slot.key), reading.at


CHECKS = (
    Check(
        "AO201",
        "the sink key of a unit changed",
        "key",
        "the paper, equation 9: k = H(nu || j || tool)",
        "One admission appeared with two different sink keys: in replies to its attempt, in what "
        "recovery asks to resend, in the ledger's view, or in requests at the sink.",
        "The key contains an attempt number, a uuid or a time, or recovery makes a new one.",
        "Compute the key from record, slot and tool alone, or store it in the transaction that "
        "admits the unit and read it from there ever after.",
        _stable_key,
    ),
    Check(
        "AO202",
        "what was done is not what was approved",
        None,
        "the paper, equation 1: sigma binds principal, operation, arguments and resource",
        "An effect that the sink applied, or the call that an admission says is to be sent, "
        "differs from the call approved under its label in a field that the ledger claims to "
        "bind; or a request was admitted that presented such a call, and the ledger does not say "
        "that another one is to be sent; or the effect carries no label that anybody approved. "
        "Values are compared deeply and by type: True is not 1.",
        "Prepare compares an identifier only, or the arguments with ==, or a canonicalizer drops "
        "what it does not understand.",
        "Recompute sigma over the complete call at Prepare, and send the stored call rather than "
        "the presented one.",
        _as_approved,
    ),
    Check(
        "AO203",
        "two slots share one sink key",
        "key",
        "the paper, equation 9: different keys for different (nu, j, tool)",
        "The ledger gave the same sink key to two slots (or, where slots have no names, under two "
        "records; or to two requests that it carried out itself, one after the other). An "
        "idempotent sink then swallows the second effect, or refuses it as another payload, while "
        "the ledger counts both as done.",
        "The parts of the key are joined without lengths (a + 11 = a1 + 1), cut short, or the "
        "record or the slot is left out.",
        "Prefix each part with its length before hashing, and keep the whole digest.",
        _different_keys,
    ),
)
