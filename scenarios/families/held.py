"""Held races: one caller stands between two of its statements while another runs through.

Check-then-act is found in the first seconds, every time, and replays, because nothing is left to
chance: for every statement and every durable write of an operation, one node is held there, a
second node makes its call, and only then the first goes on. A second caller that waits for the
first one's lock is given ``HOLD_S``, then the first is released.

A plan of one operation (``held.prepare.statement2.after``) has two clients make the same call.
The other pairs are named before the point:

``same``           one attempt is sent twice at once.
``trio``           two others run through, one after the other: with b = 2 the update that was lost
                   shows only in a third admission.
``apart``          two authorizations, which share nothing but what all of them share: an audit
                   chain, a counter, a lock, an error of one that the other is told of.
``commit-recover`` one commits, and the other recovers and resumes what it finds.
``commit-other``   two units of one authorization are committed at once.
``commit-use``     one commits its unit, and the other is admitted to the next one.
``use-commit``     the same, with the other one held: whoever writes a whole record, or numbers the
                   versions of it, has to mind what the other one wrote.
``settle``         a guarded ledger writes down how an effect ended, while another use runs through.
``impatient``      the first one keeps its lock for longer than the second one's library waits for
                   any: that was no answer about the budget, and may not be given as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from ...chaos.events import Point
from ...chaos.handle import NodeHandle
from ...targets.terms import Admission
from ..calls import Arm, Pending, Twist, told
from ..client import Client, Use
from ..history import SinkKind
from ..placement import Survey, held_points, settling_points
from ..plan import Plan
from ..race import HOLD_S, RACE, beside, locks, meet, point_of, tokens_of
from ..scene import Scene
from ..uses import admitting, ask, carry_all_on, carry_on, leave_behind
from . import Subjects, apart, budgeted, budgets_of

TOPIC: Final = "held"
IMPATIENT: Final = ("impatient",)
SETTLE: Final = ("settle",)
COMMIT_OTHER: Final = ("commit-other",)
COMMIT_USE: Final = ("commit-use",)
USE_COMMIT: Final = ("use-commit",)
IMPATIENCE_S: Final = 0.05
"""How long a library is told to wait at most where its time-out is to pass, seconds."""

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")


@dataclass(slots=True)
class Round:
    """One held race: who takes part, and what each has in hand."""

    scene: Scene
    client: Client
    first: NodeHandle
    second: NodeHandle
    point: Point
    budget: int
    listen: Twist


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """Every pair at every point of its operation x budget; sinks in turn."""
    turn = 0
    for pair, op, budgets in _pairs(subject):
        for point in _points(subject.survey, pair, op):
            for budget in budgets:
                turn += 1
                params = (TOPIC, *pair, *tokens_of(point))
                yield Plan(subject.target, family, params, budget, SINKS[turn % len(SINKS)], 0)


def _points(survey: Survey, pair: tuple[str, ...], op: str) -> list[Point]:
    """Where the first one is held; for who is impatient one point under the lock is enough."""
    points = list(settling_points(survey) if pair == SETTLE else held_points(survey, op))
    return points if pair != IMPATIENT else [p for p in points if locks(survey, p)][-1:]


def _pairs(subject: Subjects) -> Iterator[tuple[tuple[str, ...], str, tuple[int, ...]]]:
    """Who meets whom: the pair's tokens, the operation that is held, and the budgets."""
    survey, facts = subject.survey, subject.declaration.facts
    budgets, op = budgets_of(subject.declaration), admitting(subject.survey)
    yield (), "issue", budgets
    yield (), op, budgets
    if facts.attempt_identity:
        yield ("same",), op, budgets[-1:]
    if len(budgets) > 1:
        yield ("trio",), op, budgets[-1:]
    for each in ("issue", op, "commit"):
        yield ("apart",), each, budgets[-1:]
    if "commit" in survey.operations:
        yield (), "commit", budgets[:1]
        if "recover" in survey.operations:
            yield ("commit-recover",), "commit", budgets[:1]
        if len(budgets) > 1:
            yield COMMIT_OTHER, "commit", budgets[-1:]
            yield COMMIT_USE, "commit", budgets[-1:]
            yield USE_COMMIT, op, budgets[-1:]
    if len(budgets) > 1:
        yield SETTLE, op, budgets[-1:]
    if "recover" in survey.operations:
        yield (), "recover", budgets[-1:]
    for each in ("issue", op, "commit", "recover"):
        yield IMPATIENT, each, budgets[-1:]


def run(plan: Plan, scene: Scene) -> None:
    """Play one plan."""
    budgeted(plan, scene.declaration)
    pair, point = plan.params[1:-3], point_of(plan, scene.survey, plan.params[-3:])
    if pair == ("apart",):
        apart.run(plan, scene, point)
        return
    listen = beside(scene.survey, point)
    if pair == IMPATIENT:
        scene.stage.setting = replace(scene.stage.setting, patience_s=IMPATIENCE_S)
        listen = Twist(patience_s=HOLD_S, until="answer", faulted=True)
    client = scene.approve(plan.budget)
    first = scene.victim(client.executor)
    second = scene.helper(client.executor)
    scene.survivor = second
    race = Round(scene, client, first, second, point, plan.budget, listen)
    scene.phase("hurt")
    if point.op == "issue":
        _issues(race)
    elif point.op == "recover":
        _recoveries(race)
    elif pair in (COMMIT_USE, USE_COMMIT):
        _commit_and_use(race)
    elif point.op == "commit":
        two = pair in (IMPATIENT, COMMIT_OTHER) and plan.budget > 1
        _commits(race, recovers=pair == ("commit-recover",), two=two)
    elif pair == ("same",):
        _same(race)
    else:
        _admissions(race, others=2 if pair == ("trio",) else 1)
    scene.phase("recover")
    client.recover(second)
    scene.stage.dismiss(first)
    scene.drain(client, second, plan.budget)
    scene.end(client, second)


