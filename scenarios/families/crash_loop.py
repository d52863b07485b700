"""A crash loop: whoever takes a unit up dies of it, one process after another, until one lives.

A restarted service meets the unit that it died of, and dies again. However often that happens it
is still one unit, admitted once: whoever counts tries and gives up, frees it or has it admitted
once more, does so in the third or the fourth life, which a single kill never comes to.

``recover``  recoverers die, each at a place of FP11 or FP12 that the seed draws;
``retry``    the client's own process dies, each time asking again with the same attempt, at a
             place between Prepare and the end of Commit;
``silence``  nobody dies, and nothing is heard: the sink gets none of what recovery sends, time and
             again, and is there at last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...chaos.handle import NodeHandle
from ..calls import Pending
from ..client import Client, Use
from ..desk import Spurned
from ..history import SinkKind
from ..placement import Place, places
from ..plan import Plan
from ..scene import Scene
from ..uses import leave_behind
from . import Subjects, budgets_of
from .crash_pipeline import await_lapse, pursue, recover_lapsed, shorten_lease, stands, twist_of
from .crash_recoverer import stopped_recovery

TOPIC: Final = "loop"
WAYS: Final = ("recover", "retry")
SILENCE: Final = (TOPIC, "silence")
DEATHS: Final = 5
DEATHS_UNDER_LEASES: Final = 3
"""Fewer, for a lease of each of the dead must lapse before the next one may take the unit up."""

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
BEFORE_THE_END: Final = ("FP3", "FP4", "FP5", "FP6", "FP8", "FP9")
"""Where a unit stays unfinished. FP7 kills the sink; behind FP10 there is nothing to ask again."""


def shapes(subject: Subjects) -> tuple[tuple[str, ...], ...]:
    """The ways that this ledger knows: recovery, attempts that have a name, sending again."""
    found = tuple((TOPIC, "kill", way) for way in WAYS if _deadly(subject, way))
    return (*found, SILENCE) if _sends_again(subject) else found


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """Each way x sink; budgets in turn."""
    budgets = budgets_of(subject.declaration)
    for turn, shape in enumerate(shapes(subject)):
        for number, sink in enumerate(SINKS):
            budget = budgets[(turn + number) % len(budgets)]
            yield Plan(subject.target, family, shape, budget, sink, 0)


def run(plan: Plan, scene: Scene) -> None:
    """Play one plan."""
    if plan.params == SILENCE:
        _silence(plan, scene)
        return
    subject = Subjects(plan.target, scene.declaration, scene.survey)
    way, stage = plan.params[-1], scene.stage
    deadly = _deadly(subject, way)
    again = [place for place in deadly if _is_met_again(place)] or deadly
    shorten_lease(scene)
    client = scene.approve(plan.budget)
    node = scene.victim(client.executor)
    scene.phase("hurt")
    client.issue(node)
    use = client.new_use()
    if way == "recover":
        leave_behind(scene, client, node, use, sent=scene.draws.random() < 0.5)
    died, letters = 0, []
    for turn in range(DEATHS if scene.facts.lapse == "none" else DEATHS_UNDER_LEASES):
        if way == "recover" or turn:
            await_lapse(scene)
            node = scene.helper(client.executor)
        place = scene.draws.choice(again if turn else deadly)
        pending = _meets(client, node, use, place, way)
        if pending is None or use.done:
            stage.dismiss(node)
            break
        stood = stands(pending)
        if stood:
            stage.tally.fired.append((place.name, f"kill {place.shown}"))
            letters += [pending.letter] if place.transit == "held" and pending.letter else []
        elif place in again and len(again) > 1:
            again.remove(place)  # what was admitted before is not written again
        stage.kill(node, pending)
        died += 1
        use.unknown = use.admission is None and (stood or use.unknown)
    if died < 2 or not stage.tally.fired:
        scene.idle = "fewer than two processes could be killed while they were at the unit"
    scene.phase("heal")
    healer, _ = scene.healer(client, "after_fault")
    scene.phase("recover")
    client.recover(healer)
    recover_lapsed(scene, client, healer)
    if way == "retry" and scene.draws.random() < 0.5:
        client.finish(healer, use)  # else nobody but recovery brings it to an end
    for letter in letters:  # what the dead had sent, and the network had kept
        stage.desk.deliver(letter)
    scene.drain(client, healer, plan.budget)
    scene.end(client, healer)


def _silence(plan: Plan, scene: Scene) -> None:
    """Recover while nothing arrives; then when it does."""
    stage, leases = scene.stage, scene.facts.lapse != "none"
    shorten_lease(scene)
    client = scene.approve(plan.budget)
    node = scene.victim(client.executor)
    scene.phase("hurt")
    client.issue(node)
    leave_behind(scene, client, node, client.new_use())
    scene.phase("heal")
    healer, _ = scene.healer(client, "after_fault")
    stage.desk.spurned = spurned = Spurned("silent")
    for _ in range(DEATHS_UNDER_LEASES if leases else DEATHS):
        await_lapse(scene)
        client.recover(healer)
    stage.desk.spurned = None
    if not spurned.times:
        scene.idle = "recovery sent nothing that could be lost"
    await_lapse(scene)
    scene.phase("recover")
    client.recover(healer)
    recover_lapsed(scene, client, healer)
    scene.drain(client, healer, plan.budget)
    scene.end(client, healer)


def _sends_again(subject: Subjects) -> bool:
    """By itself, so that a silence is something that it counts."""
    survey = subject.survey
    sends = survey.sends("recover") or survey.left_to_work
    return subject.declaration.claims_that("recover") and sends


def _deadly(subject: Subjects, way: str) -> list[Place]:
    """Where the dead of this way die; nowhere, if the ledger does not know it."""
    found = places(subject.survey)
    if way == "recover":
        return [p for p in found if p.who == "recoverer" and not _forgets(p)]
    if not subject.declaration.facts.attempt_identity:
        return []
    mine = [place for place in found if place.who == "executor"]
    return [place for place in mine if place.name in BEFORE_THE_END and place.op != "work"]


def _is_met_again(place: Place) -> bool:
    """Whoever asks again comes here too: it makes fewer writes than the first one did, so that the
    second of a first request may be none of its own."""
    return place.point is None or place.point.kind != "write" or place.point.nth == 1


def _forgets(place: Place) -> bool:
    """Whoever dies here has left no trace of having been there, as if nobody had."""
    return place.name == "FP11" and place.token.endswith("-before")


def _meets(client: Client, node: NodeHandle, use: Use, place: Place, way: str) -> Pending | None:
    """One process takes the unit up, as far as the place. None: there was nothing to take up."""
    if way == "recover":
        return stopped_recovery(client, node, place)
    return pursue(client, node, use, place, twist_of(place, "kill"))
