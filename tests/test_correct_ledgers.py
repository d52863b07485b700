"""The ledgers of other makes, without the suite: what they promise, in one process and several."""

from __future__ import annotations

import json
import subprocess
import sys
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
    Call,
    Context,
    Done,
    Receipt,
    Refused,
    Replayed,
    Revoked,
    Unknown,
    Validity,
)
from admitone.targets.correct.at_most_once import AtMostOnceTarget
from admitone.targets.correct.counter import CounterTarget
from admitone.targets.correct.guarded import GuardedTarget
from admitone.targets.correct.json_flock import JsonFlockTarget
from admitone.targets.correct.lease import LeaseTarget
from admitone.targets.correct.revoke_repeat import RevokeRepeatTarget
from tests.ledger_bench import Bench, benched
from tests.ledger_world import CALL, CONTEXT, TRUST, key_of

TARGETS = (CounterTarget, JsonFlockTarget, GuardedTarget)
EVERY = (*TARGETS, LeaseTarget, AtMostOnceTarget, RevokeRepeatTarget)
STORED = {".db", ".db-wal", ".json", ".log"}
"""What holds a store's content; not -shm, in which every reader leaves its marks."""

BUDGETS = (1, 2, 5)
ODD_BUDGETS = (0, -1, 1.5, float("nan"), float("inf"), True, "1", 2**70, None)


@pytest.fixture(params=TARGETS, ids=lambda cls: cls.__name__)
def any_bench(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Bench]:
    yield from benched(request.param, scratch)


@pytest.fixture(params=EVERY, ids=lambda cls: cls.__name__)
def every_bench(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Bench]:
    yield from benched(request.param, scratch)


@pytest.fixture(params=TARGETS[:2], ids=lambda cls: cls.__name__)
def split_bench(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Bench]:
    yield from benched(request.param, scratch)


@pytest.fixture
def guarded(scratch: Path) -> Iterator[Bench]:
    yield from benched(GuardedTarget, scratch)


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_budget_is_served_in_full_and_no_further(any_bench: Bench, budget: int) -> None:
    client, other = any_bench.client(), any_bench.client()
    auth = client.issue(budget)
    assert isinstance(auth, Authorization)
    assert client.states() == {"issued": budget}
    for n in range(budget):
        assert isinstance((client, other)[n % 2].use(auth, f"attempt-{n}"), Done)
    assert client.states() == {"committed": budget}
    for late in (client, other):
        assert isinstance(late.use(auth, f"late-{id(late)}"), Refused)
    assert client.world.sink.applied() == budget


@pytest.mark.parametrize("budget", BUDGETS)
def test_one_attempt_is_one_admission(split_bench: Bench, budget: int) -> None:
    client, other = split_bench.client(), split_bench.client()
    auth = client.issue(budget)
    first = client.admit(auth, "one")
    assert isinstance(first, Admission)
    assert other.admit(auth, "one") == first
    assert client.states().get("prepared") == 1
    client.finish(first)
    again = other.admit(auth, "one")
    assert isinstance(again, Replayed)
    assert again.receipt is not None
    assert client.states().get("issued", 0) == budget - 1


@pytest.mark.parametrize("budget", BUDGETS)
def test_an_attempt_that_ran_is_replayed(guarded: Bench, budget: int) -> None:
    client = guarded.client()
    auth = client.issue(budget)
    done = client.use(auth, "one")
    assert guarded.client().use(auth, "one") == Replayed(done.receipt)
    assert client.world.sink.applied() == 1
    assert client.states().get("issued", 0) == budget - 1


def test_a_decision_opens_one_record_whatever_became_of_it(any_bench: Bench) -> None:
    client = any_bench.client()
    auth = client.issue(2)
    client.use(auth, "one")
    assert client.issue(2) == auth
    client.use(auth, "two")
    assert any_bench.client().issue(2) == auth
    assert client.states() == {"committed": 2}
    assert isinstance(client.issue(5), Refused)
    assert client.issue(2, "another event").record != auth.record


@pytest.mark.parametrize("budget", ODD_BUDGETS, ids=repr)
def test_an_odd_budget_is_refused(every_bench: Bench, budget: object) -> None:
    client = every_bench.client()
    assert isinstance(client.issue(budget), Refused)
    assert not client.look().known


def test_what_was_not_confirmed_is_refused(every_bench: Bench) -> None:
    client = every_bench.client()
    said = ids.confirm(TRUST.confirmation_key, "event", CALL, 1)
    for confirmation, budget in (
        (replace(said, mac="0" * 64), 1),
        (replace(said, budget=2), 1),
        (replace(said, budget=2), 2),
        (replace(said, principal="thief"), 1),
        (ids.confirm(TRUST.confirmation_key, "event", replace(CALL, resource="mine"), 1), 1),
        (said, 2),
    ):
        answer = client.ask("issue", CALL, confirmation, budget, CONTEXT, Validity(1000.0))
        assert isinstance(answer, Refused)
    assert not client.look().known


