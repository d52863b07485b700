"""The judge against hand-written histories: every code convicts, and nothing legal is accused."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from admitone.scenarios import checks
from admitone.scenarios.checks import CHECKS, JudgeProblem, Ruling, judge
from admitone.scenarios.facts import ALL_CLAIMS, UNJUDGED
from admitone.scenarios.story import tell
from admitone.scenarios.story.labels import bound_of
from admitone.scenarios.validate import validate
from admitone.targets.declaration import CLAIMS
from tests.histories.convicting import CONVICTING
from tests.histories.legal import LEGAL
from tests.historybuilder import Builder


@pytest.mark.parametrize("name", CONVICTING)
def test_a_broken_history_is_convicted(name: str) -> None:
    history = CONVICTING[name]()
    opportunities, findings = judge(history)
    code = name.partition("_")[0]
    found = [f for f in findings if f.code == code]
    assert found, f"not convicted; accused of {[(f.code, f.inequality) for f in findings]}"
    assert opportunities[code] >= len(found)
    seqs = {line.stamp.seq for line in history.lines}
    for finding in findings:
        assert all(getattr(finding, f.name) for f in fields(finding) if f.name != "claim")
        assert set(finding.at) <= seqs


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_history_is_not_accused(name: str) -> None:
    history = LEGAL[name]()
    assert validate(history) == []
    _, findings = judge(history)
    assert [(f.code, f.inequality, f.seen) for f in findings] == []


@pytest.mark.parametrize("code", CHECKS)
def test_every_check_has_a_history_that_convicts_it(code: str) -> None:
    assert any(name.startswith(f"{code}_") for name in CONVICTING)


@pytest.mark.parametrize("code", CHECKS)
def test_every_check_is_exercised_by_a_legal_history(code: str) -> None:
    exercised = [name for name, make in LEGAL.items() if judge(make())[0][code]]
    assert len(exercised) >= 2, f"only {exercised} give {code} something to judge"


@pytest.mark.parametrize("code", CHECKS)
def test_every_check_explains_itself(code: str) -> None:
    check = CHECKS[code]
    assert check.code == code
    for name in ("title", "section", "meaning", "cause", "remedy"):
        assert len(getattr(check, name)) > 10
    assert check.claim in (None, *CLAIMS, "key", "attempt_identity", "slot_identity", "binds")


def test_every_claim_is_judged_or_said_to_be_unjudged() -> None:
    judged = {check.claim for check in CHECKS.values()}
    by_the_core = {"core", "multi_budget", "slot_identity", "release", "lease"}
    unjudged = set(ALL_CLAIMS) - judged - by_the_core
    assert unjudged == set(UNJUDGED)


def test_what_is_not_claimed_is_not_judged() -> None:
    convicted = CONVICTING["AO701_admission_lost"]()
    silent = replace(convicted.header.declaration, claims={})
    opportunities, findings = judge(
        replace(convicted, header=replace(convicted.header, declaration=silent))
    )
    assert opportunities["AO701"] == 0
    assert not [f for f in findings if f.code == "AO701"]


def test_an_empty_history_exercises_nothing() -> None:
    opportunities, findings = judge(Builder().history())
    assert set(opportunities) == set(CHECKS)
    assert not any(opportunities.values())
    assert findings == []


def test_a_check_that_crashes_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_: object) -> Ruling:
        raise ZeroDivisionError

    monkeypatch.setitem(CHECKS, "AO102", replace(CHECKS["AO102"], judge=crash))
    with pytest.raises(JudgeProblem, match="AO102") as caught:
        judge(Builder().history())
    assert caught.value.code == "AO102"


def test_an_invalid_history_is_no_pass() -> None:
    h = Builder()
    h.end(7, "granted")
    with pytest.raises(JudgeProblem, match="not invoked") as caught:
        judge(h.history())
    assert caught.value.code == "AO901"


def test_every_story_that_cannot_be_told_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "tell", lambda _: 1 / 0)
    with pytest.raises(JudgeProblem, match="AO902"):
        judge(Builder().history())


@pytest.mark.parametrize(
    ("budget", "bound"),
    [(0, 0), (-1, 0), (1.5, 1), (float("nan"), 0), (float("inf"), None), (True, 1), ("1", 1),
     ("x", 0), (2**70, 2**70), (None, 0)],
)  # fmt: skip
def test_the_most_generous_reading_of_an_odd_budget(budget: object, bound: int | None) -> None:
    assert bound_of(budget) == bound


def test_a_delivered_request_is_the_held_one_under_its_old_or_a_new_number() -> None:
    h = Builder()
    use = h.prepare("r1")
    call = h.begin("effect", request="r1", attempt="a1", admission=use.admission)
    h.hold(call, "k1")
    h.sink_gets(call, "k1", request="r1")
    (effect,) = tell(h.history()).sink.effects
    assert effect.sent < effect.received < effect.applied[0]
