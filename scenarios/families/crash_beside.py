"""The four points beside the twelve: Revoke and Delegate, before and after their durable write.

Whoever withdraws or delegates is killed there, or gets no reply. A Revoke that nobody heard of may
have happened or not, and is asked again; a child that nobody heard of has its share of the budget
or has it not, and the parent never more than the rest. Only where the target claims the operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..calls import told
from ..history import SinkKind
from ..moves import as_executor, delegate, revoke
from ..placement import BESIDE, Place, places_beside
from ..plan import Plan
from ..scene import Scene
from . import Subjects, budgets_of
from .crash_pipeline import stands, twist_of

VARIANTS: Final = ("kill", "drop")
SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
NAMES: Final = tuple(name for pair in BESIDE.values() for name in pair)


def all_places(subject: Subjects) -> Iterator[Place]:
    """Every place of an operation that this target claims."""
    for op in BESIDE:
        if op in subject.declaration.claims and op in subject.survey.operations:
            yield from places_beside(subject.survey, op)


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """Every place, killed and dropped; budgets and sinks in turn."""
    budgets = budgets_of(subject.declaration)
    turn = 0
    for place in all_places(subject):
        for variant in VARIANTS:
            turn += 1
            budget = budgets[-1] if place.op == "delegate" else budgets[turn // 2 % len(budgets)]
            params = (place.name, place.token, variant)
            yield Plan(subject.target, family, params, budget, SINKS[turn % 2], 0)


def run(plan: Plan, scene: Scene, place: Place, variant: str) -> None:
    """Play one plan."""
    stage = scene.stage
    client = scene.approve(plan.budget)
    victim = scene.victim(client.executor)
    scene.phase("hurt")
    client.issue(victim)
    for _ in range(scene.draws.randrange(plan.budget)):
        client.finish(victim, client.new_use())
    twist = twist_of(place, variant)
    if place.op == "revoke":
        pending = told(lambda: revoke(client, victim, twist))
    else:
        pending = delegate(
            client, victim, as_executor(client.approval.context, "executor-2"), 1, twist
        )
    fired = stands(pending)
    if fired and variant == "kill":
        stage.kill(victim, pending)
    elif fired:
        stage.lose_reply(pending)
        stage.go(pending)
    scene.phase("heal")
    healer, _ = scene.healer(client, "after_fault" if fired else None)
    if fired:
        stage.tally.fired.append((place.name, f"{variant} {place.shown}"))
    else:
        scene.idle = f"{place.name} was never reached"
    stage.dismiss(victim)
    scene.phase("recover")
    client.recover(healer)
    if place.op == "revoke" and scene.draws.random() < 0.5:
        revoke(client, healer)
    scene.drain(client, healer, plan.budget)
    scene.end(client, healer)
