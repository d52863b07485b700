"""The sink in this process: what applies, what repeats, what is refused, and what is logged."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admitone.idempotent_sink.protocol import SINK_KINDS, Answer, Log, SinkKind, SinkLike
from admitone.idempotent_sink.sink import Sink
from admitone.idempotent_sink.store import StoreProblem
from admitone.targets.identity import effect_digest, receipt_is_genuine

MARK = "ao:0123456789abcdef"
ARGS: dict[str, object] = {"amount": 5, "memo": MARK}
OTHER: dict[str, object] = {"amount": 6, "memo": MARK}


@pytest.fixture
def idempotent(scratch: Path) -> Iterator[Sink]:
    sink = Sink(scratch / "idempotent")
    yield sink
    sink.close()


@pytest.fixture
def control(scratch: Path) -> Iterator[Sink]:
    sink = Sink(scratch / "control", "control")
    yield sink
    sink.close()


@pytest.fixture(params=SINK_KINDS)
def sink(request: pytest.FixtureRequest, idempotent: Sink, control: Sink) -> Sink:
    kind: SinkKind = request.param
    return idempotent if kind == "idempotent" else control


def hows(*answers: Answer) -> list[str]:
    return [answer.how for answer in answers]


# --- one key, one application


def test_a_key_applies_once_and_repeats_its_receipt(idempotent: Sink) -> None:
    first = idempotent.request("k", "pay", ARGS)
    again = idempotent.request("k", "pay", dict(reversed(ARGS.items())))
    assert hows(first, again) == ["applied", "repeated"]
    assert (again.receipt, again.application) == (first.receipt, first.application)
    assert again.request_number != first.request_number
    assert idempotent.application_count() == 1


def test_the_receipt_is_signed_over_what_was_applied(sink: Sink) -> None:
    receipt = sink.request("k", "pay", ARGS).receipt
    assert receipt is not None
    assert receipt_is_genuine(sink.receipt_key, receipt)
    assert (receipt.key, receipt.tool, receipt.number) == ("k", "pay", 1)
    assert receipt.digest == effect_digest("pay", ARGS)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("pay", OTHER),
        ("refund", ARGS),
        ("pay", {"amount": True, "memo": MARK}),
        ("pay", {"amount": "5", "memo": MARK}),
        ("pay", {"memo": MARK}),
        ("pay", {**ARGS, "note": None}),
    ],
)
def test_a_key_with_another_payload_is_refused(
    idempotent: Sink, tool: str, args: dict[str, object]
) -> None:
    first = idempotent.request("k", "pay", ARGS)
    other = idempotent.request("k", tool, args)
    assert (other.how, other.receipt, other.application) == ("refused", None, None)
    assert other.problem == "the key stands applied with another payload"
    assert idempotent.request("k", "pay", ARGS).receipt == first.receipt
    assert idempotent.application_count() == 1


def test_a_request_without_key_is_applied_each_time(idempotent: Sink) -> None:
    answers = [idempotent.request(None, "pay", ARGS) for _ in range(3)]
    assert hows(*answers) == ["applied"] * 3
    assert len({answer.application for answer in answers}) == 3


def test_the_control_sink_applies_every_request(control: Sink) -> None:
    answers = [control.request("k", "pay", args) for args in (ARGS, ARGS, OTHER)]
    assert hows(*answers) == ["applied"] * 3
    assert control.application_count() == 3


def test_lookup(idempotent: Sink, control: Sink) -> None:
    assert idempotent.lookup("k").how == "absent"
    applied = idempotent.request("k", "pay", ARGS)
    found = idempotent.lookup("k")
    assert (found.how, found.receipt, found.application) == ("found", applied.receipt, 1)
    control.request("k", "pay", ARGS)
    assert control.lookup("k").how == control.lookup("never").how == "cannot_tell"


@given(st.data())
def test_it_agrees_with_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    calls = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(["request", "lookup", "doubled"]),
                st.sampled_from([None, "a", "b", "ä"]),
                st.sampled_from(["pay", "mail"]),
                st.integers(0, 2),
            ),
            max_size=12,
        )
    )
    sink = Sink(tmp_path_factory.mktemp("model") / "store")
    model: dict[str, tuple[str, int]] = {}
    effects = 0
    for what, key, tool, amount in calls:
        if what == "lookup" and key is not None:
            assert sink.lookup(key).how == ("found" if key in model else "absent")
            continue
        for _ in range(2 if what == "doubled" else 1):
            known = None if key is None else model.get(key)
            expected = "applied" if known is None else "repeated"
            if known is not None and known != (tool, amount):
                expected = "refused"
            if expected == "applied":
                effects += 1
                if key is not None:
                    model[key] = (tool, amount)
            assert sink.request(key, tool, {"amount": amount}).how == expected
        assert sink.application_count() == effects
    sink.close()


def test_of_many_at_once_one_applies(idempotent: Sink) -> None:
    start = threading.Barrier(8)
    answers: list[Answer] = []

    def caller() -> None:
        start.wait()
        answers.extend(idempotent.request(key, "pay", ARGS) for key in ("a", "b", "c"))

    threads = [threading.Thread(target=caller) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(hows(*answers)) == ["applied"] * 3 + ["repeated"] * 21
    assert len({answer.request_number for answer in answers}) == 24
    assert idempotent.application_count() == 3


# --- the halves of a request


def test_a_held_request_is_delivered_late(idempotent: Sink, control: Sink) -> None:
    for sink, late in ((idempotent, "repeated"), (control, "applied")):
        held = sink.receive("k", "pay", ARGS, node="n1", call=4)
        assert sink.application_count() == 0
        assert sink.request("k", "pay", ARGS).how == "applied"
        answer = sink.apply(held)
        assert (answer.how, answer.request_number) == (late, held.number)


def test_a_held_request_that_lost_its_key_to_another_payload(idempotent: Sink) -> None:
    held = idempotent.receive("k", "pay", OTHER)
    idempotent.request("k", "pay", ARGS)
    assert idempotent.apply(held).how == "refused"


def test_a_packet_delivered_twice(idempotent: Sink, control: Sink) -> None:
    for sink, second in ((idempotent, "repeated"), (control, "applied")):
        packet = sink.receive("k", "pay", ARGS)
        assert hows(sink.apply(packet), sink.apply(packet)) == ["applied", second]
        assert {done.request for done in sink.applications()} == {packet.number}


class Crash(Exception):
    """The sink stops here."""


def crash(answer: Answer) -> None:
    raise Crash(answer.application)


def test_a_crash_in_the_gap_of_the_atomic_sink_leaves_neither_half(idempotent: Sink) -> None:
    idempotent.gap = crash
    with pytest.raises(Crash):
        idempotent.request("k", "pay", ARGS)
    assert (idempotent.requests(), idempotent.applications()) == ((), ())
    held = idempotent.receive("k", "pay", ARGS)
    with pytest.raises(Crash):
        idempotent.apply(held)
    assert idempotent.applications() == ()
    idempotent.gap = None
    assert hows(idempotent.apply(held), idempotent.apply(held)) == ["applied", "repeated"]


def test_a_crash_in_the_gap_of_the_control_sink_leaves_the_effect(control: Sink) -> None:
    control.gap = crash
    with pytest.raises(Crash):
        control.request("k", "pay", ARGS)
    [effect] = control.applications()
    assert (effect.key, effect.receipt) == ("k", None)
    control.gap = None
    control.request("k", "pay", ARGS)
    assert [done.receipt is None for done in control.applications()] == [True, False]


def test_while_one_request_stands_in_the_gap_the_control_sink_serves_others(control: Sink) -> None:
    def other(_: Answer) -> None:
        control.gap = None
        assert control.request("k", "pay", ARGS).application == 2
        assert [done.receipt is None for done in control.applications()] == [True, False]

    control.gap = other
    assert control.request("k", "pay", ARGS).application == 1


def test_who_stands_in_the_gap_may_look_around(sink: Sink) -> None:
    seen: list[int] = []
    sink.gap = lambda _: seen.append(len(sink.log().applications))
    sink.request("k", "pay", ARGS)
    assert seen == [1]


# --- the log


def test_applications_are_grouped_by_label(sink: Sink) -> None:
    other = "ao:ffffffffffffffff"
    for key, label in (("a", MARK), ("b", other), ("c", MARK)):
        assert sink.request(key, "pay", {"memo": label}).label == label
    sink.request("d", "pay", {})
    assert [done.key for done in sink.applications(MARK)] == ["a", "c"]
    assert [done.key for done in sink.applications(other)] == ["b"]
    assert [done.label for done in sink.applications()] == [MARK, other, MARK, None]


def test_the_log_has_every_request_in_order(scratch: Path) -> None:
    ticks = iter(range(100, 200))
    sink: SinkLike = Sink(scratch / "store", clock_ns=lambda: next(ticks))
    sink.request("k", "pay", ARGS, node="n1", call=3)
    sink.lookup("k", node="n2", call=4)
    sink.request("k", "pay", ARGS)
    first, second, third = sink.requests()
    assert (first.number, first.t_ns, first.kind, first.key) == (1, 100, "effect", "k")
    assert (first.tool, first.node, first.call, first.label) == ("pay", "n1", 3, MARK)
    assert first.args_json == '{"amount":5,"memo":"ao:0123456789abcdef"}'
    assert first.digest == effect_digest("pay", ARGS)
    assert (second.kind, second.node, second.call, second.args_json) == ("lookup", "n2", 4, None)
    assert (third.number, third.t_ns) == (3, 103)
    [effect] = sink.applications()
    assert (effect.number, effect.request, effect.t_ns) == (1, 1, 101)
    assert sink.log().requests == (first, second, third)
    assert sink.log().applications == (effect,)
    sink.close()


def test_reset_makes_an_empty_world(sink: Sink) -> None:
    key = sink.receipt_key
    before = sink.request("k", "pay", ARGS)
    sink.reset()
    assert sink.request_count() == sink.application_count() == 0
    assert sink.log() == Log((), ())
    assert sink.receipt_key == key
    assert sink.request("k", "pay", ARGS) == before


# --- the store


def test_it_remembers_after_reopening(scratch: Path) -> None:
    path = scratch / "store"
    sink = Sink(path, receipt_key=b"k" * 32)
    applied = sink.request("k", "pay", ARGS)
    sink.close()
    again = Sink(path)
    assert again.receipt_key == b"k" * 32
    assert again.request("k", "pay", ARGS).receipt == applied.receipt
    again.close()


def test_one_connection_per_file_and_process(scratch: Path, sink: Sink) -> None:
    alias = scratch / "alias"
    alias.symlink_to(scratch / sink.kind)
    for path in (scratch / sink.kind, alias):
        with pytest.raises(StoreProblem, match="already open"):
            Sink(path, sink.kind)
    assert sink.request("k", "pay", ARGS).how == "applied"
    sink.close()
    again = Sink(alias, sink.kind)
    assert again.application_count() == 1
    sink.close()
    with pytest.raises(StoreProblem, match="already open"):
        Sink(alias, sink.kind)
    again.close()


def test_a_store_does_not_cross_a_fork(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(StoreProblem, match="fork"):
        sink.request("k", "pay", ARGS)
    with pytest.raises(StoreProblem, match="fork"):
        sink.applications()
    sink.close()
    monkeypatch.undo()
    assert sink.application_count() == 0, "the child closed what is its parent's"


def test_a_store_of_something_else_is_refused(scratch: Path) -> None:
    Sink(scratch / "control", "control").close()
    with pytest.raises(StoreProblem, match="kind idempotent"):
        Sink(scratch / "control", "idempotent")
    with pytest.raises(StoreProblem, match="another key"):
        Sink(scratch / "control", "control", b"other")
    (scratch / "text").write_text("this is no database, and long enough to be read as a header")
    with pytest.raises(StoreProblem, match="cannot be used"):
        Sink(scratch / "text")
    with pytest.raises(StoreProblem, match="cannot be used"):
        Sink(scratch / "missing" / "store")
    foreign = sqlite3.connect(scratch / "foreign")
    foreign.execute("CREATE TABLE t (x)")
    foreign.close()
    with pytest.raises(StoreProblem, match="cannot be used"):
        Sink(scratch / "foreign")
    Sink(scratch / "control", "control").close()


def test_the_file_is_synced_at_every_commit(scratch: Path) -> None:
    sink = Sink(scratch / "store")
    pragma = sink._store._db.execute
    assert pragma("PRAGMA journal_mode").fetchone() == ("wal",)
    assert pragma("PRAGMA synchronous").fetchone() == (2,)
    sink.close()
