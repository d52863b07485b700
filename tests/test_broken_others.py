"""The broken ledgers over other makes: each differs from its correct base as is meant, and only so.

A ``Client`` stands in for the suite, in one process.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from admitone.targets.broken.lease_frees import LeaseFrees
from admitone.targets.broken.log_best_effort import LogBestEffort
from admitone.targets.broken.me3 import ME3
from admitone.targets.broken.me4 import ME4
from admitone.targets.broken.mp4a import MP4a
from admitone.targets.broken.mp4b import MP4b
from admitone.targets.broken.mv1_lease import MV1Lease
from admitone.targets.broken.recover_stops import RecoverStops
from admitone.targets.broken.release_after_effect import ReleaseAfterEffect
from admitone.targets.broken.release_by_stranger import ReleaseByStranger
from admitone.targets.broken.torn_file import TornFile
from admitone.targets.broken.two_locks import TwoLocks
from admitone.targets.contract import (
    Admission,
    Busy,
    Done,
    Refused,
    Replayed,
    Unknown,
)
from admitone.targets.correct.guarded import GuardedTarget
from tests.caplease_world import (
    CALL,
)
from tests.ledger_bench import Bench, benched
from tests.ledger_world import Client, Sink

OVER_OTHERS = (
    MP4a,
    MP4b,
    ME3,
    ME4,
    MV1Lease,
    LeaseFrees,
    ReleaseByStranger,
    ReleaseAfterEffect,
    RecoverStops,
)

IN_FILES = (TornFile, TwoLocks, LogBestEffort)


@pytest.fixture
def bench(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Bench]:
    yield from benched(request.param, scratch)


def over_another(*targets: type) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bench", targets, indirect=True, ids=lambda t: t.__name__)


@over_another(*(t for t in OVER_OTHERS if t is not MP4a), *IN_FILES)
def test_undisturbed_use_of_another_make_is_right(bench: Bench) -> None:
    client = bench.client()
    auth = client.issue(2)
    assert isinstance(client.use(auth, "one"), Done)
    assert isinstance(client.use(auth, "one"), Replayed)
    assert isinstance(client.use(auth, "two"), Done)
    assert isinstance(client.use(auth, "three"), Refused)
    assert client.states() == {"committed": 2}
    assert client.world.sink.applied() == 2


# prepare and commit --------------------------------------------------------------------------


@over_another(MP4a)
def test_mp4a_admits_exactly_one_too_many(bench: Bench) -> None:
    client = bench.client()
    auth = client.issue(2)
    answers = [client.use(auth, f"a{n}") for n in range(4)]
    assert [type(answer) for answer in answers] == [Done, Done, Done, Refused]
    view = client.look()
    assert view.counts is not None
    assert (view.counts.issued, view.counts.committed) == (-1, 3)


def intrude(client: Client, do: Callable[[], object]) -> None:
    """Do something between the two transactions of the next use."""
    library = client.ledger._counter
    right = library._transaction

    def second_time() -> Any:
        if len(begun) == 1:
            begun.append(1)
            do()
        else:
            begun.append(1)
        return right()

    begun: list[int] = []
    library._transaction = second_time


@over_another(MP4b)
def test_mp4b_loses_an_update_where_there_is_a_budget_for_it(bench: Bench) -> None:
    one, other = bench.client(), bench.client()
    auth = one.issue(2)
    intrude(one, lambda: other.use(auth, "second"))
    assert isinstance(one.use(auth, "first"), Done)
    assert isinstance(other.use(auth, "third"), Done)
    assert isinstance(other.use(auth, "fourth"), Refused)
    assert one.world.sink.applied() == 3


@over_another(MP4b)
def test_mp4b_is_right_with_a_budget_of_one(bench: Bench) -> None:
    one, other = bench.client(), bench.client()
    auth = one.issue(1)
    intrude(one, lambda: other.use(auth, "second"))
    assert isinstance(one.use(auth, "first"), Refused)
    assert one.world.sink.applied() == 1


@over_another(MV1Lease, LeaseFrees)
def test_a_lapsed_seat_is_freed_and_given_anew(bench: Bench) -> None:
    client = bench.client()
    auth = client.issue(1)
    slow = client.admit(auth, "slow")
    client.world.clock_s += 2 * client.world.lease_s
    assert isinstance(client.admit(auth, "second"), Refused)
    bench.target.work(bench.store, client.world)
    assert client.states() == {"issued": 1}
    second = client.admit(auth, "second")
    assert isinstance(second, Admission)
    assert (second.key == slow.key) is (type(bench.target) is MV1Lease)
    for admission in (slow, second):
        client.world.effect(CALL.tool, CALL.args, admission.key)
    assert client.world.sink.applied() == (1 if type(bench.target) is MV1Lease else 2)


# guarded -------------------------------------------------------------------------------------


@over_another(ME3)
def test_me3_forgets_an_effect_that_it_got_no_answer_for(bench: Bench) -> None:
    client = bench.client()
    auth = client.issue(1)
    client.world.sink.moods = ["lost"]
    assert client.use(auth, "one") == Unknown("lost")
    assert client.states() == {"issued": 1}
    assert isinstance(client.use(auth, "one"), Done)
    assert client.world.sink.applied() == 2
    assert len(set(client.world.sink.keys)) == 2


@over_another(ME3)
def test_me3_sends_while_nothing_is_durable(bench: Bench) -> None:
    client = bench.client()
    auth = client.issue(1)
    seen: list[dict[str, int]] = []
    sink = client.world.sink

    class Looking(Sink):
        def effect(self, tool: str, args: Any, key: str | None = None) -> Any:
            seen.append(client.states())
            return Sink.effect(self, tool, args, key)

    client.world.sink = Looking(sink.folder)
    client.use(auth, "one")
    assert seen == [{"issued": 1}]
    assert client.states() == {"committed": 1}


@over_another(ME4)
@pytest.mark.parametrize("mood", ["lost", "away"])
def test_me4_frees_a_unit_when_it_hears_nothing(bench: Bench, mood: str) -> None:
    client = bench.client()
    auth = client.issue(1)
    client.world.sink.moods = [mood]
    assert client.use(auth, "one") == Unknown(mood)
    assert client.states() == {"issued": 1}
    assert isinstance(client.use(auth, "two"), Done)
    assert client.world.sink.applied() == (2 if mood == "lost" else 1)


@over_another(RecoverStops, GuardedTarget)
def test_recover_stops_does_not_come_to_what_is_behind(bench: Bench) -> None:
    client = bench.client()
    client.world.sink.moods = ["away", "away", "away"]
    events = ("one", "two")
    for event in events:
        assert client.admit(client.issue(1, event), event) == Unknown("away")
    broken = type(bench.target) is RecoverStops
    found = client.ask("recover", ())
    assert isinstance(found, Unknown) is broken
    ended = [event for event in events if client.states(event) == {"committed": 1}]
    assert len(ended) == (0 if broken else 1)


# release -------------------------------------------------------------------------------------


@over_another(ReleaseByStranger, ReleaseAfterEffect)
def test_who_may_release_and_when(bench: Bench) -> None:
    holder, stranger = bench.client(), bench.client("stranger")
    auth = holder.issue(2)
    held, done = holder.admit(auth, "held"), holder.admit(auth, "done")
    holder.finish(done)
    by_stranger = stranger.ask("release", held, "so I heard")
    after_effect = holder.ask("release", done, "no effect, honestly")
    expected: tuple[object, object] = (Done(), Refused("not_prepared"))
    if type(bench.target) is ReleaseAfterEffect:
        expected = (Refused("wrong_principal"), Done())
    assert (by_stranger, after_effect) == expected
    assert isinstance(holder.use(auth, "next"), Done)
    assert holder.states() == {"committed": 2}


@over_another(*OVER_OTHERS)
def test_busy_stays_busy(bench: Bench) -> None:
    """The adapters over other ledgers classify as those do."""
    lock = sqlite3.OperationalError("database is locked")
    assert isinstance(bench.target.classify(lock), Busy)
    assert bench.target.classify(KeyError()) is None
