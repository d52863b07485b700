"""The reference ledger on PostgreSQL: what is decided is decided under every lock, and locks are
taken in one order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from admitone.chaos.servers.postgres import PostgresServer
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.target_postgres import CapLeasePostgres
from admitone.targets.contract import (
    Admission,
    Authorization,
    Busy,
    Context,
    Revoked,
)
from tests.caplease_world import (
    CALL,
    CHILD,
    END_S,
    audited,
    child_of,
    code,
    issue,
    issued,
    prepare,
    prepared,
    receipt_for,
)
from tests.served_world import PATIENT, ServedSite, Stand, classified, in_thread


@pytest.fixture
def site(scratch: Path, postgres: PostgresServer) -> Iterator[ServedSite]:
    made = ServedSite(CapLeasePostgres(), scratch, server=postgres)
    yield made
    made.shut()


# what is decided is decided under every lock -----------------------------------------------------


def waits_past_the_end(
    site: ServedSite, standing: Callable[[CapLease], Stand], asks: Callable[[CapLease], Any]
) -> Any:
    """The answer to one who came before t_e, waited for another, and went on at t_e."""
    other, _ = site.named("other")
    late, world = site.named("late", **PATIENT)
    stands = standing(other)
    waiting = in_thread(lambda: asks(late))
    site.await_blocked("late")
    world.clock_s = END_S
    stands.dies()
    return waiting.result()


def test_who_waits_for_the_tree_is_not_carried_past_the_end(site: ServedSite) -> None:
    granted = issued(site.client()[0])
    answer = waits_past_the_end(
        site,
        lambda other: Stand(other, "_now", lambda: prepare(other, granted, "a")),
        lambda late: prepare(late, granted, "b"),
    )
    assert code(answer) == "expired"


def test_who_waits_for_the_chain_is_not_carried_past_the_end(site: ServedSite) -> None:
    owner = site.client()[0]
    granted, another = issued(owner), issued(owner, event="another")
    answer = waits_past_the_end(
        site,
        lambda other: Stand(other, "_swap", lambda: prepare(other, another, "a")),
        lambda late: prepare(late, granted, "b"),
    )
    assert code(answer) == "expired"


def test_no_child_is_made_after_a_wait_past_the_end(site: ServedSite) -> None:
    granted = issued(site.client()[0])
    answer = waits_past_the_end(
        site,
        lambda other: Stand(other, "_now", lambda: prepare(other, granted, "a")),
        lambda late: late.delegate(granted, CHILD, 1),
    )
    assert code(answer) == "expired"


def test_issue_is_not_carried_past_the_end_by_one_that_dies(site: ServedSite) -> None:
    answer = waits_past_the_end(
        site, lambda other: Stand(other, "_append", lambda: issue(other)), issue
    )
    assert code(answer) == "expired"
    assert not site.look().known


def test_issue_answers_the_record_of_whom_it_waited_for(site: ServedSite) -> None:
    one, other = site.named("one")[0], site.named("other", **PATIENT)[0]
    first = Stand(one, "_append", lambda: issue(one, 2))
    second = in_thread(lambda: issue(other, 2))
    site.await_blocked("other")
    assert first.goes_on() == second.result()
    assert audited(one).count == 1


def test_a_child_sees_what_its_root_became_while_it_waited(site: ServedSite) -> None:
    owner, child = site.named("owner")[0], site.named("child", **PATIENT)[0]
    granted = issued(owner, 2)
    part = child_of(owner, granted, 1)
    revoking = Stand(owner, "_append", lambda: owner.revoke(granted))
    waiting = in_thread(lambda: child.prepare(part, CALL, CHILD, "a"))
    site.await_blocked("child")
    assert revoking.goes_on() == Revoked(stopped=("1", "2"), too_late=())
    assert code(waiting.result()) == "revoked"


def test_revoke_reaches_a_grandchild_that_was_being_made(site: ServedSite) -> None:
    owner, child = site.named("owner", **PATIENT)[0], site.named("child")[0]
    granted = issued(owner, 2)
    part = child_of(owner, granted, 1)
    narrower = Context("third", CHILD.session, f"{CHILD.task}/detail")
    making = Stand(child, "_append", lambda: child.delegate(part, narrower, 1))
    revoking = in_thread(lambda: owner.revoke(granted))
    site.await_blocked("owner")
    grandchild = making.goes_on()
    assert revoking.result() == Revoked(stopped=("1", "2"), too_late=())
    assert code(child.prepare(grandchild, CALL, narrower, "a")) == "revoked"


def test_commit_and_prepare_of_one_tree_wait_for_each_other(site: ServedSite) -> None:
    one, other = site.named("one")[0], site.named("other", **PATIENT)[0]
    granted = issued(one, 2)
    admission = prepared(one, granted, "a")
    taking = Stand(one, "_now", lambda: prepare(one, granted, "b"))
    receipt = receipt_for(admission)
    settling = in_thread(lambda: other.commit(admission, receipt))
    site.await_blocked("other")
    assert isinstance(taking.goes_on(), Admission)
    assert settling.result().receipt == receipt


def test_another_tree_nobody_waits_for(site: ServedSite) -> None:
    one, other = site.named("one")[0], site.named("other")[0]
    granted, another = issued(one), issued(one, event="another")
    taking = Stand(one, "_now", lambda: prepare(one, granted, "a"))
    assert isinstance(prepare(other, another, "b"), Admission)
    assert isinstance(classified(site, lambda: prepare(other, granted, "c")), Busy)
    assert isinstance(taking.goes_on(), Admission)


def test_readers_and_recovery_wait_for_nobody(site: ServedSite) -> None:
    one, other = site.named("one")[0], site.named("other")[0]
    granted = issued(one, 2)
    admission = prepared(one, granted, "a")
    taking = Stand(one, "_append", lambda: prepare(one, granted, "b"))
    assert audited(other).count == 2
    assert site.words(granted) == ["Prepared", "Issued"]
    assert cast(Any, other.recover(())).resume == (admission,)
    taking.goes_on()


# many at once ------------------------------------------------------------------------------------


def at_once(site: ServedSite, parts: list[Callable[[CapLease], Any]]) -> list[Any]:
    """Every part by a client of its own, all released together."""
    clients = [site.client(**PATIENT)[0] for _ in parts]
    gate = threading.Barrier(len(parts))

    def play(client: CapLease, part: Callable[[CapLease], Any]) -> Any:
        gate.wait()
        return classified(site, lambda: part(client))

    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(play, clients, parts))


@pytest.mark.parametrize("budget", [1, 5])
def test_of_eight_consumers_exactly_b_are_admitted(site: ServedSite, budget: int) -> None:
    granted = issued(site.client()[0], budget)

    def uses(number: int) -> Callable[[CapLease], Any]:
        return lambda client: prepare(client, granted, f"attempt-{number}")

    answers = at_once(site, [uses(number) for number in range(8)])
    admitted = [answer for answer in answers if isinstance(answer, Admission)]
    assert sorted(str(a.slot) for a in admitted) == [str(j + 1) for j in range(budget)]
    assert {code(answer) for answer in answers if answer not in admitted} == {"exhausted"}
    assert audited(site.client()[0]).chain_ok


def test_a_family_that_does_everything_at_once_meets_no_deadlock(site: ServedSite) -> None:
    """Locks are taken in one order, so a wait may be long, and never in a circle."""
    owner = site.client()[0]
    granted = issued(owner, 12)
    children = [child_of_task(owner, granted, n) for n in range(2)]

    def uses(who: Authorization, context: Context | None, name: str) -> Callable[[CapLease], Any]:
        def part(client: CapLease) -> list[Any]:
            answers: list[Any] = []
            for n in range(3):
                if context is None:
                    found = prepare(client, who, f"{name}{n}")
                else:
                    found = client.prepare(who, CALL, context, f"{name}{n}")
                answers.append(found)
                if isinstance(found, Admission):
                    answers.append(client.commit(found, receipt_for(found)))
            return answers

        return part

    parts: list[Callable[[CapLease], Any]] = [
        uses(granted, None, "root"),
        *(uses(child, context, context.task) for child, context in children),
        lambda client: [client.close(children[0][0]), client.revoke(children[1][0])],
        lambda client: [child_of_task(client, granted, 7), client.recover(())],
        lambda client: [issued(client, 2, f"event-{n}") for n in range(3)],
    ]
    answers = at_once(site, parts)
    assert [type(answer) for answer in answers] == [list] * len(parts), answers
    assert audited(owner).chain_ok
    assert len(site.words(granted)) == 12


def child_of_task(client: CapLease, parent: Authorization, n: int) -> tuple[Authorization, Context]:
    context = Context(f"helper-{n}", CHILD.session, f"task/{n}")
    child = client.delegate(parent, context, 3)
    assert isinstance(child, Authorization)
    return child, context
