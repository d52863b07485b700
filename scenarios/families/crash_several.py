"""Several units are left unfinished at once, and with one of them recovery can come to no end.

The executors of two authorizations died with their admissions. Of the unit that is sent first the
other side wants to hear nothing, now and ever (``refused``), or no answer about it ever comes
(``silent``): it stays as it is, for people to look at. That is no reason to leave the other one
unfinished. Whoever stops at the first unit that fails, and begins with it again the next time,
never comes to those behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Final

from ..desk import Spurned, Spurning
from ..history import SinkKind
from ..plan import Plan
from ..scene import Scene
from ..uses import leave_behind
from . import Subjects, budgets_of
from .crash_pipeline import recover_lapsed, shorten_lease

TOPIC: Final = "several"
ROUNDS: Final = 2
"""How often each client has the ledger recover: a ledger may begin elsewhere the next time."""

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
HOW: Final[Mapping[str, Spurning]] = {"refused": "refused", "silent": "silent"}


def shapes(subject: Subjects) -> tuple[tuple[str, ...], ...]:
    """Both ways, where the target says that it recovers, and sends again (or has sent) what was
    left."""
    survey = subject.survey
    sends = survey.resumes or survey.sends("recover") or survey.left_to_work
    claimed = subject.declaration.claims_that("recover")
    return tuple((TOPIC, how) for how in HOW) if claimed and sends else ()


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """Either way x sink; budgets in turn."""
    budgets = budgets_of(subject.declaration)
    for turn, shape in enumerate(shapes(subject)):
        for number, sink in enumerate(SINKS):
            budget = budgets[(turn + number) % len(budgets)]
            yield Plan(subject.target, family, shape, budget, sink, 0)


def run(plan: Plan, scene: Scene) -> None:
    """Play one plan."""
    stage = scene.stage
    shorten_lease(scene)
    clients = scene.approve(plan.budget), scene.approve(plan.budget)
    nodes = [scene.victim(clients[0].executor), scene.helper(clients[1].executor)]
    scene.phase("hurt")
    for client, node in zip(clients, nodes, strict=True):
        client.issue(node)
    for mine, theirs in permutations(clients):
        if theirs.authorization is not None:
            mine.strange.add(theirs.authorization.record)
    for client, node in zip(clients, nodes, strict=True):
        leave_behind(scene, client, node, client.new_use())
    scene.phase("heal")
    healer, _ = scene.healer(clients[0], "after_fault")
    stage.desk.spurned = spurned = Spurned(HOW[plan.params[1]])
    scene.phase("recover")
    for client in clients * ROUNDS:
        client.recover(healer)
    for client in clients if scene.facts.lapse != "none" else ():
        recover_lapsed(scene, client, healer)
    if not spurned.times:
        scene.idle = "nothing was sent that could be turned away"
    # what is left of the budgets is used elsewhere: a unit that a drain leaves would hide this one
    scene.phase("drain")
    scene.end(clients[0], healer)
    scene.look(clients[1], healer)
