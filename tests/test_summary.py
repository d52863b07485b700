"""Results folded into tallies, and tallies into an outcome: nothing unexercised may pass."""

from __future__ import annotations

import sys
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admitone.scenarios.bounds import at_most, upper_bound_95
from admitone.scenarios.facts import claims_made
from admitone.scenarios.results import Finding, PointUse, ScheduleResult, Verdict
from admitone.scenarios.summary import (
    ALL_CLAIMS,
    FAILURE_POINTS,
    MOST_GROUPS,
    Required,
    RunFacts,
    RunTally,
    StopReason,
    TargetFacts,
)
from admitone.scenarios.tallies import MOST_WAYS
from admitone.targets.declaration import Declaration, Facts


def a_finding(code: str = "AO101", claim: str | None = None, title: str = "too many") -> Finding:
    return Finding(code, title, "a1", "2 > 1", "at most 1", "2", "admit once", (1,), claim)


def a_result(
    verdict: Verdict = "passed",
    *findings: Finding,
    target: str = "mine",
    family: str = "crash",
    schedule: str = "mine/crash:FP1.kill.b1.idem.s1@1",
    points: tuple[PointUse, ...] = (PointUse("FP1", 1, 1, "kill"),),
    claims: tuple[str, ...] = (),
    opportunities: dict[str, int] | None = None,
    reason: str = "",
) -> ScheduleResult:
    return ScheduleResult(
        schedule,
        target,
        family,
        verdict,
        findings,
        opportunities={"AO101": 1} if opportunities is None else opportunities,
        points=points,
        claims=claims,
        kills=1,
        admits=2,
        effects=3,
        races_started=2,
        races_overlapped=1,
        reason=reason,
    )


def facts(
    *targets: TargetFacts, required: Required | None = None, strict: bool = False
) -> RunFacts:
    return RunFacts(
        4021,
        "quick",
        "0.1.0",
        "admitone run --seed 4021",
        "Linux x86_64, 2 cores",
        "2026-01-02T03:04:05Z",
        targets or (TargetFacts("mine", claims={"revoke": "Revoke is final."}),),
        required or Required(),
        strict=strict,
    )


def a_tally(
    *results: ScheduleResult,
    required: Required | None = None,
    stop: StopReason = "finished",
    required_left: int = 0,
) -> RunTally:
    tally = RunTally(facts(required=required))
    for result in results:
        tally.add(result)
    tally.stop(stop, duration_s=1.5, required_left=required_left)
    return tally


# -- outcome and exit code ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "stop", "outcome", "code"),
    [
        (["passed"], "finished", "passed", 0),
        (["passed"], "max_time", "passed", 0),
        (["passed", "known", "not_claimed", "not_applicable"], "finished", "passed", 0),
        (["passed", "not_exercised", "could_not_run"], "finished", "passed", 0),
        (["passed", "violation"], "finished", "failed", 1),
        (["passed", "stale"], "finished", "failed", 1),
        (["passed"], "preflight", "incomplete", 3),
        ([], "preflight", "preflight", 2),
        ([], "finished", "incomplete", 3),
        (["not_applicable"], "finished", "incomplete", 3),
        (["could_not_run"], "finished", "incomplete", 3),
        (["passed", "inconclusive"], "finished", "incomplete", 3),
        (["passed", "harness_error"], "finished", "incomplete", 3),
        (["passed"], "suite_failed", "suite_failed", 4),
        (["passed"], "interrupted", "interrupted", 130),
        (["passed"], "running", "interrupted", 130),
    ],
)
def test_outcome_and_exit_code(
    verdicts: list[Verdict], stop: StopReason, outcome: str, code: int
) -> None:
    tally = a_tally(*(a_result(verdict) for verdict in verdicts), stop=stop)
    assert (tally.outcome, tally.exit_code) == (outcome, code)


@pytest.mark.parametrize("stop", ["interrupted", "preflight", "suite_failed", "max_time"])
@pytest.mark.parametrize("other", ["harness_error", "inconclusive", "passed"])
def test_a_violation_outranks_everything(stop: StopReason, other: Verdict) -> None:
    tally = a_tally(a_result("violation", a_finding()), a_result(other), stop=stop)
    assert tally.exit_code == 1
    assert not tally.complete or stop == "max_time"


def test_time_that_ended_inside_the_required_set_is_incomplete() -> None:
    tally = a_tally(a_result(), stop="max_time", required_left=3)
    assert (tally.exit_code, tally.complete) == (3, False)
    assert "3 schedules" in tally.gaps()[0].why


def test_an_unmatched_baseline_entry_fails() -> None:
    tally = a_tally(a_result())
    tally.unmatched_baseline = ("mine/crash:gone",)
    assert tally.exit_code == 1


