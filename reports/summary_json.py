"""``summary.json``: the run for machines. Its form is ``schemas/summary-v1.json``.

``complete`` and ``stop_reason`` are in it so that a run cut short is never taken for a pass, and
all twelve failure points, so that one that never fired cannot go unnoticed.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from importlib import resources
from typing import Final

from ..scenarios.families import replays
from ..scenarios.plan import Plan, PlanProblem
from ..scenarios.summary import ClaimRow, PointRow, RunTally
from ..scenarios.tallies import FamilyTally, FindingGroup, Trouble
from .folder import ReportFolder
from .text import clean
from .writer import Silent

SUMMARY_VERSION: Final = 1


def replay_command(schedule: str) -> str:
    """What a person pastes to repeat one schedule."""
    return f"admitone replay {shlex.quote(clean(schedule, 500))}"


def is_replayable(schedule: str) -> bool:
    """Whether that is sure to show the same: a race of free processes may end otherwise."""
    try:
        return replays(Plan.parse(schedule))
    except PlanProblem:
        return True  # whoever repeats it is told what is wrong with it


def summary_schema() -> str:
    """The JSON Schema of ``summary.json``, as shipped."""
    return (resources.files(__package__) / "schemas" / "summary-v1.json").read_text("utf-8")


class SummaryWriter(Silent):
    """Writes ``summary.json`` when the run is over."""

    name = "summary"

    def __init__(self, folder: ReportFolder) -> None:
        self._folder = folder

    def end(self, tally: RunTally) -> None:
        """Store it in one piece."""
        self._folder.write(self._folder.summary.name, summary_text(tally))


def summary_text(tally: RunTally) -> str:
    """The file's content: keys and lists in a stable order, ASCII only."""
    return json.dumps(summary(tally), indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def summary(tally: RunTally) -> dict[str, object]:
    """The run as one JSON object."""
    facts, races = tally.facts, tally.races()
    return {
        "schema": SUMMARY_VERSION,
        "outcome": tally.outcome,
        "exit_code": tally.exit_code,
        "complete": tally.complete,
        "stop_reason": tally.stop_reason,
        "stop_detail": clean(tally.stop_detail, 400),
        "run": facts.run,
        "seed": facts.seed,
        "version": facts.version,
        "profile": facts.profile,
        "command": facts.command,
        "machine": facts.machine,
        "started": facts.started,
        "duration_s": round(tally.duration_s, 3),
        "targets": [_target(tally, name) for name in sorted(tally.targets)],
        "families": [_family(row) for row in tally.families()],
        "points": [_point(row) for row in tally.points()],
        "checks": [
            {"code": row.code, "opportunities": row.opportunities, "violations": row.violations}
            for row in tally.checks()
        ],
        "races": {"started": races.started, "overlapped": races.overlapped},
        "violations": _findings(tally.findings("violation")),
        "known": _findings(tally.findings("known")),
        "not_claimed": _findings(tally.findings("not_claimed")),
        "findings_left_out": tally.unlisted_findings,
        "gaps": [
            {"kind": gap.kind, "name": gap.name, "target": gap.target, "why": gap.why}
            for gap in tally.gaps()
        ],
        "left_out": {name: clean(why, 300) for name, why in sorted(facts.left_out.items())},
        "troubles": [_trouble(trouble) for trouble in tally.troubles()],
        "unmatched_baseline": sorted(tally.unmatched_baseline),
    }


def _family(row: FamilyTally) -> dict[str, object]:
    return {
        "name": row.name,
        "schedules": row.schedules,
        "kills": row.kills,
        "drops": row.drops,
        "pauses": row.pauses,
        "admits": row.admits,
        "effects": row.effects,
        "violations": row.violations,
        "verdicts": {verdict: n for verdict, n in row.verdicts.items() if n},
    }


def _trouble(trouble: Trouble) -> dict[str, object]:
    return {
        "target": trouble.target,
        "family": trouble.family,
        "verdict": trouble.verdict,
        "reason": clean(trouble.reason, 300),
        "first": trouble.first,
        "count": trouble.count,
    }


def _target(tally: RunTally, name: str) -> dict[str, object]:
    target = tally.targets[name]
    return {
        "name": name,
        "version": clean(target.facts.version, 80),
        "content_hash": clean(target.facts.content_hash, 80),
        "verdict": tally.verdict(name),
        "relies_on_sink": target.relies_on_sink,
        "claims": {row.name: _claim(row) for row in tally.claims(name)},
    }


def _claim(row: ClaimRow) -> dict[str, object]:
    return {
        "state": row.state,
        "schedules": row.schedules,
        "failures": row.failures,
        "upper_bound_95": row.upper_bound_95,
        "why": clean(row.why, 300),
    }


def _point(row: PointRow) -> dict[str, object]:
    return {
        "name": row.name,
        "title": row.title,
        "state": row.state,
        "armed": row.armed,
        "fired": row.fired,
        "how": clean(row.how, 400),
        "missing": list(row.missing),
    }


def _findings(groups: Iterable[FindingGroup]) -> list[dict[str, object]]:
    return [
        {
            "id": group.first,
            "target": group.target,
            "family": group.family,
            "count": group.count,
            "code": group.finding.code,
            "claim": None if group.finding.claim is None else clean(group.finding.claim, 60),
            "title": clean(group.finding.title, 200),
            "inequality": clean(group.finding.inequality, 400),
            "expected": clean(group.finding.expected, 400),
            "seen": clean(group.finding.seen, 400),
            "remedy": clean(group.finding.remedy, 400),
            "replay": replay_command(group.first),
            "replayable": is_replayable(group.first),
        }
        for group in groups
    ]
