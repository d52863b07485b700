"""Stress: callers that begin together, as processes and as threads, with nothing to hold them.

What held races place by hand is left to the machine here: 2, 8 and 32 callers begin at one
instant of the clock that all processes share, or within 20 ms of it, drawn from the plan. Which
of them wins is not decided by the plan, so a plan of this kind does not replay.

``use``      requests under one authorization; ``after``: behind a first try that was killed.
``issue``    the same confirmation. ``same``: one attempt. ``commit``: one admission.
``recover``  what dead executors left unfinished; every recoverer resumes what it was handed.

``nodes`` are processes with one caller each, ``lanes`` threads of one process that call the same
client object, ``mixed`` two processes with half of the threads each.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

from ...chaos.events import Harm, Point
from ...chaos.handle import NodeHandle
from ...targets.replies import Recovered
from ...targets.terms import Admission
from ..calls import Arm, Pending, Twist
from ..client import Client, Use
from ..history import SinkKind
from ..plan import Plan, PlanProblem
from ..race import RACE, Ask
from ..scene import Scene
from ..uses import admitting, ask, carry_all_on, leave_behind
from . import Subjects, budgeted

TOPIC: Final = "stress"
JITTERS_NS: Final = (2_000_000, 6_000_000, 20_000_000)
"""Within how long jittered callers begin: an operation takes about a millisecond."""

LEAD_NS: Final = 5_000_000
"""Time for the message to arrive before the instant at which its call begins; more per caller."""

LEAD_PER_CALLER_NS: Final = 1_000_000
SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")

RACES: Final = (
    ("use", "nodes", 2, "barrier", 1),
    ("use", "nodes", 2, "jitter", 2),
    ("use", "nodes", 2, "barrier", 5),
    ("use", "nodes", 8, "barrier", 1),
    ("use", "nodes", 8, "jitter", 1),
    ("use", "nodes", 8, "barrier", 2),
    ("use", "nodes", 8, "jitter", 5),
    ("use", "nodes", 8, "barrier", 10),
    ("use", "nodes", 32, "barrier", 5),
    ("use", "lanes", 2, "jitter", 1),
    ("use", "lanes", 8, "barrier", 2),
    ("use", "lanes", 8, "jitter", 10),
    ("use", "lanes", 32, "barrier", 10),
    ("use", "mixed", 16, "barrier", 5),
    ("use", "mixed", 16, "jitter", 1),
    ("after", "nodes", 8, "barrier", 1),
    ("after", "nodes", 8, "jitter", 2),
    ("after", "lanes", 8, "barrier", 1),
    ("issue", "nodes", 8, "barrier", 1),
    ("issue", "nodes", 8, "jitter", 2),
    ("issue", "lanes", 8, "barrier", 2),
    ("same", "nodes", 8, "barrier", 2),
    ("same", "nodes", 2, "jitter", 2),
    ("same", "lanes", 8, "jitter", 2),
    ("commit", "nodes", 8, "barrier", 1),
    ("commit", "lanes", 2, "jitter", 1),
    ("recover", "nodes", 8, "barrier", 1),
    ("recover", "nodes", 8, "jitter", 2),
    ("recover", "lanes", 8, "barrier", 2),
)
"""What, as what, how many, released how, and b."""


@dataclass(frozen=True, slots=True)
class Caller:
    """One of those that begin together. ``lane``: its thread in the node, None for the node."""

    node: NodeHandle
    lane: int | None


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """Every free race that this ledger can be put through, once."""
    many = subject.declaration.claims_that("multi_budget")
    seen = set()
    for turn, (what, home, count, release, budget) in enumerate(RACES):
        if not _possible(subject, what, home):
            continue
        params = (TOPIC, what, home, str(count), release)
        plan = Plan(subject.target, family, params, budget if many else 1, SINKS[turn % 2], 0)
        if (params, plan.budget) not in seen:
            seen.add((params, plan.budget))
            yield plan


def _possible(subject: Subjects, what: str, home: str) -> bool:
    survey, facts = subject.survey, subject.declaration.facts
    if home != "nodes" and not survey.threads:
        return False
    if what in ("issue", "commit", "recover"):
        return what in survey.operations
    return what != "same" or facts.attempt_identity


SHARED: Final = (
    "target: one client was called by several threads at once, and raised what classify() does not "
    "name. If its connection is for one thread at a time, the adapter opens one for each thread "
    "(threading.local), or lets the library refuse the others"
)
"""What such a client then shows of the ledger is its own confusion, and no evidence."""


def run(plan: Plan, scene: Scene) -> None:
    """Play one plan."""
    what, home, count, release = _parsed(plan, scene)
    client = scene.approve(plan.budget)
    callers = _callers(scene, client, home, count)
    last = callers[-1].node
    _spread(callers)
    span_ns = scene.draws.choice(JITTERS_NS) if release == "jitter" else 1
    jitters = [scene.draws.randrange(span_ns) for _ in callers]
    scene.phase("hurt")
    if what != "issue":
        client.issue(callers[0].node)
    race = _Race(scene, client, callers, jitters)
    if client.authorization is None and what != "issue":
        scene.idle = "nothing was issued that could be used"
    elif what in ("use", "after"):
        if what == "after":
            _failed_try(scene, client)
        # what the dead one holds may keep all others out until it is recovered
        race.uses([client.new_use() for _ in callers], brief=what == "after")
    elif what == "same":
        race.uses([client.new_use()] * len(callers))
    else:
        {"issue": race.issues, "commit": race.commits, "recover": race.recoveries}[what]()
    scene.phase("recover")
    client.recover(last)
    scene.drain(client, last, plan.budget)
    scene.end(client, last)
    if home != "nodes" and scene.stage.harmed:
        harms = [line.event for line in scene.stage.recorder.lines if isinstance(line.event, Harm)]
        scene.unfit = f"{SHARED}. It showed first: {harms[0].what}" if harms else SHARED


def _parsed(plan: Plan, scene: Scene) -> tuple[str, str, int, str]:
    budgeted(plan, scene.declaration)
    if len(plan.params) == 5:
        _, what, home, count, release = plan.params
        if any((what, home, count, release) == (w, h, str(n), r) for w, h, n, r, _ in RACES):
            return what, home, int(count), release
    raise PlanProblem(f"{plan.id}: no run plays such a race; admitone list shows what there is")


def _callers(scene: Scene, client: Client, home: str, count: int) -> list[Caller]:
    processes = {"nodes": count, "lanes": 1, "mixed": 2}[home]
    nodes = [scene.victim(client.executor)]
    nodes += [scene.helper(client.executor) for _ in range(processes - 1)]
    if home == "nodes":
        return [Caller(node, None) for node in nodes]
    return [Caller(nodes[n % processes], n + 1) for n in range(count)]


def _spread(callers: Sequence[Caller]) -> None:
    """Let the callers run on every core. Workers keep to one each, where calls as short as these
    would mostly come one after the other."""
    for caller in callers:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(caller.node.pid, range(os.cpu_count() or 1))


def _failed_try(scene: Scene, client: Client) -> None:
    """Somebody came before, and died in the middle of being admitted."""
    node = scene.helper(client.executor)
    use = client.new_use()
    op = admitting(scene.survey)
    pending = ask(client, node, use, Twist(Arm(RACE, Point(op, "write", "before", 1))))
    scene.stage.kill(node, pending)
    use.unknown = pending.answer is not None and pending.answer.outcome == "unknown"


@dataclass(slots=True)
class _Race:
    """The callers, and what they are let loose on."""

    scene: Scene
    client: Client
    callers: Sequence[Caller]
    jitters: Sequence[int]

    def uses(self, uses: Sequence[Use], *, brief: bool = False) -> None:
        """Each asks for admission; then each carries on with what it got."""
        asks = [
            partial(ask, self.client, caller.node, use)
            for caller, use in zip(self.callers, uses, strict=True)
        ]
        calls = self._counted(asks)
        self.scene.phase("heal")
        pairs = [(u, p) for u, p in zip(uses, calls, strict=True) if p is not None]
        carry_all_on(self.client, [(p.node, u, p) for u, p in pairs], brief=brief)

    def issues(self) -> None:
        """The same confirmation, from all of them."""
        calls = self._counted([partial(self.client.issue, c.node) for c in self.callers])
        self.scene.phase("heal")
        for pending in calls:
            if pending is not None:
                self.client.issued(pending)

    def commits(self) -> None:
        """One admission whose effect stands is committed by all of them."""
        client, node = self.client, self.callers[0].node
        use = client.new_use()
        client.prepare(node, use)
        admission = use.admission
        if admission is not None:
            client.send(node, use, admission)
        if admission is None or use.receipt is None:
            self.scene.idle = "nothing came that could be committed"
            return
        asks = [partial(client.commit, c.node, use, admission) for c in self.callers]
        calls = self._counted(asks)
        self.scene.phase("heal")
        for pending in calls:
            if pending is not None:
                client.committed(use, pending)

    def recoveries(self) -> None:
        """All recover what the dead left; all send what they were handed, and all commit it."""
        client, scene = self.client, self.scene
        for _ in range(min(2, int(str(client.approval.budget)))):
            leave_behind(scene, client, scene.helper(client.executor), client.new_use())
        calls = self._counted([partial(client.recovery, c.node) for c in self.callers])
        handed = []
        for caller, pending in zip(self.callers, calls, strict=True):
            for admission in resumed(pending)[:1]:
                use = client.use_of(admission)
                if use is not None:
                    handed.append((caller, use, admission))
        callers = [caller for caller, _, _ in handed]
        sends = [partial(client.send, c.node, use, admission) for c, use, admission in handed]
        for (_, use, _), pending in zip(handed, self._together(callers, sends), strict=True):
            if pending is not None:
                client.sent(use, pending)
        commits = [partial(client.commit, c.node, use, admission) for c, use, admission in handed]
        for (_, use, _), pending in zip(handed, self._together(callers, commits), strict=True):
            if pending is not None:
                client.committed(use, pending)
        scene.phase("heal")

    def _counted(self, asks: Sequence[Ask]) -> list[Pending | None]:
        """The race itself: all callers at once."""
        calls = self._together(self.callers, asks)
        self.scene.races_started += 1
        self.scene.races_overlapped += overlapped(calls)
        return calls

    def _together(self, callers: Sequence[Caller], asks: Sequence[Ask]) -> list[Pending | None]:
        """Begin each call at its instant, and hear all of them out."""
        begin_ns = time.monotonic_ns() + LEAD_NS + LEAD_PER_CALLER_NS * len(callers)
        calls = []
        for caller, jitter_ns, call in zip(callers, self.jitters, asks, strict=False):
            twist = Twist(patience_s=0.0, lane=caller.lane, start_ns=begin_ns + jitter_ns)
            calls.append(call(twist))
        self.scene.stage.settle(*(pending for pending in calls if pending is not None))
        return calls


def resumed(pending: Pending | None) -> tuple[Admission, ...]:
    """What a recovery handed back."""
    value = pending.answer.value if pending is not None and pending.answer is not None else None
    return value.resume if isinstance(value, Recovered) else ()


def overlapped(calls: Sequence[Pending | None]) -> bool:
    """Whether two of them really ran at the same time, by what their nodes say."""
    ran = sorted(p.ran_ns for p in calls if p is not None and p.ran_ns is not None)
    return any(later[0] < earlier[1] for earlier, later in pairwise(ran))
