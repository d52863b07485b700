"""Who is whose child under one label: by the contexts that Delegate was asked for.

A principal is named by its executor. The root is the one that was approved; a Delegate makes the
executor of its context a child of whoever asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...targets.terms import Authorization, Context
from .admissions import Admitted
from .calls import FOREVER, CallStory
from .labels import LabelStory, bound_of


@dataclass(frozen=True, slots=True)
class Birth:
    """One Delegate that was granted. ``size``: the units that it gave away."""

    call: CallStory
    context: Context
    parent: str
    size: int

    @property
    def name(self) -> str:
        return self.context.executor


def root_of(label: LabelStory) -> Context:
    """The approved context."""
    return label.approvals[0].context


def actor(label: LabelStory, call: CallStory) -> str:
    """Who asked: the delegated context where one was presented, else the approved one."""
    context = call.invoked.context
    return context.executor if context is not None else root_of(label).executor


def births(label: LabelStory) -> list[Birth]:
    """Every Delegate that was granted, in order; asked again for the same child, it is one."""
    found: dict[str, Birth] = {}
    for call in label.of("delegate"):
        context, said = call.invoked.context, call.said
        if context is None or not isinstance(said, Authorization):
            continue
        size = bound_of(said.budget if said.budget is not None else call.invoked.budget)
        found.setdefault(
            context.executor,
            Birth(call, context, call.invoked.executor, size if size is not None else 0),
        )
    return list(found.values())


def context_of(label: LabelStory, name: str) -> Context | None:
    """The context under which a principal acts; None where none is known, or there were several."""
    if name == root_of(label).executor:
        return root_of(label)
    if made_anew(label, name):
        return None
    return next((birth.context for birth in births(label) if birth.name == name), None)


def size_of(label: LabelStory, name: str) -> int | None:
    """The budget of a principal; None where no number of uses could break it, or it is not known
    how much it was given: nobody heard, or it was given some more than once."""
    if name == root_of(label).executor:
        return label.bound
    if made_anew(label, name):
        return None
    unheard = None if asked_for(label, name) else 0
    return next((birth.size for birth in births(label) if birth.name == name), unheard)


def asked_for(label: LabelStory, name: str) -> list[CallStory]:
    """Delegates for this child that were not definitely refused."""
    return [
        c
        for c in label.of("delegate")
        if c.invoked.context is not None and c.invoked.context.executor == name
        and not c.took_nothing
    ]  # fmt: skip


def made_anew(label: LabelStory, name: str) -> bool:
    """Whether this child may have been made once more, after it was closed or revoked."""
    over = min((c.began for c in given_back(label, name, "close", "revoke")), default=FOREVER)
    return any(c.ended > over for c in asked_for(label, name))


def descendants(label: LabelStory, name: str) -> set[str]:
    """The children of a principal, and theirs."""
    family: set[str] = set()
    while grown := {b.name for b in births(label) if b.parent in family | {name}} - family:
        family |= grown
    return family


def admitted_to(label: LabelStory, name: str) -> list[Admitted]:
    """Units that were certainly admitted to this principal and not given back."""
    owners = {c.owner for c in label.uses() if actor(label, c) == name}
    return [
        a
        for a in label.admissions
        if a.freed == FOREVER and a.evidence[0].owner is not None and a.evidence[0].owner in owners
    ]


def granted_to(label: LabelStory, name: str) -> list[Admitted]:
    """The same, with units that somebody else had before: what was used, not who was first."""
    owners = {c.owner for c in label.uses() if actor(label, c) == name}
    return [
        a
        for a in label.admissions
        if a.freed == FOREVER and any(e.owner in owners for e in a.grants())
    ]


def given_back(label: LabelStory, name: str, *ops: str) -> list[CallStory]:
    """Calls of these operations about a child that were not definitely refused."""
    return [c for c in label.of(*ops) if not c.took_nothing and actor(label, c) == name]
