"""The broken ledgers: right when nobody disturbs them, and wrong in the one way that is meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from admitone.scenarios.checks import CHECKS
from admitone.targets.broken import mp1_lease_lock
from admitone.targets.broken.me1 import ME1
from admitone.targets.broken.mp1 import MP1
from admitone.targets.broken.mp1_lease_lock import TTL_S, MP1LeaseLock
from admitone.targets.broken.mp6 import MP6
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.contract import Admission, Busy, Done, Recovered, Revoked
from admitone.targets.registry import BUILTIN
from admitone.targets.resolve import resolve
from tests.caplease_world import (
    CALL,
    CHILD,
    Site,
    audited,
    child_of,
    code,
    issued,
    prepare,
    prepared,
    receipt_for,
)

BROKEN = (MP1, MP1LeaseLock, ME1, MP6)

CORRECT = {
    f"admitone.targets.{entry.factory.partition(':')[0]}"
    for entry in BUILTIN.values()
    if entry.kind != "broken"
}
"""The modules of the ledgers that the broken ones change."""


class Clock:
    """Stands in for the ``time`` module: sleeping is what makes it go on."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def time(self) -> float:
        return self.now_s

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(mp1_lease_lock, "time", made)
    return made


@pytest.fixture
def site(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Site]:
    made = Site(request.param(), scratch)
    yield made
    made.shut()


def of(*targets: type[CapLeaseSqlite]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("site", targets, indirect=True, ids=lambda t: t.__name__)


def two_at_once(site: Site, budget: int = 1, **second: Any) -> tuple[object, object]:
    """The second client prepares while the first stands between its look and its write."""
    one, world = site.client()
    other, _ = site.client(**second)
    granted = issued(one, budget)
    answers: list[object] = []

    def intrude() -> None:
        try:
            answers.append(prepare(other, granted, "second"))
        except Exception as raised:  # whatever it is, it is classified
            answers.append(site.target.classify(raised))

    world.during_now.append(intrude)
    first = prepare(one, granted, "first")
    return first, answers[0]


@of(*BROKEN)
def test_undisturbed_use_is_right(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 4)
    child = child_of(ledger, granted, 1)
    for attempt in ("a", "b"):
        admission = prepared(ledger, granted, attempt)
        receipt = receipt_for(admission)
        assert ledger.commit(admission, receipt) == Done(receipt)
    by_child = ledger.prepare(child, CALL, CHILD, "c")
    assert isinstance(by_child, Admission)
    assert isinstance(ledger.revoke(granted), Revoked)
    assert code(prepare(ledger, granted, "d")) == "revoked"
    assert site.words(granted).count("Committed") == 2
    assert site.words(granted).count("Revoked") == 1
    assert audited(ledger).chain_ok
    assert audited(ledger).count == 1 + 1 + 2 * 2 + 1 + 1


@of(*BROKEN)
def test_it_drains_to_the_last_unit_and_no_further(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 2)
    assert prepared(ledger, granted, "a").slot != prepared(ledger, granted, "b").slot
    assert code(prepare(ledger, granted, "c")) == "exhausted"


@of(CapLeaseSqlite)
def test_the_reference_lets_nobody_between_look_and_write(site: Site) -> None:
    first, second = two_at_once(site)
    assert isinstance(first, Admission)
    assert isinstance(second, Busy)


@of(MP1)
def test_mp1_admits_two_attempts_to_one_slot(site: Site) -> None:
    first, second = two_at_once(site)
    assert isinstance(first, Admission)
    assert isinstance(second, Admission)
    assert first.slot == second.slot
    assert first.attempt != second.attempt


@of(MP1)
def test_mp1_takes_a_committed_slot_back(site: Site) -> None:
    one, world = site.client()
    other, _ = site.client()
    granted = issued(one)

    def finish_first() -> None:
        admission = prepared(other, granted, "second")
        other.commit(admission, receipt_for(admission))

    world.during_now.append(finish_first)
    prepared(one, granted, "first")
    assert site.words(granted) == ["Prepared"]


@of(MP1LeaseLock)
def test_the_lease_keeps_the_second_caller_out_while_it_lives(site: Site, clock: Clock) -> None:
    first, second = two_at_once(site, patience_s=TTL_S / 2)
    assert clock.now_s < TTL_S
    assert isinstance(first, Admission)
    assert isinstance(second, Busy)


@of(MP1LeaseLock)
def test_a_holder_that_outlives_its_lease_is_not_fenced_off(site: Site, clock: Clock) -> None:
    first, second = two_at_once(site, patience_s=TTL_S * 2)
    assert clock.now_s > TTL_S
    assert isinstance(first, Admission)
    assert isinstance(second, Admission)
    assert first.slot == second.slot


@of(MP1LeaseLock)
def test_a_revocation_between_look_and_write_is_kept(site: Site) -> None:
    one, world = site.client()
    other, _ = site.client()
    granted = issued(one)
    world.during_now.append(lambda: other.revoke(granted))
    assert code(prepare(one, granted, "first")) == "revoked"
    assert site.words(granted) == ["Revoked"]


@of(ME1)
def test_me1_hands_one_slot_out_under_many_keys(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    keys = [prepared(ledger, granted, "a").key, prepared(ledger, granted, "a").key]
    for _ in range(2):
        found = ledger.recover(())
        assert isinstance(found, Recovered)
        keys += [admission.key for admission in found.resume]
    assert len(set(keys)) == len(keys) == 4
    assert site.words(granted) == ["Prepared"]
    assert code(prepare(ledger, granted, "b")) == "exhausted"


@of(ME1)
def test_me1_settles_under_the_key_that_was_handed_out_last(site: Site) -> None:
    ledger, _ = site.client()
    old = prepared(ledger, issued(ledger), "a")
    found = ledger.recover(())
    assert isinstance(found, Recovered)
    [new] = found.resume
    assert code(ledger.commit(old, receipt_for(old))) == "wrong_key"
    assert isinstance(ledger.commit(new, receipt_for(new)), Done)


@of(MP6)
def test_mp6_gives_a_retry_the_next_slot(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 2)
    first, again = prepared(ledger, granted, "a"), prepared(ledger, granted, "a")
    assert first.slot != again.slot
    assert first.key != again.key
    assert code(prepare(ledger, granted, "a")) == "exhausted"


def test_each_says_what_convicts_it_and_what_must_not() -> None:
    names = [name for name, entry in BUILTIN.items() if entry.kind == "broken"]
    assert {type(resolve(name)) for name in names} >= set(BROKEN)
    for name in names:
        target: Any = resolve(name)
        assert target.name.layer == name
        assert target.convicted_by
        assert target.never_by
        assert not set(target.convicted_by) & set(target.never_by)
        assert {*target.convicted_by, *target.never_by} <= set(CHECKS)
        correct = next(base for base in type(target).__mro__ if base.__module__ in CORRECT)
        assert target.declaration is vars(correct)["declaration"]


@of(*BROKEN)
def test_it_warms_up_without_leaving_anything(site: Site) -> None:
    before = {file.path for file in psutil.Process().open_files()}
    site.target.warm()
    assert {file.path for file in psutil.Process().open_files()} == before
