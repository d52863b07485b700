"""The link from every client to the ledger's server, hurt while one stands before a statement.

Before a COMMIT this is the ambiguous one: request and answer can be lost, and the driver's error is
the same. A client whose request is held in the network dies with it, and the request is delivered
afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ...chaos.events import FaultOff, FaultOn, Point
from ...chaos.network.faults import Fault
from ...chaos.network.link import Link
from ...chaos.servers import ServerProblem
from ...targets.terms import View
from ..client import Client
from ..plan import Plan, PlanProblem
from ..scene import Scene, units
from .network_sink import named
from .spots import AROUND, Reached, learn_from, reach, recover_and_drain

AT_COMMIT: Final = (
    "null",
    "request-lost",
    "reply-lost",
    "cut-1",
    "cut-12",
    "reset",
    "late",
    "silence",
)
AT_STATEMENT: Final = ("reply-lost", "request-lost")
ORDERS: Final = ("retry", "recover")
COMMIT: Final = "NW-commit"
"""The point beside the twelve that counts ambiguous COMMITs."""

HANG_S: Final = 0.1
"""How long a call is listened to that the fault leaves without any answer, seconds."""


def faults_at(point: Point) -> tuple[str, ...]:
    """The faults that are tried at a spot."""
    return AT_COMMIT if point.kind == "write" else AT_STATEMENT


def run(plan: Plan, scene: Scene, token: str, point: Point, order: str) -> None:
    """Play one plan."""
    fault, stage = named(plan, token), scene.stage
    links = dict(_links(plan, scene))
    ways = {endpoint: (link.host, link.port) for endpoint, link in links.items()}
    stage.setting = replace(stage.setting, detours=ways)
    try:
        for link in links.values():
            link.arm(fault)
        _play(plan, scene, fault, point, order, links)
    except ServerProblem as problem:
        stage.blind(f"the proxy: {problem}")


def _links(plan: Plan, scene: Scene) -> Iterator[tuple[str, Link]]:
    if scene.links is None or not scene.stage.setting.servers:
        raise PlanProblem(f"{plan.id}: this target has no server to which a link could lead")
    for server in scene.stage.setting.servers:
        yield server.endpoint, scene.links.to(f"ledger-{server.endpoint}", server.host, server.port)


def _play(
    plan: Plan, scene: Scene, fault: Fault, point: Point, order: str, links: dict[str, Link]
) -> None:
    stage = scene.stage
    client = scene.approve(plan.budget)
    victim = scene.victim(client.executor)
    scene.phase("hurt")
    found = reach(client, scene, victim, point, COMMIT if point.kind == "write" else AROUND)
    if found is not None and found.stands:
        _hurt(scene, client, fault, found, links)
    else:
        scene.idle = f"{point} was never reached"
    scene.phase("heal")
    stage.dismiss(victim)
    healer, view = scene.healer(client, "after_fault")
    if not scene.idle and point.kind == "write":
        happened = _happened(point.op, view, len(client.uses) - 1)
        stage.tally.fired.append((COMMIT, f"{fault.token}, {happened}"))
    recover_and_drain(scene, client, found, healer, order)


def _hurt(
    scene: Scene, client: Client, fault: Fault, found: Reached, links: dict[str, Link]
) -> None:
    """The call goes on into the fault; then every link is whole again."""
    stage, pending = scene.stage, found.pending
    for endpoint, link in links.items():
        link.fault(fault)
        stage.recorder.record("fault", FaultOn(fault.token, endpoint))
    stage.tally.drops += fault.sees != "answer"
    stage.go(pending, patience_s=HANG_S if fault.sees == "nothing" else None)
    dies = pending.answer is None and fault.reaches == "when healed"
    if dies:  # its request is on the way, and its session ends only when that has arrived
        stage.sessions.remember(pending.node.name)
        stage.kill(pending.node, pending)
    for endpoint, link in links.items():
        link.heal()
        stage.recorder.record("fault", FaultOff(fault.token, endpoint))
    if pending.answer is None:
        stage.settle(pending)
    learn_from(client, found)


def _happened(op: str, view: View | None, earlier: int) -> str:
    """Whether the COMMIT had become durable, though nobody was told."""
    if view is None:
        return "not seen"
    known, prepared, committed = units(view)
    durable = {
        "issue": known,
        "commit": committed > 0,
        "revoke": bool(view.revoked) or any(s.state == "revoked" for s in view.slots or ()),
    }.get(op, prepared + committed > earlier)
    return "happened" if durable else "did not happen"
