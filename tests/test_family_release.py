"""Release: given back by its holder after a definite non-effect, and by nobody and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from admitone.scenarios.families.release import ASKED
from tests.played import acquitted, codes, played

ALL = (
    "turned_away.b1.idem.s0",
    "overtaken.b2.idem.s0",
    *(f"{topic}.b2.idem.s0" for topic in ASKED),
)


@pytest.mark.parametrize("target", ["builtin:correct/counter", "py:tests.small_ledger:SmallTarget"])
def test_a_correct_ledger_is_acquitted(target: str, scratch: Path) -> None:
    results = played(target, "release", scratch, ALL)
    acquitted(results, "AO102", "AO103", "AO105", "AO802")
    away = results[0]
    assert [(point.name, point.fired) for point in away.points] == [("effect-refused", 1)]
    assert away.effects == 1, "what was given back is used by the next request"
    assert any("release" in result.claims for result in results)


def test_a_ledger_that_takes_back_by_itself_is_acquitted(scratch: Path) -> None:
    plans = ("turned_away.b1.idem.s0", "turned_away.b2.ctrl.s0")
    results = played("builtin:correct/guarded", "release", scratch, plans)
    acquitted(results, "AO102", "AO802")
    assert [result.effects for result in results] == [1, 2]


def test_a_stranger_that_is_believed_is_convicted(scratch: Path) -> None:
    plans = ("stranger.b1.idem.s0", "twice.b1.idem.s0")
    stranger, twice = played("builtin:broken/release-by-stranger", "release", scratch, plans)
    assert codes([stranger]) == {"AO102", "AO103", "AO105"}
    assert twice.verdict == "passed"


def test_a_release_of_what_was_done_is_convicted(scratch: Path) -> None:
    plans = ("finished.b1.idem.s0", "doubtful.b1.idem.s0", "stranger.b1.idem.s0")
    *late, stranger = played("builtin:broken/release-after-effect", "release", scratch, plans)
    assert all("AO103" in codes([result]) for result in late)
    assert codes(late) <= {"AO103", "AO304"}
    assert stranger.verdict == "passed"


@pytest.mark.parametrize(
    ("name", "plan", "code"),
    [
        ("FreesRevoked", "overtaken.b1.idem.s0", "AO401"),
        ("ForgetsRelease", "turned_away.b1.ctrl.s0", "AO303"),
        ("ReleasesAny", "twice.b1.ctrl.s0", "AO104"),
        ("ReleasesAny", "twice.b2.ctrl.s0", "AO104"),
    ],
)
def test_what_a_release_leaves_behind_is_looked_at(
    name: str, plan: str, code: str, scratch: Path
) -> None:
    results = played(f"py:tests.released_ledgers:{name}", "release", scratch, [plan])
    assert code in codes(results)
