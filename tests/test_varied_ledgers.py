"""Facts that no shipped ledger has: a correct ledger that states them is accused of nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from admitone.scenarios.families import Subjects, family
from tests.front_door import REPORT, admitone_in, journal_in
from tests.harness_world import conducted
from tests.played import played
from tests.varied_ledgers import EACH

ROOT = Path(__file__).parent.parent
SCHEDULES = 32


@pytest.mark.parametrize(("seed", "name"), list(enumerate(e.__name__ for e in EACH)))
def test_a_correct_ledger_of_another_make_is_accused_of_nothing(
    seed: int, name: str, tmp_path: Path
) -> None:
    target = f"py:tests.varied_ledgers:{name}"
    wanted = ["--schedules", str(SCHEDULES), "--seed", str(seed)]
    wanted += ["--report-dir", str(tmp_path / REPORT)]
    ran = admitone_in(ROOT, "run", target, *wanted)  # from where the target can be imported
    results = journal_in(tmp_path).results
    strange = [(r.id, r.verdict, r.reason) for r in results if r.verdict != "passed"]
    assert [each for each in strange if each[1] != "not_exercised"] == [], ran.err
    assert len(results) == SCHEDULES
    assert len(strange) < SCHEDULES / 4, "most were exercised"


@pytest.mark.parametrize(
    ("family_name", "name"),
    [
        ("crash", "FP1.write1.kill.recover.b1.ctrl.s0"),
        ("reissuance", "killed.again.b1.idem.s0"),
        ("consumers", "neighbour.user.b1.idem.s0"),
        ("consumers", "neighbour.renewed.b1.idem.s0"),
    ],
)
def test_whoever_is_in_doubt_is_accused_of_nothing(
    family_name: str, name: str, scratch: Path
) -> None:
    """Nothing is asked about an authorization that nobody got, and what recovery hands back is
    carried out by the client whose it is."""
    results = played("py:tests.varied_ledgers:Doubts", family_name, scratch, [name])
    assert {r.verdict for r in results} <= {"passed", "not_exercised"}, results


@pytest.mark.parametrize(("name", "altered"), [("NoIssue", False), ("Held", True)])
def test_where_nothing_is_issued_a_name_cannot_be_forged(
    name: str, altered: bool, scratch: Path
) -> None:
    with conducted(f"py:tests.varied_ledgers:{name}", scratch) as (_, fitting):
        subject = Subjects(fitting.target, fitting.greeting.declaration, fitting.survey)
        plans = family("binding").placed(subject)
    assert (("credential", "altered") in {plan.params for plan in plans}) is altered
