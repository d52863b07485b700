"""The link from the executor to the sink, hurt while one effect crosses it.

``retry``   the link heals, the client asks again, then recovery runs.
``recover`` the link heals, recovery runs, then the client asks again.
``detour``  recovery runs by another way while the first is still hurt; then that heals, and what
            was held in it arrives last of all.
``flapping`` the link heals, and is hurt again in the same way when the client asks again; then it
            heals for good, and recovery runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ...chaos.events import FaultOff, FaultOn
from ...chaos.handle import NodeHandle
from ...chaos.network.faults import Fault, fault_named
from ...chaos.network.link import Link
from ...chaos.servers import ServerProblem
from ...idempotent_sink.process import SinkProcessProblem
from ...targets.replies import EffectUnknown
from ..calls import told
from ..client import Use
from ..crossing import Crossed, Crossing
from ..plan import Plan, PlanProblem
from ..scene import Scene

FAULTS: Final = (
    "null",
    "request-lost",
    "reply-lost",
    "both-lost",
    "late",
    "silence",
    "reset",
    "reset-after",
    "cut-30",
    "down",
)
ORDERS: Final = ("retry", "recover", "detour", "flapping")
LATE_DEADLINE_S: Final = 10.0
"""Longest wait for a request that healing has let through, seconds."""

SINK: Final = "sink"


def run(plan: Plan, scene: Scene, token: str, order: str) -> None:
    """Play one plan, with a sink that is reached by way of a proxy."""
    fault = named(plan, token)
    stage, desk = scene.stage, scene.stage.desk
    if scene.links is None:
        raise PlanProblem("this stage has no links: play the plan by `admitone replay`")
    try:
        sink = scene.links.sink(plan.sink)
    except SinkProcessProblem as problem:
        stage.blind(f"the sink at the end of the link: {problem}")
        return
    link = scene.links.to(SINK, sink.host, sink.port)
    detour = scene.links.to(f"{SINK}-detour", sink.host, sink.port)
    crossing = Crossing(sink, stage.recorder)
    crossing.by_way_of(link.host, link.port)
    embedded, passed_on = desk.sink, desk.passed_on
    desk.sink, desk.crossing = sink, crossing
    stage.setting = replace(stage.setting, sink_url=None)
    try:
        _Crossed(plan, scene, fault, order, crossing, (link, detour)).play()
    except EffectUnknown as failure:
        stage.blind(f"the sink's own log cannot be read: {failure}")
    except ServerProblem as problem:
        stage.blind(f"the proxy: {problem}")
    finally:
        desk.sink, desk.passed_on, desk.crossing = embedded, passed_on, None


class _Crossed:
    """One schedule on the sink's link."""

    def __init__(
        self,
        plan: Plan,
        scene: Scene,
        fault: Fault,
        order: str,
        crossing: Crossing,
        ways: tuple[Link, Link],
    ) -> None:
        self.plan, self.scene, self.fault, self.order = plan, scene, fault, order
        self.crossing = crossing
        self.link, self.detour = ways
        self.held = False
        self.client = scene.approve(plan.budget)

    def play(self) -> None:
        """Hurt, heal, recover, drain."""
        scene, client, stage = self.scene, self.client, self.scene.stage
        self.link.arm(self.fault)
        victim = scene.victim(client.executor)
        scene.phase("hurt")
        client.issue(victim)
        for _ in range(scene.draws.randrange(self.plan.budget)):
            client.finish(victim, client.new_use())
        use = client.new_use()
        self._hurt(victim, use)
        if self.order == "flapping":
            self._whole_again()
            self._hurt_again(victim, use)
        if scene.draws.random() < 0.5:
            stage.kill(victim)  # whoever did not hear of it may be gone as well
        scene.phase("heal")
        if self.order == "detour":
            self.crossing.by_way_of(self.detour.host, self.detour.port)
        else:
            self._whole_again()
        healer, _ = scene.healer(client, "after_fault")
        asker = victim if victim.alive else healer
        scene.phase("recover")
        if client.authorization is None:
            client.issue(healer)
        if self.order == "retry":
            self._ask_again(asker, use)
        client.recover(healer)
        if self.order != "retry":
            self._ask_again(asker, use)
        if self.order == "detour":
            self._whole_again()
            client.recover(healer)
        stage.dismiss(victim)
        scene.drain(client, healer, self.plan.budget)
        self.crossing.see()
        scene.end(client, healer)

    def _hurt(self, node: NodeHandle, use: Use) -> None:
        """The one effect that crosses the hurt link, and what both ends saw of it."""
        scene, client, stage = self.scene, self.client, self.scene.stage
        split = "execute" not in node.operations
        if client.authorization is not None and split:
            told(lambda: client.prepare(node, use))
        before = len(self.crossing.sent)
        self.link.fault(self.fault)
        stage.recorder.record("fault", FaultOn(self.fault.token, SINK))
        if client.authorization is not None and not split:
            executed = told(lambda: client.execute(node, use))
            if executed.answer is not None and executed.answer.left:
                client.work(node)
        elif use.admission is not None:
            client.send(node, use, use.admission)
            if use.receipt is not None and scene.draws.random() < 0.5:
                client.commit(node, use, use.admission)
        if len(self.crossing.sent) == before:
            scene.idle = "no effect was sent, so nothing crossed the link"
            return
        self.held = True
        stage.tally.drops += self.fault.sees != "answer"
        seen = self.crossing.sent[before]
        if wrong := _otherwise(self.fault, seen):
            stage.blind(f"the fault {self.fault.token} was not what it says: {wrong}")

    def _hurt_again(self, node: NodeHandle, use: Use) -> None:
        """What was not answered is asked for once more, under the same fault."""
        before = len(self.crossing.sent)
        self.link.fault(self.fault)
        self.scene.stage.recorder.record("fault", FaultOn(self.fault.token, SINK))
        self._ask_again(node, use)
        self.held = len(self.crossing.sent) > before

    def _whole_again(self) -> None:
        """The link heals; what was held in it arrives now."""
        stage = self.scene.stage
        self.link.heal()
        late = self.fault.reaches == "when healed" and not self.scene.idle and self.held
        self.held = False
        if late and not self.crossing.await_late(LATE_DEADLINE_S):
            stage.blind("what the hurt link held did not arrive when it was whole again")
        stage.recorder.record("fault", FaultOff(self.fault.token, SINK))

    def _ask_again(self, node: NodeHandle, use: Use) -> None:
        """The benign retry: the same attempt, nothing invented."""
        client = self.client
        if use.done or client.authorization is None:
            return
        if use.admission is not None and use.receipt is not None:
            client.commit(node, use, use.admission)
        elif use.admission is not None:
            client.carry_out(node, use, use.admission)
        elif self.scene.facts.attempt_identity or not use.unknown:
            client.finish(node, use)


def _otherwise(fault: Fault, seen: Crossed) -> str:
    """What the two ends saw that is not what the fault says, or an empty text."""
    if seen.reached != (fault.reaches == "at once"):
        return f"the request {'came' if seen.reached else 'did not come'} to the sink"
    if seen.answered != (fault.sees == "answer"):
        return f"{'an' if seen.answered else 'no'} answer came back"
    return ""


def named(plan: Plan, token: str) -> Fault:
    """The fault of a plan. Raises ``PlanProblem``."""
    try:
        return fault_named(token)
    except ValueError as problem:
        raise PlanProblem(f"{plan.id}: {problem}") from None
