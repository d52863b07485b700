"""The specification, tried on sequences with known verdicts."""

from __future__ import annotations

import pytest

from admitone.scenarios.model import START, Reply, State, after
from admitone.scenarios.player import operations
from admitone.scenarios.steps import parse_step

Call = tuple[str, Reply, str]


def run(budget: int, *calls: Call) -> frozenset[State]:
    states = frozenset({START})
    for op, reply, attempt in calls:
        states = after(states, op, reply, budget=budget, attempt=attempt)
    return states


ISSUED: Call = ("issue", "granted", "")
GOT: Call = ("prepare", "granted", "a")
DONE: Call = ("commit", "granted", "a")
WITHDRAWN: Call = ("revoke", "granted", "")


@pytest.mark.parametrize(
    "calls",
    [
        (ISSUED, GOT, GOT),
        (ISSUED, GOT, DONE, ISSUED),
        (ISSUED, GOT, ("prepare", "refused", "b")),
        (ISSUED, WITHDRAWN, ("prepare", "refused", "a")),
        (
            ISSUED,
            GOT,
            WITHDRAWN,
            DONE,
        ),
        (ISSUED, ("prepare", "unknown", "a"), ("prepare", "granted", "b")),
        (ISSUED, ("prepare", "unknown", "a"), ("prepare", "refused", "b")),
        (ISSUED, ("prepare", "unknown", "a"), GOT),
        (("issue", "unknown", ""), ISSUED, GOT),
        (ISSUED, ("prepare", "busy", "a"), ("prepare", "granted", "b")),
        (
            ISSUED,
            GOT,
            ("commit", "unknown", "a"),
            ("prepare", "replayed", "a"),
        ),
    ],
)
def test_what_is_legal(calls: tuple[Call, ...]) -> None:
    assert run(1, *calls)


@pytest.mark.parametrize(
    "calls",
    [
        (ISSUED, GOT, ("prepare", "granted", "b")),
        (ISSUED, ("prepare", "refused", "a")),
        (ISSUED, WITHDRAWN, GOT),
        (
            ISSUED,
            GOT,
            DONE,
            GOT,
        ),
        (ISSUED, ("prepare", "replayed", "a")),
        (ISSUED, DONE),
        (GOT,),
        (
            ISSUED,
            ("prepare", "unknown", "a"),
            ("prepare", "granted", "b"),
            GOT,
        ),
    ],
)
def test_what_is_not(calls: tuple[Call, ...]) -> None:
    assert not run(1, *calls)


def test_every_unit_is_used_once() -> None:
    drained = [ISSUED, *(("prepare", "granted", f"a{n}") for n in range(3))]
    assert run(3, *drained)
    assert not run(3, *drained, ("prepare", "granted", "a3"))


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize(
    "token", ["I", "J", "P1", "E2", "C3", "V", "R", "N", "T", "M", "H1", "L", "K-use1-write2-after"]
)
def test_a_step_is_its_token(token: str, guarded: bool) -> None:
    step = parse_step(token, operations(guarded))
    assert step is not None
    assert step.token == token


@pytest.mark.parametrize(
    "token", ["", "Z", "P1x", "K-use1", "K-revoke-write1-after", "D-use1-w-up"]
)
def test_other_tokens_are_no_steps(token: str) -> None:
    assert parse_step(token, operations(False)) is None
