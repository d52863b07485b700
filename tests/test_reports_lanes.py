"""Lanes and the closing block: what a person reads after a run."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from admitone.chaos.events import (
    Event,
    Invoked,
    Note,
    Phase,
    Point,
    Read,
    Released,
    Replied,
    SinkApplied,
    SinkReplied,
    SinkRequested,
    Stopped,
)
from admitone.reports.closing import Closing, closing
from admitone.reports.folder import problem
from admitone.reports.lanes import MOST_LINES, lanes
from admitone.reports.text import carried_by, columns
from admitone.scenarios.results import Finding
from admitone.scenarios.summary import RunTally, TargetFacts
from admitone.targets.replies import Refused
from admitone.targets.terms import (
    Admission,
    SlotView,
    View,
)
from tests.report_world import (
    ACTS,
    FINDING,
    HOSTILE,
    K1,
    SCHEDULE,
    a_tally,
    doubled_effect,
    facts,
    history,
    hostile_result,
    race,
    results,
    same_as_snapshot,
)


def test_lanes_of_a_doubled_effect() -> None:
    text = lanes(history(*doubled_effect()), FINDING)
    same_as_snapshot("lanes_doubled_effect", text)
    assert "q9" not in text  # the other authorization's call is dropped


def test_lanes_of_stepped_statements() -> None:
    finding = replace(FINDING, at=(), claim=None, code="AO101", title="admitted twice")
    same_as_snapshot("lanes_race", lanes(history(*race()), finding))


def test_lanes_in_ascii() -> None:
    text = carried_by(lanes(history(*doubled_effect()), FINDING), "ascii")
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


def test_a_file_that_could_not_be_written_is_not_named(tmp_path: Path) -> None:
    journal, summary = tmp_path / "journal.jsonl", tmp_path / "summary.json"
    journal.touch()
    stream = io.StringIO()
    Closing(stream, [str(journal), str(summary)], width=200).end(a_tally())
    assert f"files: {journal}\n" in stream.getvalue()


def test_why_a_run_stopped_is_one_line() -> None:
    tally = a_tally()
    tally.stop("suite_failed", duration_s=1.0, detail="OSError: no disk\nTraceback\n  File")
    assert "\n  stopped by a failure of the suite: OSError: no disk\n" in closing(tally, {})


def test_a_problem_says_what_where_and_what_to_do() -> None:
    text = problem("cannot import the target\x1b[1m", "py:mine:Target", "pip install mine")
    assert text == (
        "admitone: cannot import the target\\x1b[1m\n"
        "  where:  py:mine:Target\n"
        "  to do:  pip install mine"
    )
