"""Revocation: before, after and between the steps of an admission, by another process.

After every acknowledged Revoke the ledger is read at once, so that whoever is admitted behind it
contradicts a reading and not only an interval. What was admitted before must still come to its end
under its own key. Expiry has a family of its own (``expiry``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...chaos.events import Point
from ...chaos.handle import NodeHandle
from ..calls import Arm, Pending, Twist
from ..cuts import cut, cuts_of
from ..history import SinkKind
from ..moves import reissue, revoke
from ..placement import held_points
from ..plan import Plan, PlanProblem
from ..race import HOLD_S, RACE, meet, point_of, tokens_of
from ..scene import Scene
from ..uses import admit, admitting, ask, carry_on, unanswered
from . import Subjects, budgeted, budgets_of

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
MOMENTS: Final = (
    "before",
    "admitted",
    "orphaned",
    "unanswered",
    "committed",
    "twice",
    "reissued",
    "cached",
    "waiter",
)


class RevocationFamily:
    """See the module."""

    name = "revocation"
    tries = "Revoke before, during and after an admission, by another process; its own commit cut"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ("revoke",)
    claims: tuple[str, ...] = ("revoke",)
    topics: tuple[str, ...] = (*MOMENTS, "race", "cut")
    rows: tuple[str, ...] = ("RV01", "RV02", "RV03", "RV04", "IS06", "BU05", "RC03", "FI04")

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every moment x budget; every point of both sides of the race; every cut of Revoke."""
        survey, budgets = subject.survey, budgets_of(subject.declaration)
        shapes: list[tuple[tuple[str, ...], int]] = [((m,), b) for m in MOMENTS for b in budgets]
        others: list[tuple[str, ...]] = [
            ("race", *tokens_of(point))
            for op in (admitting(survey), "revoke")
            for point in held_points(survey, op)
        ]
        others += [("cut", *tokens) for tokens in cuts_of(survey, "revoke")]
        shapes += [(shape, budgets[n % len(budgets)]) for n, shape in enumerate(others)]
        for turn, (shape, budget) in enumerate(shapes):
            sink = SINKS[(turn // len(budgets)) % len(SINKS)]
            yield Plan(subject.target, self.name, shape, budget, sink, 0)

    def replays(self, plan: Plan) -> bool:
        """Whom the dead holder's lock goes to is chance, where two wait for it."""
        return plan.params[0] != "waiter"

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        budgeted(plan, scene.declaration)
        kind, *rest = plan.params
        played = _Played(scene, plan.budget)
        if kind == "race":
            played.race(point_of(plan, scene.survey, tuple(rest)))
        elif kind == "cut":
            played.cut(plan, tuple(rest))
        elif kind in MOMENTS and not rest:
            getattr(played, kind)()
        else:
            raise PlanProblem(f"{plan.id}: this family plays {', '.join(self.topics)}")
        played.heal()


class _Played:
    """One schedule: ``mine`` is the executor's node, ``theirs`` that of whoever withdraws."""

    def __init__(self, scene: Scene, budget: int) -> None:
        self.scene, self.budget = scene, budget
        self.client = scene.approve(budget)
        self.mine = scene.victim(self.client.executor)
        self.theirs = scene.helper(self.client.executor)
        self.looked = False
        scene.phase("hurt")
        self.client.issue(self.mine)

    # moments -----------------------------------------------------------------------------------

    def before(self) -> None:
        """Nothing was used yet."""
        self._revoke()
        self._use()

    def admitted(self) -> None:
        """The executor lives, holds its admission, and carries it out afterwards."""
        use, pending = admit(self.client, self.mine)
        self._revoke()
        carry_on(self.client, self.mine, use, pending)

    def orphaned(self) -> None:
        """The executor dies with its admission; recovery must finish it all the same."""
        _, pending = admit(self.client, self.mine)
        self.scene.stage.kill(self.mine, pending)
        self._revoke()

    def unanswered(self) -> None:
        """The admission is durable and its client never heard of it; it asks again."""
        use = unanswered(self.client, self.mine)
        self._revoke()
        if self.scene.facts.attempt_identity:
            self.client.finish(self.mine, use)

    def committed(self) -> None:
        """It is too late altogether."""
        self._use()
        self._revoke()

    def twice(self) -> None:
        """By two processes; used before, if the budget leaves something to revoke then."""
        if self.budget > 1:
            self._use()
        self._revoke()
        self._look_after(revoke(self.client, self.mine))

    def reissued(self) -> None:
        """The old confirmation is presented again; only a new decision opens anything."""
        self._revoke()
        other = self.scene.helper(self.client.executor)
        if "issue" in other.operations:
            self.client.issued(reissue(self.client, other))
        self._use(other)
        self.scene.stage.dismiss(other)
        fresh = self.scene.approve(self.budget)
        fresh.issue(self.mine)
        if fresh.authorization is not None:
            fresh.finish(self.mine, fresh.new_use())

    def cached(self) -> None:
        """The executor's process has just found the authorization good."""
        if self.budget > 1:
            self._use()
        elif "issue" in self.mine.operations:
            reissue(self.client, self.mine)
        self._revoke()
        for _ in range(2):
            self._use()

    def waiter(self) -> None:
        """One stands before its commit and dies; another, and Revoke, wait behind it."""
        op, stage = admitting(self.scene.survey), self.scene.stage
        kind = "write" if self.scene.survey.writes(op) else "reply"
        first, second = self.client.new_use(), self.client.new_use()
        behind = self.scene.helper(self.client.executor)
        stand = Twist(Arm(RACE, Point(op, kind, "before", 1)))
        holds = ask(self.client, self.mine, first, stand)
        waits = ask(self.client, behind, second, Twist(patience_s=HOLD_S))
        asked = revoke(self.client, self.theirs, Twist(patience_s=HOLD_S))
        self._look_after(asked)
        self.scene.races_started += 1
        self.scene.races_overlapped += holds.answer is None
        stage.kill(self.mine, holds)
        first.unknown = True
        stage.settle(waits, asked)
        if not self.looked:
            self._look_after(asked)
        carry_on(self.client, behind, second, waits)
        stage.dismiss(behind)

    # races and cuts ----------------------------------------------------------------------------

    def race(self, point: Point) -> None:
        """An admission and Revoke meet; ``point`` says which of them is held, and where."""
        use = self.client.new_use()

        def admits(twist: Twist) -> Pending:
            return ask(self.client, self.mine, use, twist)

        def withdraws(twist: Twist) -> Pending:
            return revoke(self.client, self.theirs, twist)

        if point.op == "revoke":
            asked, pending = meet(self.scene, point, withdraws, admits)
        else:
            pending, asked = meet(self.scene, point, admits, withdraws, self._look_after)
        if asked is not None and not self.looked:
            self._look_after(asked)
        assert pending is not None
        carry_on(self.client, self.mine, use, pending)

    def cut(self, plan: Plan, tokens: tuple[str, ...]) -> None:
        """Revoke's own commit, with a killed process or a reply that nobody gets; whoever was not
        answered asks again, or does not."""
        cut(plan, self.scene, "revoke", tokens, lambda t: revoke(self.client, self.theirs, t))
        if not self.theirs.alive:
            self.theirs = self.scene.helper(self.client.executor)
        self._look(self.theirs, "after_fault")
        if self.scene.draws.random() < 0.5:
            self._revoke()
        self._use()

    # pieces ------------------------------------------------------------------------------------

    def _use(self, node: NodeHandle | None = None) -> None:
        if self.client.authorization is not None:
            self.client.finish(node or self.mine, self.client.new_use())

    def _revoke(self) -> None:
        self._look_after(revoke(self.client, self.theirs))

    def _look_after(self, asked: Pending | None) -> None:
        """Read at once behind an acknowledged Revoke."""
        if asked is not None and asked.answer is not None and asked.answer.granted:
            self.looked = True
            self._look(asked.node)

    def _look(self, node: NodeHandle, moment: str = "after_revoke") -> None:
        self.scene.stage.inspect(node, self.client.known, self.client.label, moment)

    def heal(self) -> None:
        """Recovery, by a fresh process where the first one died; then what is left is tried."""
        scene, client = self.scene, self.client
        scene.phase("heal")
        healer = self.mine if self.mine.alive else scene.helper(client.executor)
        scene.phase("recover")
        client.recover(healer)
        scene.stage.dismiss(self.theirs)
        scene.survivor = healer
        scene.drain(client, healer, self.budget)
        scene.end(client, healer)
