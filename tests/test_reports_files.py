"""The files of a run: summary, folder and journal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from admitone.reports.folder import ReportFolder, ReportProblem
from admitone.reports.journal import JournalProblem, JournalWriter, read_journal
from admitone.reports.lines import LINE_LIMIT
from admitone.reports.summary_json import SummaryWriter, summary_schema, summary_text
from admitone.scenarios.summary import RunTally
from tests.report_world import SCHEDULE, Clock, a_tally, facts, hostile_result, results


def test_summary_follows_its_schema(tmp_path: Path) -> None:
    folder = ReportFolder.prepare(tmp_path / "report")
    SummaryWriter(folder).end(a_tally())
    value = json.loads(folder.summary.read_text())
    schema = json.loads(summary_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(value, schema)
    assert (value["outcome"], value["exit_code"], value["complete"]) == ("failed", 1, False)
    assert value["violations"][0]["replay"] == f"admitone replay {SCHEDULE}"
    assert value["violations"][0]["count"] == 2
    assert [point["name"] for point in value["points"]] == [f"FP{n}" for n in range(1, 13)]
    claims = {target["name"]: target["claims"] for target in value["targets"]}
    assert claims["broken-recover"]["recover"]["state"] == "refuted"
    assert claims["caplease-sqlite"]["revoke"]["state"] == "not exercised"
    assert value["points"][6]["missing"] == ["caplease-sqlite"]
    assert sorted(path.name for path in folder.root.iterdir()) == ["histories", "summary.json"]


@pytest.mark.parametrize("broken", ["outcome", "points", "races"])
def test_the_schema_refuses_a_summary_without_a_key(broken: str) -> None:
    value = json.loads(summary_text(a_tally()))
    del value[broken]
    with pytest.raises(jsonschema.ValidationError, match=broken):
        jsonschema.validate(value, json.loads(summary_schema()))


def test_summary_is_stable_whatever_the_order_of_results() -> None:
    forth, back = RunTally(facts()), RunTally(facts())
    good, bad, _, odd = results()
    for result in (good, bad, odd):
        forth.add(result)
    for result in (odd, bad, good):
        back.add(result)
    assert summary_text(forth) == summary_text(back)


def test_an_empty_and_a_hostile_run_follow_the_schema() -> None:
    schema = json.loads(summary_schema())
    empty = RunTally(facts())
    jsonschema.validate(json.loads(summary_text(empty)), schema)
    empty.add(hostile_result())
    text = summary_text(empty)
    jsonschema.validate(json.loads(text), schema)
    assert len(text) < 200_000
    assert "\x1b" not in text


def test_a_folder_that_cannot_be_written_is_one_clear_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportProblem) as caught:
        ReportFolder.prepare(tmp_path / "file" / "report")
    what, where, todo = str(caught.value).splitlines()
    assert what == "admitone: cannot write reports: Not a directory"
    assert where.endswith("/file/report")
    assert "--report-dir" in todo


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = ReportFolder.prepare(tmp_path)
    folder.write("a.txt", "old")

    with pytest.raises(TypeError):
        folder.write("a.txt", 5)  # type: ignore[arg-type]  # anything that fails half way
    assert (tmp_path / "a.txt").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "histories"]


def written(path: Path, *, ended: bool = True, resume: bool = False) -> None:
    writer = JournalWriter(path, resume=resume)
    writer.begin(facts())
    for result in results():
        writer.result(result)
    if ended:
        writer.end(a_tally())
    writer.close()


def test_a_journal_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    written(path)
    journal = read_journal(path)
    assert journal.facts == facts()
    assert list(journal.results) == results()
    assert (journal.exit_code, journal.torn, journal.note) == (1, False, "")
    kinds = [json.loads(line)["kind"] for line in path.read_text().splitlines()]
    assert kinds == ["run.begin", *["schedule.end"] * 4, "run.end"]


def test_a_tally_of_a_journal_is_the_tally_of_the_run(tmp_path: Path) -> None:
    written(tmp_path / "j")
    journal = read_journal(tmp_path / "j")
    again = RunTally(journal.facts)
    for result in journal.results:
        again.add(result)
    again.stop("max_time", duration_s=12.34, detail="20 s were up")
    assert summary_text(again) == summary_text(a_tally())


@pytest.mark.parametrize("cut", [1, 2, 50])
def test_a_torn_last_line_is_left_out_and_noted(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "journal.jsonl"
    written(path, ended=False)
    path.write_bytes(path.read_bytes()[:-cut])
    journal = read_journal(path)
    assert list(journal.results) == results()[:-1]
    assert journal.torn
    assert "line 5 is torn" in journal.note


def test_a_run_that_never_ended_is_noted(tmp_path: Path) -> None:
    written(tmp_path / "j", ended=False)
    journal = read_journal(tmp_path / "j")
    assert (journal.exit_code, journal.note) == (None, "the run never came to its end")


def test_resume_cuts_a_torn_line_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    written(path, ended=False)
    path.write_bytes(path.read_bytes()[:-7])
    written(path, resume=True)
    journal = read_journal(path)
    assert list(journal.results) == results()[:-1] + results()
    assert (journal.runs, journal.exit_code) == (2, 1)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("garbage", "no JSON"),
        ("[]", "no event"),
        ('{"kind": "schedule.end", "v": 2}', "version 2"),
        ('{"kind": "schedule.end", "v": 1}', "verdict is missing"),
        ('{"kind": "schedule.end", "v": 1, "verdict": "fine"}', "unknown verdict 'fine'"),
        (
            '{"kind": "schedule.end", "v": 1, "verdict": "passed", "schedule": 5}',
            "schedule must be a str",
        ),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_other_corruption_is_refused_with_the_line(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "journal.jsonl"
    written(path)
    lines = path.read_text().splitlines()
    lines[2] = line
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(JournalProblem, match=rf"line 3: .*{re.escape(says)}"):
        read_journal(path)


@pytest.mark.parametrize(("content", "says"), [("", "nothing complete"), ("{}", "nothing")])
def test_an_empty_journal_is_refused(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(content)
    with pytest.raises(JournalProblem, match=says):
        read_journal(path)
    with pytest.raises(JournalProblem, match="No such file"):
        read_journal(tmp_path / "missing")


def test_a_journal_without_its_begin_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    written(path)
    path.write_text("\n".join(path.read_text().splitlines()[1:]) + "\n")
    with pytest.raises(JournalProblem, match="line 1: a journal begins"):
        read_journal(path)


def test_lines_stay_below_the_limit_and_keep_what_counts(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    writer = JournalWriter(path)
    writer.begin(facts())
    writer.result(hostile_result())
    writer.close()
    line = path.read_text().splitlines()[1]
    assert len(line) < LINE_LIMIT
    [result] = read_journal(path).results
    assert (result.id, result.verdict) == ("mine/crash:x@1", "violation")
    assert json.loads(line)["findings_left_out"] > 0


def test_lines_wait_for_a_batch_but_never_a_violation(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "journal.jsonl"
    good, bad = results()[:2]
    writer = JournalWriter(path, every=3, after_s=1.0, clock=clock)
    writer.begin(facts())
    sizes = []
    for result, pause_s in ((good, 0), (good, 0), (good, 0), (good, 2), (good, 0), (bad, 0)):
        clock.now_s += pause_s
        writer.result(result)
        sizes.append(path.read_bytes().count(b"\n"))
    writer.close()
    assert sizes == [1, 1, 4, 5, 5, 7]
