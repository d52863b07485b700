"""What a target may send: labels are found in it, and what is hostile is refused, never more."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from admitone.idempotent_sink import labels
from admitone.idempotent_sink.labels import LABEL, find_label, make_label
from admitone.idempotent_sink.protocol import SINK_KINDS
from admitone.idempotent_sink.sink import Sink
from admitone.targets.terms import Call

MARK = "ao:0123456789abcdef"
ARGS: dict[str, object] = {"amount": 5, "memo": MARK}


@pytest.fixture(params=SINK_KINDS)
def sink(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Sink]:
    sink = Sink(scratch / "store", request.param)
    yield sink
    sink.close()


@pytest.fixture
def idempotent(scratch: Path) -> Iterator[Sink]:
    sink = Sink(scratch / "idempotent")
    yield sink
    sink.close()


def how_twice(sink: Sink, key: str, args: object) -> list[str]:
    return [sink.request(key, "pay", args).how for _ in "12"]


# --- labels


def test_a_label_is_random_and_well_formed() -> None:
    rng = random.Random(1)
    made = {make_label(rng) for _ in range(200)}
    assert len(made) == 200
    assert all(LABEL.fullmatch(label) for label in made)
    assert make_label(random.Random(7)) == make_label(random.Random(7))


@pytest.mark.parametrize(
    "args",
    [
        {"memo": MARK},
        {"memo": f"for {MARK}, thanks"},
        {"deep": [{"in": ("a", {"list": [1, MARK]})}]},
        {MARK: 1},
        MappingProxyType({"memo": MARK}),
        {"json": '{"memo": "' + MARK + '"}'},
        [MARK],
        {"memo": MARK, "hostile": math.nan},
    ],
)
def test_a_label_is_found_wherever_it_is(args: object) -> None:
    assert find_label(args) == MARK


def test_the_outermost_label_counts() -> None:
    inner = MARK.replace("0", "f")
    assert find_label({"quoted": {"memo": inner}, "memo": MARK}) == MARK


@pytest.mark.parametrize("args", [{}, {"memo": MARK[:-1]}, {"memo": MARK.upper()}, None, 7])
def test_no_label(args: object) -> None:
    assert find_label(args) is None


# --- what a target may send


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def cycle() -> object:
    value: list[object] = []
    value.append(value)
    return value


def unfolding() -> object:
    """Forty small lists that hold 2**40 items between them."""
    value: object = "x"
    for _ in range(40):
        value = [value, value]
    return value


class Explosive(Mapping[str, object]):
    """A mapping that raises when it is read."""

    def __getitem__(self, name: str) -> object:
        raise RuntimeError(name)

    def __iter__(self) -> Iterator[str]:
        yield "a"

    def __len__(self) -> int:
        return 1


HOSTILE: dict[str, Callable[[], object]] = {
    "very deep": lambda: deep(100_000),
    "too deep": lambda: deep(labels.MAX_DEPTH),
    "cyclic": cycle,
    "unfolding": unfolding,
    "wide": lambda: [0] * (labels.MAX_ITEMS + 1),
    "huge text": lambda: "x" * (labels.MAX_TEXT + 1),
    "huge bytes": lambda: b"x" * (labels.MAX_TEXT + 1),
    "much text": lambda: ["x" * 1000] * (labels.MAX_TEXT // 1000 + 1),
    "huge integer": lambda: 1 << 100_000,
    "nan": lambda: math.nan,
    "infinite": lambda: -math.inf,
    "lone surrogate": lambda: "\ud800",
    "surrogate name": lambda: {"\udfff": 1},
    "numbered names": lambda: {1: 2},
    "object": object,
    "noun": lambda: Call("pay", {}, "p", "r"),
    "set": lambda: {1},
    "subclass": lambda: type("Text", (str,), {})("x"),
    "explosive": Explosive,
}


@pytest.mark.parametrize("shape", HOSTILE)
def test_hostile_arguments_are_refused(sink: Sink, shape: str) -> None:
    args = {"memo": MARK, "bad": HOSTILE[shape]()}
    answer = sink.request("k", "pay", args)
    assert (answer.how, answer.receipt, answer.application) == ("refused", None, None)
    assert answer.problem
    assert "\n" not in answer.problem
    assert sink.apply(sink.receive("k", "pay", args)).how == "refused"
    assert sink.application_count() == 0
    [logged, _] = sink.requests()
    assert (logged.label, logged.args_json, logged.digest) == (MARK, None, None)
    assert logged.problem == answer.problem
    assert sink.request("k", "pay", ARGS).how == "applied", "a refused request takes no key"


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ("lone surrogate", "a text has a lone surrogate"),
        ("surrogate name", "a text has a lone surrogate"),
        ("nan", "a number is not finite"),
        ("cyclic", "nested deeper than 64 levels"),
        ("unfolding", "more than 10000 items"),
        ("noun", "a Call is no argument"),
        ("explosive", "cannot be read: RuntimeError"),
    ],
)
def test_a_refusal_says_why(idempotent: Sink, shape: str, why: str) -> None:
    assert why in idempotent.request("k", "pay", {"bad": HOSTILE[shape]()}).problem


@pytest.mark.parametrize("args", [None, 1, "text", [1], b"x"])
def test_arguments_must_be_a_mapping(sink: Sink, args: object) -> None:
    assert sink.request("k", "pay", args).how == "refused"


@pytest.mark.parametrize("name", ["", "x" * 1025, "\ud800", 7, b"k", ["k"]])
def test_unfit_keys_and_tools_are_refused(sink: Sink, name: Any) -> None:
    assert sink.request(name, "pay", ARGS).how == "refused"
    assert sink.request("k", name, ARGS).how == "refused"
    assert sink.application_count() == 0
    assert sink.lookup(name).how in {"absent", "cannot_tell"}


@pytest.mark.parametrize("key", ["\x00", "a\x00b", "ключ", "'; DROP TABLE applied; --", " "])
def test_odd_keys_are_keys(idempotent: Sink, key: str) -> None:
    assert idempotent.request("a", "pay", ARGS).how == "applied"
    assert how_twice(idempotent, key, ARGS) == ["applied", "repeated"]
    assert idempotent.lookup(key).how == "found"


@pytest.mark.parametrize(
    "value", [2**70, -(2**53), 0.1, b"\x00", (1, 2), {"$": "int", "text": "7"}, None, {}, "\x00"]
)
def test_fit_values_beyond_json_are_applied(idempotent: Sink, value: object) -> None:
    assert how_twice(idempotent, "k", {"v": value}) == ["applied", "repeated"]


def test_arguments_at_the_limits_are_applied(sink: Sink) -> None:
    wide = {"v": [0] * (labels.MAX_ITEMS - 2)}
    nested = {"v": deep(labels.MAX_DEPTH - 2)}
    long = {"v": "x" * (labels.MAX_TEXT - 1)}
    for key, args in (("a", wide), ("b", nested), ("c", long)):
        assert sink.request(key, "pay", args).how == "applied", key