def changed(noun: Any, name: str) -> Any:
    """The same with another value in one field, of the same kind."""
    value = getattr(noun, name)
    other = (
        value + 1 if isinstance(value, int) else value + "-2" if isinstance(value, str) else None
    )
    return replace(noun, **{name: other or {**value, "cents": 1201}})


@pytest.mark.parametrize("name", [f.name for f in (*fields(Call), *fields(Context))])
def test_what_is_bound_is_compared_and_what_is_not_is_not_sent(any_bench: Bench, name: str) -> None:
    client = any_bench.client()
    auth = client.issue(1)
    call = changed(CALL, name) if hasattr(CALL, name) else CALL
    context = changed(CONTEXT, name) if hasattr(CONTEXT, name) else CONTEXT
    answer = client.admit(auth, "one", call, context)
    if name in any_bench.target.declaration.facts.binds:
        assert isinstance(answer, Refused)
        assert client.states() == {"issued": 1}
    elif isinstance(answer, Admission):
        assert (answer.call or CALL) == CALL
    else:
        assert isinstance(answer, Done)


def test_revoke_stops_what_is_not_admitted(any_bench: Bench) -> None:
    client, other = any_bench.client(), any_bench.client()
    if not hasattr(client.ledger, "revoke"):
        assert not any_bench.target.declaration.claims_that("revoke")
        return
    auth = client.issue(5)
    client.use(auth, "one")
    other.world.sink.moods = ["away"]
    assert isinstance(other.admit(auth, "two"), Admission | Unknown)
    stopped = client.ask("revoke", auth)
    assert isinstance(stopped, Revoked)
    if any_bench.target.declaration.claims_that("revoke_counts"):
        assert stopped.stopped == 3
        assert other.ask("revoke", auth) == Revoked(stopped=0)
    assert isinstance(other.use(auth, "three"), Refused)
    assert client.states() == {"prepared": 1, "committed": 1, "revoked": 3}
    client.recover()
    assert client.states() == {"committed": 2, "revoked": 3}
    assert client.issue(5) == auth
    assert isinstance(client.use(auth, "four"), Refused)
    assert isinstance(client.ask("revoke", Authorization("nothing")), Refused)


def test_expiry_is_kept_where_it_is_claimed(any_bench: Bench) -> None:
    client = any_bench.client()
    declared = any_bench.target.declaration
    auth = client.issue(5, expires_s=2000.0)
    client.world.clock_s = 1999.5
    assert isinstance(client.use(auth, "before"), Done)
    if declared.claims_that("expiry"):
        client.world.clock_s = 2000.0
        at_the_end = Done if declared.facts.expiry == "inclusive" else Refused
        assert isinstance(client.use(auth, "at"), at_the_end)
        client.world.clock_s = 2000.5
        assert isinstance(client.use(auth, "after"), Refused)
        assert isinstance(client.use(auth, "before"), Replayed)


def test_recovery_ends_what_others_began_and_nothing_else(any_bench: Bench) -> None:
    client, healer = any_bench.client(), any_bench.client()
    auth = client.issue(5)
    client.world.sink.moods = ["", "lost", "away"]
    client.use(auth, "done")
    answers = [client.admit(auth, attempt) for attempt in ("lost", "away")]
    assert client.states() == {"issued": 2, "prepared": 2, "committed": 1}
    found = healer.recover()
    assert {a.attempt for a in (*found.resume, *found.settled)} == {"lost", "away"}
    if isinstance(answers[0], Admission):
        assert list(found.resume) == answers
    assert client.states() == {"issued": 2, "committed": 3}
    assert healer.recover() == type(found)()
    assert client.world.sink.applied() == 3


def test_a_commit_needs_the_receipt_of_its_own_effect(split_bench: Bench) -> None:
    client = split_bench.client()
    auth = client.issue(2)
    one, two = (client.admit(auth, attempt) for attempt in ("one", "two"))
    receipt = client.world.effect(CALL.tool, CALL.args, key_of(one))
    key, tool, digest, number = receipt.key, receipt.tool, receipt.digest, receipt.number
    wrong: list[Receipt] = [
        replace(receipt, number=number + 1),
        ids.sign_receipt(b"another key", key, tool, digest, number),
        ids.sign_receipt(TRUST.receipt_key, key, tool, ids.digest("other arguments"), number),
    ]
    assert all(isinstance(client.ask("commit", one, bad), Refused) for bad in wrong)
    assert isinstance(client.ask("commit", one, receipt), Done)
    assert isinstance(client.ask("commit", two, receipt), Refused)
    assert client.states() == {"prepared": 1, "committed": 1}
    claimed = split_bench.target.declaration.claims_that("repeat_commit")
    assert isinstance(client.ask("commit", one, receipt), Done if claimed else Replayed)


