"""AO3xx, recovery: what was admitted is brought to its end, once, and stays there."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from ...targets.replies import Refused
from ..story import Admitted, LabelStory, Reading, Story
from ..story.calls import FOREVER, CallStory
from .lapses import lapsed_before
from .resumed import resumed_after_commit, resumed_after_release
from .ruling import Check, Docket, Ruling


def _settled(story: Story) -> Ruling:
    docket = Docket()
    if not story.facts.commits:
        return docket.ruling()
    # a ledger that asks the sink cannot settle anything where the sink cannot tell
    if story.facts.recovery == "lookup" and (not story.idempotent or story.sink.blind):
        return docket.ruling()
    for label in story.labels:
        final = label.final
        if final is None or not label.single or label.turned_away:
            continue
        since = _recovered_since(story, label)
        if since is None or _never_answered(story, label):
            continue
        left = final.count("prepared") - _uncommitted_since(story, label, since)
        doubtful = final.count("in_doubt") if story.facts.manual_state is None else 0
        if final.admitted or label.admissions:
            docket.tried()
        if left > 0 or doubtful > 0:
            docket.breach(
                label.label,
                f"unsettled units = {max(left, 0) + doubtful} > 0",
                "after recovery every admitted unit is Committed"
                + (
                    f", or in the declared manual state {story.facts.manual_state!r}"
                    if story.facts.manual_state
                    else " (no manual state is declared)"
                ),
                f"the last view shows {final.count('prepared')} prepared and "
                f"{final.count('in_doubt')} in doubt",
                (*(a.since for a in label.admissions), final.at),
            )
    return docket.ruling()


def _recovered_since(story: Story, label: LabelStory) -> int | None:
    """When the last recovery began that came after the last fault that concerns this authorization,
    or from when on the ledger recovers by itself; None: there was none. Where a holder has a lease,
    its unit is nobody else's before that has lapsed: only a later recovery must end it."""
    drain = story.phases.get("drain", FOREVER)
    if "recover" not in story.header.operations:
        return story.phases.get("recover") if story.facts.lapse == "none" else None
    over = _over(story, label, drain)
    return max(
        (
            c.began
            for c in story.calls.values()
            if _recovered(c) and c.began > over and lapsed_before(story, c, drain)
        ),
        default=None,
    )


def _over(story: Story, label: LabelStory, drain: int) -> int:
    """The end of the last fault. What the sink has against another authorization concerns this one
    only as long as somebody asks for a use of it."""
    every = [d for d in story.disturbances if d.began < drain]
    last = max((d.ended for d in every), default=-1)
    mine = max((d.ended for d in every if d.label in (None, label.label)), default=-1)
    if mine == last:
        return last
    return max([mine, *(c.began for c in label.uses() if c.began < drain)])


def _never_answered(story: Story, label: LabelStory) -> bool:
    """Recovery sent it again, and to the end the sink has not answered: nothing can be known.
    Not so if it was silent before its own phase alone, and would have answered in that."""
    drain = story.phases.get("drain", FOREVER)
    every = [d for d in story.disturbances if d.began < drain]
    over = max((d.ended for d in every if d.label is None), default=-1)
    began = [c.began for c in story.calls.values() if c.op in ("recover", "work")]
    since = min((at for at in began if at > over), default=FOREVER)
    last = max(label.effects, key=lambda e: e.sent, default=None)
    since = max(since, story.phases.get("recover", -1))
    return last is not None and last.unanswered < FOREVER and last.sent > since


_NO_REASON: Final = ("revoked", "expired")
"""Why a ledger may not refuse to recover: what was admitted before runs on."""


def _recovered(call: CallStory) -> bool:
    """A recovery that the ledger granted; or that was at work, and broke off or complained at the
    end; or that it refused for what is no reason."""
    if call.op != "recover" or call.replied is None:
        return False
    said, worked = call.value, call.replied.effects > 0 and call.replied.why in _SAID
    return call.granted or worked or (isinstance(said, Refused) and said.code in _NO_REASON)


_SAID: Final = ("reply", "classified", "corrected")


def _uncommitted_since(story: Story, label: LabelStory, since: int) -> int:
    """Units that were admitted after that recovery, for certain or perhaps, and whose own commit
    did not go through. Whoever may have had one before it had to be brought to an end."""
    drain = story.phases.get("drain", FOREVER)
    earlier = label.possible_owners(before=since)
    fresh = {
        c.owner
        for c in label.uses()
        if not c.took_nothing
        and (
            c.began > drain
            or (c.began > since and (c.outcome == "unknown" or c.owner not in earlier))
        )
    }
    done = {e.owner for a in label.admissions if a.committed < FOREVER for e in a.evidence}
    return len(fresh - done)


