"""Server: the ledger's server is hurt while its client stands in the middle of an operation.

``session``  the server's process of the client's session is killed. A PostgreSQL takes that for a
             corruption of its memory: it ends every session and recovers from its log.
``crash``    the whole server is killed, and started again on what it had.
``orphan``   the client is killed while its session waits for a lock that another one holds: what
             it had asked for is still in the server's hands, and may be done when the lock is free.
``refused``  the server refuses one statement of a transaction, as it does to the victim of a
             deadlock: the transaction is aborted, and its COMMIT can only be a rollback. The same
             client goes on, or another one.

Then a fresh process recovers, honest clients use what is left, and it is judged. Only a server
that the suite started is ever hurt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...chaos.events import FaultOff, FaultOn, Point
from ...chaos.servers import RunningServer, ServerProblem
from ..calls import Arm, Twist
from ..client import Client
from ..history import SinkKind
from ..moves import revoke
from ..placement import Survey
from ..plan import Plan, PlanProblem
from ..race import HOLD_S, tokens_of
from ..scene import Abandoned, Scene
from ..uses import admitting, ask, carry_on
from ..within import inner_statements
from . import Subjects, budgeted, budgets_of
from .spots import (
    AROUND,
    Reached,
    ask_again,
    learn_from,
    operations,
    reach,
    recover_and_drain,
    spot_of,
    spots,
)

STRIKES: Final = ("session", "crash")
ORDERS: Final = ("retry", "recover")
WAITERS: Final = ("admit", "revoke")
SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
SERVING_DEADLINE_S: Final = 60.0


class ServerFamily:
    """See the module."""

    name = "server"
    tries = "the ledger's server killed, or refusing, and clients that die in its hands"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    topics: tuple[str, ...] = (*STRIKES, "orphan", "refused")
    rows: tuple[str, ...] = ("FI03", "RC03", "PR06", "IS05")

    def lacks(self, survey: Survey) -> str:
        """Only servers of the suite's own are killed."""
        if survey.servers:
            return ""
        if survey.links:
            return "its server is not the suite's own, and no other is ever killed"
        return "the suite runs no server for it"

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every strike at every spot; orders, budgets and sinks in turn."""
        budgets = budgets_of(subject.declaration)
        shapes: list[tuple[str, ...]] = [
            (strike, *tokens_of(point)) for strike in STRIKES for point in spots(subject)
        ]
        params: list[tuple[str, ...]] = [(*shape, ORDERS[n % 2]) for n, shape in enumerate(shapes)]
        params += [("orphan", waiter) for waiter in _waiters(subject)]
        refused = [tokens_of(point) for point in _refusable(subject)]
        params += [("refused", *tokens, ORDERS[n % 2]) for n, tokens in enumerate(refused)]
        for turn, each in enumerate(params):
            budget, sink = budgets[turn // 2 % len(budgets)], SINKS[turn % len(SINKS)]
            yield Plan(subject.target, self.name, each, budget, sink, 0)

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        budgeted(plan, scene.declaration)
        match plan.params:
            case ("orphan", waiter) if waiter in WAITERS:
                _orphan(plan, scene, waiter)
            case ("refused", op, step, "before", order) if order in ORDERS:
                point = spot_of(plan, scene.survey, (op, step, "before"))
                _refused(plan, scene, point, order)
            case (("session" | "crash") as strike, op, step, side, order) if order in ORDERS:
                point = spot_of(plan, scene.survey, (op, step, side))
                _struck(plan, scene, strike, point, order)
            case _:
                raise PlanProblem(f"{plan.id}: this family plays {', '.join(self.topics)}")


def _waiters(subject: Subjects) -> Iterator[str]:
    yield "admit"
    if "revoke" in subject.declaration.claims:
        yield "revoke"


def _refusable(subject: Subjects) -> Iterator[Point]:
    if subject.survey.refuses:
        for op in operations(subject):
            yield from inner_statements(subject.survey, op)


def _refused(plan: Plan, scene: Scene, point: Point, order: str) -> None:
    stage = scene.stage
    client = scene.approve(plan.budget)
    victim = scene.victim(client.executor)
    scene.phase("hurt")
    found = reach(client, scene, victim, point)
    if found is not None and found.stands:
        stage.go(found.pending, raised="busy")
        learn_from(client, found)
    if found is None or not found.pending.fired:
        scene.idle = f"nothing was refused at {point}"
    scene.phase("heal")
    healer, _ = scene.healer(client, "after_fault")
    if order == "retry" and victim.alive:
        if client.authorization is None:
            client.issue(victim)
        ask_again(scene, client, found, victim)
    stage.dismiss(victim)
    recover_and_drain(scene, client, found, healer, "recover")


def _struck(plan: Plan, scene: Scene, strike: str, point: Point, order: str) -> None:
    stage = scene.stage
    client = scene.approve(plan.budget)
    victim = scene.victim(client.executor)
    scene.phase("hurt")
    found = reach(client, scene, victim, point)
    if found is None or not found.stands:
        scene.idle = f"{point} was never reached"
    elif not _strike(scene, client, found, strike):
        scene.idle = f"at {point} the client had no session that could be killed"
    scene.phase("heal")
    if victim.alive:
        stage.dismiss(victim)  # its connection is gone; whether it makes another is its own matter
    healer, _ = scene.healer(client, "after_fault")
    recover_and_drain(scene, client, found, healer, order)


def _strike(scene: Scene, client: Client, found: Reached, strike: str) -> bool:
    """Kill it while the call stands, let the call go on, and wait until the server serves."""
    stage, pending = scene.stage, found.pending
    name = stage.setting.client(pending.node.name)
    struck = [s for s in stage.setting.servers if s.ours and _killed(s, strike, name)]
    for server in struck:
        stage.tally.kills += 1
        stage.recorder.record("fault", FaultOn(f"{strike} killed", server.endpoint))
    stage.go(pending)
    learn_from(client, found)
    for server in struck:
        try:
            if strike == "crash":
                server.restart()
            server.await_serving(SERVING_DEADLINE_S)
        except ServerProblem as problem:
            stage.blind(f"the server that was killed did not come back: {problem}")
            raise Abandoned from None
        stage.recorder.record("fault", FaultOff(f"{strike} killed", server.endpoint))
    return bool(struck)


def _killed(server: RunningServer, strike: str, client: str) -> bool:
    if strike == "session":
        return server.kill_session(client)
    server.kill()
    return True


def _orphan(plan: Plan, scene: Scene, waiter: str) -> None:
    """One stands before its commit; another waits behind it and is killed; the first goes on."""
    stage, op = scene.stage, admitting(scene.survey)
    client = scene.approve(plan.budget)
    holds, waits = scene.victim(client.executor), scene.helper(client.executor)
    scene.phase("hurt")
    client.issue(holds)
    kind = "write" if scene.survey.writes(op) else "reply"
    first, second = client.new_use(), client.new_use()
    held = ask(client, holds, first, Twist(Arm(AROUND, Point(op, kind, "before", 1))))
    wait = Twist(patience_s=HOLD_S)
    asked = revoke(client, waits, wait) if waiter == "revoke" else ask(client, waits, second, wait)
    if held.answer is not None or asked.answer is not None:
        scene.idle = "nobody waited behind the one that stood before its commit"
    stage.kill(waits, asked)
    second.unknown = second.unknown or (waiter == "admit" and second.admission is None)
    if held.answer is None:
        stage.go(held)
    stage.settle(held)
    scene.phase("heal")
    carry_on(client, holds, first, held)
    stage.dismiss(holds)
    healer, _ = scene.healer(client, "after_fault")
    scene.phase("recover")
    client.recover(healer)
    if second.unknown and scene.facts.attempt_identity:
        client.finish(healer, second)
    if waiter == "revoke" and scene.draws.random() < 0.5:
        revoke(client, healer)
    scene.drain(client, healer, plan.budget)
    scene.end(client, healer)
