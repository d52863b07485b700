"""From a history to a schedule's line in the journal.

The order is the point: a history that breaks its own rules says nothing about a ledger; a
violation outranks everything else; harm to the harness comes before "passed"; and a schedule
whose fault never struck proves nothing, however clean it looks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from ..chaos.events import Armed, Harm, Invoked, Replied, SinkApplied, SinkRequested
from .canonical import canonical_digest
from .checks import CHECKS, JudgeProblem, judge_valid
from .facts import claims_made
from .history import History
from .plan import Plan
from .race import RACE
from .results import Finding, PointUse, ScheduleResult, Verdict
from .scene import Scene
from .validate import validate

Relies = Literal["yes", "no", "not exercised"]

DOUBLING = frozenset({"FP6", "FP7", "FP8", "FP9", "FP12"})
"""Points after which a ledger that resends must double the effect on the control sink."""


def judged(
    plan: Plan, scene: Scene, history: History, problem: str, *, digest: bool = True
) -> ScheduleResult:
    """Judge one played schedule. ``problem``: why the plan could not be played at all.

    ``digest``: whether the result says which canonical history it comes from also when it passed.
    """
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
        claims=_claims(plan, history, opportunities),
        kills=tally.kills,
        drops=tally.drops,
        pauses=tally.pauses,
        admits=_admits(history),
        effects=sum(1 for _ in history.events(SinkApplied)),
        races_started=scene.races_started,
        races_overlapped=scene.races_overlapped,
        relies_on_sink=_relies(plan, scene, history),
        reason=reason,
        digest=canonical_digest(history) if digest or verdict != "passed" else "",
    )


def _verdict(
    plan: Plan, scene: Scene, history: History, problem: str
) -> tuple[Verdict, str, list[Finding], dict[str, int]]:
    if problem:
        return "could_not_run", problem, [], {}
    if unfit := _unfit(scene, history):
        return "harness_error", unfit, [], {}
    try:
        opportunities, findings = judge_valid(history)  # ``_unfit`` has just validated it
    except JudgeProblem as wrong:
        return "harness_error", f"the judge failed: {wrong}", [], {}
    inside = _documented(scene)
    open_findings = [finding for finding in findings if finding.code not in inside]
    if open_findings:
        return "violation", "", open_findings, opportunities
    if scene.stage.harmed:
        return "harness_error", _harm(history), [], opportunities
    if scene.reference and _vain_control(plan, scene, history):
        vain = "the control sink did not double what the reference resent"
        return "harness_error", vain, [], opportunities
    if findings:
        reason = f"inside a documented boundary: {inside[findings[0].code]}"
        return "not_claimed", reason, [], opportunities
    if scene.idle:
        return "not_exercised", scene.idle, [], opportunities
    if scene.races_started and not scene.races_overlapped:
        return "not_exercised", "the two calls never overlapped", [], opportunities
    return "passed", "", [], opportunities


def _unfit(scene: Scene, history: History) -> str:
    """Why nothing may be concluded from this history. It is asked before any finding: what is
    missing may be what would acquit."""
    if scene.stage.blinded:
        return f"harness: {scene.stage.blinded}"
    if scene.unfit:
        return scene.unfit
    broken = validate(history)
    return f"the history breaks its own rules: {broken[0]}" if broken else ""


def _vain_control(plan: Plan, scene: Scene, history: History) -> bool:
    """The reference resends, so a killed schedule that shows no doubled effect on the control sink
    was not measured."""
    killed = any(how.startswith("kill") for _, how in scene.stage.tally.fired)
    return killed and _relies(plan, scene, history) == "no"


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
    fired = Counter(name for name, _ in scene.stage.tally.fired)
    ways = dict(scene.stage.tally.fired)
    return tuple(
        PointUse(name, count, fired[name], ways.get(name, "")) for name, count in armed.items()
    )


def _claims(plan: Plan, history: History, opportunities: Mapping[str, int]) -> tuple[str, ...]:
    """The claims that this schedule put to the test: those of every check that had a chance to
    find something, and those that the plan itself exercises."""
    tested = {CHECKS[code].claim for code, count in opportunities.items() if count}
    if plan.budget > 1 and opportunities.get("AO802"):
        tested.add("multi_budget")
    if opportunities.get("AO104"):
        tested.add("slot_identity")
    if opportunities.get("AO303"):
        tested.add("attempt_identity")
    if plan.family in ("release", "lease") and opportunities.get("AO102"):
        tested.add(plan.family)  # the core judges them, where units are given back or lapse
    made = claims_made(history.header.declaration)
    return tuple(sorted(claim for claim in tested if claim is not None and claim in made))


def _relies(plan: Plan, scene: Scene, history: History) -> Relies:
    """Whether a resend doubled the effect on a sink that neither deduplicates nor looks up."""
    fired = {name for name, _ in scene.stage.tally.fired}
    if plan.sink != "control" or not fired & DOUBLING:
        return "not exercised"
    effects = sum(1 for _ in history.events(SinkApplied))
    requests = {event.request for event in history.events(SinkRequested) if event.request}
    return "yes" if effects > len(requests) else "no"


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
