"""AO5xx, delegation: a child is never wider, shares its parent's budget, and ends with it."""

from __future__ import annotations

from collections.abc import Iterator

from ...targets.terms import Context
from ..story import LabelStory, Story
from ..story.calls import FOREVER, CallStory
from ..story.kinship import (
    Birth,
    actor,
    admitted_to,
    asked_for,
    births,
    context_of,
    descendants,
    given_back,
    granted_to,
    made_anew,
    root_of,
    size_of,
)
from ..story.withdrawals import one_record
from .order import admitted_behind
from .ruling import Check, Docket, Ruling


def _families(story: Story) -> Iterator[LabelStory]:
    """Labels of one record under which somebody asked for a child."""
    for label in story.labels:
        if one_record(label) and any(True for _ in label.of("delegate")):
            yield label


# narrower ----------------------------------------------------------------------------------------


def _wider(story: Story) -> Ruling:
    docket = Docket()
    for label in _families(story):
        for call in label.of("delegate"):
            parent = context_of(label, call.invoked.executor)
            asked = call.invoked.context
            if asked is None or parent is None:
                continue
            if _wider_field(story, parent, asked) or _more_than(label, call):
                docket.tried()
        for birth in births(label):
            parent = context_of(label, birth.parent)
            field = _wider_field(story, parent, birth.context) if parent is not None else ""
            most = size_of(label, birth.parent)
            if field:
                shown = f"{getattr(birth.context, field)!r}, its parent {getattr(parent, field)!r}"
                _accuse(docket, label, birth, field, f"the child {birth.name} has {shown}")
            elif most is not None and birth.size > most:
                shown = f"the child {birth.name} has {birth.size} units, its parent {most}"
                _accuse(docket, label, birth, "budget", shown)
    return docket.ruling()


def _accuse(docket: Docket, label: LabelStory, birth: Birth, field: str, shown: str) -> None:
    docket.breach(
        label.label,
        f"children with a wider {field} = 1 > 0",
        "a child may be narrower than its parent in every field, and wider in none",
        shown,
        (birth.call.began, birth.call.ended),
    )


def _wider_field(story: Story, parent: Context, child: Context) -> str:
    """The bound field in which a child is wider: a session or task beside that of its parent (and
    not within it, "s/part" in "s"), or another epoch. The executor is what Delegate changes."""
    for name in ("session", "task"):
        ours, theirs = str(getattr(parent, name)), str(getattr(child, name))
        within = theirs == ours or theirs.startswith(f"{ours}/")
        if name in story.facts.binds and not within:
            return name
    for name in ("policy_epoch", "schema_epoch"):
        if name in story.facts.binds and getattr(parent, name) != getattr(child, name):
            return name
    return ""


def _more_than(label: LabelStory, call: CallStory) -> bool:
    most, asked = size_of(label, call.invoked.executor), call.invoked.budget
    return most is not None and isinstance(asked, int) and asked > most


# one budget --------------------------------------------------------------------------------------


def _conserved(story: Story) -> Ruling:
    docket = Docket()
    for label in _families(story):
        born = births(label)
        for parent in {birth.parent for birth in born}:
            most = size_of(label, parent)
            mine = [birth for birth in born if birth.parent == parent]
            if most is None:
                continue
            docket.tried(len(mine))
            own = admitted_to(label, parent)
            for at in sorted([b.call.ended for b in mine] + [a.since for a in own]):
                live = sum(_reserved(story, label, b, at) for b in mine if b.call.ended <= at)
                used = sum(a.since <= at for a in own)
                if live + used > most:
                    docket.breach(
                        label.label,
                        f"children's reservations + own use = {live} + {used} > b = {most}",
                        "what a child reserves is its parent's no longer, at any time",
                        f"{parent} has {most} units; its children hold {live} of them, and it "
                        f"used {used} itself",
                        (*(b.call.ended for b in mine), *(a.since for a in own)),
                    )
                    break
        for birth in born:
            _used_within(label, birth, docket)
    return docket.ruling()


