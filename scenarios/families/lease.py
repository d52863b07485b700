"""Lease: a unit is held for longer than any lease runs, whatever the ledger says of leases.

Its holder sits still, is stopped by a signal, waits for the sink, has not been answered yet, or is
dead. Then the lease is over, the ledger's own sweeper passes (where it has one), and others ask; at
last the holder goes on as if nothing had been. Where clocks can be told to be ahead, the others
simply live later; elsewhere the lease is short and is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ...chaos.events import Note, Point
from ...chaos.handle import NodeHandle
from ..calls import Arm, Pending, Twist
from ..client import Client, Use
from ..history import SinkKind
from ..moves import renew
from ..plan import Plan, PlanProblem
from ..race import RACE
from ..scene import Scene
from ..uses import admit, admitting, ask
from . import Subjects, budgeted, budgets_of

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
LEASE_S: Final = 0.3
"""How long a lease runs here, seconds: short, because some clocks must really pass it."""
BEYOND_S: Final = 0.2
"""How much later than its end the others live, seconds."""
HOWS: Final = ("sitting", "paused", "sending", "answering", "dead", "renewed")


class LeaseFamily:
    """See the module."""

    name = "lease"
    tries = "a holder slower than its lease: still, stopped, waiting, unanswered, dead, renewed"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    topics: tuple[str, ...] = HOWS
    rows: tuple[str, ...] = ("PR02", "RC01", "RC05", "RC11", "RC18")

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every way to hold x budget; sinks in turn."""
        budgets = budgets_of(subject.declaration)
        hows = [h for h in HOWS if h != "renewed" or "renew" in subject.survey.operations]
        for turn, how in enumerate(hows):
            for budget in budgets:
                sink = SINKS[(turn + budget) % len(SINKS)]
                yield Plan(subject.target, self.name, (how,), budget, sink, 0)

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        budgeted(plan, scene.declaration)
        if plan.params[0] not in HOWS or len(plan.params) > 1:
            raise PlanProblem(f"{plan.id}: this family plays {', '.join(HOWS)}")
        scene.stage.setting = replace(scene.stage.setting, lease_s=LEASE_S)
        scene.stage.clocks = scene.clock_is_known
        _Played(scene, plan.budget).run(plan.params[0])


class _Played:
    """One schedule: ``mine`` is the holder's node, ``late`` that of the others."""

    def __init__(self, scene: Scene, budget: int) -> None:
        self.scene, self.budget = scene, budget
        self.client: Client = scene.approve(budget)
        self.mine = scene.victim(self.client.executor)
        scene.phase("hurt")
        self.client.issue(self.mine)

    def run(self, how: str) -> None:
        """Hold, lapse, let others ask, go on."""
        use, pending = self._held(how)
        since = time.monotonic()
        late = self._late(since)
        if how == "renewed" and use.admission is not None:
            renew(self.client, late, use.admission, use.request)
        self._others(late)
        self._goes_on(how, use, pending)
        self._heal(late)

    def _held(self, how: str) -> tuple[Use, Pending]:
        """The unit is in somebody's hand, in this way."""
        client, stage = self.client, self.scene.stage
        stage.tally.pauses += how in ("sitting", "paused", "sending", "answering")
        guarded = self.scene.survey.guarded
        if how == "answering":
            use = client.new_use()
            reply = Point(admitting(self.scene.survey), "reply", "before", 1)
            return use, ask(client, self.mine, use, Twist(Arm(RACE, reply)))
        if how == "sending" and guarded:
            use = client.new_use()
            return use, client.execute(self.mine, use, Twist(transit=(RACE, "held")))
        use, pending = admit(client, self.mine)
        if how == "sending" and use.admission is not None:
            pending = client.send(self.mine, use, use.admission, Twist(transit=(RACE, "held")))
        if how == "paused" and self.mine.alive:
            self.mine.stop_clock(True)
            stage.recorder.record("fault", Note("pause", f"{self.mine.name} is stopped (SIGSTOP)"))
        if how == "dead":
            stage.kill(self.mine, pending)
        return use, pending

    def _late(self, since: float) -> NodeHandle:
        """A process that lives when the lease is over for certain."""
        beyond_s = LEASE_S + BEYOND_S + self.scene.facts.clock_error_s
        tells = self.scene.facts.clock == "injected"
        late = self.scene.helper(self.client.executor, skew_s=beyond_s if tells else 0.0)
        # waiting is all that can be done where nobody can be told another time
        while not tells and time.monotonic() < since + beyond_s:
            time.sleep(0.005)
        return late

    def _others(self, late: NodeHandle) -> None:
        """The sweeper passes, and others ask for every unit that there is."""
        stage, client = self.scene.stage, self.client
        stage.inspect(late, client.known, client.label, "after_lapse")
        if "work" in stage.parent.greeting.optional:
            stage.work(late, client.executor)
            stage.inspect(late, client.known, client.label, "after_work")
        for _ in range(self.budget):
            if client.authorization is None or not late.alive:
                return
            use = client.new_use()
            pending = ask(client, late, use, Twist(patience_s=LEASE_S))
            if pending.answer is None:
                stage.settle(pending)
                learn = client.executed if pending.op == "execute" else client.prepared
                learn(use, pending)
            if use.admission is not None and late.alive:
                client.carry_out(late, use, use.admission)

    def _goes_on(self, how: str, use: Use, pending: Pending) -> None:
        """The holder wakes, and does what it had been about to do."""
        client, stage = self.client, self.scene.stage
        self.scene.phase("heal")
        if how == "paused" and self.mine.alive:
            self.mine.stop_clock(False)
            stage.recorder.record("fault", Note("pause", f"{self.mine.name} goes on (SIGCONT)"))
        if not self.mine.alive:
            return
        if pending.letter is not None:
            stage.desk.deliver(pending.letter)
        if pending.answer is None:
            stage.settle(pending)
        if pending.op == "effect":
            client.sent(use, pending)
            if use.receipt is not None and use.admission is not None:
                client.commit(self.mine, use, use.admission)
            return
        learn = client.executed if pending.op == "execute" else client.prepared
        learn(use, pending)
        if use.admission is not None:
            client.carry_out(self.mine, use, use.admission)

    def _heal(self, late: NodeHandle) -> None:
        """Recovery, and what is left."""
        scene, client = self.scene, self.client
        scene.phase("recover")
        client.recover(late)
        scene.stage.dismiss(self.mine)
        scene.survivor = late
        scene.drain(client, late, self.budget)
        scene.end(client, late)
