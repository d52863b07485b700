"""AO405 and AO406: the answers about one budget have an order that explains all of them.

The histories that the special judge decides exactly are those in which units are only ever used
up (``member``): no release, no lease that frees, no takeover, no children, no expiry, no definite
non-effect, every admission of a known request. Others are not judged here, and count no
opportunity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...targets.replies import Refused, Revoked
from ..judges import contradicts
from ..judges.budget import Cause, Operation, Prepare, Revoke, explain
from ..story import Admitted, LabelStory, Story
from ..story.calls import FOREVER, CallStory
from ..story.withdrawals import MARGIN_S, Clocks, one_record, root_revokes
from .ruling import Check, Docket, Ruling

_CAUSES: Final[dict[str, Cause]] = {"exhausted": "exhausted", "revoked": "revoked"}

Placed = tuple[Operation, int]
"""An operation, and the event that shows it."""


def member(story: Story, label: LabelStory) -> bool:
    """Whether the label's history is monotone, and everything in it has an owner."""
    facts = story.facts
    if not one_record(label) or label.bound is None or label.may_expire or label.unnamed:
        return False
    if facts.lapse not in ("none", "takeover") or facts.retention_s is not None:
        return False
    if facts.lapse == "takeover" and not all(_has_one_owner(a) for a in label.admissions):
        return False
    if label.asked("release", "close", "delegate", before=FOREVER):
        return False
    if any(e.refused < FOREVER for e in label.effects):
        return False
    owners = label.possible_owners(before=FOREVER)
    return all(any(e.owner in owners for e in a.evidence) for a in label.admissions)


def _has_one_owner(admitted: Admitted) -> bool:
    """It has a name by which a takeover would be seen, and nobody took it over."""
    named = bool(admitted.slot or admitted.key)
    return named and len({e.owner for e in admitted.evidence} - {None}) <= 1


def operations(story: Story, label: LabelStory, *, precise: bool) -> list[Placed]:
    """What was asked of a member's budget. ``precise``: refusals must have the cause they name."""
    owners: dict[str, int] = {}
    for call in label.uses():
        if not call.took_nothing:
            owners[call.owner] = min(call.began, owners.get(call.owner, FOREVER))
    proven = {
        e.owner: a.since
        for a in reversed(label.admissions)
        for e in a.evidence
        if e.owner in owners
    }
    found: list[Placed] = []
    for owner, began in owners.items():
        if owner in proven:
            found.append((Prepare("granted", began, proven[owner]), proven[owner]))
        else:
            found.append((Prepare("unknown", began), began))
    there = _there_since(story, label)
    met: set[str] = set()
    for call in label.uses():
        again = call.owner in met
        met.add(call.owner)
        if call.began < there:
            continue  # whoever asks for what was never issued may be told that nothing is left
        if call.honest and call.owner not in owners and call.invoked.context is None:
            found += _refusal(story, call, precise=precise, again=again)
    counts, stops = story.claims("revoke_counts"), story.claims("revoke")
    for call in root_revokes(label):  # one that promises nothing may still be why units are gone
        found.append(_revoke(call, counts=counts) if stops else (Revoke(call.began), call.began))
    return found


def _there_since(story: Story, label: LabelStory) -> int:
    """From when on the record is known to be there: it was acknowledged, or seen."""
    if "issue" not in story.header.operations:
        return -1
    acknowledged = [call.ended for call in label.of("issue") if call.acknowledged]
    seen = [reading.at for reading in label.readings if reading.known]
    return min((*acknowledged, *seen), default=FOREVER)


def _refusal(story: Story, call: CallStory, *, precise: bool, again: bool) -> list[Placed]:
    """A refusal for another cause (held, in doubt, …) is no statement about the budget. One that
    names no cause must have some: of the causes that a member's history can have, one of these
    two. It is judged where nothing stood in its way, where it is not said to be for now, and
    not ``again``: a token that was turned away once may be turned away for that. To be told that it
    was done before is no more for who asks for the first time."""
    said = call.value
    if call.outcome == "replayed":
        new = not again and not call.meanwhile and story.claims("attempt_identity")
        judged = new and story.undisturbed(call.began, call.ended)
        return [(Prepare("refused", call.began, call.ended, "any"), call.ended)] if judged else []
    if not isinstance(said, Refused):
        return []
    cause = _CAUSES.get(said.code)
    if cause is None and (again or not _is_causeless(story, call, said)):
        return []
    if cause is None:
        return [(Prepare("refused", call.began, call.ended, "any"), call.ended)]
    return [(Prepare("refused", call.began, call.ended, cause if precise else "any"), call.ended)]


def _is_causeless(story: Story, call: CallStory, said: Refused) -> bool:
    for_good = said.code == "unspecified" and said.retryable is not True
    return for_good and story.undisturbed(call.began, call.ended)


