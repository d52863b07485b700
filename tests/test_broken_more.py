"""More broken ledgers: each differs from its correct base in the way that is meant, and only so.

These change the reference; ``test_broken_others.py`` has those over ledgers of other makes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from admitone.targets.broken.ma2 import MA2
from admitone.targets.broken.mc2a import MC2a
from admitone.targets.broken.mi1 import MI1
from admitone.targets.broken.mi2a import MI2a
from admitone.targets.broken.mi3 import MI3
from admitone.targets.broken.mp10 import MP10
from admitone.targets.broken.mr2 import MR2
from admitone.targets.broken.mv1 import MV1
from admitone.targets.broken.mv1_me1 import MV1xME1
from admitone.targets.broken.mv3 import MV3
from admitone.targets.broken.mx1_early import MX1Early
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.contract import (
    Admission,
    Done,
    Recovered,
    Refused,
    Revoked,
)
from tests.caplease_world import (
    CALL,
    CONTEXT,
    Site,
    audited,
    code,
    issue,
    issued,
    prepare,
    prepared,
    receipt_for,
)

OVER_THE_REFERENCE = (MI1, MI2a, MI3, MP10, MC2a, MR2, MV1, MV1xME1, MV3, MA2, MX1Early)


@pytest.fixture
def site(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Site]:
    made = Site(request.param(), scratch)
    yield made
    made.shut()


def over_reference(*targets: type[CapLeaseSqlite]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("site", targets, indirect=True, ids=lambda t: t.__name__)


# undisturbed ---------------------------------------------------------------------------------


@over_reference(CapLeaseSqlite, *OVER_THE_REFERENCE)
def test_undisturbed_use_is_right(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 3)
    for attempt in ("a", "b"):
        admission = prepared(ledger, granted, attempt)
        receipt = receipt_for(admission)
        assert ledger.commit(admission, receipt) == Done(receipt)
    assert ledger.recover(()) == Recovered()
    third = prepared(ledger, granted, "c")
    assert code(prepare(ledger, granted, "d")) == "exhausted"
    ledger.commit(third, receipt_for(third))
    assert site.words(granted) == ["Committed"] * 3
    assert audited(ledger).chain_ok
    assert audited(ledger).count == 1 + 3 * 2


# issue ---------------------------------------------------------------------------------------


def records(site: Site) -> int:
    with closing(sqlite3.connect(site.database)) as db:
        return int(db.execute("SELECT count(*) FROM auth WHERE parent = ''").fetchone()[0])


def before_begin(ledger: CapLease, do: Callable[[], object]) -> None:
    """Do something before the next transaction that writes begins."""
    store: Any = ledger.store
    right = store._begin

    def begin(text: str) -> Any:
        if text == store.begin_writing:
            store._begin = right
            do()
        return right(text)

    store._begin = begin


@over_reference(CapLeaseSqlite, MI1)
def test_mi1_makes_two_records_when_two_issue_at_once(site: Site) -> None:
    one, other = site.client()[0], site.client()[0]
    others: list[Any] = []
    before_begin(one, lambda: others.append(issue(other)))
    first = issue(one)
    assert len(others) == 1
    if type(site.target) is MI1:
        assert others[0].record != first.record
        assert records(site) == 2
        assert prepared(one, first, "a").key != prepared(other, others[0], "b").key
    else:
        assert others[0] == first
        assert records(site) == 1


@over_reference(MI1)
def test_mi1_is_right_in_sequence(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 2)
    prepared(ledger, granted, "a")
    assert issued(site.client()[0], 2) == granted
    assert records(site) == 1


@over_reference(CapLeaseSqlite, MI2a)
@pytest.mark.parametrize("field", ["executor", "session", "task"])
def test_mi2a_makes_a_record_for_each_context(site: Site, field: str) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    assert issued(ledger) == granted
    other: Any = {field: "another"}
    elsewhere = issue(ledger, context=replace(CONTEXT, **other))
    wrong = type(site.target) is MI2a
    assert (elsewhere.record != granted.record) is wrong
    assert records(site) == 1 + wrong
    assert code(issue(ledger, call=replace(CALL, resource="another"))) == "wrong_action"


@over_reference(CapLeaseSqlite, MI3)
def test_mi3_gives_used_units_back_when_it_issues_again(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    first = prepared(ledger, granted, "a")
    ledger.commit(first, receipt_for(first))
    assert issued(ledger) == granted
    if type(site.target) is MI3:
        assert site.words(granted) == ["Issued"]
        assert prepared(ledger, granted, "b").key == first.key
    else:
        assert site.words(granted) == ["Committed"]
        assert code(prepare(ledger, granted, "b")) == "exhausted"
    assert audited(ledger).chain_ok


@over_reference(MI3)
def test_mi3_revives_what_was_revoked(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    ledger.revoke(granted)
    issued(ledger)
    assert isinstance(prepare(ledger, granted, "a"), Admission)


@over_reference(CapLeaseSqlite, MP10)
@pytest.mark.parametrize(
    "change",
    [
        {"args": {"to": "eve", "cents": 99}},
        {"resource": "another"},
        {"executor": "thief"},
        {"session": "another"},
        {"policy_epoch": 2},
    ],
    ids=lambda change: next(iter(change)),
)
def test_mp10_looks_at_nothing_but_the_id(site: Site, change: dict[str, Any]) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    answer = prepare(ledger, granted, "a", **change)
    if type(site.target) is not MP10:
        code(answer)
        return
    assert isinstance(answer, Admission)
    assert answer.call is None
    bad = replace(receipt_for(answer), key="another")
    assert code(ledger.commit(answer, bad)) == "receipt_mismatch"
    assert isinstance(ledger.commit(answer, receipt_for(answer, digest_="0" * 64)), Done)
    assert code(prepare(ledger, granted, "b")) == "exhausted"


@over_reference(MP10)
def test_mp10_still_asks_for_a_genuine_manifest(site: Site) -> None:
    ledger, _ = site.client()
    granted = replace(issued(ledger), credential=None)
    assert code(prepare(ledger, granted, "a")) == "bad_credential"


class FullDisk:
    """A connection whose COMMIT fails, in the words of SQLite."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def commit(self) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@over_reference(CapLeaseSqlite, MC2a)
