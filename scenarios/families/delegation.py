"""Delegation: children under one authorization, narrower, with a part of its budget.

A child is told apart by the context under which it acts. What a ledger refuses to delegate (a
second level, a part of the budget) is refused, and wrongs nobody; what it grants must stay narrower
than its parent, share one budget with it, and end with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from ...targets.terms import Context
from ..checks.attacks import ANOTHER_HOLDER
from ..client import Client
from ..cuts import cut, cuts_of
from ..history import SinkKind
from ..moves import as_executor, close, delegate, present
from ..plan import Plan, PlanProblem
from ..race import point_of
from ..scene import Scene
from ..uses import admit
from . import Subjects, budgeted, budgets_of
from .budgets import ODD, ODD_USES
from .crash_pipeline import recover_lapsed, shorten_lease
from .delegation_races import RACES, Races, races_of

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
NARROW: Final = ("executor", "session", "task")
BESIDE: Final = ("session", "task")
WIDE: Final = (
    *BESIDE,
    *(f"{name}_longer" for name in BESIDE),
    *("policy_epoch", "schema_epoch", "budget"),
    *(f"below_{name}" for name in (*BESIDE, "budget")),
)
"""``longer``: begins like that of its parent, and lies beside it all the same. ``below``: asked for
by a child, for one of its own that is wider than it, and not wider than the child's parent."""
MOMENTS: Final = (
    *("one", "two", "mutated", "stranger", "conserved"),
    *("revoked", "begun", "orphaned", "deep", "disowned", "spent", "below"),
)
WITHDRAWN: Final = ("revoked", "begun", "orphaned", "disowned", "spent", "below")
"""Moments in which somebody is revoked."""
LEFT: Final = ("orphaned", "deep", "disowned")
"""Moments in which somebody dies with an admission, which recovery must end."""
CLOSED: Final = (
    *("unused", "used", "twice", "revoked", "again", "reborn", "below"),
    *("orphaned", "awaited", "spent"),
)
WHOLE: Final = ("reborn", "awaited")
"""The child that is closed has all of its parent's budget."""