def test_what_was_not_applied_frees_its_unit_and_keeps_its_key(guarded: Bench) -> None:
    client = guarded.client()
    auth = client.issue(1)
    sink = client.world.sink
    sink.moods = ["not applied", "not applied"]
    for _ in range(2):
        assert client.use(auth, "one") == Refused(detail="not applied")
        assert client.states() == {"issued": 1}
    assert isinstance(client.use(auth, "two"), Done)
    assert isinstance(client.use(auth, "one"), Refused)
    assert sink.applied() == 1
    assert sink.keys[0] == sink.keys[1] != sink.keys[2]


@pytest.mark.parametrize("mood", ["lost", "away"])
def test_a_refused_request_frees_nothing_while_another_is_unanswered(
    guarded: Bench, mood: str
) -> None:
    client = guarded.client()
    auth = client.issue(1)
    client.world.sink.moods = [mood, "not applied"]
    assert client.use(auth, "one") == Unknown(mood)
    assert isinstance(client.use(auth, "one"), Unknown)
    assert client.states() == {"prepared": 1}
    assert isinstance(client.use(auth, "two"), Refused)
    assert isinstance(client.use(auth, "one"), Done)
    assert client.world.sink.applied() == 1


def test_inspect_needs_no_lock_and_changes_nothing(every_bench: Bench) -> None:
    client = every_bench.client()
    client.issue(2)
    stored = [p for p in every_bench.workspace.iterdir() if p.suffix in STORED]
    assert stored
    before = [p.read_bytes() for p in stored]
    if isinstance(every_bench.target, JsonFlockTarget):
        with client.ledger._file._book():
            assert client.states() == {"issued": 2}
    assert client.look().linearizable
    assert [p.read_bytes() for p in stored] == before


DIE_IN_COMMIT = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.executescript("PRAGMA cache_size=1; BEGIN IMMEDIATE; UPDATE approval SET used = budget")
db.executemany("INSERT INTO use (event, attempt) VALUES (?, 'x')", [(str(n),) for n in range(9999)])
os.kill(os.getpid(), signal.SIGKILL)
"""
"""Dies with half a transaction in the file: what SQLite calls a hot journal."""


def test_inspect_reads_past_a_hot_journal(scratch: Path) -> None:
    made = Bench(CounterTarget(), scratch)
    client = made.client()
    client.issue(2)
    database = scratch / made.store
    subprocess.run([sys.executable, "-c", DIE_IN_COMMIT, str(database)], check=False)
    assert database.with_name(f"{made.store}-journal").stat().st_size > 0
    assert client.states() == {"issued": 2}


def test_each_claim_quotes_the_documentation(every_bench: Bench) -> None:
    doc = sys.modules[type(every_bench.target).__module__].__doc__ or ""
    text = " ".join(doc.split())
    claims = every_bench.target.declaration.claims
    assert {name for name, sentence in claims.items() if sentence not in text} == set()


def test_eight_processes_get_what_the_budget_says(every_bench: Bench) -> None:
    """All eight have the ledger open before the first is told to go; twelve races."""
    client = every_bench.client()
    with ExitStack() as stack:
        racers = [stack.enter_context(every_bench.program("consume", f"a{n}")) for n in range(8)]
        pipes = [(r.stdin, r.stdout) for r in racers if r.stdin and r.stdout]
        assert [out.readline() for _, out in pipes] == ["ready\n"] * 8
        for race, budget in enumerate(BUDGETS * 4):
            auth = client.issue(budget, event := f"race-{race}")
            for to, _ in pipes:
                to.write(json.dumps(asdict(auth)) + "\n")
                to.flush()
            answers = [out.readline().strip() for _, out in pipes]
            assert sorted(answers) == ["Done"] * budget + ["Refused"] * (8 - budget)
            assert client.states(event) == {"committed": budget}
        for to, _ in pipes:
            to.close()
    assert client.world.sink.applied() == sum(BUDGETS * 4)


def test_killed_at_any_line_nothing_is_lost_or_doubled(any_bench: Bench) -> None:
    with any_bench.program("sweep", "2") as sweeper:
        assert sweeper.stdout
        outcomes = json.loads(sweeper.stdout.readline())
        sweeper.communicate("thanks\n")
    assert len(outcomes) > 40
    for outcome in outcomes:
        assert outcome["states"] == {"committed": 2}
        assert outcome["applied"] == 2
        assert outcome["answers"] in (["Done", "Done", "Refused"], ["Replayed", "Done", "Refused"])
