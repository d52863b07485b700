"""What a person and a CI see. Texts are held by files in ``snapshots/``; set
``ADMITONE_UPDATE_SNAPSHOTS=1`` to write them anew, and read the difference before committing it."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import struct
import termios
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from admitone.chaos.events import (
    Approved,
    Armed,
    Event,
    Invoked,
    Killed,
    Note,
    Phase,
    Point,
    Read,
    Recorded,
    Released,
    Replied,
    SinkApplied,
    SinkReplied,
    SinkRequested,
    Stamp,
    Stopped,
)
from admitone.reports.closing import Closing, closing
from admitone.reports.folder import ReportFolder, ReportProblem, problem
from admitone.reports.journal import JournalProblem, JournalWriter, read_journal
from admitone.reports.lanes import MOST_LINES, lanes
from admitone.reports.lines import LINE_LIMIT
from admitone.reports.live import Live, plain_line, table
from admitone.reports.summary_json import SummaryWriter, summary_schema, summary_text
from admitone.reports.terminal import is_terminal, wants_color
from admitone.reports.text import carried_by, clean, columns, fit, wrapped
from admitone.reports.writer import Fan, Silent, Writer
from admitone.scenarios.history import Header, History
from admitone.scenarios.results import Finding, PointUse, ScheduleResult, Verdict
from admitone.scenarios.summary import Required, RunFacts, RunTally, TargetFacts
from admitone.scenarios.tallies import FamilyTally
from admitone.targets.declaration import Declaration
from admitone.targets.replies import Done, Recovered, Refused
from admitone.targets.terms import (
    Admission,
    Approval,
    Authorization,
    Call,
    Confirmation,
    Context,
    SlotView,
    TargetName,
    Validity,
    View,
)

SNAPSHOTS = Path(__file__).parent / "snapshots"
SCHEDULE = "broken-recover/crash:FP9.kill.b1.control.s17@1"
HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\nline two\u202e\u2028\x9b31m" + "A" * 1_000_000 + "\x1b[0m"
ACTS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


def same_as_snapshot(name: str, text: str) -> None:
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("ADMITONE_UPDATE_SNAPSHOTS"):
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")


# -- a history by hand -------------------------------------------------------------------------

CALL = Call("transfer", {"amount": 5, "label": "a1"}, "alice", "acct-9")
K1, K2 = "9d1f6a" + "0" * 58, "c40e11" + "0" * 58
FINDING = Finding(
    code="AO301",
    title="a recovered slot was sent again under another key",
    label="a1",
    inequality="N_effect = 2 > N_admit = 1",
    expected="one application: a recovered slot keeps its key 9d1f…",
    seen="two applications, keys 9d1f… and c40e…",
    remedy="derive the key from record and slot, or store it with the admission",
    at=(9, 22),
    claim="recover",
)


def history(*events: Event, source: str = "harness") -> History:
    header = Header(SCHEDULE, TargetName("broken-recover", "", "0.1"), Declaration(), (), "control")
    recorded = [
        Recorded(Stamp(n, n * 1000, "n1" if isinstance(e, Note) else source), e)
        for n, e in enumerate(events, 1)
    ]
    return History(header, tuple(recorded))


def doubled_effect() -> tuple[Event, ...]:
    approval = Approval(
        CALL,
        Confirmation("e-7", "alice", "sigma", 1, "mac"),
        1,
        Context("n1", "s", "t"),
        Validity(0.0),
    )
    commit = Point("commit", "write", "before", 1)
    first, second = Admission("r1", "0", K1), Admission("r1", "0", K2)
    args = {"amount": 5}
    return (
        Approved("a1", approval),
        Phase("hurt"),
        Invoked(1, "issue", "n1", "alice", "a1"),
        Replied(1, "granted", "reply", Authorization("r1", 1)),
        Invoked(2, "prepare", "n1", "alice", "a1", "q1", "t1"),
        Replied(2, "granted", "reply", first),
        SinkRequested(1, "n1", None, K1, "transfer", args, "a1"),
        Invoked(9, "prepare", "n9", "bob", "other", "q9", "t9"),  # another story
        SinkApplied(1, 1, K1, "a1", "d"),
        SinkReplied(1, "applied"),
        Armed("FP9", "n1", commit),
        Invoked(3, "commit", "n1", "alice", "a1", admission=first),
        Note("stderr", "Traceback:\n  deep\n  deeper\nWARN commit is slow"),
        Stopped("FP9", "n1", commit, 3, "COMMIT"),
        Killed("n1", 4711, 9, True),
        Replied(3, "unknown", "dead"),
        Read("after_fault", "inspector", "a1", 0, View(True, (SlotView("0", "prepared", "P"),))),
        Phase("recover"),
        Invoked(4, "recover", "n2", "carol"),
        Replied(4, "granted", "reply", Recovered((second,))),
        SinkRequested(2, "n2", None, K2, "transfer", args, "a1"),
        SinkApplied(2, 2, K2, "a1", "d"),
        SinkReplied(2, "applied"),
        Invoked(5, "commit", "n2", "carol", "a1", admission=second),
        Replied(5, "granted", "reply", Done()),
        Phase("end"),
        Read("final", "inspector", "a1", 0, View(True, (SlotView("0", "committed", "C"),))),
    )


def race() -> tuple[Event, ...]:
    held = Point("prepare", "statement", "after", 2)
    steps: list[Event] = [
        Invoked(1, "prepare", "n1", "alice", "a1", "q1", "t1"),
        Invoked(2, "prepare", "n2", "bob", "a1", "q2", "t2"),
    ]
    for nth, sql in enumerate(("BEGIN", "SELECT used FROM slots", "UPDATE slots SET used = 1"), 1):
        steps.append(Stopped("order 7", "n1", replace(held, nth=nth), 1, sql))
        steps.append(Released("order 7", "n1", "go"))
    return (
        *steps,
        Stopped("order 7", "n2", Point("prepare", "statement", "after", 1), 2, "BEGIN"),
        Released("order 7", "n2", "go"),
        Stopped("order 7", "n1", Point("prepare", "write", "before", 1), 1, "COMMIT"),
        Replied(2, "granted", "reply", Admission("r1", "0", K2)),
        Released("order 7", "n1", "go"),
        Replied(1, "refused", "reply", Refused("exhausted")),
    )


# -- a run by hand -----------------------------------------------------------------------------


def facts() -> RunFacts:
    return RunFacts(
        seed=4021,
        profile="quick",
        version="0.1.0",
        command="admitone run --seed 4021",
        machine="Linux x86_64, 2 cores",
        started="2026-01-02T03:04:05Z",
        targets=(
            TargetFacts("caplease-sqlite", "0.1.0", "sha256:aa11", {"revoke": "s", "recover": "s"}),
            TargetFacts(
                "broken-recover", "0.1.0", "", {"recover": "s"}, {"FP7": "its sink is atomic"}
            ),
        ),
        required=Required(("crash",), ("FP1", "FP9"), ("AO101",)),
        planned={"budgets": 4, "crash": 3},
    )


def results() -> list[ScheduleResult]:
    fp1 = PointUse("FP1", 1, 1, "kill write 1 of 1")
    fp9 = PointUse("FP9", 1, 1, "kill write 1 of 1")
    good = ScheduleResult(
        "caplease-sqlite/crash:FP9.kill.b1.idem.s1@1",
        "caplease-sqlite",
        "crash",
        "passed",
        opportunities={"AO101": 3},
        points=(fp1, fp9),
        claims=("recover",),
        kills=2,
        admits=3,
        effects=3,
        digest="ab" * 32,
        duration_s=0.25,
    )
    bad = replace(
        good,
        id=SCHEDULE,
        target="broken-recover",
        verdict="violation",
        findings=(FINDING,),
        points=(fp9, PointUse("FP11", 4, 0, "kill")),
        races_started=3,
        races_overlapped=1,
        relies_on_sink="yes",
        history_kept="histories/1.jsonl",
    )
    odd = replace(bad, verdict="could_not_run", findings=(), points=(), reason="no toxiproxy")
    return [good, bad, replace(bad, id="b", drops=1), replace(odd, id="c", family="network")]


def a_tally() -> RunTally:
    tally = RunTally(facts())
    for result in results():
        tally.add(result)
    tally.stop("max_time", duration_s=12.34, detail="20 s were up")
    return tally


def hostile_result() -> ScheduleResult:
    finding = Finding("AO101", HOSTILE, "a1", HOSTILE, HOSTILE, HOSTILE, HOSTILE, claim=HOSTILE)
    return ScheduleResult(
        "mine/crash:x@1",
        "mine",
        "crash",
        "violation",
        (finding,) * 60,
        {f"AO{n}": n for n in range(500)},
        tuple(PointUse("FP1", 1, 1, f"{n}{HOSTILE}") for n in range(50)),
        reason=HOSTILE,
    )


# -- lanes -------------------------------------------------------------------------------------


def test_lanes_of_a_doubled_effect() -> None:
    text = lanes(history(*doubled_effect()), FINDING)
    same_as_snapshot("lanes_doubled_effect", text)
    assert "q9" not in text  # the other authorization's call is dropped


def test_lanes_of_stepped_statements() -> None:
    finding = replace(FINDING, at=(), claim=None, code="AO101", title="admitted twice")
    same_as_snapshot("lanes_race", lanes(history(*race()), finding))


def test_lanes_in_ascii() -> None:
    text = lanes(history(*doubled_effect()), FINDING, encoding="ascii")
    same_as_snapshot("lanes_ascii", text)
    assert text.isascii()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_lanes_keep_to_the_width(width: int) -> None:
    text = lanes(history(*doubled_effect()), FINDING, width)
    cut = [line for line in text.splitlines() if "admitone replay" not in line]  # never cut
    assert max(map(columns, cut)) <= width


def test_long_lanes_are_bounded_and_say_so() -> None:
    retries: list[Event] = []
    for call in range(100, 600):
        retries.append(Invoked(call, "prepare", "n1", "alice", "a1", f"q{call}", "t"))
        retries.append(Replied(call, "refused", "reply", Refused("exhausted")))
    events = doubled_effect()
    text = lanes(history(*events[:10], *retries, *events[10:]), replace(FINDING, at=(9, 1022)))
    assert len(text.splitlines()) <= MOST_LINES
    assert re.search(r"… \d+ of \d+ steps left out", text)
    assert text.count("▶") == 2
    assert text.count("effect #") == 2
    assert "killed at commit.write1.before (COMMIT)" in text


def test_more_nodes_than_lanes_are_told_without_a_lane() -> None:
    many = [Invoked(n, "prepare", f"n{n}", f"executor{n}", "a1", f"q{n}") for n in range(1, 31)]
    text = lanes(history(*many), FINDING, 60)
    head = text.splitlines()[2]
    assert head.split()[2:] == ["1", "2", "3", "L", "S", "F"]
    assert "n30 executor30" in text


def test_a_dropped_reply_and_an_answer_lost_are_told() -> None:
    reply = Point("prepare", "reply", "before", 1)
    text = lanes(
        history(
            Invoked(1, "prepare", "n1", "alice", "a1", "q1"),
            Stopped("FP4", "n1", reply, 1),
            Released("FP4", "n1", "drop"),
            Replied(1, "unknown", "dropped"),
            SinkRequested(1, "n1", 1, K1, "transfer", {}, "a1", held=True),
            Phase("heal"),
            SinkApplied(1, 1, K1, "a1", "d"),
            SinkReplied(1, "dropped"),
        ),
        FINDING,
    )
    assert "goes on, its reply is dropped, from prepare.reply1.before" in text
    assert "prepare q1 → unknown (the reply was dropped)" in text
    assert "held on its way" in text
    assert "effect #1 applied key 9d1f… → dropped" in text


def test_a_key_is_shortened_only_as_far_as_it_stays_different() -> None:
    other = "9d1f6b" + "0" * 58
    events = (
        Invoked(1, "prepare", "n1", "alice", "a1"),
        Replied(1, "granted", "reply", Admission("r1", "0", K1)),
        SinkRequested(1, "n1", 1, other, "transfer", {}, "a1"),
    )
    text = lanes(history(*events), FINDING)
    assert "key 9d1f6a…" in text
    assert "key 9d1f6b…" in text


def test_a_finding_without_any_event_is_still_told() -> None:
    text = lanes(history(), FINDING)
    assert "broken    N_effect = 2 > N_admit = 1" in text
    assert f"repeat:   admitone replay {SCHEDULE}" in text
    assert "explain:  admitone explain AO301" in text


def test_hostile_texts_neither_act_nor_flood() -> None:
    where = Point("prepare", "write", "before", 1)
    nested: object = HOSTILE
    for _ in range(500):
        nested = [nested]
    events = (
        Invoked(1, "prepare", "n1", "alice", "a1", HOSTILE, HOSTILE),
        Replied(1, "granted", "reply", Admission(HOSTILE, HOSTILE, HOSTILE), detail=HOSTILE),
        Replied(2, "unknown", "malformed", nested),
        SinkRequested(1, "n1", 1, HOSTILE, HOSTILE, nested, "a1"),
        Stopped("FP3", "n1", where, 1, HOSTILE),
        Read("final", "i", "a1", 0, View(True, (SlotView(HOSTILE, "issued", HOSTILE),) * 90)),
        Note(HOSTILE, HOSTILE),
    )
    finding = Finding("AO101", HOSTILE, "a1", HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    text = lanes(history(*events), finding)
    assert not ACTS.search(text)
    assert len(text.splitlines()) <= MOST_LINES
    assert max(map(columns, text.splitlines())) <= 100
    assert "\\x1b[2J" in text


# -- the closing block -------------------------------------------------------------------------


def test_closing_block() -> None:
    tally = a_tally()
    diagrams = {tally.findings()[0].key: lanes(history(*doubled_effect()), FINDING)}
    files = ("admitone-report/summary.json", "admitone-report/journal.jsonl")
    text = closing(tally, diagrams, files)
    same_as_snapshot("closing_failed", text)
    assert text.startswith("NOT exercised\n")
    assert text.endswith("exit 1")


def test_closing_block_of_a_complete_run() -> None:
    one = TargetFacts("caplease-sqlite", "0.1.0", "sha256:aa11", {"recover": "s"})
    tally = RunTally(replace(facts(), targets=(one,)))
    tally.add(results()[0])
    tally.stop("finished", duration_s=1.0)
    same_as_snapshot("closing_passed", closing(tally, {}))


def test_closing_survives_hostile_results() -> None:
    tally = RunTally(facts())
    tally.add(hostile_result())
    tally.add(replace(hostile_result(), verdict="harness_error", findings=()))
    tally.stop("interrupted", duration_s=1.0, detail=HOSTILE)
    text = closing(tally, {}, width=100)
    assert not ACTS.search(text)
    assert max(map(columns, text.splitlines())) <= 100
    assert len(text) < 40_000


def test_the_closing_writer_draws_the_first_history_of_a_group() -> None:
    stream = io.StringIO()
    writer = Closing(stream, width=100)
    bad = results()[1]
    writer.finding(bad, FINDING, history(*doubled_effect()))
    writer.finding(bad, FINDING, history())
    writer.end(a_tally())
    assert stream.getvalue().count("effect #2 applied") == 1
    assert "\x1b" not in stream.getvalue()


def test_a_problem_says_what_where_and_what_to_do() -> None:
    text = problem("cannot import the target\x1b[1m", "py:mine:Target", "pip install mine")
    assert text == (
        "admitone: cannot import the target\\x1b[1m\n"
        "  where:  py:mine:Target\n"
        "  to do:  pip install mine"
    )


# -- progress ----------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_plain_lines_are_few() -> None:
    stream, clock = io.StringIO(), Clock()
    live = Live(stream, clock=clock, environ={})
    live.begin(facts())
    for _ in range(100):
        clock.now_s += 0.125
        live.result(results()[0])
    live.end(a_tally())
    same_as_snapshot("live_plain", stream.getvalue().rstrip("\n"))
    assert len(stream.getvalue().splitlines()) == 3


@pytest.mark.parametrize("width", [100, 60, 40, 20])
def test_the_table_never_wraps(width: int) -> None:
    crash = FamilyTally("crash")
    for result in results()[:3]:
        crash.add(result)
    lines = table([crash, FamilyTally("x" * 90)], {"crash": 6}, crash, width, color=False)
    same_as_snapshot(f"live_table_{width}", "\n".join(lines))
    assert max(map(columns, lines)) < width


@pytest.fixture
def terminal() -> Iterator[tuple[Any, Any]]:
    main, side = os.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with os.fdopen(side, "w", encoding="utf-8") as stream, os.fdopen(main, "rb", 0) as reader:
        yield stream, reader


def shown_on(reader: Any, stream: Any) -> str:
    """What the stream wrote to the terminal: read until the mark that is written last."""
    stream.write("<end>")
    stream.flush()
    data = b""
    while not data.endswith(b"<end>"):
        data += reader.read(4096)
    return data[:-5].decode("utf-8")


def on_screen(output: str) -> list[str]:
    """A terminal small enough to be obviously right: the few moves that Live may use."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[\d*[A-Za-z]|\r\n|[^\x1b\r]+", output):
        if part == "\r\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part.endswith("F") and part.startswith("\x1b"):
            row -= int(part[2:-1])
            assert row >= 0
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part == "\x1b[J":
            del lines[row + 1 :]
            lines[row] = ""
        elif part.startswith("\x1b"):
            assert part.endswith("m"), part
        else:
            lines[row] += part
    return [line for line in lines if line]


