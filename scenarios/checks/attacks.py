"""AO2xx, attacks: what a wrong presenter, a forged credential or a forged receipt was given.

An attack is a request that the workload named otherwise than r1, r2, …, with what was wrong in it
written down before it was sent. Only fields that the ledger claims to bind are judged; a refusal,
whatever its code, is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...targets.replies import Done, Replayed
from ...targets.terms import Admission, Authorization, Context
from ..story import LabelStory, Story
from ..story.calls import FOREVER, CallStory
from ..story.labels import bound_of
from .identity import admitted_by
from .ruling import Check, Docket, Ruling

_CONTEXT = ("executor", "session", "task", "policy_epoch", "schema_epoch")
ANOTHER_HOLDER = "credential of another holder"
"""How a workload marks that a genuine credential is presented by somebody else than its holder."""


def _attacks(label: LabelStory) -> Iterator[CallStory]:
    """Requests for a unit that were answered, and are none of the user's."""
    return (call for call in label.uses() if not call.honest and call.replied is not None)


# who presents it ---------------------------------------------------------------------------------


def _presenter(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        for call in _attacks(label):
            context = call.invoked.context
            if context is None or _rightful(story, label, context, call.began):
                continue
            field = _differing(story, label, context)
            if not field:
                continue
            docket.tried()
            at = admitted_by(story, label, call)
            if at is not None:
                docket.breach(
                    label.label,
                    f"admissions of another {field} = 1 > 0",
                    "only the executor, session, task and epochs that were approved are admitted",
                    f"{call.invoked.request} presented it with the {field} "
                    f"{getattr(context, field)!r} and was admitted",
                    (call.began, at),
                )
    return docket.ruling()


def _differing(story: Story, label: LabelStory, context: Context) -> str:
    """The bound field in which a context differs from that of every approval, or ""."""
    found = [_first_difference(story, a.context, context) for a in label.approvals]
    return "" if "" in found else found[0]


def _first_difference(story: Story, approved: Context, presented: Context) -> str:
    for name in _CONTEXT:
        ours, theirs = getattr(approved, name), getattr(presented, name)
        if name in story.facts.binds and (type(ours), ours) != (type(theirs), theirs):
            return name
    return ""


def _rightful(story: Story, label: LabelStory, context: Context, before: int) -> bool:
    """It may have become right: by a delegation, or an Issue that updates the context."""
    ops = ["delegate"]
    if story.facts.context_update in ("narrow", "replace"):
        ops.append("issue")
    return any(
        call.invoked.context == context and not call.took_nothing and call.began < before
        for call in label.of(*ops)
    )


OF_ANOTHER: Final = "credential of another authorization"

# what is presented -------------------------------------------------------------------------------


def _credential(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        for call in _attacks(label):
            forged = call.invoked.forged
            if not forged.startswith("credential"):
                continue
            if forged == ANOTHER_HOLDER and "executor" not in story.facts.binds:
                continue
            if forged == OF_ANOTHER and not _names_its_own(story, label, call):
                continue
            docket.tried()
            at = admitted_by(story, label, call)
            if at is not None:
                docket.breach(
                    label.label,
                    "admissions by a forged credential = 1 > 0",
                    "only the credential that was issued, unaltered and by its holder",
                    f"{call.invoked.request} presented a {forged} and was admitted",
                    (call.began, at),
                )
        for call in label.of("issue"):
            _confirmation(story, label, call, docket)
    return docket.ruling()


def _names_its_own(story: Story, label: LabelStory, call: CallStory) -> bool:
    """Whether a genuine credential of another authorization must be refused here. Not where it is
    a bearer token for any call that its bound fields allow, nor where what was admitted is the
    owner's own unit after all: then the credential alone is the authority, and it was genuine. A
    ledger that runs the effect itself does not say whose unit it took; the counts convict it if
    that was another's."""
    if call.op == "execute":
        return False
    telling = {"principal", "args", "resource", "confirmation"}
    if not telling & set(story.facts.binds):
        return False
    said = call.said
    return not (isinstance(said, Admission) and said.record in label.records)


def _confirmation(story: Story, label: LabelStory, call: CallStory, docket: Docket) -> None:
    """An Issue that no confirmation covers must not open a record."""
    invoked, binds = call.invoked, story.facts.binds
    if call.replied is None or invoked.request is None:
        return
    wrong = _uncovered(story, call)
    if wrong:
        docket.tried()
        if isinstance(call.said, Authorization) and _opened(label, call, call.said):
            docket.breach(
                label.label,
                "records opened without a confirmation = 1 > 0",
                "a record is opened by a genuine confirmation of this action and principal",
                f"Issue was granted for {wrong}",
                (call.began, call.ended),
            )
    elif invoked.budget is not None and "budget" in binds and label.bound is not None:
        docket.tried()
        said = call.said.budget if isinstance(call.said, Authorization) else None
        granted = bound_of(said) if said is not None else 0
        if granted is None or granted > label.bound:
            docket.breach(
                label.label,
                f"budget granted = {said!r} > confirmed = {label.bound}",
                "the budget is the one that was confirmed",
                f"Issue asked for {invoked.budget!r} and was granted {said!r}",
                (call.began, call.ended),
            )


def _uncovered(story: Story, call: CallStory) -> str:
    """What the confirmation of this Issue does not cover, or "" where that is not claimed."""
    invoked = call.invoked
    if "confirmation" not in story.facts.binds:
        return ""
    if invoked.forged.startswith("confirmation"):
        return f"a forged {invoked.forged}"
    if invoked.presented is not None and not invoked.forged:
        return "another call than the confirmed one"
    return ""


def _opened(label: LabelStory, call: CallStory, said: Authorization) -> bool:
    """Whether this very Issue opened the record: no honest one may have opened it before."""
    for other in label.of("issue"):
        if other.invoked.request is None and other.began < call.ended:
            record = other.said.record if isinstance(other.said, Authorization) else None
            if record == said.record or (record is None and not other.took_nothing):
                return False
    return True


# what proves the effect --------------------------------------------------------------------------

OF_ANOTHER_UNIT: Final = "of another unit"
"""How a workload marks a genuine receipt for the same payload under another key."""


def _receipt(story: Story) -> Ruling:
    docket = Docket()
    for label in story.labels:
        if not _shows_receipts(label):
            continue
        for call in label.of("commit"):
            forged, about = call.invoked.forged, call.invoked.admission
            if not forged.startswith("receipt") or call.replied is None:
                continue
            compares = about is not None and about.key is not None
            if forged == "receipt of another effect" and not (compares or story.claims("binds")):
                continue
            if _committed_before(label, call):
                continue
            if forged.startswith(f"receipt {OF_ANOTHER_UNIT}") and not _told_by_key(call):
                continue
            docket.tried()
            if call.granted:
                docket.breach(
                    label.label,
                    "units committed on a false receipt = 1 > 0",
                    "Commit asks for the sink's own receipt for this unit",
                    f"{call.invoked.request} committed with a false {forged}",
                    (call.began, call.ended),
                )
        _shown_afterwards(label, docket)
    return docket.ruling()


def _told_by_key(call: CallStory) -> bool:
    """Whether the key of the unit tells a receipt of another one from its own. Not where what was
    answered is the unit's own receipt: then the ledger asked the sink, and not who came."""
    about, said = call.invoked.admission, call.value
    if about is None or about.key is None:
        return False
    shown = said.receipt if isinstance(said, Done | Replayed) else None
    return not call.granted or (shown is not None and shown.key != about.key)


def _shown_afterwards(label: LabelStory, docket: Docket) -> None:
    """What the owner of a unit is shown after somebody came with another receipt is its own: one
    under a key that the unit was given."""
    attacks = [c for c in label.of("commit") if c.invoked.forged.startswith("receipt")]
    since = min((c.ended for c in attacks if c.replied is not None), default=FOREVER)
    for call in label.of("prepare", "commit"):
        said, keys = call.value, _keys_of(label, call)
        if call.began < since or not call.honest or not keys:
            continue
        if not isinstance(said, Done | Replayed) or said.receipt is None:
            continue
        docket.tried()
        if said.receipt.key not in keys:
            docket.breach(
                label.label,
                "units shown with the receipt of something else = 1 > 0",
                "a unit keeps the receipt of its own effect, whoever brings another one",
                f"{call.invoked.request} is answered with the receipt of {said.receipt.key!r}, and "
                f"the key of its unit is {' or '.join(sorted(keys))}",
                (since, call.ended),
            )


def _keys_of(label: LabelStory, call: CallStory) -> set[str]:
    """The keys that the ledger gave to the attempt of this call."""
    granted = [
        c.said for c in label.of("prepare") if c.attempt == call.attempt and c.began < call.ended
    ]
    return {a.key for a in granted if isinstance(a, Admission) and a.key is not None}


def _shows_receipts(label: LabelStory) -> bool:
    """The ledger hands receipts out as its own evidence, so it answers for them."""
    said = [call.value for call in label.of("prepare", "execute", "commit")]
    return any(isinstance(v, Done | Replayed) and v.receipt is not None for v in said)


def _committed_before(label: LabelStory, call: CallStory) -> bool:
    return any(
        other.began < call.began
        and not other.took_nothing
        and not other.invoked.forged
        and other.invoked.admission == call.invoked.admission
        for other in label.of("commit")
    )


CHECKS = (
    Check(
        "AO204",
        "somebody else was admitted",
        "binds",
        "the paper, execution context: chi = (P_e, S, T, v_p, v_s) restricts where alpha is used",
        "A request from another executor, session, task or epoch than the approved one was "
        "admitted, in a field that the ledger claims to bind. Contexts that a delegation or a "
        "declared update of the context made rightful are not counted.",
        "The context is compared at Issue only, taken from shared state of the process, or the "
        "credential alone decides.",
        "Compare the presenter with the record in the transaction that takes the unit.",
        _presenter,
    ),
    Check(
        "AO205",
        "what was forged was honoured",
        "binds",
        "the paper, equation 8: mu authenticates every preceding field; e_u is authenticated",
        "A request with an altered or foreign credential was admitted, or Issue opened a record "
        "(or granted a budget) that no genuine confirmation covers. An Issue that answers the "
        "record which an honest one had opened is none of these.",
        "The authenticator leaves a field out, is not looked at, or what was confirmed is not "
        "compared with what is issued.",
        "Authenticate the whole credential and check it first; recompute sigma at Issue and "
        "compare action, principal and budget with the confirmation. A credential should hold "
        "nothing that the ledger does not authenticate.",
        _credential,
    ),
    Check(
        "AO206",
        "committed on a false receipt",
        None,
        "the paper, Commit: Prepared to Committed with the sink's receipt under k",
        "Commit was granted with a receipt that the sink did not give for this unit: altered, "
        "made up, or of another effect or unit; or the owner of a unit was shown such a receipt "
        "after somebody had brought it, although its own had been taken. Judged where the ledger "
        "hands receipts out again, as evidence of its own; one that is merely told that a use is "
        "done shows none.",
        "The receipt is stored without checking its authenticator, its key or its digest, or a "
        "later one replaces it.",
        "Verify the receipt, then compare its key and payload digest with those of the unit, "
        "before the state changes; never write over the receipt of a unit that is committed.",
        _receipt,
    ),
)
