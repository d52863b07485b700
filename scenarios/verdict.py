"""From a history to a schedule's line in the journal.

The order is the point: a history that breaks its own rules says nothing about a ledger; a
violation outranks everything else; harm to the harness comes before "passed"; and a schedule
whose fault never struck proves nothing, however clean it looks.
"""

from __future__ import annotations

from collections import Counter

from ..chaos.events import Armed, Harm, Invoked, Replied, SinkApplied, SinkRequested
from .canonical import canonical_digest
from .checks import JudgeProblem, judge
from .history import History
from .plan import Plan
from .results import Finding, PointUse, ScheduleResult, Verdict
from .scene import Scene
from .validate import validate

RACE = "hold"
"""The name under which races arm their stops; it is no failure point."""


def judged(plan: Plan, scene: Scene, history: History, problem: str) -> ScheduleResult:
    """Judge one played schedule. ``problem``: why the plan could not be played at all."""
    tally = scene.stage.tally
    verdict, reason, findings, opportunities = _verdict(plan, scene, history, problem)
    return ScheduleResult(
        id=plan.id,
        target=plan.target,
        family=plan.family,
        verdict=verdict,
        findings=tuple(findings),
        opportunities=opportunities,
        points=_points(history, scene),
        claims=_claims(scene),
        kills=tally.kills,
        drops=tally.drops,
        pauses=tally.pauses,
        admits=_admits(history),
        effects=sum(1 for _ in history.events(SinkApplied)),
        races_started=scene.races_started,
        races_overlapped=scene.races_overlapped,
        reason=reason,
        digest=canonical_digest(history),
    )


def _verdict(
    plan: Plan, scene: Scene, history: History, problem: str
) -> tuple[Verdict, str, list[Finding], dict[str, int]]:
    if problem:
        return "could_not_run", problem, [], {}
    if broken := validate(history):
        return "harness_error", f"the history breaks its own rules: {broken[0]}", [], {}
    try:
        opportunities, findings = judge(history)
    except JudgeProblem as wrong:
        return "harness_error", f"the judge failed: {wrong}", [], {}
    inside = _documented(scene)
    open_findings = [finding for finding in findings if finding.code not in inside]
    if open_findings:
        return "violation", "", open_findings, opportunities
    if scene.stage.harmed:
        return "harness_error", _harm(history), [], opportunities
    if findings:
        return (
            "not_claimed",
            f"inside a documented boundary: {inside[findings[0].code]}",
            [],
            (opportunities),
        )
    if plan.family == "crash" and not scene.stage.tally.fired:
        return "not_exercised", "the failure point was never reached", [], opportunities
    if scene.races_started and not scene.races_overlapped:
        return "not_exercised", "the two calls never overlapped", [], opportunities
    return "passed", "", [], opportunities


def _documented(scene: Scene) -> dict[str, str]:
    """Codes whose findings fall inside a boundary that the target documents, and its text."""
    return {
        code: boundary.what for boundary in scene.declaration.boundaries for code in boundary.codes
    }


def _harm(history: History) -> str:
    first = next(history.events(Harm), None)
    if first is None:
        return "harmed"
    return f"{first.fault}: {first.what}"


def _points(history: History, scene: Scene) -> tuple[PointUse, ...]:
    armed = Counter(event.name for event in history.events(Armed) if event.name != RACE)
    fired = dict(scene.stage.tally.fired)
    return tuple(
        PointUse(name, count, int(name in fired), fired.get(name, ""))
        for name, count in armed.items()
    )


def _claims(scene: Scene) -> tuple[str, ...]:
    """The claims that this schedule put to the test."""
    return tuple(sorted(name for name in scene.exercised if name in scene.declaration.claims))


def _admits(history: History) -> int:
    """Admissions that clients were given: granted prepares, or entries of guarded calls."""
    ops = {event.call: event.op for event in history.events(Invoked)}
    if history.header.guarded:
        entered = {event.call for event in history.events(SinkRequested) if not event.lookup}
        return len(entered)
    return sum(
        1
        for event in history.events(Replied)
        if event.outcome == "granted" and ops.get(event.call) == "prepare"
    )
