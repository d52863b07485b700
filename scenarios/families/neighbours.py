"""Neighbours: one authorization is used while a unit of another is out, with nothing the matter.

Its client is slow, that is all: it was admitted, and has not sent anything yet. Whoever locks more
than the unit that is taken turns legitimate use away for as long as somebody else takes.

``user``     another action of the same user, executor, session and task, with the same tool and on
             the same resource;
``renewed``  the same action, confirmed once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..plan import Plan, PlanProblem
from ..scene import Scene
from . import Subjects, budgeted

TOPIC: Final = "neighbour"
USER, RENEWED = "user", "renewed"
WHO: Final = (USER, RENEWED)


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """Each once. A guarded ledger has nothing out that it could be slow with."""
    if subject.survey.guarded:
        return
    for who in WHO if "issue" in subject.survey.operations else WHO[:1]:
        yield Plan(subject.target, family, (TOPIC, who), 1, "idempotent", 0)


def run(plan: Plan, scene: Scene) -> None:
    """Play one plan."""
    budgeted(plan, scene.declaration)
    who = plan.params[-1]
    if scene.survey.guarded or plan.params != (TOPIC, who) or who not in WHO:
        raise PlanProblem(f"{plan.id}: this target has no such schedule now")
    client = scene.approve(plan.budget)
    slow = scene.victim(client.executor)
    node = scene.survivor = scene.helper(client.executor)
    scene.phase("hurt")
    client.issue(slow)
    use = client.new_use()
    client.prepare(slow, use)
    if use.admission is None:
        scene.idle = "nothing was admitted that could be out"
    # only now: a decision about the same action is another one because it comes later
    other = scene.confirmed_anew(client) if who == RENEWED else scene.approve_beside(client)
    other.issue(node)
    if other.authorization is not None:
        # Busy is an answer here: somebody may have a lock of the whole store, and how long it may
        # be held is for schedules to judge in which nobody is slow
        other.finish(node, other.new_use(), brief=True)
    scene.phase("heal")
    if use.admission is not None:
        client.carry_out(slow, use, use.admission)
    scene.phase("recover")
    client.recover(node)
    scene.drain(client, node, plan.budget)
    if who == USER:  # of the renewed one, a use that is served now would make up for the first
        scene.use_up(other, node, plan.budget)
    scene.end(client, node)
    if who == USER:
        scene.look(other, node)
