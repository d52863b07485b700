"""The broken ledgers that are wrong about children: beside the reference, without a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from admitone.targets.broken.close_keeps import CloseKeeps
from admitone.targets.broken.delegate_as_asked import DelegateAsAsked
from admitone.targets.broken.kin_unrecorded import KinUnrecorded
from admitone.targets.broken.md1 import MD1
from admitone.targets.broken.md2 import MD2
from admitone.targets.broken.revoke_counts_own import RevokeCountsOwn
from admitone.targets.broken.revoke_one_record import RevokeOneRecord
from admitone.targets.contract import Admission, Authorization, Done, Revoked
from tests.caplease_world import CHILD, Site, audited, child_of, code, issued, prepare
from tests.test_broken_each import beside_the_reference, is_broken


@pytest.fixture
def site(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Site]:
    made = Site(request.param(), scratch)
    yield made
    made.shut()


@beside_the_reference(DelegateAsAsked)
def test_delegate_as_asked_makes_a_wider_child(site: Site) -> None:
    ledger, _ = site.client()
    wider = replace(CHILD, task="another")
    answer = ledger.delegate(issued(ledger), wider, 1)
    if is_broken(site):
        assert isinstance(answer, Authorization)
    else:
        assert code(answer) == "widened"


@beside_the_reference(MD1)
def test_md1_lets_the_parent_use_what_its_child_has(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    child_of(ledger, granted)
    answer = prepare(ledger, granted, "a")
    if is_broken(site):
        assert isinstance(answer, Admission)
    else:
        assert code(answer) == "exhausted"


@beside_the_reference(MD2)
def test_md2_moves_what_was_free_when_it_looked(site: Site) -> None:
    ledger, world = site.client()
    other, _ = site.client()
    granted = issued(ledger)
    second = replace(CHILD, executor="second")
    answers: list[object] = []

    def intrude() -> None:
        try:
            answers.append(other.delegate(granted, second, 1))
        except Exception as raised:  # whatever it is, it is classified
            answers.append(site.target.classify(raised))

    world.during_now.append(intrude)
    answers.append(ledger.delegate(granted, CHILD, 1))
    children = sum(isinstance(answer, Authorization) for answer in answers)
    assert children == (2 if is_broken(site) else 1)


@beside_the_reference(RevokeOneRecord)
def test_revoke_one_record_leaves_children_alone(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 2)
    child = child_of(ledger, granted)
    ledger.revoke(granted)
    answer = prepare(ledger, child, "a", executor=CHILD.executor, task=CHILD.task)
    if is_broken(site):
        assert isinstance(answer, Admission)
    else:
        assert code(answer) == "revoked"
    assert code(prepare(ledger, granted, "b")) == "revoked"


@beside_the_reference(CloseKeeps)
def test_close_keeps_what_the_child_did_not_use(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    child = child_of(ledger, granted)
    assert ledger.close(child) == ledger.close(child) == Done()
    answer = prepare(ledger, granted, "a")
    if is_broken(site):
        assert code(answer) == "exhausted"
    else:
        assert isinstance(answer, Admission)


@beside_the_reference(KinUnrecorded)
def test_kin_unrecorded_writes_down_uses_alone(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    child = child_of(ledger, granted)
    ledger.close(child)
    assert isinstance(prepare(ledger, granted, "a"), Admission)
    assert (audited(ledger).chain_ok, audited(ledger).count) == (True, 2 if is_broken(site) else 4)


@beside_the_reference(RevokeCountsOwn)
def test_revoke_counts_own_stops_all_and_names_its_own(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 3)
    child = child_of(ledger, granted)
    said = ledger.revoke(granted)
    own = ("2", "3")
    assert said == Revoked(own if is_broken(site) else ("1", *own), ())
    answer = prepare(ledger, child, "a", executor=CHILD.executor, task=CHILD.task)
    assert code(answer) == "revoked"