class DelegationFamily:
    """See the module."""

    name = "delegation"
    tries = "children of one and two levels: narrower, wider, racing, closed, revoked, cut"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ("delegate",)
    claims: tuple[str, ...] = ("delegate",)
    topics: tuple[str, ...] = (*MOMENTS, "narrow", "wide", "odd", "closed", *RACES, "cut", "ended")
    rows: tuple[str, ...] = tuple(f"DG{n:02}" for n in range(1, 11))

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every shape; budgets in turn, but for the moments, which are played with each."""
        survey, budgets = subject.survey, budgets_of(subject.declaration)
        shapes: list[tuple[tuple[str, ...], int]] = [
            ((m,), b) for m in _moments_of(subject) for b in budgets
        ]
        others: list[tuple[str, ...]] = [("narrow", name) for name in NARROW]
        others += [("wide", name) for name in WIDE]
        others += [("odd", name) for name in ODD]
        others += [("closed", how) for how in _closed_of(subject)]
        others += races_of(subject)
        others += [("cut", *tokens) for tokens in cuts_of(survey, "delegate")]
        if "close" in survey.operations:
            others += [("ended", *tokens) for tokens in cuts_of(survey, "close")]
        for n, shape in enumerate(others):  # asked for again there must be more to take
            again = shape == ("closed", "again")
            shapes.append((shape, budgets[-1 if again else n % len(budgets)]))
        for turn, (shape, budget) in enumerate(shapes):
            # a ledger that asks the sink has to end nothing where that cannot tell
            sink = SINKS[0 if shape[0] in LEFT else (turn // len(budgets)) % len(SINKS)]
            yield Plan(subject.target, self.name, shape, budget, sink, 0)

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        budgeted(plan, scene.declaration)
        kind, *rest = plan.params
        subject = Subjects(plan.target, scene.declaration, scene.survey)
        if kind in LEFT:
            shorten_lease(scene)
        played = _Played(scene, plan.budget)
        if plan.params in races_of(subject):
            getattr(played, kind)(point_of(plan, scene.survey, tuple(rest)))
        elif kind in ("cut", "ended"):
            getattr(played, kind)(plan, tuple(rest))
        elif plan.params == ("closed", "revoked") and "revoked" not in _closed_of(subject):
            raise PlanProblem(f"{plan.id}: this target has no such schedule now")
        elif (kind in _moments_of(subject) and not rest) or rest in [
            [name] for name in _WORDS.get(kind, ())
        ]:
            getattr(played, kind)(*rest)
        else:
            raise PlanProblem(f"{plan.id}: this family plays {', '.join(self.topics)}")
        played.heal(recover_lapsed if kind in LEFT else None)


_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "narrow": NARROW,
    "wide": WIDE,
    "odd": tuple(ODD),
    "closed": CLOSED,
}


def _moments_of(subject: Subjects) -> list[str]:
    """Those that this ledger has the operations for."""
    revokes = "revoke" in subject.survey.operations
    return [moment for moment in MOMENTS if revokes or moment not in WITHDRAWN]


def _closed_of(subject: Subjects) -> list[str]:
    """The ways to close a child that this ledger has the operations for."""
    can = subject.survey.operations
    return [h for h in CLOSED if "close" in can and (h != "revoked" or "revoke" in can)]


def _with(context: Context, field: str, value: Any) -> Context:
    return replace(context, **{field: value})


class _Played(Races):
    """One schedule."""

    # moments -----------------------------------------------------------------------------------

    def one(self) -> None:
        """A child with one unit uses it, and gets no other; the parent uses the rest."""
        child = self.child()
        self.use(child)
        self.use(child)
        self.use_own()

    def two(self) -> None:
        """A child of a child, where the ledger grants one."""
        first = self.child()
        second = self.child(first)
        self.use(second or first)
        self.use(first)

    def narrow(self, field: str) -> None:
        """Narrower in one field: granted, and of use."""
        context = as_executor(self.parent.approval.context, "executor-2")
        if field != "executor":
            context = _with(context, field, f"{getattr(context, field)}/part")
        self.use(self.born(self.parent, self.node, context, 1))
        self.use_own()

    def wide(self, field: str) -> None:
        """Wider in one field; whatever was granted is tried."""
        if field.startswith("below_"):
            self._wide_below(field.removeprefix("below_"))
            return
        context, budget = as_executor(self.parent.approval.context, "executor-2"), 1
        if field == "budget":
            budget = self.budget + 1
        elif field.endswith("epoch"):
            context = _with(context, field, getattr(context, field) + 1)
        elif field.endswith("longer"):
            name = field.removesuffix("_longer")
            context = _with(context, name, f"{getattr(context, name)}0")
        else:
            context = _with(context, field, f"another {field}")
        child = self.born(self.parent, self.node, context, budget)
        for _ in range(budget):
            self.use(child)

    def _wide_below(self, field: str) -> None:
        """The same, of a child that has a child of its own."""
        child = self.child()
        if child is None:
            return
        client, node = child
        above, budget = client.approval.context, 1
        context = as_executor(above, "executor-3")
        if field == "budget":
            budget = 2
        else:
            context = _with(context, field, f"{getattr(self.parent.approval.context, field)}/else")
        grandchild = self.born(client, node, context, budget)
        for _ in range(budget):
            self.use(grandchild)

    def odd(self, name: str) -> None:
        """A child with a budget that is none: refused, or no more units than there were. Less
        than nothing, taken from what its parent has, would be something."""
        context = as_executor(self.parent.approval.context, "executor-2")
        child = self.born(self.parent, self.node, context, ODD[name])
        for _ in range(ODD_USES):
            self.use(child)

    def mutated(self) -> None:
        """The child presents another call, then its own."""
        child = self.child()
        if child is not None:
            client, node = child
            call = client.approval.call
            other = replace(call, args={**call.args, "amount": "0.01"})
            present(client, node, "x1", call=other, context=client.acting)
            self.use(child)

    def stranger(self) -> None:
        """The child's credential in the hands of a stranger, and of its parent."""
        child = self.child()
        if child is None:
            return
        client, _ = child
        stranger = as_executor(client.approval.context, "executor-9")
        node = self.scene.helper("executor-9")
        present(client, node, "x1", context=stranger, forged=ANOTHER_HOLDER)
        own = self.parent.approval.context
        present(client, self.node, "x2", context=own, forged=ANOTHER_HOLDER)
        self.use(child)
        self.scene.stage.dismiss(node)

    def conserved(self) -> None:
        """The whole budget is a child's: the parent has nothing left, and the child no more."""
        child = self.child(budget=self.budget)
        self.use_own()
        for _ in range(self.budget + 1):
            self.use(child)
        self.child()

    def closed(self, how: str) -> None:
        """A child gives back what it did not use, once: also one that was revoked before, one that
        was asked for again and answered with itself, one that is made anew afterwards, one that
        has a child of its own, which may have used what it had, one whose executor died with its
        admission, and one for whose units its parent has asked in vain."""
        child = self.child(budget=self.budget if how in WHOLE else 1)
        if child is None:
            return
        client, node = child
        if how == "orphaned":
            _, pending = admit(client, node)
            self.scene.stage.kill(node, pending)
            node = self.node
        elif how == "awaited":
            self.use_own()
        grandchild = self.child(child) if how in ("below", "spent") else None
        if how == "spent":
            self.use(grandchild or child)
        elif how == "used":
            self.use(child)
        elif how == "revoked":
            self.withdraw(client)
        elif how == "again" and not self.is_asked_for_again(client):
            return
        for _ in range(2 if how in ("twice", "revoked") else 1):
            assert client.authorization is not None
            close(client, node, client.authorization, client.acting)
            self.parent.audit(self.node, "after_close")
        if how == "reborn":  # whatever it gets then, it uses all of that
            child = self.born(self.parent, self.node, client.approval.context, self.budget)
            for _ in range(self.budget):
                self.use(child)
        self.use(grandchild)
        self.use(child)

    def is_asked_for_again(self, child: Client) -> bool:
        """Whether the same Delegate, as of somebody who had no answer, is answered with the same
        child. Another one would hold units of its own, which closing the first does not free."""
        context = child.approval.context
        answer = delegate(self.parent, self.node, context, 1).answer
        self.parent.audit(self.node, "after_delegate")
        return answer is not None and answer.value == child.authorization

    def revoked(self) -> None:
        """The parent is revoked before its children ask."""
        first = self.child()
        second = self.child(first)
        self.withdraw(self.parent)
        self.use(second)
        self.use(first)

    def begun(self) -> None:
        """A child has used the first of its units when its parent is revoked."""
        child = self.child(budget=self.budget)
        self.use(child)
        self.withdraw(self.parent)
        self.use(child)

    def below(self) -> None:
        """Only the child is revoked; its own child ends with it, its parent does not."""
        first = self.child()
        second = self.child(first)
        if first is not None:
            self.withdraw(first[0])
        self.use(second)
        self.use(first)

    def deep(self) -> None:
        """The executor of a child's child dies with its admission, and recovery finds that."""
        first = self.child()
        second = self.child(first) or first
        if second is not None:
            client, node = second
            _, pending = admit(client, node)
            self.scene.stage.kill(node, pending)

    def disowned(self) -> None:
        """A child's executor dies with its admission, and the child alone is revoked: what it was
        admitted to is its own, and runs on."""
        child = self.child()
        if child is not None:
            client, node = child
            _, pending = admit(client, node)
            self.scene.stage.kill(node, pending)
            self.withdraw(client)

    def spent(self) -> None:
        """A child's child has used what it had when the child is revoked: that does not come
        back."""
        first = self.child()
        self.use(self.child(first) or first)
        if first is not None:
            self.withdraw(first[0])

    def orphaned(self) -> None:
        """A child's executor dies with its admission, and its parent is revoked."""
        child = self.child()
        if child is not None:
            client, node = child
            _, pending = admit(client, node)
            self.scene.stage.kill(node, pending)
        self.withdraw(self.parent)

    # cuts --------------------------------------------------------------------------------------

    def cut(self, plan: Plan, tokens: tuple[str, ...]) -> None:
        """Delegate's own commit; whoever was not answered asks again, for the same."""
        context = as_executor(self.parent.approval.context, "executor-2")
        giver = self.scene.helper(self.parent.executor)
        cut(plan, self.scene, "delegate", tokens,
            lambda t: delegate(self.parent, giver, context, 1, t))  # fmt: skip
        self.scene.stage.inspect(self.node, self.parent.known, self.parent.label, "after_fault")
        self.scene.stage.dismiss(giver)
        self.use(self.born(self.parent, self.node, context, 1))

    def ended(self, plan: Plan, tokens: tuple[str, ...]) -> None:
        """Close's own commit; whoever was not answered asks again. When that is answered all is
        back, whoever did it."""
        child = self.child()
        if child is None:
            return
        client, _ = child
        giver = self.scene.helper(self.parent.executor)
        born = client.authorization
        assert born is not None
        cut(plan, self.scene, "close", tokens,
            lambda t: close(client, giver, born, client.acting, t))  # fmt: skip
        self.scene.stage.inspect(self.node, self.parent.known, self.parent.label, "after_fault")
        self.scene.stage.dismiss(giver)
        close(client, self.node, born, client.acting)
