"""Expiry: t_e passes before, between and after the steps of an admission.

Where the ledger reads ``env.now`` a second process simply lives later: its clock is beyond t_e and
the declared error, and nobody waits. Where it reads the machine's clock, its own or that of a
server which the suite runs here, t_e is near and is waited for. Another server's clock is nobody's
here to say, and is not tried.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ...chaos.events import Point
from ...chaos.handle import NodeHandle
from ...targets.declaration import Declaration
from ..calls import Arm, Twist
from ..client import approve
from ..history import SinkKind
from ..moves import as_executor, child_of, delegate, reissue
from ..placement import Survey
from ..plan import Plan, PlanProblem
from ..race import HOLD_S, RACE
from ..scene import Scene
from ..uses import admit, admitting, ask, carry_on, unanswered
from . import Subjects, budgeted, budgets_of

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
LIFE_S: Final = 60.0
"""How long an authorization lives where clocks can be told to be ahead, seconds."""
SHORT_LIFE_S: Final = 0.5
"""The same where t_e must really pass."""
LATE_S: Final = 0.1
"""How long after t_e, and the clock's error, the late process lives at least, seconds."""
EARLY_S: Final = 0.3
"""How long before t_e an early process lives, seconds: t_e is half a second past a whole one, and
who cuts it down to seconds, or rounds it up, is wrong by more."""
MOMENTS: Final = (
    "over",
    "edge",
    "admitted",
    "orphaned",
    "unanswered",
    "reissued",
    "extended",
    "unissued",
    "waiter",
    "crossing",
    "zoned",
)
ZONE: Final = "XST-05:45"
"""Where ``zoned`` is played, in the words of POSIX: 5 h 45 min east of Greenwich, no summer time.
On a machine that keeps UTC, one who takes local time for UTC is right by chance."""
DELEGATED: Final = "delegated"
"""A moment of those ledgers that have children."""
EXECUTOR: Final = "executor-1"
CROSSING_S: Final = 0.15
"""How long before t_e a caller asks that is to wait across it, seconds."""


