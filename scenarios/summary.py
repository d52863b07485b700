"""What a run comes to: results folded into tallies, and tallies into an outcome and exit code.

``RunTally`` sees each result once and keeps counters. Its answers follow one order: a violation
outranks everything, and what was asked for and never happened is *incomplete*, never passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from .bounds import upper_bound_95
from .facts import ALL_CLAIMS, CORE, FAILURE_POINTS, UNJUDGED, Required, RunFacts, TargetFacts
from .results import SEVERITY, ScheduleResult, Verdict, worst
from .tallies import (
    CheckTally,
    FamilyTally,
    FindingGroup,
    GroupKey,
    PointTally,
    RaceTally,
    TargetTally,
    Trouble,
)

Outcome = Literal["passed", "failed", "preflight", "incomplete", "suite_failed", "interrupted"]

EXIT_CODES: Final[dict[Outcome, int]] = {
    "passed": 0,
    "failed": 1,
    "preflight": 2,
    "incomplete": 3,
    "suite_failed": 4,
    "interrupted": 130,
}

StopReason = Literal[
    "running",  # nobody has said yet that it ended
    "finished",  # the plan was run to its end
    "max_time",  # the time was up
    "max_failures",  # enough violations were found
    "interrupted",  # somebody pressed Ctrl-C
    "preflight",  # a target cannot be tested as it is
    "suite_failed",  # the suite itself broke
]

ClaimStanding = Literal["upheld", "refuted", "not exercised", "not claimed"]
PointStanding = Literal["exercised", "not exercised", "not applicable"]

MOST_GROUPS: Final = 50
_NOTHING_RAN: Final = "no schedule was judged"


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One cell of the claims matrix. ``upper_bound_95`` only where something was judged."""

    name: str
    state: ClaimStanding
    schedules: int = 0
    failures: int = 0
    upper_bound_95: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class PointRow:
    """One failure point. ``missing``: targets that can have it and on which it never fired."""

    name: str
    title: str
    state: PointStanding
    armed: int = 0
    fired: int = 0
    how: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that was asked for and did not happen: what makes a run incomplete."""

    kind: Literal["run", "family", "point", "check", "schedules"]
    name: str
    target: str
    why: str
    verdict: Verdict = "not_exercised"


@dataclass(slots=True)
class RunTally:
    """The fold over all results of one run."""

    facts: RunFacts
    targets: dict[str, TargetTally] = field(default_factory=dict)
    stop_reason: StopReason = "running"
    stop_detail: str = ""
    duration_s: float = 0.0
    required_left: int = 0
    unmatched_baseline: tuple[str, ...] = ()
    unlisted_findings: int = 0
    unlisted_troubles: int = 0
    _groups: dict[GroupKey, FindingGroup] = field(default_factory=dict)
    _troubles: dict[tuple[str, str, Verdict, str], Trouble] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for target in self.facts.targets:
            self.targets[target.name] = TargetTally(target)

    # -- folding ---------------------------------------------------------------------------

    def add(self, result: ScheduleResult) -> None:
        """Count one result."""
        if result.target not in self.targets:
            self.targets[result.target] = TargetTally(TargetFacts(result.target))
        self.targets[result.target].add(result)
        for finding in result.findings:
            group = FindingGroup(result.target, result.family, result.verdict, finding, result.id)
            self._keep_group(group)
        if result.verdict in ("inconclusive", "harness_error", "could_not_run", "not_exercised"):
            self._keep_trouble(result)

    def stop(
        self,
        reason: StopReason,
        *,
        duration_s: float,
        detail: str = "",
        required_left: int = 0,
    ) -> None:
        """The run is over. ``required_left``: schedules of the required set that did not run."""
        self.stop_reason = reason
        self.stop_detail = detail
        self.duration_s = duration_s
        self.required_left = required_left

    def _keep_group(self, group: FindingGroup) -> None:
        known = self._groups.get(group.key)
        if known is not None:
            known.count += 1
            return
        if len(self._groups) >= MOST_GROUPS:
            # A flood of forgiven findings must not push out the ones that fail the run.
            mildest = max(self._groups.values(), key=_severity)
            if _severity(mildest) <= _severity(group):
                self.unlisted_findings += 1
                return
            self.unlisted_findings += mildest.count
            del self._groups[mildest.key]
        self._groups[group.key] = group

    def _keep_trouble(self, result: ScheduleResult) -> None:
        reason = result.reason[:300]
        key = (result.target, result.family, result.verdict, reason)
        if key in self._troubles:
            self._troubles[key].count += 1
        elif len(self._troubles) < MOST_GROUPS:
            self._troubles[key] = Trouble(*key, first=result.id)
        else:
            self.unlisted_troubles += 1

    # -- what was seen ---------------------------------------------------------------------

    def findings(self, verdict: Verdict | None = None) -> list[FindingGroup]:
        """Finding groups, worst first, then in a stable order."""
        groups = [g for g in self._groups.values() if verdict in (None, g.verdict)]
        return sorted(groups, key=lambda g: (_severity(g), g.target, g.finding.code, g.family))

    def troubles(self) -> list[Trouble]:
        """Why schedules could not be judged, grouped."""
        return sorted(
            self._troubles.values(), key=lambda t: (t.verdict, t.target, t.family, t.reason)
        )

    def families(self) -> list[FamilyTally]:
        """All families over all targets, by name; those planned and never begun too."""
        merged = {name: FamilyTally(name) for name in self.facts.planned}
        for target in self.targets.values():
            for family in target.families.values():
                merged.setdefault(family.name, FamilyTally(family.name)).absorb(family)
        return [merged[name] for name in sorted(merged)]

    def total(self) -> FamilyTally:
        """Everything in one row."""
        row = FamilyTally("total")
        for family in self.families():
            row.absorb(family)
        return row

    def checks(self) -> list[CheckTally]:
        """All checks over all targets, by code; required ones too where none was possible."""
        merged = {code: CheckTally(code) for code in self.facts.required.checks}
        for target in self.targets.values():
            for check in target.checks.values():
                merged.setdefault(check.code, CheckTally(check.code)).absorb(check)
        return [merged[code] for code in sorted(merged)]

    def races(self) -> RaceTally:
        """Races over all targets."""
        return RaceTally(
            sum(target.races.started for target in self.targets.values()),
            sum(target.races.overlapped for target in self.targets.values()),
        )

    def points(self, target: str | None = None) -> list[PointRow]:
        """FP1 to FP12 always, then the points beside them; of one target or over all."""
        chosen = [t for name, t in self.targets.items() if target in (None, name)]
        beside = sorted({p for t in chosen for p in t.points} - set(FAILURE_POINTS))
        return [_point_row(name, chosen) for name in [*FAILURE_POINTS, *beside]]

    def claims(self, target: str) -> list[ClaimRow]:
        """Every claim there is, as it stands for one target."""
        tally = self.targets[target]
        names = [*ALL_CLAIMS, *sorted(set(tally.facts.claims) - set(ALL_CLAIMS))]
        return [_claim_row(name, tally) for name in names]

    # -- what it comes to --------------------------------------------------------------------

    def gaps(self) -> list[Gap]:
        """What was asked for and did not happen."""
        gaps = []
        if not any(f.judged for t in self.targets.values() for f in t.families.values()):
            gaps.append(Gap("run", "everything", "", _NOTHING_RAN))
        if self.required_left:
            why = (
                f"{self.required_left} schedules of the required set did not run; "
                "give it more time: --profile ci, or --max-time S"
            )
            gaps.append(Gap("schedules", "required set", "", why))
        for target in self.targets.values():
            gaps += _gaps_of(target, self.facts.required)
        return gaps

    def verdict(self, target: str) -> Verdict:
        """What one target comes to."""
        tally = self.targets[target]
        seen = [verdict for verdict, count in tally.verdicts.items() if count]
        grave: list[Verdict] = [
            v for v in seen if v in ("violation", "stale", "harness_error", "inconclusive")
        ]
        if grave:
            return worst(grave)
        missing = list(_gaps_of(tally, self.facts.required))
        if missing:
            return worst([gap.verdict for gap in missing])
        judged: list[Verdict] = [v for v in seen if v in ("passed", "known", "not_claimed")]
        return worst(judged) if judged else worst(seen)

    @property
    def outcome(self) -> Outcome:
        """One word. The order of the tests is the order of importance."""
        verdicts = self.total().verdicts
        if verdicts["violation"] or verdicts["stale"] or self.unmatched_baseline:
            return "failed"
        if self.stop_reason == "suite_failed":
            return "suite_failed"
        if self.stop_reason in ("running", "interrupted"):
            return "interrupted"
        if self.stop_reason == "preflight":  # it can be found late, when others were judged
            return "incomplete" if sum(verdicts.values()) else "preflight"
        if verdicts["harness_error"] or verdicts["inconclusive"] or self.gaps():
            return "incomplete"
        doubtful = verdicts["not_claimed"] or self.unmet_claims()
        return "failed" if self.facts.strict and doubtful else "passed"

    @property
    def exit_code(self) -> int:
        """0 passed, 1 failed, 2 preflight, 3 incomplete, 4 the suite failed, 130 interrupted."""
        return EXIT_CODES[self.outcome]

    @property
    def complete(self) -> bool:
        """The required set was run to its end and nothing in it was left unexercised."""
        return self.stop_reason in ("finished", "max_time") and not self.gaps()

    def unmet_claims(self) -> list[tuple[str, ClaimRow]]:
        """Claims not exercised or not made: what ``--strict`` fails on."""
        return [
            (name, row)
            for name in sorted(self.targets)
            for row in self.claims(name)
            if row.state in ("not exercised", "not claimed")
        ]


def _severity(group: FindingGroup) -> int:
    return SEVERITY.index(group.verdict)


def _point_row(name: str, targets: Sequence[TargetTally]) -> PointRow:
    total = PointTally(name)
    missing, excused = [], bool(targets)
    for target in targets:
        point = target.points.get(name, PointTally(name))
        total.absorb(point)
        if not point.fired and name not in target.facts.not_applicable:
            missing.append(target.facts.name)
            excused = False
    state: PointStanding = "not applicable" if excused else "not exercised"
    return PointRow(
        name,
        FAILURE_POINTS.get(name, ""),
        "exercised" if total.fired else state,
        total.armed,
        total.fired,
        total.how,
        tuple(sorted(missing)),
    )


def _claim_row(name: str, target: TargetTally) -> ClaimRow:
    claim = target.claims.get(name)
    if name != CORE and name not in target.facts.claims:
        return ClaimRow(name, "not claimed")
    inside = target.verdicts["not_claimed"]
    if name == CORE and inside and not (claim and claim.failures):
        why = f"{inside} schedules broke a rule inside a documented boundary"
        return ClaimRow(name, "not claimed", inside, why=why)
    if claim is None or not claim.schedules:
        why = claim.reason if claim is not None else ""
        idle = "no check judges it yet" if name in UNJUDGED else "no schedule put it to the test"
        why = why or target.facts.not_applicable.get(name, idle)
        return ClaimRow(name, "not exercised", why=why)
    return ClaimRow(
        name,
        "refuted" if claim.failures else "upheld",
        claim.schedules,
        claim.failures,
        upper_bound_95(claim.failures, claim.schedules),
    )


def _gaps_of(target: TargetTally, required: Required) -> Iterator[Gap]:
    excused = target.facts.not_applicable
    name = target.facts.name
    for family in required.families:
        row = target.families.get(family, FamilyTally(family))
        lacking = row.verdicts["could_not_run"] > 0
        if family not in excused and (not row.judged or lacking):
            # A family whose every schedule says "this target has no such thing" was answered.
            if row.done and row.verdicts["not_applicable"] == row.done:
                continue
            played = f"{row.judged} of {row.done} schedules judged"
            why = played if row.done else "none of its schedules was played"
            yield Gap("family", family, name, why, "could_not_run" if lacking else "not_exercised")
    for code in required.points:
        point = target.points.get(code, PointTally(code))
        if code not in excused and not point.fired:
            why = f"armed {point.armed} times, never fired"
            if code in target.facts.unseen:
                why += (
                    "; no durable write was seen there: if the ledger makes one that no probe "
                    'sees, mark it in the adapter with env.at("before-write") and '
                    'env.at("after-write")'
                )
            yield Gap("point", code, name, why)
    for code in required.checks:
        check = target.checks.get(code, CheckTally(code))
        if code not in excused and not check.opportunities and not check.violations:
            yield Gap("check", code, name, "no history could have broken it")


__all__ = [
    "ALL_CLAIMS",
    "CORE",
    "EXIT_CODES",
    "FAILURE_POINTS",
    "ClaimRow",
    "Gap",
    "Outcome",
    "PointRow",
    "Required",
    "RunFacts",
    "RunTally",
    "StopReason",
    "TargetFacts",
    "upper_bound_95",
]