def _used_within(label: LabelStory, birth: Birth, docket: Docket) -> None:
    """What a child and its own children used is no more than it was given. Made a second time, or
    perhaps, it may have been given more."""
    if len(asked_for(label, birth.name)) != 1 or birth.size < 1:
        return
    family = sorted(descendants(label, birth.name) | {birth.name})
    used = [admitted for name in family for admitted in admitted_to(label, name)]
    docket.tried(len(used) >= birth.size)
    if len(used) > birth.size:
        docket.breach(
            label.label,
            f"units that a child used = {len(used)} > {birth.size} that it was given",
            "a child uses no more than it was given",
            f"{birth.name} was given {birth.size}; it and its children were admitted to "
            + ", ".join(a.name for a in used),
            (birth.call.ended, *(a.since for a in used)),
        )


def _reserved(story: Story, label: LabelStory, birth: Birth, at: int) -> int:
    """What a child certainly holds: all that it was given, or what it used, once it may have been
    closed (or revoked, where that gives back)."""
    ends = _ends(story, label, birth)
    if not any(call.began < at for call in ends):
        return birth.size
    family = descendants(label, birth.name) | {birth.name}
    return min(birth.size, sum(len(admitted_to(label, name)) for name in family))


def _ends(story: Story, label: LabelStory, birth: Birth) -> list[CallStory]:
    ops = ("close", "revoke") if story.facts.child_refund == "on_revoke" else ("close",)
    return given_back(label, birth.name, *ops)


# ends with its parent ----------------------------------------------------------------------------


def _reaches(story: Story) -> Ruling:
    docket = Docket()
    if not story.claims("revoke"):
        return docket.ruling()
    for label in _families(story):
        root = root_of(label).executor
        for revoke in label.of("revoke"):
            name = actor(label, revoke)
            if revoke.acknowledged:
                family = descendants(label, name) | ({name} - {root})
                if name != root:  # the end of the root is that of all, whoever is made then
                    family -= _made_since(label, family)
                _reached(story, label, revoke, family, docket)
    return docket.ruling()


def _made_since(label: LabelStory, family: set[str]) -> set[str]:
    """Those of a family that may live anew, and theirs."""
    anew = {name for name in family if made_anew(label, name)}
    return anew.union(*(descendants(label, name) for name in anew))


def _reached(
    story: Story, label: LabelStory, revoke: CallStory, family: set[str], docket: Docket
) -> None:
    def concerns(call: CallStory) -> bool:
        return call.invoked.context is not None and actor(label, call) in family

    docket.tried(sum(c.ended > revoke.ended and concerns(c) for c in label.uses()))
    for admitted, why, at in admitted_behind(story, label, revoke, concerns):
        docket.breach(
            label.label,
            "units of descendants admitted after an acknowledged Revoke = 1 > 0",
            "a Revoke ends the record and every descendant of it",
            f"{actor(label, revoke)} was revoked; {admitted.name} was admitted to a descendant: "
            f"{why}",
            (revoke.ended, *at),
        )


# refunds -----------------------------------------------------------------------------------------