class ExpiryFamily:
    """See the module."""

    name = "expiry"
    tries = "t_e passes before, between and after the steps of an admission"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ("expiry",)
    topics: tuple[str, ...] = (*MOMENTS, DELEGATED)
    rows: tuple[str, ...] = ("RV07", "IS06", "RC11", "RC03")

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every moment x budget; sinks in turn."""
        if subject.declaration.facts.clock == "server" and not subject.survey.servers:
            return
        budgets = budgets_of(subject.declaration)
        for turn, moment in enumerate(_moments(subject.survey, subject.declaration)):
            for budget in budgets:
                sink = SINKS[(turn + budget) % len(SINKS)]
                yield Plan(subject.target, self.name, (moment,), budget, sink, 0)

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        budgeted(plan, scene.declaration)
        moments = _moments(scene.survey, scene.declaration)
        if plan.params[0] not in moments or len(plan.params) > 1:
            raise PlanProblem(f"{plan.id}: of this target the family plays {', '.join(moments)}")
        scene.stage.clocks = scene.clock_is_known
        zone = ZONE if plan.params == ("zoned",) else None
        played = _Played(scene, plan.budget, zone)
        getattr(played, plan.params[0])()
        played.heal()


def _moments(survey: Survey, declaration: Declaration) -> tuple[str, ...]:
    delegates = "delegate" in survey.operations and declaration.claims_that("delegate")
    return (*MOMENTS, DELEGATED) if delegates else MOMENTS


class _Played:
    """One schedule: ``early`` lives before t_e, and ``late`` after it."""

    def __init__(self, scene: Scene, budget: int, zone: str | None) -> None:
        self.scene, self.budget, self.zone = scene, budget, zone
        self.early = scene.victim(EXECUTOR)
        if zone is not None:  # before t_e draws near: a new interpreter takes a while
            scene.stage.dismiss(self.early)
            self.early = scene.helper(EXECUTOR, zone=zone)
        self.tells = scene.facts.clock == "injected"
        self.began_s = time.time()
        # whose clocks can be told to be anywhere is shown what becomes of parts of a second
        self.expires_s = (
            int(self.began_s) + LIFE_S + 0.5 if self.tells else self.began_s + SHORT_LIFE_S
        )
        self.client = approve(
            scene.stage,
            scene.facts,
            scene.stage.setting.trust,
            scene.draws,
            budget,
            executor=EXECUTOR,
            expires_s=self.expires_s,
        )
        self.late: NodeHandle | None = None
        scene.phase("hurt")

    # moments -----------------------------------------------------------------------------------

    def over(self) -> None:
        """Issued in time, and asked for too late; by an earlier clock it can still be used."""
        self.client.issue(self.early)
        self._use(self._later())
        if self.tells:
            self._use(self.early)

    def edge(self) -> None:
        """A little before t_e, and a little after it."""
        self.client.issue(self.early)
        before = self.early
        if self.tells:
            ahead_s = self.expires_s - EARLY_S - time.time()
            before = self.scene.helper(self.client.executor, skew_s=ahead_s)
        self._use(before)
        self._use(self._later())

    def zoned(self) -> None:
        """Everybody lives in another time zone, one before t_e and one after it."""
        self.client.issue(self.early)
        if self.budget > 1:  # else nothing would be left that could be admitted too late
            self._use(self.early)
        self._use(self._later())

    def admitted(self) -> None:
        """In time, and carried out afterwards by whoever lives later."""
        self.client.issue(self.early)
        use, pending = admit(self.client, self.early)
        later = self._later()
        node = self.early if pending.op == "execute" else later
        carry_on(self.client, node, use, pending)

    def orphaned(self) -> None:
        """In time, and left behind; recovery comes after t_e."""
        self.client.issue(self.early)
        _, pending = admit(self.client, self.early)
        self.scene.stage.kill(self.early, pending)
        self._later()

    def unanswered(self) -> None:
        """In time, and its client never heard of it; it asks again after t_e."""
        self.client.issue(self.early)
        use = unanswered(self.client, self.early)
        later = self._later()
        if self.scene.facts.attempt_identity:
            self.client.finish(later, use)

    def reissued(self) -> None:
        """The old confirmation is presented again; only a new decision opens anything."""
        self.client.issue(self.early)
        later = self._later()
        if "issue" in later.operations:
            self.client.issued(reissue(self.client, later))
        self._use(later)
        fresh = self.scene.approve(self.budget)
        fresh.issue(later)
        if fresh.authorization is not None:
            fresh.finish(later, fresh.new_use())

    def extended(self) -> None:
        """The old confirmation is presented in time, as if it were good for longer."""
        self.client.issue(self.early)
        if "issue" in self.early.operations and self.scene.facts.issues == "stored":
            validity = self.client.approval.validity
            longer = replace(validity, expires_s=self.expires_s + 10 * LIFE_S)
            self.client.issued(reissue(self.client, self.early, validity=longer))
        self._use(self._later())

    def unissued(self) -> None:
        """The confirmation is presented for the first time when it is over."""
        later = self._later()
        self.client.issue(later)
        self._use(later)

    def waiter(self) -> None:
        """One stands before its commit and dies; another, after t_e, waits behind it."""
        self.client.issue(self.early)
        op = admitting(self.scene.survey)
        kind = "write" if self.scene.survey.writes(op) else "reply"
        first, second = self.client.new_use(), self.client.new_use()
        later = self._later()
        stand = Twist(Arm(RACE, Point(op, kind, "before", 1)))
        holds = ask(self.client, self.early, first, stand)
        waits = ask(self.client, later, second, Twist(patience_s=HOLD_S))
        self.scene.races_started += 1
        self.scene.races_overlapped += holds.answer is None
        self.scene.stage.kill(self.early, holds)
        first.unknown = True
        self.scene.stage.settle(waits)
        carry_on(self.client, later, second, waits)

    def crossing(self) -> None:
        """One stands before its commit and dies; another asks before t_e, and waits across it."""
        client, stage = self.client, self.scene.stage
        client.issue(self.early)
        op = admitting(self.scene.survey)
        kind = "write" if self.scene.survey.writes(op) else "reply"
        first, second = client.new_use(), client.new_use()
        after = self._living_late()
        ahead_s = self.expires_s - CROSSING_S - time.time() if self.tells else 0.0
        behind = self.scene.helper(client.executor, skew_s=ahead_s)
        stand = Twist(Arm(RACE, Point(op, kind, "before", 1)))
        holds = ask(client, self.early, first, stand)
        waits = ask(client, behind, second, Twist(patience_s=0.0))
        over_s = self.expires_s + self.scene.facts.clock_error_s + LATE_S
        while waits.answer is None and time.time() + ahead_s < over_s:
            stage.drive(waits, 0.005)
        self.scene.races_started += 1
        self.scene.races_overlapped += holds.answer is None and waits.answer is None
        stage.inspect(after, client.known, client.label, "after_expiry")
        stage.kill(self.early, holds)
        first.unknown = True
        stage.settle(waits)
        carry_on(client, behind, second, waits)
        stage.dismiss(behind)

    def delegated(self) -> None:
        """A child is made in time, and its executor asks too late: t_e is its parent's."""
        self.client.issue(self.early)
        if self.client.authorization is None:
            return
        context = as_executor(self.client.approval.context, "executor-2")
        born = delegate(self.client, self.early, context, 1)
        child = child_of(self.client, born, context)
        self._later()
        if child is not None:
            holder = self.scene.helper(context.executor, skew_s=self._ahead_s())
            child.finish(holder, child.new_use())
            self.scene.stage.dismiss(holder)

    # pieces ------------------------------------------------------------------------------------

    def _use(self, node: NodeHandle) -> None:
        if self.client.authorization is not None and node.alive:
            self.client.finish(node, self.client.new_use())

    def _later(self) -> NodeHandle:
        """A process that lives after t_e, and a reading from there."""
        if self.late is None:
            late = self._living_late()
            over_s = self.expires_s + self.scene.facts.clock_error_s + LATE_S
            # waiting for t_e is all that can be done where nobody can be told another time
            while not self.tells and time.time() < over_s:
                time.sleep(0.005)
            stage = self.scene.stage
            stage.inspect(late, self.client.known, self.client.label, "after_expiry")
        return self._living_late()

    def _living_late(self) -> NodeHandle:
        """A process whose clock is past t_e, where clocks can be told to be."""
        if self.late is None:
            self.late = self.scene.helper(
                self.client.executor, skew_s=self._ahead_s(), zone=self.zone
            )
        return self.late

    def _ahead_s(self) -> float:
        beyond_s = self.scene.facts.clock_error_s + LATE_S
        return self.expires_s - self.began_s + beyond_s if self.tells else 0.0

    def heal(self) -> None:
        """Recovery after t_e; then what is left is tried."""
        scene, client = self.scene, self.client
        scene.phase("heal")
        later = self._later()
        scene.phase("recover")
        client.recover(later)
        scene.stage.dismiss(self.early)
        scene.survivor = later if self.zone is None else None
        scene.drain(client, later, self.budget)
        scene.end(client, later)
