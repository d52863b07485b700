"""The broken ledgers that only a PostgreSQL shows, stepped by hand: each bug happens, and the same
steps do the reference no harm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from admitone.chaos.servers.postgres import PostgresServer
from admitone.targets.broken.mc2a_postgres import MC2aPostgres
from admitone.targets.broken.mp1_postgres import MP1Postgres
from admitone.targets.broken.mp2 import MP2
from admitone.targets.broken.mr1 import MR1
from admitone.targets.caplease.target_postgres import CapLeasePostgres
from admitone.targets.contract import Admission, Authorization, Busy, Done, Revoked, Unknown
from admitone.targets.registry import BUILTIN
from tests.caplease_world import (
    CALL,
    CHILD,
    audited,
    child_of,
    code,
    issued,
    prepare,
    prepared,
    receipt_for,
)
from tests.served_world import ServedSite, Stand, in_thread

BROKEN = (MP1Postgres, MP2, MR1, MC2aPostgres)


@pytest.fixture
def site(
    request: pytest.FixtureRequest, scratch: Path, postgres: PostgresServer
) -> Iterator[ServedSite]:
    made = ServedSite(request.param(), scratch, server=postgres)
    yield made
    made.shut()


def of(*targets: type[CapLeasePostgres]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("site", targets, indirect=True, ids=lambda t: t.__name__)


def test_every_broken_ledger_for_a_postgres_is_looked_at() -> None:
    broken = [e for e in BUILTIN.values() if e.kind == "broken" and e.needs == "postgres"]
    assert {e.factory.partition(":")[2] for e in broken} == {t.__name__ for t in BROKEN}


@of(*BROKEN)
def test_undisturbed_use_is_right(site: ServedSite) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 4)
    child = child_of(ledger, granted, 1)
    for attempt in ("a", "b"):
        admission = prepared(ledger, granted, attempt)
        assert prepared(ledger, granted, attempt) == admission
        receipt = receipt_for(admission)
        assert ledger.commit(admission, receipt) == Done(receipt)
    assert isinstance(ledger.prepare(child, CALL, CHILD, "c"), Admission)
    assert ledger.revoke(granted) == Revoked(stopped=("4",), too_late=("1", "2", "3"))
    assert code(prepare(ledger, granted, "d")) == "revoked"
    assert site.words(granted).count("Committed") == 2
    assert audited(ledger).chain_ok
    assert audited(ledger).count == 1 + 1 + 2 * 2 + 1 + 1


@of(*BROKEN)
def test_it_drains_to_the_last_unit_and_no_further(site: ServedSite) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 2)
    assert prepared(ledger, granted, "a").slot != prepared(ledger, granted, "b").slot
    assert code(prepare(ledger, granted, "c")) == "exhausted"


# one stands before its commit, another waits behind it -------------------------------------------


def one_behind_the_other(site: ServedSite, budget: int) -> tuple[Authorization, Any, Any]:
    """The first has taken its slot and not committed; the second comes, and waits."""
    one, _ = site.named("one")
    other, _ = site.named("other", patience_s=60.0)
    granted = issued(one, budget)
    first = Stand(one, "_append", lambda: prepare(one, granted, "first"))
    second = in_thread(lambda: prepare(other, granted, "second"))
    site.await_blocked("other")
    return granted, first.goes_on(), second.result()


@of(MP1Postgres, MP2)
@pytest.mark.parametrize("budget", [1, 2])
def test_one_slot_goes_to_two_attempts(site: ServedSite, budget: int) -> None:
    granted, first, second = one_behind_the_other(site, budget)
    assert isinstance(first, Admission)
    assert isinstance(second, Admission)
    assert (first.slot, first.key) == (second.slot, second.key)
    assert site.words(granted).count("Prepared") == 1


@of(CapLeasePostgres)
@pytest.mark.parametrize("budget", [1, 2])
def test_the_reference_looks_again_after_the_wait(site: ServedSite, budget: int) -> None:
    granted, first, second = one_behind_the_other(site, budget)
    assert first.slot == "1"
    if budget == 1:
        assert code(second) == "exhausted"
    else:
        assert second.slot == "2"
    assert site.words(granted) == ["Prepared"] * budget


@of(MP1Postgres)
def test_mp1_takes_a_committed_slot_back(site: ServedSite) -> None:
    one, _ = site.named("one")
    other, _ = site.named("other")
    granted = issued(one)
    first = Stand(one, "_now", lambda: prepare(one, granted, "first"))
    admission = prepared(other, granted, "second")
    other.commit(admission, receipt_for(admission))
    assert isinstance(first.goes_on(), Admission)
    assert site.words(granted) == ["Prepared"]


# a third one holds the slot, and dies ------------------------------------------------------------


@of(MR1)
def test_mr1_admits_the_waiter_after_an_acknowledged_revoke(site: ServedSite) -> None:
    dying, _ = site.named("dying")
    waiter, _ = site.named("waiter", patience_s=60.0)
    owner, _ = site.named("owner")
    granted = issued(owner)
    holding = Stand(dying, "_append", lambda: prepare(dying, granted, "dying"))
    waiting = in_thread(lambda: prepare(waiter, granted, "waiter"))
    site.await_blocked("waiter")
    assert owner.revoke(granted) == Revoked(stopped=("1",), too_late=())
    assert site.look(granted).revoked is True
    assert site.words(granted) == ["Issued"]
    holding.dies()
    assert isinstance(waiting.result(), Admission)


@of(MR1)
def test_mr1_sees_a_revoke_that_is_done_when_it_takes(site: ServedSite) -> None:
    one, _ = site.named("one")
    owner, _ = site.named("owner")
    granted = issued(owner)
    first = Stand(one, "_swap", lambda: prepare(one, granted, "first"))
    assert owner.revoke(granted) == Revoked(stopped=("1",), too_late=())
    assert isinstance(first.goes_on(), Busy)
    assert code(prepare(one, granted, "first")) == "revoked"


@of(MR1)
def test_mr1_sees_no_revoke_that_is_only_being_done(site: ServedSite) -> None:
    one, _ = site.named("one", patience_s=60.0)
    owner, _ = site.named("owner")
    granted = issued(owner)
    revoking = Stand(owner, "_append", lambda: owner.revoke(granted))
    taking = Stand(one, "_append", lambda: prepare(one, granted, "first"))
    assert revoking.goes_on() == Revoked(stopped=("1",), too_late=())
    assert site.words(granted) == ["Issued"]
    assert isinstance(taking.goes_on(), Admission)


@of(CapLeasePostgres)
def test_the_reference_acknowledges_no_revoke_before_those_who_came_first(
    site: ServedSite,
) -> None:
    dying, _ = site.named("dying")
    waiter, _ = site.named("waiter", patience_s=60.0)
    owner, _ = site.named("owner", patience_s=60.0)
    hasty, _ = site.named("hasty")
    granted = issued(owner)
    holding = Stand(dying, "_append", lambda: prepare(dying, granted, "dying"))
    waiting = in_thread(lambda: prepare(waiter, granted, "waiter"))
    site.await_blocked("waiter")
    with pytest.raises(Exception, match="lock timeout") as raised:
        hasty.revoke(granted)
    assert isinstance(site.target.classify(raised.value), Busy)
    revoking = in_thread(lambda: owner.revoke(granted))
    site.await_blocked("owner")
    holding.dies()
    assert isinstance(waiting.result(), Admission)
    assert revoking.result() == Revoked(stopped=(), too_late=("1",))


# a COMMIT that fails -----------------------------------------------------------------------------


def cut_before_commit(site: ServedSite) -> tuple[Authorization, Any]:
    """The session ends after the last statement of a Prepare, and before its COMMIT."""
    ledger, _ = site.named("one")
    owner, _ = site.named("owner")
    granted = issued(owner)
    append = ledger._append

    def appends_and_is_cut(*entries: Any) -> None:
        append(*entries)
        site.alter(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE application_name = 'one'"
        )

    ledger._append = appends_and_is_cut  # type: ignore[method-assign]
    try:
        return granted, prepare(ledger, granted, "a")
    except Exception as raised:  # whatever it is, it is classified
        return granted, site.target.classify(raised)


@of(MC2aPostgres)
def test_mc2a_answers_an_admission_that_does_not_exist(site: ServedSite) -> None:
    granted, answer = cut_before_commit(site)
    assert isinstance(answer, Admission)
    assert site.words(granted) == ["Issued"]


@of(CapLeasePostgres)
def test_the_reference_says_that_it_does_not_know(site: ServedSite) -> None:
    granted, answer = cut_before_commit(site)
    assert isinstance(answer, Unknown)
    assert site.words(granted) == ["Issued"]