def test_the_table_is_redrawn_in_place_on_a_terminal(terminal: tuple[Any, Any]) -> None:
    stream, reader = terminal
    clock = Clock()
    live = Live(stream, clock=clock, environ={"TERM": "xterm"})
    live.begin(facts())
    for result in results():
        clock.now_s += 1.0
        live.result(result)
    live.end(a_tally())
    output = shown_on(reader, stream)
    assert output.count("family") == 6  # six pictures were drawn ...
    screen = on_screen(output)
    same_as_snapshot("live_terminal", "\n".join(screen))
    assert len(screen) == 5  # ... one stays: title, three families, total
    assert "\x1b[31m" in output  # violations stand out


def test_no_color_is_kept_on_a_terminal(terminal: tuple[Any, Any]) -> None:
    stream, reader = terminal
    live = Live(stream, environ={"TERM": "xterm", "NO_COLOR": "1", "FORCE_COLOR": "1"})
    live.begin(facts())
    live.result(results()[1])
    live.end(a_tally())
    live.clear()
    assert not re.search(r"\x1b\[\d+m", shown_on(reader, stream))


def test_a_cleared_table_leaves_nothing_behind(terminal: tuple[Any, Any]) -> None:
    stream, reader = terminal
    live = Live(stream, environ={"TERM": "xterm"})
    live.begin(facts())
    live.clear()
    assert on_screen(shown_on(reader, stream)) == []


