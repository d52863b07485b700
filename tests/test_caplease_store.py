"""The reference ledger: its audit chain, its store under faults, and the target around it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from admitone.targets import caplease
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.store_sqlite import SqliteStore
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.contract import (
    Authorization,
    Busy,
)
from tests.caplease_world import (
    Site,
    audited,
    child_of,
    code,
    confirm,
    issued,
    prepare,
    prepared,
    receipt_for,
)


@pytest.fixture
def site(scratch: Path) -> Iterator[Site]:
    made = Site(CapLeaseSqlite(), scratch)
    yield made
    made.shut()


@pytest.fixture
def ledger(site: Site) -> CapLease:
    return site.client()[0]


# audit ---------------------------------------------------------------------------------------


def test_each_transition_is_one_record_and_a_refusal_none(ledger: CapLease) -> None:
    granted = issued(ledger, 3)
    admission = prepared(ledger, granted, "a")
    prepared(ledger, granted, "a")
    prepare(ledger, granted, "b", executor="thief")
    ledger.commit(admission, receipt_for(admission))
    child = child_of(ledger, granted)
    ledger.close(child)
    ledger.revoke(granted)
    ledger.revoke(granted)
    view = audited(ledger)
    assert view.chain_ok
    assert view.count == len(view.transitions or ()) == 7
    assert view.transitions == (
        (granted.record, None, "issue"),
        (granted.record, "1", "prepare"),
        (granted.record, "1", "commit"),
        (child.record, None, "delegate"),
        (child.record, None, "close"),
        (granted.record, "2", "revoke"),
        (granted.record, "3", "revoke"),
    )


def test_a_revocation_that_stops_no_slot_is_a_transition_of_the_record(ledger: CapLease) -> None:
    granted = issued(ledger)
    prepared(ledger, granted, "a")
    ledger.revoke(granted)
    assert (audited(ledger).transitions or ())[-1] == (granted.record, None, "revoke")


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE audit SET op = 'revoke' WHERE seq = 2",
        "UPDATE audit SET attempt = 'b' WHERE seq = 2",
        "DELETE FROM audit WHERE seq = 1",
        "DELETE FROM audit WHERE seq = 2",
        "UPDATE audit SET seq = 9 WHERE seq = 3",
        "UPDATE audit SET hash = prev WHERE seq = 3",
    ],
)
def test_tampering_with_the_chain_is_seen(site: Site, ledger: CapLease, tampering: str) -> None:
    admission = prepared(ledger, issued(ledger), "a")
    ledger.commit(admission, receipt_for(admission))
    assert audited(ledger).chain_ok
    site.alter(tampering)
    assert not audited(ledger).chain_ok


def test_a_cut_tail_shows_against_a_copy_of_the_head(site: Site, ledger: CapLease) -> None:
    prepared(ledger, issued(ledger), "a")
    before = audited(ledger)
    site.alter("DELETE FROM audit WHERE seq = 2")
    after = audited(ledger)
    assert after.chain_ok
    assert (after.head, after.count) != (before.head, before.count)


# faults, the store, the target ---------------------------------------------------------------


class FailingCommit(sqlite3.Connection):
    """A connection whose next COMMIT raises; ``kept`` says whether it happened all the same."""

    kept: bool | None = None

    def commit(self) -> None:
        kept, FailingCommit.kept = FailingCommit.kept, None
        if kept is None:
            super().commit()
            return
        if kept:
            super().commit()
        raise sqlite3.OperationalError("disk I/O error" if kept else "database is locked")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **kw: connect(*args, **{"factory": FailingCommit, **kw})
    )
    return lambda kept: setattr(FailingCommit, "kept", kept)


@pytest.mark.parametrize("kept", [False, True])
def test_a_commit_that_raises_leaves_a_usable_client(
    site: Site, failing: Callable[[bool], None], kept: bool
) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 2)
    failing(kept)
    with pytest.raises(Exception, match="disk I/O error" if kept else "locked") as raised:
        prepare(ledger, granted, "a")
    verdict = site.target.classify(raised.value)
    assert verdict is None if kept else isinstance(verdict, Busy)
    assert site.words(granted) == (["Prepared", "Issued"] if kept else ["Issued", "Issued"])
    assert prepared(ledger, granted, "a").slot == "1"
    assert audited(ledger).count == 2


def test_a_held_lock_is_busy_and_nothing_else_is(site: Site, ledger: CapLease) -> None:
    granted = issued(ledger)
    with closing(sqlite3.connect(site.database, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        with pytest.raises(Exception, match="locked") as raised:
            prepare(ledger, granted, "a")
    verdict = site.target.classify(raised.value)
    assert isinstance(verdict, Busy)
    assert verdict.cause == "contention"
    assert site.target.classify(ValueError("database is locked")) is None
    assert site.target.classify(sqlite3.OperationalError("no such table: auth")) is None
    prepared(ledger, granted, "a")


def test_a_reader_and_the_audit_do_not_wait_for_a_writer(site: Site, ledger: CapLease) -> None:
    granted = issued(ledger)
    with closing(sqlite3.connect(site.database, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        assert audited(ledger).count == 1
        assert site.words(granted) == ["Issued"]


def test_commits_are_synced_and_logged_ahead(ledger: CapLease) -> None:
    assert isinstance(ledger.store, SqliteStore)
    run = ledger.store._driver.execute
    assert run("PRAGMA synchronous").fetchone() == (2,)
    assert run("PRAGMA journal_mode").fetchone() == ("wal",)


def test_opening_syncs_what_a_killed_writer_may_have_left_unsynced(
    site: Site, ledger: CapLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued(ledger)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    site.client()
    assert synced == [site.database.with_name("ledger.sqlite3-wal").stat().st_ino]


def test_inspect_finds_a_record_by_its_event_and_writes_nothing(
    site: Site, ledger: CapLease
) -> None:
    assert not site.look().known
    granted = issued(ledger)
    assert site.look() == site.look(granted)
    assert site.look(granted).linearizable
    assert not site.look(Authorization("0" * 32)).known
    assert not site.look(confirmed=confirm(1, "another")).known
    assert site.words(granted) == ["Issued"]


def test_a_copied_store_is_a_ledger_of_its_own(site: Site, tmp_path: Path) -> None:
    copied = Site.__new__(Site)
    copied.target, copied.clients = site.target, []
    copied.workspace, copied.deployment = tmp_path / "copy", site.deployment
    shutil.copytree(site.workspace, copied.workspace)
    original, _ = site.client()
    granted = issued(original)
    other, _ = copied.client()
    assert code(prepare(other, granted, "a")) == "unknown_record"
    issued(other)
    copied.shut()


def test_warming_up_leaves_no_thread_file_or_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    process = psutil.Process()
    before = {file.path for file in process.open_files()}, threading.active_count()
    CapLeaseSqlite().warm()
    assert ({file.path for file in process.open_files()}, threading.active_count()) == before
    assert list(tmp_path.iterdir()) == []


def test_every_claim_quotes_the_ledgers_own_page() -> None:
    page = " ".join((caplease.__doc__ or "").split())
    for name, sentence in CapLeaseSqlite.declaration.claims.items():
        assert sentence in page, name


def test_naming_the_target_imports_no_database_library() -> None:
    program = (
        "import sys; from admitone.targets.resolve import describe, resolve;"
        "describe(resolve('caplease-sqlite')); sys.exit('sqlalchemy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
