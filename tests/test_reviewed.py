"""What a review found to be wrong, each seen to fail before it was mended."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from admitone.chaos import handle, schema
from admitone.chaos.codec import LineProblem, from_line, to_line
from admitone.chaos.events import Clock, Recorded, Stamp
from admitone.chaos.handle import NodeHandle
from admitone.chaos.probes import sight
from admitone.idempotent_sink import labels
from admitone.idempotent_sink.process import SinkProcess
from admitone.idempotent_sink.wire import MAX_BODY, EffectMessage, write_effect
from admitone.targets import identity as ids
from admitone.targets.contract import Authorization, Call, Refused, Validity
from admitone.targets.correct.at_most_once import AtMostOnceTarget
from admitone.targets.correct.counter import CounterTarget
from admitone.targets.correct.guarded import GuardedTarget
from admitone.targets.correct.json_flock import JsonFlockTarget
from admitone.targets.correct.lease import LeaseTarget
from admitone.targets.correct.revoke_repeat import RevokeRepeatTarget
from tests.ledger_bench import Bench
from tests.ledger_world import CALL, CONTEXT, TRUST
from tests.probe_trial import Notes

# --- histories of other languages


CLOCK = json.loads(to_line(Recorded(Stamp(1, 1, "x"), Clock("n1", 5.5, 0.25))))


@pytest.mark.parametrize("number", [0, -3, 2**53 - 1])
def test_a_whole_number_is_read_where_a_float_is_meant(number: int) -> None:
    line = CLOCK | {"skew_s": number}
    jsonschema.Draft202012Validator(schema.history_schema()).validate(line)
    event = from_line(json.dumps(line)).event
    assert repr(event) == repr(Clock("n1", 5.5, float(number)))


@pytest.mark.parametrize("number", [True, "0", None, 2**53, 10**400])
def test_nothing_else_is_read_as_a_float(number: object) -> None:
    with pytest.raises(LineProblem, match="skew_s cannot be"):
        from_line(json.dumps(CLOCK | {"skew_s": number}))


def test_published_descriptions_do_not_break_off() -> None:
    found = list(_descriptions(schema.history_schema()))
    assert len(found) > 20
    assert [text for text in found if not text.endswith((".", ":", ")"))] == []


def _descriptions(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(text := part.get("description"), str):
            yield text
        for inner in part.values():
            yield from _descriptions(inner)


# --- a failure that the store cannot have is not put on it


@pytest.fixture
def notes() -> Iterator[Notes]:
    taken = Notes()
    sight.install(taken)
    yield taken
    sight.uninstall()


def end_by_busy(ledger: sqlite3.Connection, notes: Notes) -> bool:
    """Whether a COMMIT that is to be busy raised."""
    ledger.execute("CREATE TABLE uses (n)")
    wish = sight.Raise("busy")
    notes.answer = ("write.before", wish)
    with sight.watched():
        ledger.execute("BEGIN")
        ledger.execute("INSERT INTO uses VALUES (1)")
        with suppress(sqlite3.OperationalError):
            ledger.execute("COMMIT")
    assert ledger.in_transaction is wish.fired
    ledger.close()
    return wish.fired


def test_a_reader_makes_commit_busy_in_a_file_with_its_journal_in_memory(scratch: Path) -> None:
    ledger = sqlite3.connect(scratch / "db", isolation_level=None, timeout=0)
    ledger.execute("PRAGMA journal_mode = memory")
    ledger.execute("CREATE TABLE uses (n)")
    reader = sqlite3.connect(scratch / "db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM uses").fetchall()
    ledger.execute("BEGIN")
    ledger.execute("INSERT INTO uses VALUES (1)")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        ledger.execute("COMMIT")
    reader.close()
    ledger.close()


ODD_FACTORIES: dict[str, dict[str, object]] = {
    "rows": {"row_factory": sqlite3.Row},
    "rows of nothing": {"row_factory": lambda _cursor, _row: None},
    "texts": {"text_factory": bytes},
    "odd texts": {"text_factory": lambda text: text[:1]},
    "traced": {},
}


@pytest.mark.parametrize("factories", ODD_FACTORIES)
@pytest.mark.parametrize(
    ("file", "journal", "fired"),
    [("db", "memory", True), ("db", "delete", True), ("db", "wal", False), ("", "memory", False)],
)
def test_busy_is_raised_where_it_can_be(
    notes: Notes, scratch: Path, file: str, journal: str, fired: bool, factories: str
) -> None:
    place = scratch / file if file else ":memory:"
    ledger = sqlite3.connect(place, isolation_level=None)
    ledger.execute(f"PRAGMA journal_mode = {journal}")
    for name, factory in ODD_FACTORIES[factories].items():
        setattr(ledger, name, factory)
    told: list[str] = []
    if factories == "traced":
        ledger.set_trace_callback(told.append)
    assert end_by_busy(ledger, notes) is fired
    assert not [text for text in told if "pragma" in text]


def test_a_question_that_the_authorizer_forbids_costs_the_ledger_nothing(
    notes: Notes, scratch: Path
) -> None:
    def authorize(action: int, *_: object) -> int:
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_PRAGMA else sqlite3.SQLITE_OK

    ledger = sqlite3.connect(scratch / "db", isolation_level=None)
    ledger.set_authorizer(authorize)
    assert not end_by_busy(ledger, notes)


def test_a_node_that_does_not_die_is_not_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    node = NodeHandle("n7", process.pid, ours)
    with monkeypatch.context() as patch:
        patch.setattr(signal, "pidfd_send_signal", lambda *_: None)
        patch.setattr(handle, "DEATH_DEADLINE_S", 0.01)
        with pytest.raises(TimeoutError, match=f"n7 .pid {process.pid}. is not dead 0.01 s after"):
            node.kill()
    assert node.alive
    node.kill()
    assert not node.alive
    assert process.wait() == -signal.SIGKILL
    assert process.stdin is not None
    process.stdin.close()
    theirs.close()


# --- one event, two actions

CORRECT = (
    AtMostOnceTarget,
    CounterTarget,
    GuardedTarget,
    JsonFlockTarget,
    LeaseTarget,
    RevokeRepeatTarget,
)


@pytest.fixture(params=CORRECT, ids=lambda cls: cls.__name__)
def bench(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Bench]:
    made = Bench(request.param(), scratch)
    yield made
    made.close()


@pytest.mark.parametrize("name", ["resource", "principal", "tool_version"])
def test_an_event_that_confirms_another_action_too_opens_nothing(bench: Bench, name: str) -> None:
    client = bench.client()
    first = client.issue(2)
    assert isinstance(first, Authorization)
    other: Call = replace(CALL, **{name: "another"})  # type: ignore[arg-type]  # all are texts
    said = ids.confirm(TRUST.confirmation_key, "event", other, 2)
    answer = client.ask("issue", other, said, 2, CONTEXT, Validity(1000.0))
    assert isinstance(answer, Refused)
    if isinstance(bench.target, AtMostOnceTarget):
        assert answer == Refused("duplicate")
    assert client.issue(2) == first
    assert client.states() == {"issued": 2}


# --- what the sink takes


def test_the_largest_arguments_that_are_fit_arrive_over_http(scratch: Path) -> None:
    args = {"memo": "\N{GRINNING FACE}" * 262_000, "numbers": [2**1024 - 1] * 9_000}
    assert not labels.survey(args).problem
    assert 6_000_000 < len(write_effect(EffectMessage("pay", args))) < MAX_BODY
    sink = SinkProcess(scratch / "sink", "idempotent", b"r" * 32)
    try:
        assert sink.request("k", "pay", args).how == "applied"
        assert sink.request("k", "pay", args).how == "repeated"
    finally:
        sink.close()


def test_a_member_counts_once() -> None:
    most = dict.fromkeys(map(str, range(labels.MAX_ITEMS)), 0)
    assert not labels.survey(most).problem
    assert "more than 10000 items" in labels.survey(most | {"one more": 0}).problem
    nested = {"a": dict.fromkeys(map(str, range(labels.MAX_ITEMS - 1)), None)}
    assert not labels.survey(nested).problem
    nested["a"]["one more"] = None
    assert "more than 10000 items" in labels.survey(nested).problem


class Endless(Mapping[str, object]):
    """Says that it has one member."""

    def __getitem__(self, name: str) -> object:
        return 0

    def __iter__(self) -> Iterator[str]:
        return repeat("")

    def __len__(self) -> int:
        return 1


def test_a_mapping_without_end_is_refused_whatever_length_it_says() -> None:
    assert "more than 10000 items" in labels.survey({"bad": Endless()}).problem
