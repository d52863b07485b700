"""The small ledger keeps what it promises, plain and asynchronous."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from admitone.targets import identity as ids
from admitone.targets.contract import (
    Admission,
    Busy,
    Done,
    EffectUnknown,
    NotApplied,
    Refused,
    Replayed,
    Revoked,
    Validity,
)
from tests import small_ledger
from tests.ledger_world import CALL, CONTEXT, TRUST, Client, World, key_of
from tests.small_ledger import SmallAsyncTarget, SmallTarget

ROOT = Path(__file__).parent.parent


@pytest.fixture
def client(scratch: Path) -> Client:
    target = SmallTarget()
    return Client(target, target.deploy(scratch).store, World.below(scratch))


def asked(budget: int) -> tuple[Any, ...]:
    said = ids.confirm(TRUST.confirmation_key, "event", CALL, budget)
    return CALL, said, budget, CONTEXT, Validity(1000.0)


def lapse(client: Client) -> None:
    client.world.clock_s += client.world.lease_s


def test_a_proposal_is_used_only_once_it_is_decided(client: Client) -> None:
    proposed = client.ask("propose", *asked(1))
    assert client.use(proposed, "early") == Refused("needs_confirmation")
    assert client.look().known
    assert client.states() == {}
    assert client.issue(1) == proposed == client.ask("propose", *asked(1))
    assert isinstance(client.use(proposed, "one"), Done)
    assert client.use(proposed, "two") == Refused("exhausted")


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_a_budget_is_served_in_full_and_no_further(client: Client, budget: int) -> None:
    auth = client.issue(budget)
    for n in range(budget):
        first = client.admit(auth, f"a{n}")
        assert client.admit(auth, f"a{n}") == first
        assert isinstance(client.finish(first), Done)
        assert isinstance(client.finish(first), Done)
        assert isinstance(client.admit(auth, f"a{n}"), Replayed)
    assert client.use(auth, "late") == Refused("exhausted")
    assert client.states() == {"committed": budget}
    assert client.issue(budget) == auth
    assert client.world.sink.applied() == budget


def test_a_stranger_and_another_call_are_refused(client: Client) -> None:
    auth = client.issue(1)
    thief = replace(CONTEXT, executor="thief")
    assert client.admit(auth, "one", CALL, thief) == Refused("wrong_principal")
    dearer = replace(CALL, args={**CALL.args, "cents": 1201})
    assert client.admit(auth, "one", dearer) == Refused("wrong_action")
    assert client.states() == {"issued": 1}


def test_a_lapsed_slot_is_taken_over_under_its_key_and_never_doubled(client: Client) -> None:
    auth = client.issue(1)
    slow = client.admit(auth, "slow")
    assert client.admit(auth, "next") == Refused("exhausted")
    lapse(client)
    taken = client.admit(auth, "next")
    assert (taken.slot, taken.key, taken.attempt) == (slow.slot, slow.key, "next")
    assert client.admit(auth, "slow") == Busy("in_flight")
    for stale in ("renew", "release"):
        arguments = (slow,) if stale == "renew" else (slow, "not applied")
        assert client.ask(stale, *arguments) == Refused("held")
    client.finish(slow)
    client.finish(taken)
    assert client.world.sink.applied() == 1
    assert isinstance(client.admit(auth, "slow"), Replayed)


def test_who_renews_is_not_taken_over(client: Client) -> None:
    auth = client.issue(1)
    holder = client.admit(auth, "holder")
    client.world.clock_s += client.world.lease_s - 1
    assert client.ask("renew", holder) == Done()
    client.world.clock_s += client.world.lease_s - 1
    assert client.admit(auth, "next") == Refused("exhausted")


def test_release_frees_once_and_only_what_was_not_applied(client: Client) -> None:
    auth = client.issue(1)
    held = client.admit(auth, "one")
    assert client.ask("release", replace(held, handle="forged"), "not applied") == Refused("held")
    assert client.ask("release", held, "unknown") == Refused("in_doubt")
    assert client.ask("release", held, "not applied") == Done()
    assert client.ask("release", held, "not applied") == Refused("not_prepared")
    assert client.states() == {"issued": 1}
    again = client.admit(auth, "two")
    assert again.key == held.key
    client.world.effect(CALL.tool, CALL.args, key_of(again))
    assert client.ask("release", again, "not applied") == Refused("in_doubt")
    client.finish(again)
    assert client.ask("release", again, "not applied") == Refused("in_doubt")
    assert client.world.sink.applied() == 1


def test_a_slot_handed_out_twice_is_not_released(client: Client) -> None:
    auth = client.issue(1)
    held = client.admit(auth, "one")
    [resumed] = client.ask("recover", ()).resume
    assert resumed == held
    assert client.ask("release", held, "not applied") == Refused("in_doubt")


def test_revoke_stops_the_free_and_names_the_held(client: Client) -> None:
    auth = client.issue(3)
    held = client.admit(auth, "one")
    assert client.ask("revoke", auth) == Revoked(("s2", "s3"), ("s1",))
    assert client.use(auth, "two") == Refused("revoked")
    assert client.ask("release", held, "not applied") == Done()
    assert client.states() == {"revoked": 3}
    assert client.use(auth, "one") == Refused("revoked")


def test_the_sweeper_ends_what_the_sink_knows(client: Client) -> None:
    auth = client.issue(2)
    sent, unsent = client.admit(auth, "sent"), client.admit(auth, "unsent")
    client.world.effect(CALL.tool, CALL.args, key_of(sent))
    client.target.work(client.store, client.world)
    assert client.states() == {"prepared": 1, "committed": 1}
    assert client.recover().resume == (unsent,)
    assert client.states() == {"committed": 2}


def test_the_asynchronous_one_runs_the_effect_itself(scratch: Path) -> None:
    target, world = SmallAsyncTarget(), World.below(scratch)
    store = target.deploy(scratch).store

    async def story() -> None:
        ledger = await target.open(store, world)
        auth = await ledger.issue(*asked(2))
        world.sink.moods = ["not applied", "lost", "", "away", "not applied"]
        with pytest.raises(NotApplied):
            await ledger.execute(auth, CALL, CONTEXT, "one")
        with pytest.raises(EffectUnknown):
            await ledger.execute(auth, CALL, CONTEXT, "one")
        assert isinstance(await ledger.execute(auth, CALL, CONTEXT, "one"), Done)
        assert isinstance(await ledger.execute(auth, CALL, CONTEXT, "one"), Replayed)
        for _ in ("away", "not applied, with one away"):
            with pytest.raises(EffectUnknown):
                await ledger.execute(auth, CALL, CONTEXT, "two")
        assert await ledger.revoke(auth) == Revoked((), ("s2",))
        found = await ledger.recover(())
        assert [a.attempt for a in found.settled] == ["two"]
        with pytest.raises(small_ledger.No, match="revoked"):
            await ledger.execute(auth, CALL, CONTEXT, "three")

    asyncio.run(story())
    assert world.sink.applied() == 2


def test_each_claim_quotes_the_documentation() -> None:
    text = " ".join((small_ledger.__doc__ or "").split())
    claims = SmallTarget.declaration.claims
    assert {name for name, sentence in claims.items() if sentence not in text} == set()


def test_killed_at_any_line_nothing_is_lost_or_doubled(client: Client) -> None:
    arguments = ["sweep", "tests.small_ledger:SmallTarget", json.dumps(client.store)]
    arguments += [str(client.world.workspace), "2"]
    command = [sys.executable, "-m", "tests.ledger_programs", *arguments]
    done = subprocess.run(command, input="", capture_output=True, text=True, cwd=ROOT, check=True)
    outcomes = json.loads(done.stdout)
    assert len(outcomes) > 40
    for outcome in outcomes:
        assert outcome["states"] == {"committed": 2}
        assert outcome["applied"] == 2


def test_it_is_found_by_path(client: Client) -> None:
    """As ``py:small_ledger:SmallTarget`` in a process that has this folder on its path."""
    code = "import small_ledger as s; assert s.SmallTarget and s.SmallAsyncTarget"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT / "tests", check=True)
    assert isinstance(client.admit(client.issue(1), "one"), Admission)
