"""Binding: every field of what was approved is changed alone, and every proof is forged.

Before the owner has used anything, an attacker presents the authorization: as another executor,
with one field of the call or of the context changed, with an altered or a foreign credential; or
it issues with a forged confirmation, or commits with a receipt that the sink never gave. Whatever
it is granted it carries out. Then the owner must still be served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from ...chaos.handle import NodeHandle
from ...targets.declaration import Declaration, Facts
from ...targets.terms import Authorization
from ..attacker import Attacker, altered
from ..history import SinkKind
from ..moves import as_executor, reissue
from ..placement import Survey
from ..plan import Plan, PlanProblem
from ..scene import Scene
from . import Subjects, budgeted, budgets_of
from .assaults import AROUND_A_USE, RECEIPTS, THIEF, Attack, approved
from .variations import CALLS, CONFIRMATIONS, PRESENTERS

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
OFTEN: Final = 6
"""How often a thief comes who does not give up: what is locked after some failures, is locked."""


class BindingFamily:
    """See the module."""

    name = "binding"
    tries = "theft, each field of call and context changed alone, forged proofs"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    topics: tuple[str, ...] = (
        "theft",
        "credential",
        "call",
        "context",
        "confirmation",
        "sink",
        "receipt",
        "repeated",
        "delegated",
    )
    rows: tuple[str, ...] = (
        *("ID02", "ID03", "ID04", "ID05", "IS03", "IS04", "PR03", "PR05", "PR13", "PR14"),
        *("CM01", "CM02", "CM05", "AR18", "AR20", "CF01", "CF02", "CF03", "CF04"),
        *("FX02", "FX03", "FX04", "FX05", "FX06", "FX07", "FX08", "DG08"),
    )

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every attack once; budgets and sinks in turn."""
        budgets = budgets_of(subject.declaration)
        for turn, params in enumerate(_attacks(subject.survey, subject.declaration)):
            sink = SINKS[turn % len(SINKS)]
            if params[0] == "sink":
                sink = "idempotent"  # the control sink would apply it, as it applies everything
            budget = budgets[turn // len(SINKS) % len(budgets)]
            if params == ("receipt", "unit"):
                budget = budgets[-1]  # it takes a second one
            yield Plan(subject.target, self.name, params, budget, sink, 0)

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        budgeted(plan, scene.declaration)
        if plan.params not in _attacks(scene.survey, scene.declaration):
            raise PlanProblem(f"{plan.id}: this target has no such attack now")
        kind, what = plan.params
        client = approved(scene, plan.budget)
        node = scene.victim(client.executor)
        scene.survivor = node
        attack = Attack(scene, Attacker(client), node, what)
        scene.phase("hurt")
        if kind == "confirmation":
            _with_confirmation(attack)
        client.issue(node)
        if client.authorization is not None:
            if kind in AROUND_A_USE:
                AROUND_A_USE[kind](attack)
            for _ in range(plan.budget if kind in _PRESENTED else 0):
                others = _PRESENTED[kind](attack)
                client.finish(node, client.new_use())  # the owner, who must still be served
                for other in others:  # who lives as long: what it left may be in the way
                    scene.stage.dismiss(other)
        scene.phase("recover")
        client.recover(node)
        scene.drain(client, node, plan.budget)
        scene.end(client, node)


def _attacks(survey: Survey, declared: Declaration) -> tuple[tuple[str, str], ...]:
    """Every attack that this ledger can be put to. Of what it does not claim to bind, the fields
    of call and context are tried all the same: then nothing is judged, but the use is a use."""
    facts = declared.facts
    found = [("theft", "executor"), ("theft", "often"), ("credential", "foreign")]
    if "issue" in survey.operations or "confirmation" in facts.binds:
        found.append(("credential", "altered"))  # else any name of a record is as good as another
    found += [("call", name) for name in CALLS]
    found += [("context", name) for name in PRESENTERS]
    if "issue" in survey.operations:
        needs = {"wider": "budget", "budget": "budget"}
        found += [
            ("confirmation", name)
            for name in CONFIRMATIONS
            if "confirmation" in facts.binds and needs.get(name, "confirmation") in facts.binds
        ]
    if not survey.guarded:
        found.append(("sink", "payload"))
        if facts.attempt_identity:
            found += [("repeated", "executor"), ("repeated", "call")]
        if "commit" in survey.operations:
            found += [("receipt", name) for name in RECEIPTS if name != "key" or _keyed(facts)]
    if "delegate" in survey.operations and "executor" in facts.binds:
        found += [("delegated", "stranger"), ("delegated", "parent")]
    if "commit" in survey.operations and _keyed(facts):
        found.append(("receipt", "renewed"))
        if declared.claims_that("multi_budget"):
            found.append(("receipt", "unit"))
    return tuple(found)


def _keyed(facts: Facts) -> bool:
    return facts.key != "none"


# presented before each use of the owner ----------------------------------------------------------


def _theft(attack: Attack) -> tuple[NodeHandle, ...]:
    """The authorization was copied: somebody else comes first, from a process of its own."""
    thief = attack.scene.helper(THIEF)
    for _ in range(OFTEN if attack.what == "often" else 1):
        attack.by.present(thief, context=as_executor(attack.client.approval.context, THIEF))
    return (thief,)


def _call(attack: Attack) -> tuple[NodeHandle, ...]:
    attack.by.present(attack.node, call=CALLS[attack.what](attack.client.approval.call))
    return ()


def _context(attack: Attack) -> tuple[NodeHandle, ...]:
    attack.by.present(attack.node, context=PRESENTERS[attack.what](attack.client.approval.context))
    return ()


def _credential(attack: Attack) -> tuple[NodeHandle, ...]:
    """Each leaf of the credential in turn, or a credential of another authorization."""
    own = attack.client.authorization
    assert own is not None
    if attack.what == "foreign":
        _foreign(attack, own)
    elif own.credential is None:  # then the record's name is all that a client carries
        for _, name in altered(own.record):
            named = Authorization(str(name))
            attack.by.present(attack.node, authorization=named, forged="credential")
    else:
        for where, other_leaf in altered(own.credential):
            forged = f"credential with another {where}"
            changed = replace(own, credential=other_leaf)
            attack.by.present(attack.node, authorization=changed, forged=forged)
        without = replace(own, credential=None)
        attack.by.present(attack.node, authorization=without, forged="credential left out")
    return ()


def _foreign(attack: Attack, own: Authorization) -> None:
    """Another user's authorization, presented by us; then ours with a part of theirs. A ledger
    whose credentials are names of records has only the first."""
    theirs = approved(attack.scene, 1, THIEF)
    holder = attack.scene.helper(THIEF)
    theirs.issue(holder)
    other = theirs.authorization
    if other is None:
        return
    Attacker(theirs).present(attack.node, context=attack.client.approval.context)
    if own.credential is not None and other.credential is not None:
        forged = "credential of another authorization"
        for mixed in (
            replace(own, credential=other.credential),
            replace(other, credential=own.credential),
        ):
            attack.by.present(attack.node, authorization=mixed, forged=forged)
    theirs.finish(holder, theirs.new_use())
    attack.scene.stage.dismiss(holder)


_PRESENTED: Final[dict[str, Callable[[Attack], tuple[NodeHandle, ...]]]] = {
    "theft": _theft,
    "call": _call,
    "context": _context,
    "credential": _credential,
}


# around the first use ----------------------------------------------------------------------------


def _with_confirmation(attack: Attack) -> None:
    """Issue before the owner does, with a confirmation that does not cover it."""
    forgery = CONFIRMATIONS[attack.what](attack.client.approval)
    pending = reissue(
        attack.client,
        attack.node,
        call=forgery.call,
        budget=forgery.budget,
        confirmation=forgery.confirmation,
        forged=f"confirmation {attack.what}" if forgery.confirmation is not None else "",
    )
    opened = pending.answer.value if pending.answer else None
    if isinstance(opened, Authorization):
        attack.by.present(attack.node, call=forgery.call, authorization=opened)