def _refunds(story: Story) -> Ruling:
    docket = Docket()
    refund = story.facts.child_refund
    drain = story.phases.get("drain", FOREVER)
    for label in _families(story):
        root, most = root_of(label).executor, label.bound
        born = births(label)
        closed = [b for b in born if any(c.granted for c in given_back(label, b.name, "close"))]
        if not closed or most is None or any(b.parent != root for b in born):
            continue
        if refund in ("on_revoke", "on_expiry") or label.asked("revoke", before=FOREVER):
            continue
        docket.tried(len(closed))
        back = refund == "on_close"
        over = [b for b in born if given_back(label, b.name, "close")]  # for certain or perhaps
        kept = sum(len(admitted_to(label, b.name)) if back and b in over else b.size
                   for b in born)  # fmt: skip
        own = {id(a): a for a in (*admitted_to(label, root), *granted_to(label, root))}
        used = len(own)
        asked = [c for c in label.uses() if c.began > drain and actor(label, c) == root]
        at = (*(c.ended for b in closed for c in given_back(label, b.name, "close")),)
        if used + kept > most:
            word = "more than it was given" if back else "although nothing is given back"
            docket.breach(
                label.label,
                f"own use + kept by children = {used} + {kept} > b = {most}",
                f"a closed child gives back what it did not use, once (declared: {refund})",
                f"after the child was closed its parent used {used} units, {word}",
                (*at, *(a.since for a in own.values())),
            )
        refused = [c for c in asked if c.outcome == "refused" and c.honest]
        unsure = any(c.outcome in ("busy", "unknown") for c in label.uses()) or label.unnamed
        unsure = unsure or _in_doubt(label, born, closed)
        if back and refused and not unsure and used + kept < most and _quiet(story, label):
            docket.breach(
                label.label,
                f"own use + kept by children = {used} + {kept} < b = {most}",
                f"a closed child gives back what it did not use, once (declared: {refund})",
                f"the parent used {used} units and was refused the rest",
                (*at, refused[0].ended),
            )
    return docket.ruling()


def _in_doubt(label: LabelStory, born: list[Birth], closed: list[Birth]) -> bool:
    """A child may have been made, or closed, of which nobody heard; or made anew since its end."""
    named = {c.invoked.context.executor for c in label.of("delegate") if c.invoked.context}
    if any(asked_for(label, name) for name in named - {b.name for b in born}):
        return True
    if any(given_back(label, b.name, "close") for b in born if b not in closed):
        return True
    return any(made_anew(label, b.name) for b in closed)


def _quiet(story: Story, label: LabelStory) -> bool:
    """Nothing else can have cost a unit, or have turned a use away."""
    drain = story.phases.get("drain", FOREVER)
    return (
        not label.may_expire
        and not label.asked("release", before=FOREVER)
        and not label.turned_away
        and story.undisturbed(drain, story.phases.get("end", FOREVER))
    )


CHECKS = (
    Check(
        "AO501",
        "a child is wider than its parent",
        "delegate",
        "the paper, table 2: Delegate derives an authorization that is narrower in every field",
        "Delegate granted a child whose session or task lies outside that of its parent (is "
        "neither the same nor begins with it and a slash), that acts under another epoch, or that "
        "has a larger budget than its parent; only fields that the ledger claims to bind are "
        "compared.",
        "The fields of the child are taken as they were asked for, or an absent one means all.",
        "Compare each field with the parent's in the transaction that makes the child, and let an "
        "absent field mean nothing.",
        _wider,
    ),
    Check(
        "AO502",
        "parent and children have more than one budget",
        "delegate",
        "the paper, table 3: parent, children and siblings share b",
        "At one instant the units that live children had been given, and those that their parent "
        "had used itself, were together more than the parent's budget; or a child used more units "
        "than it had been given.",
        "Delegate does not take the child's units from the parent, or reads what is left in an "
        "earlier statement than the one that reserves it.",
        "Reserve the child's units in the transaction that makes it, by a conditional update.",
        _conserved,
    ),
    Check(
        "AO503",
        "a revocation did not reach a descendant",
        "delegate",
        "the paper, table 2: revoking an authorization revokes what was delegated from it",
        "A parent's Revoke was acknowledged, and a child (or a child's child) was admitted after "
        "that. What was admitted before runs on.",
        "Revoke marks one record, and Prepare looks at the record that is presented and not at "
        "those above it.",
        "Revoke the whole family in one transaction, or check every ancestor in Prepare.",
        _reaches,
    ),
    Check(
        "AO504",
        "a closed child gave back too much, or nothing",
        "delegate",
        "the paper, table 3: what a child did not use returns at most once",
        "After a child was closed, its parent could use more than the child had left unused, or "
        "not as much, judged by what the declaration says of refunds.",
        "Closing twice returns twice, units in use are returned too, or closing returns nothing.",
        "Let closing be one conditional transition of the child, and move unused units in it.",
        _refunds,
    ),
)
