"""Counters: what a stream of schedule results adds up to, per family, point, check and claim.

A run of a million schedules must not cost more memory than one of a hundred, so nothing here
grows with the number of schedules: names are few, and everything that a target can influence
(texts, reasons, the ways in which a point was hurt) is kept up to a bound and counted beyond.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from .facts import CORE, TargetFacts
from .results import Finding, PointUse, ScheduleResult, Verdict

JUDGED: Final[frozenset[Verdict]] = frozenset(
    {"passed", "violation", "known", "stale", "not_claimed"}
)
"""Verdicts of schedules that were run and judged to the end."""

NOT_RUN: Final[frozenset[Verdict]] = frozenset({"not_applicable", "could_not_run"})
"""Verdicts of schedules that were planned and never started."""

MOST_WAYS: Final = 12


@dataclass(slots=True)
class FamilyTally:
    """One family's row in the live table. ``schedules`` are those that really ran."""

    name: str
    schedules: int = 0
    kills: int = 0
    drops: int = 0
    pauses: int = 0
    admits: int = 0
    effects: int = 0
    violations: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)

    @property
    def done(self) -> int:
        """Planned schedules that are behind us, run or not."""
        return self.verdicts.total()

    @property
    def judged(self) -> int:
        return sum(self.verdicts[verdict] for verdict in JUDGED)

    def add(self, result: ScheduleResult) -> None:
        self.verdicts[result.verdict] += 1
        self.schedules += result.verdict not in NOT_RUN
        self.violations += result.verdict == "violation"
        self.kills += result.kills
        self.drops += result.drops
        self.pauses += result.pauses
        self.admits += result.admits
        self.effects += result.effects

    def absorb(self, other: FamilyTally) -> None:
        self.verdicts.update(other.verdicts)
        self.schedules += other.schedules
        self.violations += other.violations
        self.kills += other.kills
        self.drops += other.drops
        self.pauses += other.pauses
        self.admits += other.admits
        self.effects += other.effects


@dataclass(slots=True)
class PointTally:
    """One failure point: how often it was armed, how often it fired, and in which ways."""

    name: str
    armed: int = 0
    fired: int = 0
    ways: Counter[str] = field(default_factory=Counter)

    def add(self, use: PointUse) -> None:
        self.armed += use.armed
        self.fired += use.fired
        if use.fired:
            known = use.how in self.ways or len(self.ways) < MOST_WAYS
            self.ways[use.how if known else "other"] += use.fired

    def absorb(self, other: PointTally) -> None:
        self.armed += other.armed
        self.fired += other.fired
        self.ways.update(other.ways)

    @property
    def how(self) -> str:
        """The ways, commonest first: "kill commit 1 of 1 ×8, drop reply ×4"."""
        ways = sorted(self.ways.items(), key=lambda item: (-item[1], item[0]))
        return ", ".join(f"{way} ×{count}" for way, count in ways)


@dataclass(slots=True)
class CheckTally:
    """One check code: how often it could have been broken, and how often it was."""

    code: str
    opportunities: int = 0
    violations: int = 0

    def absorb(self, other: CheckTally) -> None:
        self.opportunities += other.opportunities
        self.violations += other.violations


@dataclass(slots=True)
class ClaimTally:
    """One claim: in how many judged schedules it was tested, in how many it was broken.

    A baselined failure still breaks the claim: a baseline forgives the gate, not the ledger.
    ``reason`` is why a schedule about it was not judged, if one was not.
    """

    name: str
    schedules: int = 0
    failures: int = 0
    reason: str = ""


@dataclass(slots=True)
class RaceTally:
    """Races: calls released together, and those whose intervals really overlapped."""

    started: int = 0
    overlapped: int = 0


@dataclass(slots=True)
class FindingGroup:
    """Equal findings, shown once. ``first`` is the schedule that is replayed."""

    target: str
    family: str
    verdict: Verdict
    finding: Finding
    first: str
    count: int = 1

    @property
    def key(self) -> GroupKey:
        return (self.target, self.finding.code, self.family, self.verdict)


GroupKey = tuple[str, str, str, Verdict]
"""The verdict belongs to it, so that a baselined failure never stands for a new one."""


@dataclass(slots=True)
class Trouble:
    """Equal reasons for which schedules could not be judged, shown once."""

    target: str
    family: str
    verdict: Verdict
    reason: str
    first: str
    count: int = 1


@dataclass(slots=True)
class TargetTally:
    """All counters of one target."""

    facts: TargetFacts
    families: dict[str, FamilyTally] = field(default_factory=dict)
    points: dict[str, PointTally] = field(default_factory=dict)
    checks: dict[str, CheckTally] = field(default_factory=dict)
    claims: dict[str, ClaimTally] = field(default_factory=dict)
    races: RaceTally = field(default_factory=RaceTally)
    relies_on_sink: str = "not exercised"

    @property
    def verdicts(self) -> Counter[Verdict]:
        return sum((family.verdicts for family in self.families.values()), Counter())

    def add(self, result: ScheduleResult) -> None:
        self.families.setdefault(result.family, FamilyTally(result.family)).add(result)
        for use in result.points:
            self.points.setdefault(use.name, PointTally(use.name)).add(use)
        self._add_checks(result)
        self._add_claims(result)
        self.races.started += result.races_started
        self.races.overlapped += result.races_overlapped
        if result.relies_on_sink == "yes" or self.relies_on_sink == "not exercised":
            self.relies_on_sink = result.relies_on_sink

    def _add_checks(self, result: ScheduleResult) -> None:
        for code, count in result.opportunities.items():
            self.checks.setdefault(code, CheckTally(code)).opportunities += count
        if result.verdict == "violation":
            for finding in result.findings:
                self.checks.setdefault(finding.code, CheckTally(finding.code)).violations += 1

    def _add_claims(self, result: ScheduleResult) -> None:
        judged = result.verdict in JUDGED and result.verdict != "not_claimed"
        broken = {f.claim or CORE for f in result.findings} if judged else set()
        for name in {CORE, *result.claims, *broken}:
            claim = self.claims.setdefault(name, ClaimTally(name))
            claim.schedules += judged
            claim.failures += name in broken
            if not judged and not claim.reason:
                claim.reason = result.reason[:300]