def test_a_required_point_that_was_armed_and_never_fired_is_a_gap() -> None:
    required = Required(points=("FP1", "FP2"))
    use = (PointUse("FP1", 1, 1, "kill"), PointUse("FP2", 7, 0, "kill"))
    tally = a_tally(a_result(points=use), required=required)
    assert [(gap.kind, gap.name, gap.target) for gap in tally.gaps()] == [("point", "FP2", "mine")]
    assert (tally.exit_code, tally.complete, tally.verdict("mine")) == (3, False, "not_exercised")


def test_a_required_check_without_an_opportunity_is_a_gap() -> None:
    required = Required(checks=("AO101", "AO401"))
    tally = a_tally(a_result(opportunities={"AO101": 4, "AO401": 0}), required=required)
    assert [gap.name for gap in tally.gaps()] == ["AO401"]
    assert tally.exit_code == 3


def test_a_required_family_must_be_judged_or_not_applicable() -> None:
    required = Required(families=("crash", "network", "lease"))
    tally = a_tally(
        a_result(family="crash"),
        a_result("could_not_run", family="network", reason="no toxiproxy"),
        a_result("not_applicable", family="lease"),
        required=required,
    )
    assert [(gap.name, gap.verdict) for gap in tally.gaps()] == [("network", "could_not_run")]
    assert tally.verdict("mine") == "could_not_run"
    assert tally.troubles()[0].reason == "no toxiproxy"


def test_what_a_target_cannot_have_is_no_gap_and_stays_visible() -> None:
    one = TargetFacts("mine", not_applicable={"FP11": "no recovery"})
    tally = RunTally(facts(one, required=Required(points=("FP1", "FP11"))))
    tally.add(a_result())
    tally.stop("finished", duration_s=1.0)
    assert tally.exit_code == 0
    states = {row.name: row.state for row in tally.points()}
    assert states["FP11"] == "not applicable"
    assert states["FP2"] == "not exercised"


def test_a_requirement_holds_for_each_target() -> None:
    tally = RunTally(facts(TargetFacts("a"), TargetFacts("b"), required=Required(points=("FP1",))))
    tally.add(a_result(target="a"))
    tally.add(a_result(target="b", points=()))
    tally.stop("finished", duration_s=1.0)
    assert [gap.target for gap in tally.gaps()] == ["b"]
    assert tally.points()[0].missing == ("b",)
    assert tally.points("b")[0].fired == 0
    assert (tally.verdict("a"), tally.verdict("b")) == ("passed", "not_exercised")


def test_strict_fails_on_what_is_not_claimed() -> None:
    made = dict.fromkeys(ALL_CLAIMS, "said")
    target = TargetFacts("mine", claims={name: made[name] for name in made if name != "lease"})
    tally = RunTally(facts(target, strict=True))
    tally.add(a_result(claims=ALL_CLAIMS))
    tally.stop("finished", duration_s=1.0)
    assert [row.name for _, row in tally.unmet_claims()] == ["lease"]
    assert tally.exit_code == 1


def test_strict_fails_on_a_result_inside_a_boundary() -> None:
    target = TargetFacts("mine", claims=dict.fromkeys(ALL_CLAIMS, "said"))
    tally = RunTally(facts(target, strict=True))
    tally.add(a_result(claims=ALL_CLAIMS))
    tally.stop("finished", duration_s=1.0)
    assert tally.exit_code == 0
    tally.add(a_result("not_claimed"))
    assert tally.exit_code == 1


# -- tallies -----------------------------------------------------------------------------------


def test_counters_add_up_over_targets() -> None:
    tally = a_tally(
        a_result(),
        a_result("violation", a_finding(), a_finding("AO102")),
        a_result(target="other", family="budgets"),
        a_result("not_applicable", family="lease"),
    )
    rows = {row.name: row for row in tally.families()}
    assert sorted(rows) == ["budgets", "crash", "lease"]
    assert (rows["crash"].schedules, rows["crash"].kills, rows["crash"].violations) == (2, 2, 1)
    assert (rows["lease"].schedules, rows["lease"].done) == (0, 1)
    assert (tally.total().admits, tally.total().effects) == (8, 12)
    assert (tally.races().started, tally.races().overlapped) == (8, 4)
    assert [(c.code, c.opportunities, c.violations) for c in tally.checks()] == [
        ("AO101", 4, 1),
        ("AO102", 0, 1),
    ]


def test_all_twelve_points_are_listed_and_others_after_them() -> None:
    tally = a_tally(a_result(points=(PointUse("revoke-before-commit", 2, 1, "kill"),)))
    names = [row.name for row in tally.points()]
    assert names == [*FAILURE_POINTS, "revoke-before-commit"]
    assert list(FAILURE_POINTS) == [f"FP{n}" for n in range(1, 13)]


def test_ways_of_a_point_are_counted_and_bounded() -> None:
    uses = tuple(PointUse("FP1", 1, 1, f"way {n}") for n in range(100))
    tally = a_tally(a_result(points=(*uses, PointUse("FP1", 1, 1, "way 0"))))
    point = tally.targets["mine"].points["FP1"]
    assert len(point.ways) == MOST_WAYS + 1
    assert point.ways["other"] == 100 - MOST_WAYS
    assert point.how.startswith(f"other ×{100 - MOST_WAYS}, way 0 ×2, way 1 ×1")


