"""AO4xx, order: after a Revoke, and after t_e, nothing new is admitted; what was, runs on.

Judged on intervals first: a call that began when the Revoke had been acknowledged. Intervals alone
would acquit a caller that waited for a lock and was let in behind the acknowledgement; a reading
of the ledger made right after it convicts that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...targets.declaration import Facts
from ...targets.replies import Refused
from ..story import Admitted, LabelStory, Reading, Story
from ..story.calls import FOREVER, CallStory
from ..story.withdrawals import (
    Clocks,
    acknowledged_revokes,
    calls_behind,
    granted_by,
    one_record,
    root_revokes,
)
from .revoke_answers import judge_answers
from .ruling import Check, Docket, Ruling

LateAdmission = tuple[Admitted, str, tuple[int, ...]]
"""A unit that was admitted too late, why that is certain, and the events that show it."""


def _after_revoke(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        revokes = acknowledged_revokes(label)
        if not revokes or not one_record(label):
            continue
        revoke = revokes[0]
        docket.tried(sum(c.ended > revoke.ended and _of_the_root(c) for c in label.uses()))
        for admitted, why, at in admitted_behind(story, label, revoke, _of_the_root):
            docket.breach(
                label.label,
                "units admitted after an acknowledged Revoke = 1 > 0",
                "once Revoke is acknowledged, no unit is admitted that was not before",
                f"{admitted.name} was admitted after the acknowledgement: {why}",
                (revoke.ended, *at),
            )
    return docket.ruling()


def _of_the_root(call: CallStory) -> bool:
    """Children, who present a context of their own, are judged as such (AO503)."""
    return call.invoked.context is None or not call.honest


def admitted_behind(
    story: Story, label: LabelStory, revoke: CallStory, concerns: Callable[[CallStory], bool]
) -> Iterator[LateAdmission]:
    """Units that calls of this kind took after the acknowledgement: they began later, or a reading
    behind it shows that they had nothing yet."""
    readings = [r for r in label.readings if r.began > revoke.ended and r.says_units]
    if not story.keeps_until(revoke.began, FOREVER):
        readings = []
    for admitted in label.admissions:
        calls = _taken_by(story, label, admitted)
        if not calls or not all(concerns(call) for call in calls):
            continue
        if all(call.began > revoke.ended for call in calls):
            why = f"{calls[0].owner} asked for it later"
            yield admitted, why, (calls[0].began, admitted.since)
            continue
        for reading in readings:
            if _taken_since(story, label, admitted, reading):
                why = (
                    f"the view ({reading.moment}), read behind it, shows {reading.admitted} "
                    "unit(s) taken, and this one is none of them"
                )
                yield admitted, why, (reading.at, admitted.evidence[-1].at)
                break


def _taken_by(story: Story, label: LabelStory, admitted: Admitted) -> list[CallStory]:
    """The calls by which an admission may have been taken; none where that is not known."""
    first = granted_by(admitted)
    nameless = admitted.slot is None and admitted.key is None
    if first is None or first.owner is None or (story.facts.lapse == "takeover" and nameless):
        return []
    return list(calls_behind(label, first.owner))


def _taken_since(story: Story, label: LabelStory, admitted: Admitted, reading: Reading) -> bool:
    """The reading shows that the unit is not taken, and it is taken later. What may have been
    taken before, and then overwritten or given back, is no such unit."""
    if admitted.release_asked or admitted.freed < FOREVER:
        return False
    later = [e for e in admitted.evidence if e.at > reading.at]
    if reading.view.slots is not None:
        slot = reading.slots.get(admitted.slot or "")
        if slot is None or not later:
            return False
        shown = any(e.kind in ("reading", "resume", "settled") for e in later)
        return slot.state == "issued" or (slot.state == "revoked" and shown)
    if story.facts.lapse not in ("none", "in_doubt") or label.unnamed:
        return False
    kept = [a for a in label.admissions if a.freed == FOREVER and not a.release_asked]
    after = [r for r in label.readings if r.began > reading.at and r.says_units]
    grew = len(kept) > reading.admitted and all(r.admitted >= len(kept) for r in after)
    return grew and admitted.since > reading.at


def _after_expiry(story: Story) -> Ruling:
    docket = Docket()
    clocks = Clocks.of(story.history)
    for label in story.labels:
        if not one_record(label):
            continue
        expires_s = label.approvals[0].validity.expires_s
        if expires_s is None:
            continue
        late = {c.invoked.call for c in label.uses() if clocks.expired(c, expires_s, story.facts)}
        crossing = _crossing(label, clocks, expires_s, story.facts)
        docket.tried(len(late) + len(crossing))
        for admitted in label.admissions:
            calls = _taken_by(story, label, admitted)
            if calls and all(c.invoked.call in late for c in calls):
                why = (
                    f"who asked when its node's clock showed "
                    f"{_shown_s(clocks, calls[0]) - expires_s:.3f} s more"
                )
                at: tuple[int, ...] = (calls[0].began, admitted.since)
            elif calls and (reading := _read_before(story, label, admitted, calls, crossing)):
                why = (
                    f"whose node's clock was past t_e when the view ({reading.moment}) showed "
                    f"{reading.admitted} unit(s) taken, and this one is none of them"
                )
                at = (calls[0].began, reading.at, admitted.since)
            else:
                continue
            docket.breach(
                label.label,
                "units admitted after t_e = 1 > 0",
                f"nothing is admitted once t_e = {expires_s:.3f} s has passed, with "
                f"{story.facts.clock_error_s:g} s for the clock's error",
                f"{admitted.name} was admitted to {calls[0].owner}, {why}",
                at,
            )
    return docket.ruling()


Crossing = dict[int, list[Reading]]
"""By the number of a call: the readings that were made while it ran, behind t_e on its clock."""


def _crossing(label: LabelStory, clocks: Clocks, expires_s: float, facts: Facts) -> Crossing:
    found: Crossing = {}
    for call in label.uses():
        behind = [
            r
            for r in label.readings
            if r.says_units
            and call.began < r.began < call.ended
            and clocks.passed(call.invoked.node, r.began_ns, expires_s, facts)
        ]
        if behind:
            found[call.invoked.call] = behind
    return found


def _read_before(
    story: Story,
    label: LabelStory,
    admitted: Admitted,
    calls: Sequence[CallStory],
    crossing: Crossing,
) -> Reading | None:
    """A reading that shows the unit free when t_e had passed for whoever took it later. By its
    interval alone a caller that waits for a lock may have been let in before t_e."""
    if not story.keeps_until(min(call.began for call in calls), FOREVER):
        return None
    for reading in crossing.get(calls[0].invoked.call, ()) if len(calls) == 1 else ():
        if _taken_since(story, label, admitted, reading):
            return reading
    return None


def _shown_s(clocks: Clocks, call: CallStory) -> float:
    return clocks.at_s(call.invoked.node, call.began_ns) or 0.0


def _runs_on(story: Story) -> Ruling:
    docket = Docket()
    if story.facts.lapse not in ("none", "takeover"):
        return docket.ruling()
    clocks = Clocks.of(story.history)
    for label in story.labels:
        if not one_record(label):
            continue
        ends = [c.began for c in root_revokes(label)] + _expired_at(story, label, clocks)
        for admitted in label.admissions:
            if admitted.release_asked or admitted.freed < FOREVER:
                continue
            owners = {e.owner for e in admitted.evidence if e.owner is not None}
            withdrawn = [at for at in ends if at > admitted.since]
            if withdrawn and len(owners) <= 1:
                _stopped(story, label, admitted, min(withdrawn), docket)
    return docket.ruling()


def _expired_at(story: Story, label: LabelStory, clocks: Clocks) -> list[int]:
    """When somebody first asked for anything under a clock that t_e had passed."""
    expires_s = label.approvals[0].validity.expires_s
    if expires_s is None:
        return []
    return [c.began for c in story.calls.values() if clocks.expired(c, expires_s, story.facts)][:1]


def _stopped(
    story: Story, label: LabelStory, admitted: Admitted, withdrawn: int, docket: Docket
) -> None:
    """An admitted unit that is shown revoked afterwards, or whose own commit is turned away."""
    for reading in label.readings:
        slot = reading.slots.get(admitted.slot or "")
        if slot is None or reading.began <= withdrawn:
            continue
        if not story.keeps_until(admitted.since, reading.at):
            continue
        docket.tried()
        if slot.state == "revoked":
            docket.breach(
                label.label,
                f"{admitted.name}: admitted -> revoked",
                "revocation and expiry stop what is free; what is admitted runs on to its end",
                f"the view ({reading.moment}) shows {admitted.name} revoked",
                (admitted.since, withdrawn, reading.at),
            )
    for call in label.of("commit"):
        about = call.invoked.admission
        used = label.book.used_at
        mine = about is not None and used(about, call.attempt, call.began) is admitted
        said = call.value
        if not mine or call.began < withdrawn or call.replied is None:
            continue
        docket.tried()
        if isinstance(said, Refused) and _turned_away(story, label, admitted, call):
            docket.breach(
                label.label,
                f"commits of {admitted.name} that were turned away = 1 > 0",
                "an admission that was carried out can be committed, revoked or expired since",
                f"its effect stood applied, and its commit was refused ({said.code})",
                (admitted.since, withdrawn, call.ended),
            )


def _turned_away(story: Story, label: LabelStory, admitted: Admitted, call: CallStory) -> bool:
    """The first and only commit of it, by somebody with a receipt, after nothing was lost."""
    if call.invoked.forged or _may_be_committed(story, label, admitted, call):
        return False
    applied = any(
        a.at < call.began and a.effect is not None and a.effect.attempt == call.attempt
        for a in label.applications
    )
    return applied and story.keeps_until(admitted.since, call.ended)


def _may_be_committed(story: Story, label: LabelStory, admitted: Admitted, call: CallStory) -> bool:
    """Somebody may have committed it before this call was answered: another Commit of it, or a
    recovery or a worker that brought it to its end. One that handed it out to be resumed did not.
    """
    if admitted.committed < call.ended:
        return True
    for other in label.of("commit"):
        about = other.invoked.admission
        used = label.book.used_at
        mine = about is not None and used(about, other.attempt, other.began) is admitted
        if other is call or other.took_nothing or other.began > call.ended:
            continue
        if mine or other.attempt == call.attempt:
            return True
    resumed = {e.at for e in admitted.evidence if e.kind == "resume"}
    return any(
        other.op in ("recover", "work")
        and not other.took_nothing
        and other.began < call.ended
        and other.ended > admitted.since
        and other.ended not in resumed
        for other in story.calls.values()
    )


CHECKS = (
    Check(
        "AO401",
        "admitted after an acknowledged Revoke",
        "revoke",
        "the paper, table 2: Revoke and Prepare are linearizable; a revoked slot is never prepared",
        "The ledger acknowledged a Revoke, and a unit was admitted after that: to somebody who "
        "asked later, or to somebody who was waiting while a reading behind the acknowledgement "
        "showed the unit free. A repeated attempt that was admitted before is no new admission.",
        "Prepare checks the revocation in an earlier statement than the one that takes the unit, "
        "or in a row that it does not lock, or in a cache of its process.",
        "Lock the row that Revoke writes before anything is checked, and check and take in that "
        "one transaction.",
        _after_revoke,
    ),
    Check(
        "AO402",
        "admitted after expiry",
        "expiry",
        "the paper, equation 7: an authorization is valid from t_i to t_e",
        "A unit was admitted to a call that began when t_e, and the declared error of the clock, "
        "had passed on the clock that the ledger reads, or to somebody who was waiting while a "
        "reading behind that instant showed the unit free. A repeated attempt that was admitted "
        "before is no new admission.",
        "Expiry is checked at Issue only, the expiry is stored in another unit or unparsed, or "
        "the clock is read before a long wait for a lock.",
        "Compare t_e with the clock in the transaction of Prepare, after its lock was taken.",
        _after_expiry,
    ),
    Check(
        "AO403",
        "Revoke's answer disagrees with what ran",
        "revoke_counts",
        "the paper, table 2: Revoke says which slots it stopped and for which it came too late",
        "An acknowledged Revoke counts or names as stopped a unit that was admitted, leaves out "
        "one that it must have stopped, or names as too late one that was never admitted. What its "
        "children have of the budget counts like the rest.",
        "The answer is computed in another transaction than the one that revokes, or from the "
        "number of rows that were written whatever their state.",
        "Read the states under the lock under which they are changed, and answer from these.",
        judge_answers,
    ),
    Check(
        "AO404",
        "an admitted unit was stopped by revocation or expiry",
        "recover",
        "the paper, table 2: Revoke applies to Issued slots; Recover completes Prepared ones",
        "A unit was admitted before the Revoke (or before t_e); afterwards it is shown revoked, or "
        "its commit is refused although its effect stands at the sink.",
        "Revoke writes its state over every slot, or Commit checks revocation and expiry again.",
        "Revoke only what is still Issued; neither revocation nor expiry is a question of Commit "
        "or of Recover.",
        _runs_on,
    ),
)
