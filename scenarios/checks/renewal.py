"""AO805: a genuinely new confirmation of the same action is a new authorization.

The label is shared with the earlier confirmation, because the arguments are the same; so no
reading is used here, and nothing is said about which authorization a single request named.
"""

from __future__ import annotations

from ...chaos.events import Approved
from ...targets.terms import Authorization
from ..story import LabelStory, Story
from ..story.calls import FOREVER, CallStory
from ..story.labels import is_ordinary
from .ruling import Check, Docket, Ruling


def _renewed(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        since = _last_approved(story, label)
        if since is None or not _served(story, label) or not story.undisturbed(since, FOREVER):
            continue
        if story.facts.reapproval == "refuse" and _unresolved(label, since):
            continue
        ended = label.of("revoke", "delegate", "close", "release")
        if any(c.began > since and not _of_another(label, c, since) for c in ended):
            continue
        for word, asked in (("Issue", _issues(label, since)), ("use", _uses(label, since))):
            if not asked or any(c.outcome in ("busy", "unknown") for c in asked):
                continue
            docket.tried()
            if not any(c.granted for c in asked):
                docket.breach(
                    label.label,
                    f"{word}s granted under the new confirmation = 0 < 1",
                    "the same action, confirmed anew, is authorized anew",
                    f"after the new confirmation every {word} was {asked[0].outcome}",
                    (since, *(c.ended for c in asked)),
                )
    return docket.ruling()


def _last_approved(story: Story, label: LabelStory) -> int | None:
    """When the last of several confirmations was made; None if there is only one."""
    if label.single:
        return None
    return max(
        line.stamp.seq
        for line in story.history.lines
        if isinstance(line.event, Approved) and line.event.label == label.label
    )


def _served(story: Story, label: LabelStory) -> bool:
    """Every approval is one that the ledger must serve."""
    ordinary = all(is_ordinary(a.budget) for a in label.approvals)
    single = all(a.budget == 1 for a in label.approvals)
    return ordinary and (single or story.claims("multi_budget")) and not label.may_expire


def _unresolved(label: LabelStory, since: int) -> bool:
    """A unit was not settled when the new confirmation came, as far as anybody knew."""
    open_units = any(a.since < since < a.committed for a in label.admissions)
    return open_units or any(c.outcome == "unknown" and c.began < since for c in label.uses())


def _of_another(label: LabelStory, call: CallStory, since: int) -> bool:
    """It surely was about the record of an earlier confirmation."""
    about = call.invoked.admission
    if call.op != "revoke" or about is None:
        return False
    opened = {c.value.record for c in _issues(label, since) if isinstance(c.value, Authorization)}
    return bool(opened) and about.record not in opened


def _issues(label: LabelStory, since: int) -> list[CallStory]:
    return [c for c in label.of("issue") if c.began > since and c.invoked.request is None]


def _uses(label: LabelStory, since: int) -> list[CallStory]:
    """Those that are new: what was done, or turned away, under an earlier confirmation may be
    answered as before."""
    earlier = {c.owner for c in label.uses() if c.began < since}
    return [c for c in label.uses() if c.honest and c.owner not in earlier]


CHECKS = (
    Check(
        "AO805",
        "a new confirmation was not served",
        None,
        "the paper, authorization alpha = (sigma, e_u, b): another e_u is another alpha",
        "The user confirmed the same action once more, nothing disturbed it, and every Issue or "
        "every use after that was turned away. Replay protection must stop repetitions of one "
        "decision, not a second decision.",
        "Uniqueness is on the action alone, or a used action is remembered for ever.",
        "Make (sigma, e_u) and e_u unique, never sigma.",
        _renewed,
    ),
)