def _applied(story: Story) -> Ruling:
    docket = Docket()
    if not story.idempotent:
        return docket.ruling()
    for label in story.labels:
        effects = len(label.applications)
        final = label.final
        # where an admission is final, a unit may be shown committed as soon as it is admitted
        judged = final if story.facts.commits and label.single else None
        if judged is not None and (committed := judged.count("committed")):
            docket.tried()
            if committed > effects:
                docket.breach(
                    label.label,
                    f"N_committed = {committed} > N_effect = {effects}",
                    "a committed unit has its effect at the sink",
                    f"the last view shows {committed} committed, the sink applied {effects}",
                    (*(a.at for a in label.applications), judged.at),
                )
        for call in label.uses():
            entered = any(e.call is call for e in label.effects)
            if call.outcome == "replayed" and not entered:
                docket.tried()
                if not _was_done(label, call):
                    docket.breach(
                        label.label,
                        "N_effect = 0 < 1 effect that was replayed",
                        "an answer from memory has an effect that it remembers",
                        "the ledger answered that this was done before; the sink had applied "
                        "nothing",
                        (call.began, call.ended),
                    )
    return docket.ruling()


def _was_done(label: LabelStory, call: CallStory) -> bool:
    """Applied before the answer, or later by a worker to which the ledger left it."""
    return any(
        a.at < call.ended
        or a.effect is None
        or a.effect.call is None
        or a.effect.call.op in ("work", "open")
        or a.effect.sent < call.ended
        for a in label.applications
    )


