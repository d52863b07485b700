"""A process stands at its point while others act; then it dies, or goes on as if nothing was.

``pause``   SIGSTOP for longer than a lease lasts: nothing in the process runs, no heartbeat either.
``hold``    only the operation stands, the rest of its process runs.
            Both go on after others have recovered, or have asked again for the same request, and
            then do what they were about to do: finish the write, send the effect, commit.
``second``  another request is made meanwhile, ``revoke``: the authorization is withdrawn meanwhile,
``waiter``  another request waits, and a third process withdraws; then who stands is killed.

What the others ask for is listened to for ``HOLD_S``, or less where whoever stands has the store's
write lock (``beside``); one who waits for a lock of the process that stands is heard out when that
has gone on.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from ...chaos.handle import NodeHandle
from ...targets.terms import Admission
from ..calls import PLAIN, Pending, Twist
from ..client import Client, Use
from ..moves import revoke
from ..placement import Place
from ..plan import Plan
from ..race import beside
from ..scene import Scene
from ..uses import ask, carry_on
from .crash_pipeline import learn, reach, stands, twist_of

STANDING: Final = ("pause", "hold")
CROWDED: Final = ("second", "revoke", "waiter")
QUEUE_S: Final = 0.04
"""How long each of two that wait for a file's lock is listened to, seconds. Nothing but the pauses
between their tries puts them in order, and those grow with the time that each has waited."""

PAUSE_LEASE_S: Final = 0.1
"""The lease that a ledger is told to keep where its holder is paused, seconds."""


def run(plan: Plan, scene: Scene, place: Place, variant: str, order: str) -> None:
    """Play one plan."""
    stage = scene.stage
    if variant == "pause":
        stage.setting = replace(stage.setting, lease_s=PAUSE_LEASE_S)
    client = scene.approve(plan.budget)
    victim, other = scene.victim(client.executor), scene.helper(client.executor)
    third = scene.helper(client.executor) if variant == "waiter" else None
    scene.survivor = other
    scene.phase("hurt")
    pending, use = reach(client, victim, place, 0, twist_of(place, variant))
    wait = beside(scene.survey, place.point)
    if third is not None and wait.until == "asleep":
        wait = Twist(patience_s=QUEUE_S)
    if not stands(pending):
        scene.idle = f"{place.name} was never reached"
    else:
        stage.tally.fired.append((place.name, f"{variant} {place.shown}"))
        if variant in STANDING:
            _while_it_stands(scene, client, pending, use, other, variant, order, wait)
        else:
            _and_then_killed(scene, client, pending, use, (other, third), variant, wait)
    if client.authorization is None:
        client.issue(other)
    stage.dismiss(victim)  # it has done all that it was about to do: recovery is the last word
    scene.phase("recover")
    client.recover(other)
    scene.drain(client, other, plan.budget)
    scene.end(client, other)


def _while_it_stands(
    scene: Scene,
    client: Client,
    pending: Pending,
    use: Use,
    other: NodeHandle,
    variant: str,
    order: str,
    wait: Twist,
) -> None:
    """Another process does what there is to do; then the first one goes on."""
    stage, node = scene.stage, pending.node
    stage.tally.pauses += 1
    if variant == "pause":
        node.stop_clock(True)
        time.sleep(PAUSE_LEASE_S * 1.5)  # the pause itself: whatever lapses has lapsed
    if client.authorization is None:
        asked = client.issue(other, wait)
    elif order == "retry" and scene.facts.attempt_identity:
        asked = ask(client, other, use, wait)
    else:
        asked = client.recovery(other, wait)
    blocked = asked is not None and asked.answer is None
    # who is told to try again does so when the one that stands has gone on: it may hold the lock
    again = asked is not None and (asked.answer is None or asked.answer.outcome == "busy")
    waits = [asked] if asked is not None and blocked else []
    if asked is not None and not again:
        waits += _finish(client, other, use, asked, wait)
    if variant == "pause":
        node.stop_clock(False)
    _goes_on(scene, pending)
    stage.settle(pending, *waits)
    scene.phase("heal")
    learn(client, use, pending)
    if asked is not None and again:
        _finish(client, other, use, asked)
    _carry_on(client, node, use, pending)


def _goes_on(scene: Scene, pending: Pending) -> None:
    """A request that was on its way arrives; one that was applied is given up."""
    if pending.letter is None or pending.transit is None:
        return
    if pending.transit[1] == "held":
        scene.stage.desk.deliver(pending.letter)
    else:
        scene.stage.desk.forsake(pending.letter, "no answer from the sink for a long time")


def _finish(
    client: Client, node: NodeHandle, use: Use, asked: Pending, twist: Twist = PLAIN
) -> list[Pending]:
    """Take what another process was answered to its end; what waits for the one that stands."""
    if asked.op == "issue":
        client.issued(asked)
    elif asked.op == "recover":
        return client.resume(node, asked, twist)
    elif twist is not PLAIN and asked.answer and isinstance(asked.answer.value, Admission):
        client.prepared(use, asked)
        commit = client.carry_out(node, use, asked.answer.value, twist)
        return [commit] if commit is not None else []
    else:
        carry_on(client, node, use, asked)
    return []


def _carry_on(client: Client, node: NodeHandle, use: Use, pending: Pending) -> None:
    """The process that stood does the rest of its pipeline, not knowing what happened."""
    if not node.alive or pending.answer is None or use.admission is None:
        return
    if pending.op == "prepare":
        carry_on(client, node, use, pending)
    elif pending.op == "effect" and use.receipt is not None:
        client.commit(node, use, use.admission)


def _and_then_killed(
    scene: Scene,
    client: Client,
    pending: Pending,
    use: Use,
    others: tuple[NodeHandle, NodeHandle | None],
    variant: str,
    wait: Twist,
) -> None:
    """Others ask meanwhile; then the process that stands is killed."""
    other, third = others
    rival = client.new_use()
    asked = []
    if variant == "revoke":
        asked.append(revoke(client, other, wait))
    else:
        asked.append(ask(client, other, rival, wait))
    if third is not None:
        asked.append(revoke(client, third, wait))
    scene.stage.kill(pending.node, pending)
    use.unknown = True
    scene.stage.settle(*asked)
    scene.phase("heal")
    for each in asked:
        if each.op != "revoke":
            carry_on(client, each.node, rival, each)
