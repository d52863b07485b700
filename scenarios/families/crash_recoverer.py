"""FP11 and FP12: the process that recovers is killed as well, and another one recovers.

An executor left an admission, with its effect applied (``sent``) or not (``unsent``). Whoever
recovers it is killed before anything is sent again, when the resent effect stands applied and
nobody was answered, or before its commit is durable; ``twice`` kills two of them there, one after
the other. Then a fresh process recovers. A claim of the dead must not block it, nor may it take
another unit or another key.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from ...chaos.handle import NodeHandle
from ...targets.replies import Recovered
from ..calls import Pending, told
from ..client import Client
from ..history import SinkKind
from ..placement import Place, places
from ..plan import Plan
from ..scene import Scene
from ..uses import leave_behind
from . import Subjects, budgets_of
from .crash_pipeline import await_lapse, recover_lapsed, shorten_lease, twist_of

LEFT: Final = ("unsent", "sent")
TIMES: Final = {"kill": 1, "twice": 2}
SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """Every place of a recoverer x what was left x how often x sink; budgets in turn."""
    budgets = budgets_of(subject.declaration)
    turn = 0
    for place in places(subject.survey):
        if place.who != "recoverer":
            continue
        for left in LEFT:
            for times in TIMES:
                for sink in SINKS if times == "kill" else SINKS[:1]:
                    turn += 1
                    budget = budgets[turn // 2 % len(budgets)]
                    params = (place.name, place.token, left, times)
                    yield Plan(subject.target, family, params, budget, sink, 0)


def run(plan: Plan, scene: Scene, place: Place, left: str, times: str) -> None:
    """Play one plan."""
    stage = scene.stage
    shorten_lease(scene)
    client = scene.approve(plan.budget)
    victim = scene.victim(client.executor)
    scene.phase("hurt")
    client.issue(victim)
    for _ in range(scene.draws.randrange(plan.budget)):
        client.finish(victim, client.new_use())
    use = client.new_use()
    leave_behind(scene, client, victim, use, sent=left == "sent")
    fired = 0
    for _ in range(TIMES[times]):
        recoverer = scene.helper(client.executor)
        if scene.survey.awaits:
            await_lapse(scene)
        pending = stopped_recovery(client, recoverer, place)
        if pending is None or not pending.reached or pending.answer is not None:
            stage.dismiss(recoverer)
            break
        stage.kill(recoverer, pending)
        fired += 1
    scene.phase("heal")
    healer, view = scene.healer(client, "after_fault")
    if fired == TIMES[times]:
        stage.tally.fired += [(place.name, f"kill {place.shown}")] * fired
        scene.check_durable(place, "kill", len(client.uses) - 1, view)
    else:
        scene.idle = f"{place.name} was never reached"
    scene.phase("recover")
    client.recover(healer)
    recover_lapsed(scene, client, healer)
    scene.drain(client, healer, plan.budget)
    scene.end(client, healer)


def stopped_recovery(client: Client, node: NodeHandle, place: Place) -> Pending | None:
    """Recover up to the place. None: there was nothing to resume."""
    twist = twist_of(place, "kill")
    if place.op == "recover":
        return told(lambda: client.recovery(node, twist))
    found = told(lambda: client.recovery(node))
    value = found.answer.value if found is not None and found.answer is not None else None
    for admission in value.resume if isinstance(value, Recovered) else ():
        use = client.use_of(admission)
        if use is None:
            continue
        if place.op == "effect":
            return client.send(node, use, admission, twist)
        client.send(node, use, admission)
        return told(partial(client.commit, node, use, admission, twist))
    return None