def _no_second_unit(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        if story.claims("attempt_identity"):
            for (_, attempt), mine in _by_attempt(label).items():
                asked = [c for c in label.uses() if c.invoked.attempt == attempt]
                seen = [e for a in mine for e in a.evidence if attempt in (e.attempt, e.owner)]
                docket.tried(1 if len(asked) > 1 or len(seen) > 1 else 0)
                if len(mine) > 1:
                    docket.breach(
                        label.label,
                        f"units of attempt {attempt} = {len(mine)} > 1",
                        "the same attempt gets the same unit again, or a refusal",
                        f"{attempt} was given " + " and ".join(a.name for a in mine),
                        tuple(a.since for a in mine),
                    )
        _taken_by_recovery(label, docket)
        resumed_after_release(label, docket)
    return docket.ruling()


def _by_attempt(label: LabelStory) -> dict[tuple[str, str], list[Admitted]]:
    """Admissions that were never given back, by the attempt that has them. Where there are several
    decisions, an attempt is one of each record."""
    attempts = {c.invoked.attempt for c in label.uses()}
    found: dict[tuple[str, str], list[Admitted]] = {}
    for admitted in label.admissions:
        if admitted.freed < FOREVER:
            continue
        record = "" if label.single else admitted.record
        for attempt in {e.admission.attempt or e.attempt for e in admitted.evidence}:
            if attempt is not None and attempt in attempts:
                found.setdefault((record, attempt), []).append(admitted)
    return found


def _taken_by_recovery(label: LabelStory, docket: Docket) -> None:
    """Recovery continues a unit that was admitted; it never takes one that was still free."""
    for admitted in label.admissions:
        first = admitted.evidence[0]
        if first.kind not in ("resume", "settled") or not admitted.slot or not label.single:
            continue
        before = [r for r in label.readings if r.at < first.asked]
        if not before or len(label.records) > 1:
            continue
        docket.tried()
        slot = before[-1].slots.get(admitted.slot)
        asked_since = any(
            _may_run_after(c, before[-1]) and c.began < first.at and not c.took_nothing
            for c in label.uses()
        )
        if slot is not None and slot.state == "issued" and not asked_since:
            docket.breach(
                label.label,
                "units taken by recovery = 1 > 0",
                "recovery continues units that are prepared, under their own slot and key",
                f"{admitted.name} was free ({before[-1].moment}) and nobody had asked for it "
                "when recovery resumed it",
                (before[-1].at, first.at),
            )


def _may_run_after(call: CallStory, reading: Reading) -> bool:
    """A call that went silent may take effect at any time."""
    silent = call.replied is None or call.replied.why == "silent"
    return silent or call.ended > reading.began


_BACKWARDS = {"committed": ("issued", "prepared", "revoked"), "revoked": ("issued", "prepared")}


def _terminal(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        if label.single and len(label.records) <= 1:
            known = [r for r in label.readings if r.known and r.says_units]
            for before, after in pairwise(known):
                if before.at < after.began and story.keeps_until(before.began, after.at):
                    _went_back(story, label, before, after, docket)
        _given_again(label, docket)
        resumed_after_commit(story, label, docket)
    return docket.ruling()


def _went_back(
    story: Story, label: LabelStory, before: Reading, after: Reading, docket: Docket
) -> None:
    refunds = story.facts.child_refund != "never"
    forgets = story.facts.retention_s is not None
    named = before.view.slots is not None
    ends = ("committed", "revoked") if named and not refunds else ("committed",)
    docket.tried(1 if before.count(*ends) and (named or not forgets) else 0)
    for name, slot in before.slots.items():
        now = after.slots.get(name)
        wrong = _BACKWARDS.get(slot.state, ())
        if now is None or now.state not in wrong or (refunds and slot.state == "revoked"):
            continue
        docket.breach(
            label.label,
            f"slot {name}: {slot.state} -> {now.state}",
            f"a unit that is {slot.state} stays so for ever",
            f"{before.moment}: {slot.word}; {after.moment}: {now.word}",
            (before.at, after.at),
        )
    was, now_count = before.count("committed"), after.count("committed")
    if not named and after.view.slots is None and was > now_count and not forgets:
        docket.breach(
            label.label,
            f"committed units: {was} -> {now_count}",
            "a unit that is committed stays so for ever",
            f"{before.moment}: {was} committed; {after.moment}: {now_count}",
            (before.at, after.at),
        )


def _given_again(label: LabelStory, docket: Docket) -> None:
    """A unit whose commit was acknowledged is never granted to another attempt."""
    for admitted in label.admissions:
        if admitted.committed == FOREVER or not admitted.slot:
            continue
        docket.tried()
        owners = _owners(label, admitted)
        for e in admitted.grants():
            if e.asked > admitted.committed and e.owner not in owners:
                docket.breach(
                    label.label,
                    f"{admitted.name}: committed -> prepared",
                    "a unit that is committed stays so for ever",
                    f"its commit was acknowledged, then it was given to {e.owner}",
                    (admitted.committed, e.at),
                )


def _owners(label: LabelStory, admitted: Admitted) -> set[str | None]:
    """Whose unit it is. Where its grant was never heard and recovery committed it, the ledger's
    own word for the attempt says so, and without one it may be that of anybody who had asked."""
    before = [e for e in admitted.evidence if e.at < admitted.committed]
    named: set[str | None] = {n for e in before for n in (e.owner, e.attempt)} - {None}
    return named or {*label.possible_owners(admitted.committed)}


CHECKS = (
    Check(
        "AO301",
        "a unit is left unsettled after recovery",
        "recover",
        "the paper: Recover brings every Prepared slot to Committed",
        "All faults were over, recovery had been run to its end, and the ledger's own view still "
        "shows an admitted unit Prepared, or in doubt without a declared manual state. A unit that "
        "the sink turned away, or about which it never answered, is not judged; those of other "
        "authorizations are.",
        "Recovery skips units of another executor, expired or revoked ones, or one whose "
        "recoverer died; its predicate never matches; or it ends at the first unit that fails.",
        "Let recovery find every Prepared unit, of whoever and however old, and commit it after "
        "the sink has answered for its key; pass over one that fails, and go on with the next.",
        _settled,
    ),
    Check(
        "AO302",
        "committed without an effect",
        None,
        "the paper: Committed implies applied",
        "The final view of a ledger that has a commit step shows more committed units than effects "
        "applied under the label, or a use was answered as done before although no effect had "
        "been sent: that recovery did it later makes the answer no truer.",
        "Commit or recovery does not ask for a receipt, or takes silence for success.",
        "Commit only with a genuine receipt for the unit's own key; ask the sink again where the "
        "receipt was lost.",
        _applied,
    ),
    Check(
        "AO303",
        "a second unit for the same attempt",
        None,
        "the paper: recovery resumes the same (nu, j, k); no new slot for an old request",
        "A repeated attempt was given another unit (where the ledger says that it knows "
        "attempts), or recovery took a unit that had been free, or given back.",
        "Prepare does not store the attempt, recovery calls Prepare again, or a Release is not "
        "looked at.",
        "Look for the attempt's own unit first, in the same transaction; let recovery resume "
        "the stored record, slot and key.",
        _no_second_unit,
    ),
    Check(
        "AO304",
        "a terminal state was left again",
        None,
        "the paper: Committed and Revoked are terminal; no resurrection",
        "A unit that was seen committed or revoked was later seen in an earlier state, or was "
        "given to another attempt; or its Commit was acknowledged, and a recovery that began "
        "after that handed it out to be sent again.",
        "A repeated Issue resets the record (INSERT OR REPLACE), Revoke writes without looking "
        "at the state, an old copy was restored, or recovery goes by something else than the "
        "state of the unit.",
        "Guard every transition by the state that it starts from; never delete or rewrite "
        "terminal rows while their approval can be presented.",
        _terminal,
    ),
)
