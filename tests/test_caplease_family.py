"""The reference ledger: Revoke, Recover, Delegate and Close, and that no unit is lost or made."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admitone.targets import identity
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.contract import (
    Admission,
    Authorization,
    Done,
    Recovered,
    Revoked,
)
from tests.caplease_world import (
    CALL,
    CHILD,
    CONTEXT,
    END_S,
    Site,
    audited,
    child_of,
    code,
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


# revoke --------------------------------------------------------------------------------------


def test_revoke_names_what_it_stopped_and_what_runs_on(site: Site, ledger: CapLease) -> None:
    granted = issued(ledger, 3)
    admission = prepared(ledger, granted, "a")
    assert ledger.revoke(granted) == Revoked(stopped=("2", "3"), too_late=("1",))
    assert ledger.revoke(granted) == Revoked(stopped=(), too_late=("1",))
    assert site.words(granted) == ["Prepared", "Revoked", "Revoked"]
    assert site.look(granted).revoked is True
    assert code(prepare(ledger, granted, "b")) == "revoked"
    assert prepared(ledger, granted, "a") == admission
    assert ledger.commit(admission, receipt_for(admission)) == Done(receipt_for(admission))


def test_a_new_confirmation_works_after_a_revocation(ledger: CapLease) -> None:
    ledger.revoke(issued(ledger))
    prepared(ledger, issued(ledger, event="again"), "a")


# recover -------------------------------------------------------------------------------------


def test_recovery_finds_every_prepared_slot_by_itself(site: Site) -> None:
    ledger, world = site.client()
    first, second = issued(ledger, 2), issued(ledger, event="second")
    held = [prepared(ledger, first, "a"), prepared(ledger, second, "b")]
    done = prepared(ledger, first, "c")
    ledger.commit(done, receipt_for(done))
    ledger.revoke(first)
    world.clock_s = END_S + 1
    other, _ = site.client(clock_s=END_S + 1)
    found = other.recover(())
    assert isinstance(found, Recovered)
    assert found.settled == ()
    by_attempt = {admission.attempt: admission for admission in found.resume}
    assert by_attempt == {admission.attempt: admission for admission in held}
    for admission in found.resume:
        other.commit(admission, receipt_for(admission))
    assert other.recover(()) == Recovered()


# delegate and close --------------------------------------------------------------------------


def test_a_child_holds_slots_of_its_parent(site: Site, ledger: CapLease) -> None:
    parent = issued(ledger, 3)
    child = child_of(ledger, parent, 2)
    admission = ledger.prepare(child, CALL, CHILD, "by child")
    assert isinstance(admission, Admission)
    assert admission.record == parent.record
    assert admission.key == identity.sink_key(parent.record, str(admission.slot), CALL.tool)
    prepared(ledger, parent, "by parent")
    assert code(prepare(ledger, parent, "too many")) == "exhausted"
    assert site.look(child) == site.look(parent)
    assert len(site.words(parent)) == 3


def test_a_child_is_of_the_same_instance(ledger: CapLease) -> None:
    parent = issued(ledger, 2)
    child = child_of(ledger, parent)
    assert isinstance(parent.credential, dict)
    assert isinstance(child.credential, dict)
    for name in ("sigma", "event", "te"):
        assert child.credential[name] == parent.credential[name]
    assert child.record != parent.record


def test_delegating_again_answers_the_child_that_lives(ledger: CapLease) -> None:
    parent = issued(ledger, 3)
    child = child_of(ledger, parent)
    assert child_of(ledger, parent) == child
    assert code(ledger.delegate(parent, CHILD, 2)) == "duplicate"
    ledger.close(child)
    assert child_of(ledger, parent) != child


@pytest.mark.parametrize(
    ("context", "budget", "expected"),
    [
        (replace(CHILD, session="other"), 1, "widened"),
        (replace(CHILD, session="sessions"), 1, "widened"),
        (replace(CHILD, task=""), 1, "widened"),
        (replace(CHILD, policy_epoch=2), 1, "wrong_epoch"),
        (replace(CHILD, schema_epoch=0), 1, "wrong_epoch"),
        (replace(CHILD, executor=""), 1, "invalid"),
        (CHILD, 3, "widened"),
        (CHILD, 0, "invalid"),
        (CHILD, True, "invalid"),
    ],
)
def test_a_child_is_never_wider(
    ledger: CapLease, context: Any, budget: object, expected: str
) -> None:
    parent = issued(ledger, 2)
    assert code(ledger.delegate(parent, context, budget)) == expected
    prepared(ledger, parent, "a")
    prepared(ledger, parent, "b")


def test_what_is_not_left_cannot_be_delegated(ledger: CapLease) -> None:
    parent = issued(ledger, 2)
    prepared(ledger, parent, "a")
    assert code(ledger.delegate(parent, CHILD, 2)) == "exhausted"


def test_parent_and_child_do_not_act_for_each_other(ledger: CapLease) -> None:
    parent = issued(ledger, 2)
    child = child_of(ledger, parent)
    assert code(ledger.prepare(child, CALL, CONTEXT, "a")) == "wrong_principal"
    assert code(ledger.prepare(parent, CALL, CHILD, "a")) == "wrong_principal"
    other = replace(CALL, args={"to": "bob"})
    assert code(ledger.prepare(child, other, CHILD, "a")) == "wrong_action"


def test_closing_gives_back_the_unused_rest_of_the_whole_branch(ledger: CapLease) -> None:
    parent = issued(ledger, 4)
    child = child_of(ledger, parent, 3)
    grandchild_context = replace(CHILD, executor="third", task="task/part/detail")
    grandchild = ledger.delegate(child, grandchild_context, 1)
    assert isinstance(grandchild, Authorization)
    used = ledger.prepare(child, CALL, CHILD, "used")
    assert isinstance(used, Admission)
    assert ledger.close(child) == Done()
    assert ledger.close(child) == Done()
    assert code(ledger.prepare(child, CALL, CHILD, "late")) == "revoked"
    assert code(ledger.prepare(grandchild, CALL, grandchild_context, "late")) == "revoked"
    for attempt in ("a", "b", "c"):
        prepared(ledger, parent, attempt)
    assert code(prepare(ledger, parent, "d")) == "exhausted"
    assert ledger.commit(used, receipt_for(used)) == Done(receipt_for(used))


def test_only_a_child_can_be_closed(ledger: CapLease) -> None:
    assert code(ledger.close(issued(ledger))) == "invalid"


def test_revoking_the_root_reaches_every_descendant(ledger: CapLease) -> None:
    parent = issued(ledger, 3)
    child = child_of(ledger, parent, 2)
    grandchild_context = replace(CHILD, executor="third")
    grandchild = ledger.delegate(child, grandchild_context, 1)
    assert isinstance(grandchild, Authorization)
    revoked = ledger.revoke(parent)
    assert isinstance(revoked, Revoked)
    assert revoked.stopped == ("1", "2", "3")
    assert code(ledger.prepare(child, CALL, CHILD, "a")) == "revoked"
    assert code(ledger.prepare(grandchild, CALL, grandchild_context, "a")) == "revoked"
    assert code(ledger.delegate(parent, CHILD, 1)) == "revoked"


def test_revoking_a_child_leaves_its_parent_alone(site: Site, ledger: CapLease) -> None:
    parent = issued(ledger, 2)
    child = child_of(ledger, parent)
    assert ledger.revoke(child) == Revoked(stopped=("1",), too_late=())
    assert site.look(parent).revoked is False
    prepared(ledger, parent, "a")
    assert code(prepare(ledger, parent, "b")) == "exhausted"


# all together ------------------------------------------------------------------------------


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["prepare", "commit", "revoke", "delegate", "close", "recover"]),
        st.integers(0, 3),
    ),
    max_size=12,
)


@given(steps=STEPS, budget=st.integers(1, 3))
def test_units_are_conserved_and_ends_are_final(steps: list[tuple[str, int]], budget: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Site(CapLeaseSqlite(), Path(folder))
        ledger, _ = site.client()
        holders = [(issued(ledger, budget), CONTEXT)]
        before = site.words(holders[0][0])
        for number, (step, which) in enumerate(steps):
            _take(ledger, step, holders, holders[which % len(holders)], f"{step}-{number}")
            after = site.words(holders[0][0])
            assert len(after) == budget
            assert all(_may_follow(a, b) for a, b in zip(before, after, strict=True))
            before = after
        assert audited(ledger).chain_ok
        site.shut()


def _take(
    ledger: CapLease, step: str, holders: list[Any], holder: tuple[Authorization, Any], name: str
) -> None:
    authorization, context = holder
    match step:
        case "prepare":
            ledger.prepare(authorization, CALL, context, name)
        case "commit" | "recover":
            found = ledger.recover(())
            assert isinstance(found, Recovered)
            for admission in found.resume[: 1 if step == "commit" else None]:
                assert isinstance(ledger.commit(admission, receipt_for(admission)), Done)
        case "delegate":
            narrower = replace(context, executor=name, task=f"{context.task}/{name}")
            child = ledger.delegate(authorization, narrower, 1)
            if isinstance(child, Authorization):
                holders.append((child, narrower))
        case other:
            getattr(ledger, other)(authorization)


def _may_follow(before: str, after: str) -> bool:
    ends = {"Issued": {"Prepared", "Revoked"}, "Prepared": {"Committed"}}
    return before == after or after in ends.get(before, set())
