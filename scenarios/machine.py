"""The state machine: Hypothesis draws steps, real nodes take them, every check judges the end.

Hypothesis only generates here. Shrinking is ours (``shrunk``): steps are left out one by one while
the same rule is still broken, within a time budget, because each try costs real processes; and
because any subsequence of a schedule is a schedule, every intermediate result has an id that
replays.
"""

from __future__ import annotations

import contextlib
import random
import time
from dataclasses import replace
from typing import Any, ClassVar, Final

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import (
    RuleBasedStateMachine,
    get_state_machine_test,
    precondition,
    rule,
)

from ..chaos.events import Point
from .conductor import Conductor, Played
from .placement import Survey
from .plan import Plan
from .player import REQUESTS, Player, operations
from .results import SEVERITY
from .scene import Abandoned
from .steps import Kind, Step

STEPS: Final = 14
"""Longest sequence that is drawn."""

SHRINK_S: Final = 10.0
"""Longest time that leaving out steps may take, seconds."""


class Violated(Exception):
    """A sequence broke a rule; ends Hypothesis' search."""


class LedgerMachine(RuleBasedStateMachine):
    """One sequence on real nodes. The rules are the steps that this ledger can take."""

    conductor: ClassVar[Conductor]
    plan: ClassVar[Plan]
    survey: ClassVar[Survey]
    played: ClassVar[list[Played]]

    def __init__(self) -> None:
        super().__init__()
        self._steps: list[Step] = []
        self._opened = self.conductor.open(self.plan, virgin=True)
        self._opened.scene.draws = _draws(self.plan)
        self._player: Player | None = Player(self._opened.scene, self.plan.budget)

    def _take(self, step: Step) -> None:
        self._steps.append(step)
        if self._player is None:
            return
        try:
            self._player.play(step)
        except Abandoned:
            self._player = None

    @property
    def _issued(self) -> bool:
        return self._player is not None and self._player.client.authorization is not None

    @rule()
    def issue(self) -> None:
        """Present the confirmation."""
        self._take(Step("issue"))

    @precondition(lambda self: self._issued)
    @rule(kind=st.sampled_from(("reissue", "revoke", "recover", "other", "thief", "mutant")))
    def aside(self, kind: Kind) -> None:
        """What is not about one request."""
        self._take(Step(kind))

    @precondition(lambda self: self._issued)
    @rule(number=st.integers(1, REQUESTS))
    def use(self, number: int) -> None:
        """Ask for admission, for the first or another time."""
        self._take(Step("use", number))

    @precondition(lambda self: self._issued)
    @rule(number=st.integers(1, REQUESTS), kind=st.sampled_from(("send", "commit", "hold")))
    def carry_on(self, number: int, kind: Kind) -> None:
        """Send the effect, or say that it stands."""
        self._take(Step(kind, number))

    @precondition(lambda self: self._issued)
    @rule()
    def deliver(self) -> None:
        """What is on its way arrives."""
        self._take(Step("deliver"))

    @rule(
        data=st.data(),
        kind=st.sampled_from(("kill", "drop")),
        hits=st.sampled_from(("issue", "use", "send", "commit")),
        number=st.integers(1, REQUESTS),
    )
    def hurt(self, data: Any, kind: Kind, hits: Kind, number: int) -> None:
        """Kill the client at a point of its next call, or lose the reply there."""
        points = points_of(self.survey, hits)
        if not points or (hits != "issue" and not self._issued):
            return
        point = data.draw(st.sampled_from(points))
        self._take(Step(kind, 0 if hits == "issue" else number, hits, point))

    def teardown(self) -> None:
        """Heal, drain, look, and put the history to every check."""
        plan = explicit(self.plan, self._steps)
        if self._player is not None:
            with contextlib.suppress(Abandoned):
                self._player.finish()
        played = self.conductor.judge(self._opened, plan, digest=False)
        self.played.append(played)
        if played.result.verdict == "violation":
            raise Violated


def points_of(survey: Survey, hits: Kind) -> list[Point]:
    """Where the operation of a kind of step can be struck: its durable writes, effect and reply."""
    op = operations(survey.guarded)[hits]
    return [
        Point(op, step.kind, "before" if step.side == "before" else "after", step.nth)
        for step in survey.steps.get(op, ())
        if step.kind in ("write", "reply") or (step.kind == "effect" and step.side == "before")
    ]


def explicit(plan: Plan, steps: list[Step]) -> Plan:
    """The plan that plays exactly these steps."""
    return replace(plan, params=("do", *(step.token for step in steps)))


def search(conductor: Conductor, survey: Survey, plan: Plan) -> Played:
    """Play a ``search`` plan: the first violation, shrunk, or what the sequences came to."""
    played: list[Played] = []
    machine = type(
        "Machine",
        (LedgerMachine,),
        {"conductor": conductor, "plan": plan, "survey": survey, "played": played},
    )
    test = seed(f"{plan.budget} {plan.sink} {plan.seed} {plan.params}")(
        get_state_machine_test(machine, settings=_settings(int(plan.params[1])))
    )
    try:
        test()
    except Violated:
        return shrunk(conductor, played[-1], plan)
    except Flaky:
        if all(each.result.verdict != "violation" for each in played):
            raise
        # seen once and not again: it bears the search's own id, so the worker repeats it
    return _folded(plan, played)


def shrunk(conductor: Conductor, found: Played, plan: Plan) -> Played:
    """Leave out steps while the first broken rule stays broken, within the time budget."""
    until = time.monotonic() + SHRINK_S
    code = found.result.findings[0].code
    best, tokens = found, list(Plan.parse(found.result.id).params[1:])
    position = len(tokens) - 1
    while position >= 0 and time.monotonic() < until:
        fewer = tokens[:position] + tokens[position + 1 :]
        again = conductor.play(replace(plan, params=("do", *fewer)), virgin=True)
        if any(finding.code == code for finding in again.result.findings):
            best, tokens = again, fewer
        position -= 1
    return best


def _folded(plan: Plan, played: list[Played]) -> Played:
    """One line for all sequences of a search: the worst of them, with everybody's counts."""
    worst = min(played, key=lambda each: SEVERITY.index(each.result.verdict))
    results = [each.result for each in played]
    opportunities: dict[str, int] = {}
    for result in results:
        for code, count in result.opportunities.items():
            opportunities[code] = opportunities.get(code, 0) + count
    return Played(
        replace(
            worst.result,
            id=plan.id,
            opportunities=opportunities,
            claims=tuple(sorted({claim for result in results for claim in result.claims})),
            kills=sum(result.kills for result in results),
            drops=sum(result.drops for result in results),
            admits=sum(result.admits for result in results),
            effects=sum(result.effects for result in results),
            duration_s=sum(result.duration_s for result in results),
        ),
        worst.history,
    )


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )


def _draws(plan: Plan) -> random.Random:
    return random.Random(f"stateful {plan.budget} {plan.sink} {plan.seed}")
