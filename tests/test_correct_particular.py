"""What only one of the correct ledgers has: leases, doubts, a repeated revocation, giving back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from admitone.targets import identity as ids
from admitone.targets.contract import (
    Admission,
    Busy,
    Done,
    Recovered,
    Refused,
    Replayed,
    Revoked,
    Unknown,
)
from admitone.targets.correct.at_most_once import AtMostOnceTarget, whole_lines
from admitone.targets.correct.counter import CounterTarget
from admitone.targets.correct.lease import LeaseTarget
from admitone.targets.correct.revoke_repeat import RevokeRepeatTarget
from tests.ledger_bench import Bench, benched
from tests.ledger_world import CALL, Client, key_of


@pytest.fixture
def leases(scratch: Path) -> Iterator[Bench]:
    yield from benched(LeaseTarget, scratch)


@pytest.fixture
def once(scratch: Path) -> Iterator[Bench]:
    yield from benched(AtMostOnceTarget, scratch)


@pytest.fixture
def passes(scratch: Path) -> Iterator[Bench]:
    yield from benched(RevokeRepeatTarget, scratch)


@pytest.fixture
def counter(scratch: Path) -> Iterator[Bench]:
    yield from benched(CounterTarget, scratch)


# leases --------------------------------------------------------------------------------------


def lapse(client: Client) -> None:
    client.world.clock_s += client.world.lease_s


def test_a_seat_passes_on_when_its_lease_has_ended_and_not_before(leases: Bench) -> None:
    holder, other = leases.client(), leases.client()
    auth = holder.issue(1)
    first = holder.admit(auth, "one")
    other.world.clock_s += other.world.lease_s - 0.5
    assert other.admit(auth, "two") == Refused("exhausted")
    other.world.clock_s += 0.5
    second = other.admit(auth, "two")
    assert isinstance(second, Admission)
    assert (second.slot, second.key) == (first.slot, first.key)
    assert second.attempt == "two"
    assert leases.client().states() == {"prepared": 1}


def test_a_free_seat_is_given_before_a_lapsed_one(leases: Bench) -> None:
    client = leases.client()
    auth = client.issue(2)
    first = client.admit(auth, "one")
    lapse(client)
    assert client.admit(auth, "two").slot != first.slot
    assert client.admit(auth, "three").slot == first.slot


def test_whoever_renews_keeps_the_seat(leases: Bench) -> None:
    client = leases.client()
    auth = client.issue(1)
    held = client.admit(auth, "one")
    for _ in range(3):
        client.world.clock_s += client.world.lease_s - 0.5
        assert client.ask("renew", held) == Done()
        assert client.admit(auth, "two") == Refused("exhausted")
    client.world.clock_s += client.world.lease_s - 0.5
    assert client.admit(auth, "one") == held  # asking again is a sign of life too
    client.world.clock_s += client.world.lease_s - 0.5
    assert client.admit(auth, "two") == Refused("exhausted")


def test_whoever_was_relieved_is_fenced_off(leases: Bench) -> None:
    client = leases.client()
    auth = client.issue(1)
    first = client.admit(auth, "one")
    lapse(client)
    second = client.admit(auth, "two")
    assert client.ask("renew", first) == Refused("stale")
    assert client.admit(auth, "one") == Refused("held")
    assert client.ask("renew", second) == Done()
    assert client.ask("renew", replace(second, handle=[1, 7])) == Refused("stale")
    assert client.ask("renew", replace(second, handle="none")) == Refused("not_prepared")


def test_two_holders_of_one_seat_have_one_effect(leases: Bench) -> None:
    client = leases.client()
    auth = client.issue(1)
    first = client.admit(auth, "one")
    lapse(client)
    second = client.admit(auth, "two")
    assert isinstance(client.finish(first), Done)
    assert isinstance(client.finish(second), Done)
    assert isinstance(client.use(auth, "one"), Replayed)
    assert isinstance(client.use(auth, "two"), Replayed)
    assert client.states() == {"committed": 1}
    assert client.world.sink.applied() == 1


def test_a_paid_seat_passes_to_nobody(leases: Bench) -> None:
    client = leases.client()
    auth = client.issue(1)
    held = client.admit(auth, "one")
    client.finish(held)
    lapse(client)
    assert client.admit(auth, "two") == Refused("exhausted")
    assert client.ask("renew", held) == Refused("stale")


def test_after_a_revocation_or_the_end_no_seat_passes_on(leases: Bench) -> None:
    client = leases.client()
    for event, ends in (("cancelled", None), ("over", 1005.0)):
        client.world.clock_s = 1000.0
        auth = client.issue(2, event, ends)
        client.admit(auth, "one")
        if ends is None:
            assert client.ask("revoke", auth) == Revoked(stopped=1, too_late=1)
            assert client.ask("revoke", auth) == Revoked(stopped=0, too_late=1)
        lapse(client)
        assert isinstance(client.admit(auth, "two"), Refused)
        client.recover()
        assert client.states(event)["committed"] == 1


def test_recovery_does_not_wait_for_the_lease(leases: Bench) -> None:
    holder, healer = leases.client(), leases.client()
    auth = holder.issue(2)
    held = holder.admit(auth, "one")
    assert healer.recover() == Recovered(resume=(held,))
    assert healer.recover() == Recovered()
    assert isinstance(holder.finish(held), Done)
    assert holder.world.sink.applied() == 1


# at most once --------------------------------------------------------------------------------


def test_recovery_resends_nothing_and_leaves_doubts(once: Bench) -> None:
    client, healer = once.client(), once.client()
    auth = client.issue(3)
    client.use(auth, "done")
    client.admit(auth, "lost")
    found = healer.recover()
    assert found == Recovered(settled=(Admission("event", attempt="lost"),))
    assert client.states() == {"issued": 1, "committed": 1, "in_doubt": 1}
    assert healer.recover() == Recovered()
    assert client.admit(auth, "lost") == Refused("in_doubt")
    assert isinstance(client.use(auth, "next"), Done)
    assert client.world.sink.applied() == 2
    assert once.target.declaration.facts.manual_state == "unclear"


def test_a_receipt_ends_a_doubt(once: Bench) -> None:
    holder, healer = once.client(), once.client()
    auth = holder.issue(1)
    held = holder.admit(auth, "slow")
    healer.recover()
    assert isinstance(holder.finish(held), Done)
    assert holder.states() == {"committed": 1}
    assert isinstance(holder.use(auth, "slow"), Replayed)


@pytest.mark.parametrize("torn", [b"0", b'00000000 ["use", "event", "x", "out"]\n', b"\0" * 40])
def test_a_torn_line_is_as_if_it_had_never_been(once: Bench, torn: bytes) -> None:
    client = once.client()
    auth = client.issue(2)
    log = once.workspace / "once.log"
    whole = log.read_bytes()
    log.write_bytes(whole + torn)
    assert client.states() == {"issued": 2}
    assert isinstance(client.use(auth, "one"), Done)
    assert log.read_bytes().startswith(whole)
    assert sum(map(len, whole_lines(log.read_bytes()))) == log.stat().st_size


def test_a_write_that_fails_is_unknown_and_a_lock_is_busy(
    once: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = once.client()
    auth = client.issue(2)

    def full(*_: object) -> int:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        assert isinstance(client.admit(auth, "one"), Unknown)
    client.ledger._log._wait_s = 0.0
    with once.client().ledger._log._turn():
        assert client.admit(auth, "two") == Busy("contention")
    assert client.states() == {"issued": 2}


# a repeated revocation -----------------------------------------------------------------------


def test_a_repeated_revocation_answers_the_same_counts(passes: Bench) -> None:
    client, other = passes.client(), passes.client()
    auth = client.issue(5)
    client.use(auth, "one")
    held = client.admit(auth, "two")
    assert client.ask("revoke", auth) == Revoked(stopped=3, too_late=2)
    client.finish(held)
    assert other.ask("revoke", auth) == Revoked(stopped=3, too_late=2)
    assert client.states() == {"committed": 2, "revoked": 3}


@pytest.mark.parametrize("budget", [1, 62, 63, 64, 65, 200])
def test_a_mask_may_be_of_any_length(passes: Bench, budget: int) -> None:
    client = passes.client()
    auth = client.issue(budget)
    held = [client.admit(auth, f"a{n}") for n in range(budget - 1)]
    assert [a.slot for a in held] == [str(j) for j in range(1, budget)]
    assert client.ask("revoke", auth) == Revoked(stopped=1, too_late=budget - 1)
    assert len({a.key for a in held}) == budget - 1


def test_its_keys_are_derived(passes: Bench) -> None:
    client = passes.client()
    admission = client.admit(client.issue(1), "one")
    assert admission.key == ids.sink_key("event", "1", CALL.tool)


# giving back ---------------------------------------------------------------------------------


def test_what_was_not_applied_can_be_given_back_and_used_again(counter: Bench) -> None:
    client = counter.client()
    auth = client.issue(1)
    admission = client.admit(auth, "one")
    assert client.ask("release", admission, "the sink refused it") == Done()
    assert client.states() == {"issued": 1}
    assert isinstance(client.use(auth, "two"), Done)
    assert client.states() == {"committed": 1}


def test_a_use_is_given_back_once_and_its_attempt_is_spent(counter: Bench) -> None:
    client = counter.client()
    auth = client.issue(2)
    admission = client.admit(auth, "one")
    client.ask("release", admission, "refused")
    assert client.ask("release", admission, "refused") == Refused("not_prepared")
    assert client.admit(auth, "one") == Refused("stale")
    receipt = client.world.effect(CALL.tool, CALL.args, key_of(admission))
    assert client.ask("commit", admission, receipt) == Refused("not_prepared")
    assert client.recover() == Recovered()
    assert client.states() == {"issued": 2}


def test_only_its_holder_gives_it_back(counter: Bench) -> None:
    holder, stranger = counter.client(), counter.client("stranger")
    admission = holder.admit(holder.issue(1), "one")
    assert stranger.ask("release", admission, "refused") == Refused("wrong_principal")
    assert holder.states() == {"prepared": 1}


def test_what_was_used_is_not_given_back(counter: Bench) -> None:
    client = counter.client()
    admission = client.admit(client.issue(1), "one")
    client.finish(admission)
    assert client.ask("release", admission, "refused") == Refused("not_prepared")
    assert client.states() == {"committed": 1}


@pytest.mark.parametrize("by", ["a retry", "recovery"])
def test_what_was_handed_out_twice_is_not_given_back(counter: Bench, by: str) -> None:
    """The other one's request may still be on its way."""
    client, other = counter.client(), counter.client()
    auth = client.issue(1)
    admission = client.admit(auth, "one")
    if by == "recovery":
        other.ask("recover", ())
    else:
        other.admit(auth, "one")
    assert client.ask("release", admission, "refused") == Refused("in_doubt")
    assert client.states() == {"prepared": 1}


def test_what_is_given_back_after_a_revocation_stays_revoked(counter: Bench) -> None:
    client = counter.client()
    auth = client.issue(1)
    admission = client.admit(auth, "one")
    client.ask("revoke", auth)
    assert client.ask("release", admission, "refused") == Done()
    assert client.states() == {"revoked": 1}
    assert client.admit(auth, "two") == Refused("revoked")
