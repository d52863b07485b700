"""Histories as text: every event survives, every damage is named, every difference is seen."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admitone.chaos import codec, events, schema
from admitone.chaos.codec import KINDS, LineProblem, from_line, to_line
from admitone.chaos.events import (
    Invoked,
    Note,
    Point,
    Read,
    Recorded,
    Replied,
    SinkRequested,
    Stamp,
    Stopped,
)
from admitone.scenarios.canonical import canonical_digest, canonical_lines
from admitone.scenarios.history import History
from admitone.scenarios.historyfile import (
    LINE_LIMIT_BYTES,
    HistoryProblem,
    history_lines,
    read_history,
    write_history,
)
from admitone.targets.declaration import Facts
from admitone.targets.replies import Busy, Recovered, Refused, Revoked
from admitone.targets.terms import Admission, Counts, SlotView, View
from tests.histories.convicting import CONVICTING
from tests.histories.legal import LEGAL
from tests.historybuilder import Builder

EVERY_HISTORY = CONVICTING | LEGAL
COMMITTED = Path(schema.__file__).parent / "schemas" / "history-v1.json"

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
texts = st.text(st.characters(), max_size=12)
names = st.none() | texts
admissions = st.builds(Admission, texts, names, names, json_values, st.none(), names)
slots = st.builds(SlotView, texts, st.sampled_from(["issued", "prepared", "revoked"]), texts)
views = st.builds(
    View,
    st.booleans(),
    st.none() | st.lists(slots, max_size=3).map(tuple),
    st.none() | st.builds(Counts, st.integers(0, 9), st.integers(0, 9)),
    st.booleans(),
)
values = (
    json_values
    | admissions
    | st.builds(Refused, texts, st.none() | st.booleans(), names)
    | st.builds(Busy, st.sampled_from(["contention", "in_flight"]))
    | st.builds(Revoked, st.none() | st.integers() | st.lists(texts).map(tuple))
    | st.builds(Recovered, st.lists(admissions, max_size=2).map(tuple))
)
numbers = st.integers(0, 2**62)
some_events = (
    st.builds(Invoked, numbers, texts, texts, texts, names, names, names, st.none() | admissions)
    | st.builds(
        Replied,
        numbers,
        st.sampled_from(["granted", "refused", "unknown"]),
        st.sampled_from(["reply", "dead"]),
        values,
        numbers,
        st.none() | numbers,
        texts,
    )
    | st.builds(
        Stopped,
        texts,
        texts,
        st.builds(Point, texts, texts, st.sampled_from(["before", "after"]), numbers),
        st.none() | numbers,
    )
    | st.builds(
        SinkRequested, numbers, texts, st.none() | numbers, names, texts, json_values, names
    )
    | st.builds(Read, texts, texts, texts, numbers, st.none() | views, texts)
    | st.builds(Note, texts, texts)
)
recorded = st.builds(Recorded, st.builds(Stamp, numbers, numbers, texts), some_events)


@given(recorded)
def test_any_event_survives_the_line(line: Recorded) -> None:
    text = to_line(line, "t/x@1")
    assert "\n" not in text
    assert text.isascii()
    assert repr(from_line(text)) == repr(line)


@pytest.mark.parametrize("name", EVERY_HISTORY)
def test_a_whole_history_survives_the_file(name: str, scratch: Path) -> None:
    history = EVERY_HISTORY[name]()
    write_history(history, scratch / "h.jsonl")
    assert repr(read_history(scratch / "h.jsonl")) == repr(history)
    assert [path.name for path in scratch.iterdir()] == ["h.jsonl"]


def test_a_history_that_could_not_be_written_leaves_no_part(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_history(next(iter(EVERY_HISTORY.values()))(), scratch / "h.jsonl")
    assert list(scratch.iterdir()) == []


def test_every_kind_of_event_has_a_line() -> None:
    assert set(KINDS.values()) == set(events.Event.__args__)


def test_the_published_schema_is_the_generated_one() -> None:
    assert COMMITTED.read_text() == schema.as_text()


def test_every_line_of_every_history_meets_the_schema() -> None:
    validator = jsonschema.Draft202012Validator(schema.history_schema())
    kinds, seen = set(), set()
    for make in EVERY_HISTORY.values():
        for line in history_lines(make()):
            value = json.loads(line)
            alike = json.dumps({**value, "seq": 0, "t_ns": 0})  # most differ in these alone
            if alike not in seen:
                seen.add(alike)
                kinds.add(value["kind"])
                validator.validate(value)
    assert kinds >= {"schedule.begin", "schedule.end", "call.invoke", "call.reply", "read"}


def test_the_schema_refuses_what_the_codec_refuses() -> None:
    validator = jsonschema.Draft202012Validator(schema.history_schema())
    good = json.loads(to_line(Recorded(Stamp(1, 1, "x"), Note("a", "b"))))
    assert validator.is_valid(good)
    for bad in (good | {"kind": "noted"}, good | {"more": 1}, good | {"v": 2}, {"v": 1}):
        assert not validator.is_valid(bad)
        with pytest.raises(LineProblem):
            codec.from_object(codec.parse(json.dumps(bad)))


NOTE = {"v": 1, "seq": 1, "t_ns": 1, "source": "x", "kind": "note", "topic": "a", "text": "b"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "no JSON"),
        ('{"v":1,"seq":NaN}', "NaN"),
        ("[]", "no JSON object"),
        (json.dumps(NOTE | {"v": 2}), "version is 2"),
        (json.dumps(NOTE | {"v": True}), "version is True"),
        (json.dumps(NOTE | {"kind": "noted"}), "kind is 'noted'"),
        (json.dumps(NOTE | {"kind": []}), "kind is"),
        (json.dumps(NOTE | {"seq": "1"}), "seq"),
        (json.dumps(NOTE | {"text": 5}), "Note.text"),
        (json.dumps(NOTE | {"extra": 5}), "no field 'extra'"),
        (json.dumps({k: v for k, v in NOTE.items() if k != "text"}), "needs the field 'text'"),
        (json.dumps(NOTE | {"kind": "phase", "name": "x"}), "no field 'topic'"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_damaged_line_is_refused_in_words(line: str, says: str) -> None:
    with pytest.raises(LineProblem, match=says):
        from_line(line)


def _file(scratch: Path, change: str = "", to: str = "") -> Path:
    path = scratch / "h.jsonl"
    write_history(LEGAL["another_executor_resumes"](), path)
    text = path.read_text()
    assert change in text
    path.write_text(text.replace(change, to) if change else text)
    return path


@pytest.mark.parametrize(
    ("change", "to", "says"),
    [
        ('"kind":"schedule.begin"', '"kind":"schedule.start"', "line 1: the first line is no"),
        ('"sink":"idempotent"', '"sink":"kind"', "line 1: schedule.begin has a field of another"),
        ('"outcome":"refused"', '"outcome":"granted"', "digest of the end line"),
        ('"kind":"call.reply"', '"kind":"call.answer"', "kind is 'call.answer'"),
        ('"schedule":"t/x@1","seq":3', '"schedule":"t/y@1","seq":3', "line 4: the line belongs"),
        ('"events":', '"event":', "end line is not complete"),
    ],
)
def test_a_damaged_file_is_refused_in_words(scratch: Path, change: str, to: str, says: str) -> None:
    path = _file(scratch, change, to)
    with pytest.raises(HistoryProblem, match=says) as caught:
        read_history(path)
    assert str(path) in str(caught.value)
    assert "; " in str(caught.value)


def test_a_file_that_was_cut_off_is_refused_wherever(scratch: Path) -> None:
    path = _file(scratch)
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(HistoryProblem):
            read_history(path)


def test_a_lost_line_a_second_history_and_a_missing_file(scratch: Path) -> None:
    path = _file(scratch)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5] + lines[6:]))
    with pytest.raises(HistoryProblem, match=r"counts .* events"):
        read_history(path)
    path.write_bytes(b"".join(lines + lines))
    with pytest.raises(HistoryProblem, match="after the end line"):
        read_history(path)
    with pytest.raises(HistoryProblem, match="cannot be read"):
        read_history(scratch / "nowhere.jsonl")


def test_a_line_too_long_is_refused_before_it_is_read(scratch: Path) -> None:
    path = scratch / "h.jsonl"
    path.write_bytes(b'{"v":1,"text":"' + b"x" * (2 * LINE_LIMIT_BYTES))
    with pytest.raises(HistoryProblem, match="longer than"):
        read_history(path)


def _run(tag: str, late_ms: int = 0, slot: str = "s1") -> History:
    """The same schedule with other random names, times and process ids."""
    h = Builder(facts=Facts(key="stored"))
    h.issue(f"record-{tag}")
    use = h.prepare(
        "r1", f"a-{tag}", slot=f"{tag}-{slot}", key=f"key-{tag}", record=f"record-{tag}"
    )
    h.phase("heal") if late_ms == 0 else h.add(events.Phase("heal"), late_ms)
    h.effect(use)
    h.read(slots={f"{tag}-{slot}": "committed", f"z{tag}": "issued"})
    return h.history()


def test_two_runs_that_did_the_same_have_one_digest() -> None:
    assert canonical_lines(_run("a")) == canonical_lines(_run("b", late_ms=9))
    assert canonical_digest(_run("a")) == canonical_digest(_run("b", late_ms=9))


def test_unused_slots_in_any_order_have_one_digest() -> None:
    def view(*order: str) -> History:
        h = Builder()
        h.read(slots={name: "prepared" if name.startswith("p") else "issued" for name in order})
        return h.history()

    assert canonical_digest(view("p1", "a", "b")) == canonical_digest(view("x", "y", "p7"))
    assert canonical_digest(view("p1", "a", "b")) != canonical_digest(view("p1", "p2", "b"))


@pytest.mark.parametrize("position", range(1, 12))
def test_whatever_else_differs_changes_the_digest(position: int) -> None:
    history = _run("a")
    shorter = replace(history, lines=tuple(x for i, x in enumerate(history.lines) if i != position))
    assert canonical_digest(history) != canonical_digest(shorter)


def test_which_is_the_same_as_which_survives_the_renaming() -> None:
    def keys(second: str) -> History:
        h = Builder(budget=2)
        h.prepare("r1", slot="s1", key="k1")
        h.prepare("r2", slot="s2", key=second)
        return h.history()

    assert canonical_digest(keys("k2")) == canonical_digest(keys("k3"))
    assert canonical_digest(keys("k2")) != canonical_digest(keys("k1"))