def test_more_families_than_lines_show_those_at_work(terminal: tuple[Any, Any]) -> None:
    stream, reader = terminal
    fcntl.ioctl(stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 8, 80, 0, 0))
    live = Live(stream, redraw_s=0.0, environ={"TERM": "xterm", "NO_COLOR": "1"})
    live.begin(replace(facts(), planned={f"family{n}": 9 for n in range(30)}))
    live.result(replace(results()[0], family="family29"))
    screen = on_screen(shown_on(reader, stream))
    assert len(screen) == 6
    assert screen[1].startswith("family29")


def test_a_dumb_terminal_gets_plain_lines(terminal: tuple[Any, Any]) -> None:
    stream, _ = terminal
    assert is_terminal(stream, {"TERM": "xterm"})
    assert not is_terminal(stream, {"TERM": "dumb"})
    assert wants_color(io.StringIO(), {"FORCE_COLOR": "1"})
    assert not wants_color(io.StringIO(), {})


def test_a_stream_without_the_signs_gets_ascii() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    live = Live(stream, environ={})
    live.begin(facts())
    live.end(a_tally())
    closing_ = Closing(stream, width=100)
    closing_.end(a_tally())
    stream.seek(0)
    assert "(<= 95 %)" in stream.read()


def test_the_plain_line_has_the_numbers() -> None:
    assert "0/7 schedules" in plain_line(FamilyTally("total"), 7, 0.0)


# -- summary.json ------------------------------------------------------------------------------


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


# -- the folder --------------------------------------------------------------------------------


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


# -- the journal -------------------------------------------------------------------------------


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


# -- the fan -----------------------------------------------------------------------------------


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


# -- text --------------------------------------------------------------------------------------


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
    text = carried_by("a → b 中 ≤", encoding)
    assert text.encode("ascii", "strict") or encoding == "cp437"
    assert carried_by("a → b", "utf-8") == "a → b"


def test_verdict_words_of_every_kind_are_counted() -> None:
    tally = RunTally(facts())
    every: tuple[Verdict, ...] = ("passed", "known", "stale", "inconclusive", "not_exercised")
    for verdict in every:
        tally.add(replace(results()[0], verdict=verdict))
    tally.stop("finished", duration_s=1.0)
    last = closing(tally, {}).splitlines()
    assert "failed: 1 stale · 1 inconclusive · 1 not exercised · 1 known · 1 passed" in last
