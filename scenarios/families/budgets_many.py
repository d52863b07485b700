"""A large budget: many uses, some of them asked for again much later, and many left by a crash.

Whatever a ledger keeps in a fixed number (the attempts that it remembers, the slots that it has
names for, what one recovery takes) is enough for ten uses and not for forty. Most are used; some
of the first are asked for again, as a queue delivers twice what it delivered once; then the
process dies with a dozen admissions. Recovery may take them in portions, so it is run as often as
there are any.

The attempts have names as long as a UUID, which differ in their last digits alone: in a ledger
that keeps 32 characters of them they are one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..client import Client, Use
from ..plan import Plan
from ..scene import Scene
from . import Subjects
from .crash_pipeline import recover_lapsed, shorten_lease

TOPIC: Final = "many"
SIZE: Final = 40
USED: Final = 25
AGAIN: Final = (0, 1, 7, 15)
"""Which of the used ones are asked for again, where the ledger knows attempts."""

LEFT: Final = 12


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """One plan, for who claims budgets of more than one."""
    if subject.declaration.claims_that("multi_budget"):
        yield Plan(subject.target, family, (TOPIC,), SIZE, "idempotent", 0)


def run(scene: Scene) -> None:
    """Play it."""
    shorten_lease(scene)
    client = scene.approve(SIZE)
    node = scene.victim(client.executor)
    scene.phase("hurt")
    client.issue(node)
    uses = [_use(client) for _ in range(USED)]
    for use in uses if client.authorization is not None else ():
        client.finish(node, use)
    for number in AGAIN if scene.facts.attempt_identity and client.authorization else ():
        client.finish(node, uses[number])
    if client.authorization is not None and not scene.survey.guarded:
        for _ in range(LEFT):
            client.prepare(node, _use(client))
    scene.stage.kill(node)
    scene.phase("heal")
    healer, _ = scene.healer(client, "after_fault")
    scene.phase("recover")
    for _ in range(LEFT):
        client.recover(healer)
    recover_lapsed(scene, client, healer)
    scene.drain(client, healer, SIZE)
    scene.end(client, healer)


def _use(client: Client) -> Use:
    """The next request, under an attempt with a long name."""
    use = client.new_use()
    use.attempt = f"{client.label[3:11]}-0000-4000-8000-{len(client.uses):012}"
    return use