@pytest.mark.parametrize(
    ("results", "state", "schedules"),
    [
        ([], "not exercised", 0),
        ([a_result("could_not_run", claims=("revoke",), reason="no server")], "not exercised", 0),
        ([a_result("inconclusive", claims=("revoke",))], "not exercised", 0),
        ([a_result("not_claimed", a_finding(claim="revoke"))], "not exercised", 0),
        ([a_result(claims=("revoke",))] * 3, "upheld", 3),
        ([a_result("violation", a_finding(claim="revoke"), claims=("revoke",))], "refuted", 1),
        ([a_result("known", a_finding(claim="revoke"), claims=("revoke",))], "refuted", 1),
        ([a_result("violation", a_finding(), claims=("revoke",))], "upheld", 1),
    ],
)
def test_claims_stand(results: list[ScheduleResult], state: str, schedules: int) -> None:
    row = next(row for row in a_tally(*results).claims("mine") if row.name == "revoke")
    assert (row.state, row.schedules) == (state, schedules)
    assert (row.upper_bound_95 is None) == (schedules == 0)


def test_a_claim_that_is_not_made_is_never_upheld_and_the_core_always_counts() -> None:
    rows = {row.name: row for row in a_tally(a_result(claims=("lease",))).claims("mine")}
    assert rows["lease"].state == "not claimed"
    assert rows["core"].state == "upheld"
    assert set(rows) == set(ALL_CLAIMS)


def test_a_claim_that_was_not_exercised_says_what_it_needs() -> None:
    tally = a_tally(a_result("could_not_run", claims=("revoke",), reason="needs a server"))
    row = next(row for row in tally.claims("mine") if row.name == "revoke")
    assert row.why == "needs a server"


def test_facts_that_are_claims_appear_as_claims() -> None:
    declaration = Declaration(Facts(key="derived", slot_identity=True), {"revoke": "yes"})
    assert set(claims_made(declaration)) == {"revoke", "key", "slot_identity"}


def test_equal_findings_are_grouped_and_the_first_schedule_is_kept() -> None:
    tally = a_tally(
        a_result("violation", a_finding(), schedule="first"),
        a_result("violation", a_finding(), schedule="second"),
        a_result("violation", a_finding(), schedule="third", family="budgets"),
        a_result("known", a_finding(), schedule="fourth"),
    )
    groups = [(g.family, g.verdict, g.count, g.first) for g in tally.findings()]
    assert groups == [
        ("budgets", "violation", 1, "third"),
        ("crash", "violation", 2, "first"),
        ("crash", "known", 1, "fourth"),
    ]


def test_memory_is_flat_and_violations_push_out_forgiven_findings() -> None:
    tally = a_tally()
    for n in range(200):
        tally.add(a_result("known", a_finding(f"AO{n:03}"), reason=f"reason {n}"))
        tally.add(a_result("harness_error", reason=f"reason {n}"))
    tally.add(a_result("violation", a_finding("AO999")))
    assert len(tally.findings()) == len(tally.troubles()) == MOST_GROUPS
    assert tally.findings()[0].finding.code == "AO999"
    assert tally.unlisted_findings == 200 + 1 - MOST_GROUPS
    assert tally.unlisted_troubles == 200 - MOST_GROUPS


# -- the bound ---------------------------------------------------------------------------------


def test_the_bound_without_failures_has_a_closed_form() -> None:
    assert upper_bound_95(0, 100) == pytest.approx(1 - 0.05**0.01)
    assert upper_bound_95(0, 0) == 1.0
    assert upper_bound_95(5, 5) == 1.0


@pytest.mark.parametrize(  # published tables of exact one-sided binomial limits
    ("failures", "schedules", "bound"),
    [(1, 10, 0.3942), (2, 20, 0.2826), (1, 100, 0.0466), (5, 50, 0.1988)],
)
def test_the_bound_agrees_with_published_tables(
    failures: int, schedules: int, bound: float
) -> None:
    assert upper_bound_95(failures, schedules) == pytest.approx(bound, abs=1e-4)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n - 1), st.just(n))))
def test_the_bound_leaves_exactly_five_percent(case: tuple[int, int]) -> None:
    failures, schedules = case
    p = upper_bound_95(failures, schedules)
    tail = sum(comb(schedules, k) * p**k * (1 - p) ** (schedules - k) for k in range(failures + 1))
    assert tail == pytest.approx(0.05, rel=1e-6)
    assert at_most(failures, schedules, p) == pytest.approx(tail, rel=1e-9)


def test_the_bound_is_finite_for_large_runs() -> None:
    assert 0.5 < upper_bound_95(500_000, 1_000_000) < 0.501
    assert upper_bound_95(1, 10_000_000) > sys.float_info.min


@pytest.mark.parametrize("case", [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(case: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="failures"):
        upper_bound_95(*case)
