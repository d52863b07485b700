"""More ledgers of other makes: leases, at most once, a repeated revocation, and giving back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest

from admitone.targets import identity as ids
from admitone.targets.contract import (
    Admission,
    Authorization,
    Busy,
    Call,
    Context,
    Done,
    Receipt,
    Recovered,
    Refused,
    Replayed,
    Revoked,
    Unknown,
    Validity,
)
from admitone.targets.correct.at_most_once import AtMostOnceTarget, whole_lines
from admitone.targets.correct.counter import CounterTarget
from admitone.targets.correct.lease import LeaseTarget
from admitone.targets.correct.revoke_repeat import RevokeRepeatTarget
from tests.ledger_bench import Bench
from tests.ledger_world import CALL, CONTEXT, TRUST, Client, key_of
from tests.test_correct_ledgers import BUDGETS, ODD_BUDGETS, changed

TARGETS = (LeaseTarget, AtMostOnceTarget, RevokeRepeatTarget)


def bench(cls: type, scratch: Path) -> Iterator[Bench]:
    made = Bench(cls(), scratch)
    yield made
    made.close()


@pytest.fixture(params=TARGETS, ids=lambda cls: cls.__name__)
def any_bench(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Bench]:
    yield from bench(request.param, scratch)


@pytest.fixture
def leases(scratch: Path) -> Iterator[Bench]:
    yield from bench(LeaseTarget, scratch)


@pytest.fixture
def once(scratch: Path) -> Iterator[Bench]:
    yield from bench(AtMostOnceTarget, scratch)


@pytest.fixture
def passes(scratch: Path) -> Iterator[Bench]:
    yield from bench(RevokeRepeatTarget, scratch)


@pytest.fixture
def counter(scratch: Path) -> Iterator[Bench]:
    yield from bench(CounterTarget, scratch)


# what all of them promise --------------------------------------------------------------------


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_budget_is_served_in_full_and_no_further(any_bench: Bench, budget: int) -> None:
    client, other = any_bench.client(), any_bench.client()
    auth = client.issue(budget)
    assert isinstance(auth, Authorization)
    assert client.states() == {"issued": budget}
    for n in range(budget):
        assert isinstance((client, other)[n % 2].use(auth, f"attempt-{n}"), Done)
        assert isinstance(other.use(auth, f"attempt-{n}"), Replayed)
    assert client.states() == {"committed": budget}
    assert isinstance(client.use(auth, "late"), Refused)
    assert client.issue(budget) == auth
    assert client.world.sink.applied() == budget


def test_one_attempt_costs_one_unit(any_bench: Bench) -> None:
    client, other = any_bench.client(), any_bench.client()
    auth = client.issue(2)
    first = client.admit(auth, "one")
    assert isinstance(first, Admission)
    again = other.admit(auth, "one")
    once_only = isinstance(any_bench.target, AtMostOnceTarget)
    assert again == (Refused("in_doubt") if once_only else first)
    assert client.states() == {"issued": 1, "prepared": 1}


@pytest.mark.parametrize("budget", ODD_BUDGETS, ids=repr)
def test_an_odd_budget_is_refused(any_bench: Bench, budget: object) -> None:
    client = any_bench.client()
    assert isinstance(client.issue(budget), Refused)
    assert not client.look().known


def test_what_was_not_confirmed_is_refused(any_bench: Bench) -> None:
    client = any_bench.client()
    said = ids.confirm(TRUST.confirmation_key, "event", CALL, 1)
    for confirmation, budget in (
        (replace(said, mac="0" * 64), 1),
        (replace(said, budget=2), 2),
        (replace(said, principal="thief"), 1),
        (ids.confirm(TRUST.confirmation_key, "event", replace(CALL, resource="mine"), 1), 1),
        (said, 2),
    ):
        answer = client.ask("issue", CALL, confirmation, budget, CONTEXT, Validity(1000.0))
        assert isinstance(answer, Refused)
    assert not client.look().known


def test_one_event_is_one_record(any_bench: Bench) -> None:
    client = any_bench.client()
    client.issue(2)
    assert client.issue(5) == Refused("duplicate")
    other = replace(CALL, args={**CALL.args, "cents": 1})
    said = ids.confirm(TRUST.confirmation_key, "event", other, 2)
    answer = client.ask("issue", other, said, 2, CONTEXT, Validity(1000.0))
    assert answer == Refused("duplicate")
    elsewhere = client.ask(
        "issue",
        CALL,
        ids.confirm(TRUST.confirmation_key, "event", CALL, 2),
        2,
        replace(CONTEXT, session="another"),
        Validity(1000.0),
    )
    assert elsewhere == Authorization("event", 2)
    assert isinstance(client.admit(elsewhere, "one"), Admission)
    assert client.states() == {"issued": 1, "prepared": 1}


@pytest.mark.parametrize("name", [f.name for f in (*fields(Call), *fields(Context))])
def test_everything_is_bound(any_bench: Bench, name: str) -> None:
    client = any_bench.client()
    auth = client.issue(1)
    call = changed(CALL, name) if hasattr(CALL, name) else CALL
    context = changed(CONTEXT, name) if hasattr(CONTEXT, name) else CONTEXT
    assert name in any_bench.target.declaration.facts.binds
    assert isinstance(client.admit(auth, "one", call, context), Refused)
    assert client.states() == {"issued": 1}


def test_after_a_revocation_nothing_begins_and_everything_ends(any_bench: Bench) -> None:
    client, other = any_bench.client(), any_bench.client()
    auth = client.issue(3)
    client.use(auth, "one")
    held = client.admit(auth, "two")
    assert isinstance(other.ask("revoke", auth), Revoked)
    assert isinstance(client.admit(auth, "three"), Refused)
    assert client.states() == {"prepared": 1, "committed": 1, "revoked": 1}
    assert isinstance(client.finish(held), Done)
    assert client.states() == {"committed": 2, "revoked": 1}
    assert client.look().revoked
    assert isinstance(client.ask("revoke", Authorization("nothing")), Refused)


def test_a_commit_needs_the_receipt_of_its_own_effect(any_bench: Bench) -> None:
    client = any_bench.client()
    auth = client.issue(2)
    one, two = (client.admit(auth, attempt) for attempt in ("one", "two"))
    receipt = client.world.effect(CALL.tool, CALL.args, key_of(one))
    key, tool, number = receipt.key, receipt.tool, receipt.number
    wrong: list[Receipt] = [
        replace(receipt, number=number + 1),
        ids.sign_receipt(b"another key", key, tool, receipt.digest, number),
        ids.sign_receipt(TRUST.receipt_key, key, tool, ids.digest("other arguments"), number),
    ]
    assert all(isinstance(client.ask("commit", one, bad), Refused) for bad in wrong)
    assert client.ask("commit", one, receipt) == Done(receipt)
    assert isinstance(client.ask("commit", two, receipt), Refused)
    assert client.ask("commit", one, receipt) == Done(receipt)
    assert client.states() == {"prepared": 1, "committed": 1}
    nothing = replace(one, slot="9", handle=[9, 1], attempt="nobody")
    assert client.ask("commit", nothing, receipt) == Refused("not_prepared")


def test_expiry_is_kept_where_it_is_claimed(any_bench: Bench) -> None:
    client = any_bench.client()
    auth = client.issue(2, expires_s=2000.0)
    client.world.clock_s = 1999.5
    client.use(auth, "before")
    client.world.clock_s = 2000.0
    if any_bench.target.declaration.claims_that("expiry"):
        assert client.use(auth, "at") == Refused("expired")
    assert isinstance(client.use(auth, "before"), Replayed)


def test_each_claim_quotes_the_documentation(any_bench: Bench) -> None:
    import sys

    doc = sys.modules[type(any_bench.target).__module__].__doc__ or ""
    text = " ".join(doc.split())
    claims = any_bench.target.declaration.claims
    assert {name for name, sentence in claims.items() if sentence not in text} == set()


def test_inspect_changes_nothing(any_bench: Bench) -> None:
    client = any_bench.client()
    client.issue(2)
    stored = [p for p in any_bench.workspace.iterdir() if p.suffix in {".db", ".log"}]
    before = [p.read_bytes() for p in stored]
    assert client.look().linearizable
    assert [p.read_bytes() for p in stored] == before


# several processes, and death anywhere -------------------------------------------------------


def test_eight_processes_get_what_the_budget_says(any_bench: Bench) -> None:
    """All eight have the ledger open before the first is told to go; nine races."""
    client = any_bench.client()
    with ExitStack() as stack:
        racers = [stack.enter_context(any_bench.program("consume", f"a{n}")) for n in range(8)]
        pipes = [(r.stdin, r.stdout) for r in racers if r.stdin and r.stdout]
        assert [out.readline() for _, out in pipes] == ["ready\n"] * 8
        for race, budget in enumerate(BUDGETS * 3):
            auth = client.issue(budget, event := f"race-{race}")
            for to, _ in pipes:
                to.write(json.dumps(asdict(auth)) + "\n")
                to.flush()
            answers = [out.readline().strip() for _, out in pipes]
            assert sorted(answers) == ["Done"] * budget + ["Refused"] * (8 - budget)
            assert client.states(event) == {"committed": budget}
        for to, _ in pipes:
            to.close()
    assert client.world.sink.applied() == sum(BUDGETS * 3)


def test_killed_at_any_line_nothing_is_lost_or_doubled(any_bench: Bench) -> None:
    """Whoever resends ends with both units committed; whoever does not may end with a doubt."""
    with any_bench.program("sweep", "2") as sweeper:
        assert sweeper.stdout
        outcomes = json.loads(sweeper.stdout.readline())
        sweeper.communicate("thanks\n")
    assert len(outcomes) > 40
    doubts = [outcome for outcome in outcomes if outcome["answers"][0] == "Refused"]
    for outcome in outcomes:
        if outcome in doubts:
            assert outcome["states"] == {"in_doubt": 1, "committed": 1}
            assert outcome["answers"] == ["Refused", "Done", "Refused"]
            assert outcome["applied"] in (1, 2)
        else:
            assert outcome["states"] == {"committed": 2}
            assert outcome["applied"] == 2
            assert outcome["answers"] in (
                ["Done", "Done", "Refused"],
                ["Replayed", "Done", "Refused"],
            )
    assert bool(doubts) is isinstance(any_bench.target, AtMostOnceTarget)


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


def test_no_two_of_the_correct_ledgers_share_code() -> None:
    """Each imports the contract, the shared identities, and nothing of another ledger."""
    import ast

    folder = Path(__file__).parent.parent / "targets" / "correct"
    names = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert len(names) >= 6
    for name in names:
        tree = ast.parse((folder / f"{name}.py").read_text())
        imported: set[Any] = {
            (node.level, node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        }
        inside = {module for level, module in imported if level}
        assert inside <= {None, "contract", "identity", "values"}, name