def _revoke(call: CallStory, *, counts: bool) -> Placed:
    said = call.value
    if not call.acknowledged or not isinstance(said, Revoked):
        return Revoke(call.began), call.began
    stopped = said.stopped if counts else None
    count = len(stopped) if isinstance(stopped, tuple) else stopped
    return Revoke(call.began, call.ended, count), call.ended


def _linearizable(story: Story) -> Ruling:
    return _judge(story, Docket(), precise=False)


def _precise(story: Story) -> Ruling:
    docket = Docket()
    _expired_in_time(story, docket)
    return _judge(story, docket, precise=True)


def _expired_in_time(story: Story, docket: Docket) -> None:
    """Refused as expired while t_e, with the clock's error, was still to come."""
    clocks = Clocks.of(story.history)
    for label in story.labels:
        ends = [a.validity.expires_s for a in label.approvals]
        known = [end for end in ends if end is not None]
        if not known or len(known) < len(ends):
            continue
        first_s = min(known)
        for call in label.uses():
            now_s = clocks.at_s(call.invoked.node, call.ended_ns)
            if now_s is None or not isinstance(call.value, Refused):
                continue
            left_s = first_s - now_s - story.facts.clock_error_s - MARGIN_S
            if left_s <= 0:
                continue
            docket.tried()
            if call.value.code == "expired":
                docket.breach(
                    label.label,
                    f"seconds until t_e = {first_s - now_s:.3f} > 0",
                    "what is refused as expired has expired",
                    f"{call.owner} was refused (expired) when the clock of its node showed less",
                    (call.began, call.ended),
                )


def _judge(story: Story, docket: Docket, *, precise: bool) -> Ruling:
    for label in story.labels:
        if not member(story, label):
            continue
        asked = operations(story, label, precise=precise)
        b = label.bound or 0
        if sum(isinstance(op, Prepare) and op.kind == "granted" for op, _ in asked) > b:
            continue  # AO102 says so
        docket.tried(sum(_binds(op) for op, _ in asked))
        if not contradicts(b, [op for op, _ in asked]):
            continue
        if precise and not _lawful(story, label):
            continue  # AO405 says so: no cause at all would do
        culprits = _culprits(b, asked)
        docket.breach(
            label.label,
            "orders that explain every answer = 0 < 1",
            "the answers have an order, within their intervals, in which each of them is right"
            + (", and each refusal has the cause that it names" if precise else ""),
            "; ".join(_shown(op) for op, _ in culprits)
            + f": no order of the rest allows it, b = {b}",
            tuple(at for _, at in (*culprits, *(p for p in asked if _is_granted(p)))),
        )
    return docket.ruling()


def _lawful(story: Story, label: LabelStory) -> bool:
    asked = operations(story, label, precise=False)
    return explain(label.bound or 0, [op for op, _ in asked]) is not None


def _binds(op: Operation) -> bool:
    """It could contradict the others."""
    return not op.unknown if isinstance(op, Revoke) else op.kind == "refused"


def _is_granted(placed: Placed) -> bool:
    op, _ = placed
    return isinstance(op, Prepare) and op.kind == "granted"


def _culprits(b: int, asked: Sequence[Placed]) -> list[Placed]:
    """Answers without which the rest could be explained; all that bind, where none is alone."""
    alone = [
        placed
        for placed in asked
        if _binds(placed[0])
        and explain(b, [op for op, _ in asked if op is not placed[0]]) is not None
    ]
    return alone[:2] or [placed for placed in asked if _binds(placed[0])][:4]


def _shown(op: Operation) -> str:
    if isinstance(op, Revoke):
        return "a Revoke" + (f" that stopped {op.stopped}" if op.stopped is not None else "")
    return "a refusal" + (f" ({op.cause})" if op.cause != "any" else "")


CHECKS = (
    Check(
        "AO405",
        "the answers about one budget contradict each other",
        None,
        "the paper, table 2: Issue, Prepare, Revoke and Commit of one record are linearizable",
        "There is no order of the operations, each at an instant between its invocation and its "
        "reply, that explains every answer: a refusal as exhausted or revoked when neither can "
        "have been so, an attempt told that it was done before when it asked for the first time "
        "and units were left, a Revoke that counts what cannot have been free. Unknown operations "
        "may have happened at any time, or never.",
        "An answer is computed from another transaction than the one that decides; a lock error "
        "is reported as exhausted.",
        "Answer from what was read under the lock; report contention as Busy.",
        _linearizable,
    ),
    Check(
        "AO406",
        "a refusal names a cause that did not hold",
        "precise_codes",
        "the paper, table 6: a structured denial names its cause",
        "Some cause for the refusal held, but not the one that its code names: exhausted while a "
        "unit was free, revoked when no Revoke had been asked for, or expired before t_e.",
        "The code is found by a second look after the refusal, or one code stands for several "
        "conditions in one WHERE.",
        "Decide and name the cause in one transaction.",
        _precise,
    ),
)