def test_mc2a_answers_ok_when_its_commit_failed(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    broken = type(site.target) is MC2a
    store: Any = ledger.store
    right, store._driver = store._driver, FullDisk(store._driver)
    if broken:
        assert isinstance(prepare(ledger, granted, "a"), Admission)
    else:
        with pytest.raises(sqlite3.OperationalError):
            prepare(ledger, granted, "a")
    store._driver = right
    assert site.words(granted) == ["Issued"]
    assert isinstance(prepare(ledger, granted, "b"), Admission)
    assert audited(ledger).count == 2


# revoke --------------------------------------------------------------------------------------


@over_reference(CapLeaseSqlite, MR2)
def test_mr2_revokes_what_is_admitted_and_says_the_right_thing(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 3)
    done, held = prepared(ledger, granted, "a"), prepared(ledger, granted, "b")
    ledger.commit(done, receipt_for(done))
    assert ledger.revoke(granted) == Revoked(stopped=("3",), too_late=("1", "2"))
    answer = ledger.commit(held, receipt_for(held))
    if type(site.target) is MR2:
        assert site.words(granted) == ["Revoked"] * 3
        assert code(answer) == "not_prepared"
        assert ledger.recover(()) == Recovered()
    else:
        assert site.words(granted) == ["Committed", "Committed", "Revoked"]


@over_reference(MR2)
def test_mr2_leaves_other_records_alone(site: Site) -> None:
    ledger, _ = site.client()
    first, second = issued(ledger), issued(ledger, event="second")
    prepared(ledger, second, "a")
    ledger.revoke(first)
    assert site.words(second) == ["Prepared"]


# recovery, reapers ---------------------------------------------------------------------------


@over_reference(MV1, MV1xME1)
def test_mv1_frees_what_is_held_for_longer_than_the_lease(site: Site) -> None:
    ledger, world = site.client()
    target: Any = site.target
    granted = issued(ledger)
    slow = prepared(ledger, granted, "slow")
    target.work(site.deployment.store, world)
    assert site.words(granted) == ["Prepared"]
    world.clock_s += 2 * world.lease_s
    target.work(site.deployment.store, world)
    assert site.words(granted) == ["Issued"]
    second = prepared(ledger, granted, "second")
    assert second.slot == slow.slot
    assert (second.key != slow.key) is (type(site.target) is MV1xME1)
    assert isinstance(ledger.commit(slow, receipt_for(slow)), Refused)


@over_reference(MV1)
def test_mv1_leaves_committed_slots_alone(site: Site) -> None:
    ledger, world = site.client()
    target: Any = site.target
    granted = issued(ledger)
    admission = prepared(ledger, granted, "a")
    ledger.commit(admission, receipt_for(admission))
    world.clock_s += 100
    target.work(site.deployment.store, world)
    assert site.words(granted) == ["Committed"]


@over_reference(MV3)
def test_mv3_recovers_into_another_slot(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 2)
    lost = prepared(ledger, granted, "a")
    found = ledger.recover(())
    assert isinstance(found, Recovered)
    [again] = found.resume
    assert (again.slot, lost.slot) == ("2", "1")
    assert again.key != lost.key
    assert isinstance(ledger.commit(again, receipt_for(again)), Done)
    assert site.words(granted) == ["Prepared", "Committed"]


@over_reference(MV3)
def test_mv3_recovers_nothing_where_the_budget_is_used_up(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    prepared(ledger, granted, "a")
    assert ledger.recover(()) == Recovered()
    assert site.words(granted) == ["Prepared"]


# audit ---------------------------------------------------------------------------------------


@over_reference(CapLeaseSqlite, MA2)
def test_ma2_loses_the_record_of_what_died_after_its_commit(site: Site) -> None:
    """The client dies as its first transaction is committed: its next BEGIN never comes."""
    ledger, victim = site.client()[0], site.client()[0]
    granted = issued(ledger)

    def die() -> None:
        raise KeyboardInterrupt

    before_begin(victim, lambda: before_begin(victim, die))
    broken = type(site.target) is MA2
    if broken:
        with pytest.raises(KeyboardInterrupt):
            prepare(victim, granted, "a")
    else:
        prepare(victim, granted, "a")
    assert site.words(granted) == ["Prepared"]
    prepared(ledger, granted, "a")
    assert audited(ledger).count == (1 if broken else 2)
    assert audited(ledger).chain_ok


@over_reference(MA2)
def test_ma2_records_nothing_of_what_was_rolled_back(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    prepared(ledger, granted, "a")
    assert code(prepare(ledger, granted, "b")) == "exhausted"
    assert audited(ledger).count == 2


def test_every_broken_ledger_is_looked_at() -> None:
    from admitone.targets.registry import BUILTIN
    from tests.test_broken_each import OF_ONE_IDEA
    from tests.test_broken_ledgers import BROKEN
    from tests.test_broken_others import IN_FILES, OVER_OTHERS
    from tests.test_broken_plain import OVER_PLAIN_ONES

    broken = [entry for entry in BUILTIN.values() if entry.kind == "broken" and not entry.needs]
    shipped = {entry.factory.partition(":")[2] for entry in broken}
    over_the_reference = (*BROKEN, *OVER_THE_REFERENCE, *OF_ONE_IDEA)
    seen = (*over_the_reference, *OVER_OTHERS, *IN_FILES, *OVER_PLAIN_ONES)
    assert shipped == {target.__name__ for target in seen}
