"""The reference ledger on PostgreSQL does all that it does on SQLite: the same tests, and the same
answers to the same operations."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from admitone.chaos.servers.postgres import PostgresServer
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.server_ledger import ServerLedgerPostgres
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.caplease.target_postgres import CapLeasePostgres
from tests import test_caplease_family, test_caplease_sqlite, test_caplease_store
from tests.caplease_world import Site
from tests.served_world import ServedSite
from tests.test_server_ledger import STEPS, played_at

OF_SQLITE_ALONE = {
    "test_a_commit_that_raises_leaves_a_usable_client",
    "test_a_held_lock_is_busy_and_nothing_else_is",
    "test_a_reader_and_the_audit_do_not_wait_for_a_writer",
    "test_commits_are_synced_and_logged_ahead",
    "test_opening_syncs_what_a_killed_writer_may_have_left_unsynced",
    "test_a_copied_store_is_a_ledger_of_its_own",
}
"""The others are run here too: they are given a site, and know nothing of its database."""


def shared(module: ModuleType) -> dict[str, Any]:
    """The tests of a module that are given a site."""
    return {
        name: test
        for name, test in vars(module).items()
        if name.startswith("test_")
        and name not in OF_SQLITE_ALONE
        and {"site", "ledger"} & inspect.signature(test).parameters.keys()
    }


@pytest.fixture
def site(scratch: Path, postgres: PostgresServer) -> Iterator[ServedSite]:
    made = ServedSite(CapLeasePostgres(), scratch, server=postgres)
    yield made
    made.shut()


@pytest.fixture
def ledger(site: Site) -> CapLease:
    return site.client()[0]


globals().update(shared(test_caplease_sqlite))
globals().update(shared(test_caplease_family))
globals().update(shared(test_caplease_store))


def test_what_is_shared_is_found() -> None:
    assert len(shared(test_caplease_sqlite)) > 25
    assert len(shared(test_caplease_family)) > 10
    assert len(shared(test_caplease_store)) == 5


SEQUENCE = st.lists(STEPS, min_size=1, max_size=25)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=SEQUENCE)
def test_both_databases_give_the_same_answers(
    scratch: Path, postgres: PostgresServer, steps: list[Any]
) -> None:
    (scratch / "ledger.sqlite3").unlink(missing_ok=True)
    ours = played_at(Site(CapLeaseSqlite(), scratch), steps)
    theirs = played_at(ServedSite(CapLeasePostgres(), scratch, server=postgres), steps)
    assert ours == theirs


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=SEQUENCE)
def test_both_realizations_give_the_same_answers_here_too(
    scratch: Path, postgres: PostgresServer, steps: list[Any]
) -> None:
    ours = played_at(ServedSite(CapLeasePostgres(), scratch, server=postgres), steps)
    theirs = played_at(ServedSite(ServerLedgerPostgres(), scratch, server=postgres), steps)
    assert ours == theirs
