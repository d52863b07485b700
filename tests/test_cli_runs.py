"""Whole runs from outside: guilty ledgers are convicted of their own bug, correct ones of none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from admitone.targets.resolve import resolve
from tests.front_door import REPORT, admitone_in, journal_in, summary_in, verdicts_in

CORRECT = ("caplease-sqlite", "correct/counter", "correct/json-flock", "correct/guarded")


def codes_in(folder: Path, target: str) -> Counter[str]:
    return Counter(
        finding.code
        for result in journal_in(folder).results
        if result.target == target
        for finding in result.findings
    )


@pytest.mark.parametrize(
    ("family", "schedules", "targets", "seed"),
    [
        ("consumers", "24", ("broken/MP1", "broken/MP1-lease-lock"), "0"),
        ("consumers", "30", ("broken/MP1",), "1"),
        ("consumers", "30", ("broken/MP1",), "2"),
        ("crash", "24", ("broken/ME1", "broken/MP6"), "0"),
        ("crash", "24", ("broken/ME1",), "1"),
        ("crash", "24", ("broken/MP6",), "2"),
    ],
)
def test_a_guilty_ledger_is_convicted_of_its_own_bug(
    scratch: Path, family: str, schedules: str, targets: tuple[str, ...], seed: str
) -> None:
    """At a size for every day; ``tests/campaigns/guilty.py`` does it in ten seeds, and whole."""
    wanted = ("--family", family, "--schedules", schedules, "--seed", seed, "-n", "1")
    ran = admitone_in(scratch, "run", *targets, *wanted)
    assert (ran.code, ran.err) == (1, "")
    for target in targets:
        found = set(codes_in(scratch, target))
        guilty: Any = resolve(target)
        assert found & set(guilty.convicted_by), target
        assert found & set(guilty.never_by) == set(), target


@pytest.mark.parametrize(
    ("sink", "targets"),
    [("embedded", CORRECT), ("process", ("correct/counter", "correct/guarded"))],
)
def test_correct_ledgers_are_accused_of_nothing(
    scratch: Path, sink: str, targets: tuple[str, ...]
) -> None:
    ran = admitone_in(scratch, "run", *targets, "--schedules", "12", "--sink", sink, "-n", "1")
    assert ran.err == ""
    summary = summary_in(scratch)
    assert summary["violations"] == []
    verdicts = verdicts_in(scratch)
    assert len(verdicts) == 12 * len(targets)
    assert set(verdicts.values()) <= {"passed", "not_applicable", "not_exercised"}
    assert Counter(verdicts.values())["passed"] > 6 * len(targets)
    assert ran.code in (0, 3)  # 3: so few need not reach every point
    assert f"--sink {sink}" in summary["command"]
    assert f"exit {ran.code}" in ran.out


def test_workers_change_the_speed_and_nothing_else(scratch: Path) -> None:
    seen = []
    for workers in ("1", "2"):
        wanted = ("--family", "crash", "--schedules", "20", "--seed", "5", "--json", "copy.json")
        ran = admitone_in(scratch, "run", "broken/ME1", *wanted, "-n", workers)
        assert ran.code == 1
        copy = (scratch / "copy.json").read_text()
        assert copy == (scratch / REPORT / "summary.json").read_text()
        seen.append(verdicts_in(scratch))
    assert seen[0] == seen[1]
    assert len(seen[0]) == 20
    assert Counter(seen[0].values()).keys() == {"passed", "violation"}


def test_a_violation_is_replayed_from_its_id_alone(scratch: Path) -> None:
    admitone_in(scratch, "run", "broken/ME1", "--family", "crash", "--schedules", "12")
    guilty = next(result for result in journal_in(scratch).results if result.findings)
    code = guilty.findings[0].code
    ran = admitone_in(scratch, "replay", guilty.id, "--times", "3", "--keep", "kept")
    assert (ran.code, ran.err) == (1, "")
    assert f"{code}  " in ran.out
    assert "the same history in 3 of 3 plays" in ran.out
    assert any((scratch / "kept").iterdir())
    kept = scratch / REPORT / "histories" / str(guilty.history_kept)
    judged = admitone_in(scratch, "judge", str(kept))
    assert judged.code == 1
    assert f"{code}  " in judged.out
    cut = scratch / "cut.jsonl"
    cut.write_bytes(kept.read_bytes()[:-200])
    assert "cut off" in admitone_in(scratch, "judge", "cut.jsonl").said


def test_a_journal_that_was_cut_is_never_a_pass(scratch: Path) -> None:
    whole = admitone_in(scratch, "run", "correct/counter", "--schedules", "12", "-n", "1")
    again = admitone_in(scratch, "report")
    assert again.code == whole.code
    journal = (scratch / REPORT / "journal.jsonl").read_bytes()
    lines = journal.splitlines(keepends=True)
    for cut in (b"".join(lines[:-1]), b"".join(lines[:-2]) + lines[-2][:40]):
        (scratch / "cut.jsonl").write_bytes(cut)
        ran = admitone_in(scratch, "report", "cut.jsonl")
        assert ran.code == 130
        assert "never came to its end" in ran.err or "is torn" in ran.err
    (scratch / "cut.jsonl").write_bytes(lines[0][:40])
    assert "line 1: nothing complete" in admitone_in(scratch, "report", "cut.jsonl").said
