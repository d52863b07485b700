"""Delegation: children under one authorization, narrower, with a part of its budget.

A child is told apart by the context under which it acts. What a ledger refuses to delegate (a
second level, a part of the budget) is refused, and wrongs nobody; what it grants must stay narrower
than its parent, share one budget with it, and end with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from ...chaos.events import Point
from ...targets.terms import Context
from ..calls import Pending, Twist
from ..checks.attacks import ANOTHER_HOLDER
from ..cuts import cut, cuts_of
from ..history import SinkKind
from ..kin import Kin
from ..moves import as_executor, close, delegate, present
from ..placement import held_points
from ..plan import Plan, PlanProblem
from ..race import meet, point_of, tokens_of
from ..scene import Scene
from ..uses import admit, admitting, ask, carry_on
from . import Subjects, budgeted, budgets_of

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
NARROW: Final = ("executor", "session", "task")
WIDE: Final = ("session", "task", "policy_epoch", "schema_epoch", "budget")
MOMENTS: Final = ("one", "two", "mutated", "stranger", "conserved", "revoked", "orphaned", "below")
CLOSED: Final = ("unused", "used", "twice")


class DelegationFamily:
    """See the module."""

    name = "delegation"
    tries = "children of one and two levels: narrower, wider, racing, closed, revoked, cut"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ("delegate",)
    claims: tuple[str, ...] = ("delegate",)
    topics: tuple[str, ...] = (*MOMENTS, "narrow", "wide", "closed", "race", "both", "cut")
    rows: tuple[str, ...] = tuple(f"DG{n:02}" for n in range(1, 11))

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every shape; budgets in turn, but for the moments, which are played with each."""
        survey, budgets = subject.survey, budgets_of(subject.declaration)
        shapes: list[tuple[tuple[str, ...], int]] = [((m,), b) for m in MOMENTS for b in budgets]
        others: list[tuple[str, ...]] = [("narrow", name) for name in NARROW]
        others += [("wide", name) for name in WIDE]
        others += [("closed", how) for how in CLOSED if "close" in survey.operations]
        points = held_points(survey, "delegate")
        others += [("race", *tokens_of(p)) for p in held_points(survey, admitting(survey))]
        others += [(kind, *tokens_of(p)) for kind in ("race", "both") for p in points]
        others += [("cut", *tokens) for tokens in cuts_of(survey, "delegate")]
        shapes += [(shape, budgets[n % len(budgets)]) for n, shape in enumerate(others)]
        for turn, (shape, budget) in enumerate(shapes):
            sink = SINKS[(turn // len(budgets)) % len(SINKS)]
            yield Plan(subject.target, self.name, shape, budget, sink, 0)

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        budgeted(plan, scene.declaration)
        kind, *rest = plan.params
        played = _Played(scene, plan.budget)
        if kind in ("race", "both"):
            getattr(played, kind)(point_of(plan, scene.survey, tuple(rest)))
        elif kind == "cut":
            played.cut(plan, tuple(rest))
        elif (kind in MOMENTS and not rest) or rest in [[name] for name in _WORDS.get(kind, ())]:
            getattr(played, kind)(*rest)
        else:
            raise PlanProblem(f"{plan.id}: this family plays {', '.join(self.topics)}")
        played.heal()


_WORDS: Final[dict[str, tuple[str, ...]]] = {"narrow": NARROW, "wide": WIDE, "closed": CLOSED}


def _with(context: Context, field: str, value: Any) -> Context:
    return replace(context, **{field: value})


class _Played(Kin):
    """One schedule."""

    # moments -----------------------------------------------------------------------------------

    def one(self) -> None:
        """A child with one unit uses it; the parent uses the rest."""
        self.use(self.child())
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
        context, budget = as_executor(self.parent.approval.context, "executor-2"), 1
        if field == "budget":
            budget = self.budget + 1
        elif field.endswith("epoch"):
            context = _with(context, field, getattr(context, field) + 1)
        else:
            context = _with(context, field, f"another {field}")
        child = self.born(self.parent, self.node, context, budget)
        for _ in range(budget):
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
        """A child gives back what it did not use, once."""
        child = self.child()
        if child is None:
            return
        client, node = child
        if how == "used":
            self.use(child)
        for _ in range(2 if how == "twice" else 1):
            assert client.authorization is not None
            close(client, node, client.authorization, client.acting)
        self.use(child)

    def revoked(self) -> None:
        """The parent is revoked before its children ask."""
        first = self.child()
        second = self.child(first)
        self.withdraw(self.parent)
        self.use(second)
        self.use(first)

    def below(self) -> None:
        """Only the child is revoked; its own child ends with it, its parent does not."""
        first = self.child()
        second = self.child(first)
        if first is not None:
            self.withdraw(first[0])
        self.use(second)
        self.use(first)

    def orphaned(self) -> None:
        """A child's executor dies with its admission, and its parent is revoked."""
        child = self.child()
        if child is not None:
            client, node = child
            _, pending = admit(client, node)
            self.scene.stage.kill(node, pending)
        self.withdraw(self.parent)

    # races and cuts ----------------------------------------------------------------------------

    def race(self, point: Point) -> None:
        """The parent's own use and a Delegate of all that there is meet."""
        use = self.parent.new_use()
        node = self.scene.helper(self.parent.executor)
        context = as_executor(self.parent.approval.context, "executor-2")

        def uses(twist: Twist) -> Pending:
            return ask(self.parent, self.node, use, twist)

        gives = self.giving(node, context)
        if point.op == "delegate":
            given, pending = meet(self.scene, point, gives, uses)
        else:
            pending, given = meet(self.scene, point, uses, gives)
        assert pending is not None
        assert given is not None
        child = self.known(self.parent, given, context)
        carry_on(self.scene, self.parent, self.node, use, pending)
        self.use(child)
        self.scene.stage.dismiss(node)

    def both(self, point: Point) -> None:
        """Two Delegates of all that there is meet."""
        node = self.scene.helper(self.parent.executor)
        contexts = [as_executor(self.parent.approval.context, f"executor-{n}") for n in (2, 3)]
        first, second = self.giving(self.node, contexts[0]), self.giving(node, contexts[1])
        for given, context in zip(meet(self.scene, point, first, second), contexts, strict=True):
            assert given is not None
            self.use(self.known(self.parent, given, context))
        self.scene.stage.dismiss(node)

    def cut(self, plan: Plan, tokens: tuple[str, ...]) -> None:
        """Delegate's own commit; whoever was not answered asks again, for the same."""
        context = as_executor(self.parent.approval.context, "executor-2")
        giver = self.scene.helper(self.parent.executor)
        cut(plan, self.scene, "delegate", tokens,
            lambda t: delegate(self.parent, giver, context, 1, t))  # fmt: skip
        self.scene.stage.inspect(self.node, self.parent.known, self.parent.label, "after_fault")
        self.scene.stage.dismiss(giver)
        self.use(self.born(self.parent, self.node, context, 1))
