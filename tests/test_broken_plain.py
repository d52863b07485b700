"""The broken ledgers of one idea each that change a plain ledger, or the one in a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from admitone.targets.broken.any_receipt import AnyReceipt
from admitone.targets.broken.done_at_once import DoneAtOnceTarget
from admitone.targets.broken.lock_left import LockLeft
from admitone.targets.broken.one_out_per_user import OneOutPerUserTarget
from admitone.targets.broken.receipt_of_another import ReceiptOfAnother
from admitone.targets.broken.receipt_replaced import ReceiptReplaced
from admitone.targets.broken.two_steps import TwoSteps
from admitone.targets.contract import Admission, Busy, Done, Refused, Replayed
from admitone.targets.correct.json_flock import JsonFlockTarget
from admitone.targets.correct.plain import PlainTarget
from tests.ledger_bench import Bench, benched

COUNTED = (DoneAtOnceTarget, TwoSteps, LockLeft)
IN_A_FILE = (AnyReceipt, ReceiptOfAnother, ReceiptReplaced, OneOutPerUserTarget)
OVER_PLAIN_ONES = (*IN_A_FILE, *COUNTED)


@pytest.fixture
def bench(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Bench]:
    yield from benched(request.param, scratch)


def over_another(*targets: type) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bench", targets, indirect=True, ids=lambda t: t.__name__)


@over_another(AnyReceipt)
def test_any_receipt_believes_what_nobody_signed(bench: Bench) -> None:
    client = bench.client()
    auth = client.issue(2)
    assert isinstance(client.use(auth, "one"), Done)
    assert isinstance(client.use(auth, "one"), Replayed)
    taken = client.admit(auth, "two")
    genuine = client.world.effect(taken.call.tool, taken.call.args, taken.key)
    assert isinstance(client.ask("commit", taken, replace(genuine, digest="0" * 64)), Refused)
    unsigned = replace(genuine, mac="0" * 64)
    assert client.ask("commit", taken, unsigned) == Done(unsigned)


@over_another(JsonFlockTarget, ReceiptOfAnother)
def test_receipt_of_another_does_not_ask_whose_it_is(bench: Bench) -> None:
    client = bench.client()
    auth = client.issue(2)
    one, two = client.admit(auth, "one"), client.admit(auth, "two")
    receipt = client.world.effect(one.call.tool, one.call.args, one.key)
    assert client.ask("commit", one, receipt) == Done(receipt)
    assert isinstance(client.ask("commit", two, replace(receipt, mac="0" * 64)), Refused)
    broken = type(bench.target) is ReceiptOfAnother
    assert client.ask("commit", two, receipt) == (Done(receipt) if broken else Refused())


@over_another(JsonFlockTarget, ReceiptReplaced)
def test_receipt_replaced_keeps_the_last_one(bench: Bench) -> None:
    client = bench.client()
    auth = client.issue(2)
    taken = [client.admit(auth, attempt) for attempt in ("one", "two")]
    own, other = (client.world.effect(a.call.tool, a.call.args, a.key) for a in taken)
    assert isinstance(client.ask("commit", taken[0], other), Refused)
    assert client.ask("commit", taken[0], own) == Done(own)
    broken = type(bench.target) is ReceiptReplaced
    assert isinstance(client.ask("commit", taken[0], other), Replayed if broken else Refused)
    assert client.admit(auth, "one") == Replayed(other if broken else own)


@over_another(JsonFlockTarget, OneOutPerUserTarget)
def test_one_out_per_user_turns_the_next_ticket_away(bench: Bench) -> None:
    client = bench.client()
    first, second = client.issue(2), client.issue(1, event="e2")
    assert not isinstance(client.admit(first, "one"), Refused)
    broken = type(bench.target) is OneOutPerUserTarget
    assert isinstance(client.admit(second, "other"), Refused) is broken
    assert isinstance(client.use(first, "one"), Done)
    assert isinstance(client.use(second, "other"), Done)


@over_another(PlainTarget, *COUNTED)
def test_counted_uses_are_right_in_sequence(bench: Bench) -> None:
    client = bench.client()
    auth = client.issue(2)
    for attempt in ("one", "two"):
        taken = client.admit(auth, attempt)
        receipt = client.world.effect("pay", {}, attempt)
        assert client.ask("commit", taken, receipt) == Done()
    assert isinstance(client.admit(auth, "three"), Refused)
    assert client.states() == {"committed": 2}


@over_another(PlainTarget, DoneAtOnceTarget)
def test_done_at_once_counts_what_was_only_handed_out(bench: Bench) -> None:
    client = bench.client()
    client.admit(client.issue(1), "one")
    broken = type(bench.target) is DoneAtOnceTarget
    assert client.states() == ({"committed": 1} if broken else {"prepared": 1})


class Died(Exception):
    """Stands for the end of the process."""


class Dying:
    """A connection that ends when a use is written down."""

    def __init__(self, db: Any) -> None:
        self.right = db

    def execute(self, text: str, *values: Any) -> Any:
        if text.startswith("INSERT INTO use"):
            raise Died
        return self.right.execute(text, *values)

    def __enter__(self) -> Any:
        return self.right.__enter__()

    def __exit__(self, *raised: Any) -> Any:
        return self.right.__exit__(*raised)


@over_another(PlainTarget, TwoSteps)
def test_two_steps_loses_a_unit_between_them(bench: Bench) -> None:
    client, other = bench.client(), bench.client()
    auth = client.issue(1)
    client.ledger.db = Dying(client.ledger.db)
    with pytest.raises(Died):
        client.ledger.prepare(auth, None, None, "one")
    later = other.admit(auth, "two")
    assert isinstance(later, Refused if type(bench.target) is TwoSteps else Admission)


@over_another(LockLeft)
def test_lock_left_is_busy_while_the_lock_is_there(bench: Bench) -> None:
    client = bench.client()
    auth = client.issue(1)
    lock = bench.workspace / "plain.lock"
    lock.touch()
    assert isinstance(client.admit(auth, "one"), Busy)
    lock.unlink()
    assert isinstance(client.admit(auth, "one"), Admission)
    assert not lock.exists()
