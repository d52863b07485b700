"""AO8xx, liveness: a ledger that refuses everything keeps every bound, and is of no use.

Judged are honest requests (r1, r2, …) that no fault could reach. A request that is named
otherwise is an attack of the workload, and refusing it is right.
"""

from __future__ import annotations

from ...targets.replies import Refused
from ..story import LabelStory, Story
from ..story.calls import FOREVER, CallStory
from ..story.labels import is_ordinary
from .left_to_work import is_left, left_undone
from .retries import judge_retries
from .ruling import Check, Docket, Ruling


def _ordinary(story: Story, label: LabelStory) -> bool:
    """An approval that the ledger must serve: whole budget, in a size that it claims."""
    return label.single and all(
        is_ordinary(a.budget) and (a.budget == 1 or story.claims("multi_budget"))
        for a in label.approvals
    )


def _first_use(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        if not _ordinary(story, label) or label.may_expire:
            continue
        for call in (_first(label, "issue"), _first(label, "prepare", "execute")):
            if call is None or not (call.honest or (call.op == "issue" and call.of_no_request)):
                continue
            if not _alone(story, label, call):
                continue
            docket.tried()
            if call.meanwhile:
                continue
            if call.outcome in ("refused", "replayed") or _never_done(story, label, call):
                docket.breach(
                    label.label,
                    f"first legitimate {call.op}s that were served = 0 < 1",
                    f"the first {call.op} under an approval succeeds when nothing disturbs it",
                    f"it was answered {_shown(call)}",
                    (call.began, call.ended),
                )
    return docket.ruling()


def _never_done(story: Story, label: LabelStory, call: CallStory) -> bool:
    """It was left to the ledger's worker, which passed and did nothing, though nothing hurt it."""
    passed = any(
        c.op == "work" and c.granted and c.began > call.ended for c in story.calls.values()
    )
    idle = passed and not label.effects and story.undisturbed(-1, FOREVER)
    return idle and is_left(call)


def _first(label: LabelStory, *ops: str) -> CallStory | None:
    """The first of them that was not an attack which the ledger turned away."""
    return next((c for c in label.of(*ops) if not _repelled(c)), None)


def _repelled(call: CallStory) -> bool:
    """An attack that was refused: it must cost the owner nothing."""
    return call.outcome == "refused" and not call.honest and not call.of_no_request


def _alone(story: Story, label: LabelStory, call: CallStory) -> bool:
    """Nothing else was asked for under the label before or meanwhile, and no fault struck."""
    if call.replied is None or not story.undisturbed(-1, call.ended):
        return False
    for other in label.calls:
        if other is call or other.began > call.ended:
            continue
        served = other.op == "issue" and other.acknowledged and other.ended < call.began
        repelled = _repelled(other) and other.ended < call.began
        if not (served or repelled) and other.op not in ("audit", "recover"):
            return False
    if call.op == "issue":
        return True
    issued = any(c.acknowledged and c.ended < call.began for c in label.of("issue"))
    return issued or "issue" not in story.header.operations


def _rest(story: Story) -> Ruling:
    docket = Docket()
    drain = story.phases.get("drain")
    if drain is None or not story.undisturbed(drain, story.phases.get("end", FOREVER)):
        return docket.ruling()
    for label in story.labels:
        b = label.bound
        if b is None or not _ordinary(story, label) or label.may_expire:
            continue
        if label.asked("revoke", "delegate", "close", before=FOREVER) or label.unnamed:
            continue
        asked = [c for c in label.uses() if c.began > drain and c.honest]
        if "issue" in story.header.operations and not _ever_issued(label):
            asked = [c for c in label.of("issue") if c.began > drain]
        _left_there(story, label, _last_answers(asked), drain, docket)
        refused = _turned_away([c for c in _last_answers(asked) if not _carried_out(label, c)])
        if not refused:
            continue
        docket.tried()
        used = _used_at_most(story, label)
        if used < b:
            granted = sum(c.granted for c in asked)
            docket.breach(
                label.label,
                f"uses granted in the drain = {granted} < b - used = {b - (used - granted)}",
                f"exactly the unused rest of b = {b} can be used after healing",
                f"at most {used} unit(s) are used or lost, yet a fresh request was answered "
                f"{_shown(refused[0])}",
                tuple(c.ended for c in asked),
            )
    return docket.ruling()


def _left_there(
    story: Story, label: LabelStory, asked: list[CallStory], drain: int, docket: Docket
) -> None:
    """What the drain left to the ledger's worker, which then made its passes."""
    taken = {c.owner for c in label.uses() if c.began < drain and not c.took_nothing}
    rest = (label.bound or 0) - len(taken) - _lost(story, label)
    undone = left_undone(story, label, asked, drain, rest)
    if undone is None:
        return
    docket.tried()
    if undone.seen < undone.wanted:
        docket.breach(
            label.label,
            f"effects of the drain = {undone.seen} < uses left to work() = {undone.wanted}",
            "what is left to work() is carried out by its next passes",
            f"the worker passed, undisturbed, and {undone.seen} effect(s) came of them",
            undone.at,
        )


def _ever_issued(label: LabelStory) -> bool:
    """Some use was asked for, or a grant was heard: so there was something to use."""
    return any(c.acknowledged for c in label.of("issue")) or any(True for _ in label.uses())


def _last_answers(asked: list[CallStory]) -> list[CallStory]:
    """What each request came to: an honest Busy is asked again, and only the end counts."""
    return list({call.owner: call for call in asked}.values())


def _turned_away(asked: list[CallStory]) -> list[CallStory]:
    """The calls that were denied where nothing excuses it. One doubt is honest; to know nothing of
    anything that is asked, time and again and undisturbed, is to refuse."""
    if any(c.outcome == "busy" for c in asked):
        return []
    doubts = [c for c in asked if c.outcome == "unknown"]
    if doubts:
        return doubts if len(doubts) == len(asked) > 1 else []
    return [c for c in asked if c.outcome in ("refused", "replayed") and not c.meanwhile]


def _carried_out(label: LabelStory, call: CallStory) -> bool:
    """It was left to the ledger's worker, and that has been at work for this authorization."""
    sent = any(e.call is not None and e.call.op == "work" and e.applied for e in label.effects)
    return is_left(call) and sent


def _used_at_most(story: Story, label: LabelStory) -> int:
    """Units that are used, or lost by a rule that the target states; the unknown counts as used,
    and so does each effect that stands, whatever the ledger shows: nothing is left of that."""
    # a release that nobody heard of may never have happened
    held = [a for a in label.admissions if a.freed_until == FOREVER]
    proven = {e.owner for a in label.admissions for e in a.evidence}
    doubtful = (c for c in label.uses() if c.outcome == "unknown" or c.meanwhile)
    unknown = {c.owner for c in doubtful} - proven
    standing = {e.attempt or e.event.key or str(e.event.number) for e in label.effects if e.applied}
    most = len(held) + len(unknown)
    final = label.final
    keeps = story.facts.retention_s is None
    if final is not None and final.known and final.says_units and keeps:
        most = min(most, final.admitted) if not label.unnamed else final.admitted
    return max(most, len(standing)) + _lost(story, label)


def _lost(story: Story, label: LabelStory) -> int:
    """Units that the declaration allows to be lost: blocked after a non-effect, or lapsed."""
    lost = 0
    if story.facts.after_not_applied == "blocked":
        failed = {e.attempt or str(e.event.number) for e in label.effects if e.refused < FOREVER}
        failed |= {c.owner for c in label.uses() if c.keeps}  # it may never have reached the sink
        lost += len(failed) + sum(not c.took_nothing for c in label.of("release"))
    if story.facts.lapse == "refuse":
        lost += sum(a.committed == FOREVER for a in label.admissions)
    return lost


def _shown(call: CallStory) -> str:
    value = call.value
    return f"refused ({value.code})" if isinstance(value, Refused) else call.outcome


CHECKS = (
    Check(
        "AO801",
        "the first legitimate use was turned away",
        None,
        "the paper: benign utility",
        "Nothing had been granted before, no fault struck, the approval was valid, and the first "
        "Issue or the first use was refused or answered as done before, or left to a worker that "
        "did nothing. An attack that the ledger "
        "refused before must not have cost the owner anything.",
        "The winner of an update is not recognised (row count read before the rows of RETURNING "
        "are fetched), two equal calls get two identities, or the adapter misreads a reply.",
        "Look at the adapter's mapping of replies first, then at what the ledger compares.",
        _first_use,
    ),
    Check(
        "AO802",
        "less than the rest of the budget is usable",
        None,
        "the paper: exactly the unused rest of b is usable after recovery",
        "After healing and recovery, fresh requests were refused, or every one of them was left "
        "unknown, or left to a worker that did not carry them out, although fewer than b units "
        "were used or lost by a rule that the declaration states; or an approval was never issued "
        "at all. What is unknown counts as used. More than the rest is AO102.",
        "A unit is leaked by a crash, a repeated Issue is refused, a lock of a dead process stays, "
        "or a lock error is reported as a refusal.",
        "Free at once what was never committed; report contention as Busy.",
        _rest,
    ),
    Check(
        "AO803",
        "a benign retry was punished",
        "attempt_identity",
        "the paper: a retry after a lost reply continues the same request",
        "An attempt was repeated after its reply had been lost, and it cost a second unit, or "
        "its unit never came to an end.",
        "The retry is admitted anew, or refused while nobody completes the first.",
        "Answer a repeated attempt with its own unit, in whatever state that is.",
        judge_retries,
    ),
)
