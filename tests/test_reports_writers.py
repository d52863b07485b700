"""Writers, the fan that feeds them, and the texts they clean."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from admitone.reports.closing import Closing, closing
from admitone.reports.folder import ReportFolder
from admitone.reports.journal import JournalWriter, read_journal
from admitone.reports.live import Live
from admitone.reports.summary_json import SummaryWriter
from admitone.reports.text import carried_by, clean, columns, fit, wrapped
from admitone.reports.writer import Fan, Silent, Writer
from admitone.scenarios.history import History
from admitone.scenarios.results import Finding, ScheduleResult, Verdict
from admitone.scenarios.summary import RunFacts, RunTally
from tests.report_world import FINDING, a_tally, doubled_effect, facts, history, results


class Breaking(Silent):
    name = "breaking\x1b"

    def __init__(self, step: str, problem_: BaseException) -> None:
        self.step = step
        self.problem = problem_
        self.calls = 0

    def result(self, result: ScheduleResult) -> None:
        self.calls += 1
        if self.step == "result":
            raise self.problem

    def end(self, tally: RunTally) -> None:
        self.calls += 1
        if self.step == "end":
            raise self.problem


class Counting(Silent):
    name = "counting"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def begin(self, facts: RunFacts) -> None:
        self.seen.append("begin")

    def result(self, result: ScheduleResult) -> None:
        self.seen.append("result")

    def finding(self, result: ScheduleResult, finding: Finding, history: History) -> None:
        self.seen.append("finding")

    def end(self, tally: RunTally) -> None:
        self.seen.append("end")


@pytest.mark.parametrize("raised", [RuntimeError("disk\nfull"), SystemExit(0), MemoryError()])
@pytest.mark.parametrize("step", ["result", "end"])
def test_a_writer_that_fails_changes_nothing(step: str, raised: BaseException) -> None:
    notes: list[str] = []
    breaking, counting = Breaking(step, raised), Counting()
    fan = Fan([breaking, counting], notes.append)
    tally = a_tally()
    fan.begin(facts())
    fan.result(results()[1])
    fan.finding(results()[1], FINDING, history())
    fan.result(results()[0])
    fan.end(tally)
    assert counting.seen == ["begin", "result", "finding", "result", "end"]
    assert tally.exit_code == 1
    assert len(notes) == len(fan.problems) == 1
    assert "breaking\\x1b" in notes[0]
    assert breaking.calls == (1 if step == "result" else 3)


def test_an_interruption_by_the_user_passes_through_the_fan() -> None:
    fan = Fan([Breaking("result", KeyboardInterrupt())], lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        fan.result(results()[0])


def test_a_note_that_nobody_hears_is_no_problem() -> None:
    def deaf(_: str) -> None:
        raise BrokenPipeError

    fan = Fan([Breaking("result", ValueError("x"))], deaf)
    fan.result(results()[0])
    assert [str(problem.writer) for problem in fan.problems] == ["breaking\\x1b"]


def test_a_full_report_from_one_stream(tmp_path: Path) -> None:
    folder = ReportFolder.prepare(tmp_path / "out")
    stream = io.StringIO()
    notes: list[str] = []
    writers: list[Writer] = [
        JournalWriter(folder.journal),
        SummaryWriter(folder),
        Live(stream, environ={}),
        Closing(stream, [str(folder.summary)], width=100),
    ]
    fan = Fan(writers, notes.append)
    tally = RunTally(facts())
    fan.begin(tally.facts)
    for result in results():
        tally.add(result)
        fan.result(result)
        for finding in result.findings:
            fan.finding(result, finding, history(*doubled_effect()))
    tally.stop("finished", duration_s=1.0)
    fan.end(tally)
    assert notes == []
    assert len(read_journal(folder.journal).results) == 4
    assert json.loads(folder.summary.read_text())["exit_code"] == 1
    assert stream.getvalue().rstrip().endswith("exit 1")


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("plain", 200, "plain"),
        ("a\nb\tc\r", 200, "a\\nb\\tc\\r"),
        ("\x1b[31m\x7f\x9b", 200, "\\x1b[31m\\x7f\\x9b"),
        ("\u202e\u2028\ud800\ufeff", 200, "\\u202e\\u2028\\ud800\\ufeff"),
        ("中文", 200, "中文"),
        ("abcdefghij", 5, "abc…j"),
        ("", 5, ""),
    ],
)
def test_clean(text: str, limit: int, shown: str) -> None:
    assert clean(text, limit) == shown


def test_widths_are_those_of_a_terminal() -> None:
    assert columns("中文e\u0301") == 5
    assert fit("中文", 3) == "中…"
    assert fit("a", 3) == "a  "
    assert wrapped("one two three four", 9, 2) == ["one two", "three fo…"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "no-such-encoding", None])
def test_every_encoding_carries_something(encoding: str | None) -> None:
    assert carried_by("a → b 中 ≤", encoding) == "a -> b \\u4e2d <="
    assert carried_by("a → b", "utf-8") == "a → b"


def test_verdict_words_of_every_kind_are_counted() -> None:
    tally = RunTally(facts())
    every: tuple[Verdict, ...] = ("passed", "known", "stale", "inconclusive", "not_exercised")
    for verdict in every:
        tally.add(replace(results()[0], verdict=verdict))
    tally.stop("finished", duration_s=1.0)
    last = closing(tally, {}).splitlines()
    assert "failed: 1 stale · 1 inconclusive · 1 not exercised · 1 known · 1 passed" in last
