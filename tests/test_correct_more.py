"""More ledgers of other makes: what all of them promise, and what a death leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from admitone.targets import identity as ids
from admitone.targets.contract import (
    Admission,
    Authorization,
    Call,
    Context,
    Done,
    Receipt,
    Refused,
    Replayed,
    Revoked,
    Validity,
)
from admitone.targets.correct.at_most_once import AtMostOnceTarget
from admitone.targets.correct.lease import LeaseTarget
from admitone.targets.correct.revoke_repeat import RevokeRepeatTarget
from tests.ledger_bench import Bench, benched
from tests.ledger_world import CALL, CONTEXT, TRUST, key_of
from tests.test_correct_ledgers import BUDGETS, changed

TARGETS = (LeaseTarget, AtMostOnceTarget, RevokeRepeatTarget)


@pytest.fixture(params=TARGETS, ids=lambda cls: cls.__name__)
def any_bench(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Bench]:
    yield from benched(request.param, scratch)


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


# death anywhere ------------------------------------------------------------------------------


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