def _issues(race: Round) -> None:
    """The same confirmation is presented twice at once."""
    client = race.client
    answers = meet(
        race.scene,
        race.point,
        lambda twist: client.issue(race.first, twist),
        lambda twist: client.issue(race.second, twist),
        listen=race.listen,
    )
    race.scene.phase("heal")
    for pending in answers:
        if pending is not None:
            client.issued(pending)


def _admissions(race: Round, others: int) -> None:
    """Requests under one authorization: the first is held while the others run through. Where one
    of them has to wait, those behind it come when it is through: two that wait have no order."""
    scene, client = race.scene, race.client
    client.issue(race.first)
    uses = [client.new_use() for _ in range(1 + others)]
    nodes = [race.first, race.second]
    nodes += [scene.helper(client.executor) for _ in range(others - 1)]
    held = told(lambda: ask(client, race.first, uses[0], Twist(Arm(RACE, race.point))))
    calls = [held]
    behind = list(zip(nodes[1:], uses[1:], strict=True))
    while behind and all(call is held or call.answer is not None for call in calls):
        calls.append(ask(client, *behind.pop(0), race.listen))
    _release(scene, held, *calls[1:])
    calls += [ask(client, node, use) for node, use in behind]
    scene.phase("heal")
    carry_all_on(client, zip(nodes, uses, calls, strict=True))


def _release(scene: Scene, held: Pending, *others: Pending) -> None:
    """Let the held one go on, and hear everybody out."""
    scene.races_started += 1
    if held.answer is None:
        scene.races_overlapped += 1
        scene.stage.tally.pauses += 1
        scene.stage.go(held, patience_s=HOLD_S)
    scene.stage.settle(held, *others)


def _same(race: Round) -> None:
    """One attempt is sent twice at once, as a proxy that repeats does."""
    client = race.client
    client.issue(race.first)
    use = client.new_use()
    answers = meet(
        race.scene,
        race.point,
        lambda twist: ask(client, race.first, use, twist),
        lambda twist: ask(client, race.second, use, twist),
    )
    race.scene.phase("heal")
    pairs = zip((race.first, race.second), answers, strict=True)
    carry_all_on(client, [(node, use, each) for node, each in pairs if each is not None])


def _commits(race: Round, *, recovers: bool, two: bool) -> None:
    """One admission whose effect stands is committed twice at once, or by a recoverer too. ``two``:
    the second one commits another unit, which nobody else would commit in its place."""
    scene, client, second = race.scene, race.client, race.second
    client.issue(race.first)
    uses = [client.new_use() for _ in range(2 if two else 1)]
    ready = [(use, held) for use in uses if (held := _ready(race, use)) is not None]
    if len(ready) < len(uses):
        scene.idle = "nothing was admitted and carried out that could be committed"
        return
    (mine, held), (theirs, other) = ready[0], ready[-1]
    answers = meet(
        scene,
        race.point,
        lambda twist: client.commit(race.first, mine, held, twist),
        lambda twist: (
            client.recovery(second, twist)
            if recovers
            else client.commit(second, theirs, other, twist)
        ),
        listen=race.listen,
    )
    scene.phase("heal")
    if two:  # before anybody recovers: what was acknowledged is there
        scene.stage.inspect(second, client.known, client.label, "after_race")
    for use, pending in zip((mine, theirs), answers, strict=True):
        if pending is not None and pending.op == "commit":
            client.committed(use, pending)
        elif pending is not None:
            client.resume(second, pending)


def _commit_and_use(race: Round) -> None:
    """A unit whose effect stands is committed while another one is admitted; which of the two is
    held, the point says."""
    scene, client, first, second = race.scene, race.client, race.first, race.second
    client.issue(first)
    mine, theirs = client.new_use(), client.new_use()
    held = _ready(race, mine)
    if held is None:
        scene.idle = "nothing was admitted and carried out that could be committed"
        return
    commits = race.point.op == "commit"
    committer, user = (first, second) if commits else (second, first)

    def commit(twist: Twist) -> Pending | None:
        return client.commit(committer, mine, held, twist)

    def use(twist: Twist) -> Pending:
        return ask(client, user, theirs, twist)

    if commits:
        done, asked = meet(scene, race.point, commit, use, listen=race.listen)
    else:
        asked, done = meet(scene, race.point, use, commit, listen=race.listen)
    scene.phase("heal")
    scene.stage.inspect(second, client.known, client.label, "after_race")
    if done is not None:
        client.committed(mine, done)
    if asked is not None:
        carry_on(client, user, theirs, asked)


def _ready(race: Round, use: Use) -> Admission | None:
    """Its admission, if it was admitted and its effect stands."""
    told(lambda: race.client.prepare(race.first, use))
    if use.admission is not None:
        race.client.send(race.first, use, use.admission)
    return use.admission if use.receipt is not None else None


def _recoveries(race: Round) -> None:
    """Two recover at once what a third one, now dead, left unfinished."""
    scene, client = race.scene, race.client
    dead = scene.helper(client.executor)
    client.issue(dead)
    leave_behind(scene, client, dead, client.new_use())
    answers = meet(
        scene,
        race.point,
        lambda twist: client.recovery(race.first, twist),
        lambda twist: client.recovery(race.second, twist),
        listen=race.listen,
    )
    scene.phase("heal")
    for node, pending in zip((race.first, race.second), answers, strict=True):
        if pending is not None and node.alive:
            client.resume(node, pending)
