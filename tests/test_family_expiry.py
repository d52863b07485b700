"""Expiry: judged by the clock of the node that asks, and never by its neighbour's."""

from __future__ import annotations

from pathlib import Path

import pytest

from admitone.scenarios.families.expiry import MOMENTS
from tests.played import acquitted, codes, played

ALL = tuple(f"{moment}.b1.idem.s0" for moment in MOMENTS)


@pytest.mark.parametrize("name", ["caplease-sqlite", "correct/counter", "correct/guarded"])
def test_a_correct_ledger_is_acquitted(name: str, scratch: Path) -> None:
    results = played(f"builtin:{name}", "expiry", scratch, ALL)
    acquitted(results, "AO402")
    # of a view of counts nobody can say which unit was stopped
    named = name != "correct/guarded"
    assert any(result.opportunities["AO404"] for result in results) is named


def test_the_machines_clock_is_waited_for(scratch: Path) -> None:
    target = "py:tests.order_ledgers:OwnClock"
    results = played(target, "expiry", scratch, ["over.b1.idem.s0", "orphaned.b1.idem.s0"])
    acquitted(results, "AO402", "AO404")


@pytest.mark.parametrize("target", ["MX1", "OwnClockThatNeverExpires"])
def test_a_ledger_that_never_expires_is_convicted(target: str, scratch: Path) -> None:
    plans = ["over.b1.idem.s0", "edge.b2.ctrl.s0", "reissued.b1.idem.s0"]
    results = played(f"py:tests.order_ledgers:{target}", "expiry", scratch, plans)
    assert [codes([result]) for result in results] == [{"AO402"}] * 3


def test_a_confirmation_is_good_for_no_longer_than_it_was(scratch: Path) -> None:
    plans = ["extended.b1.idem.s0", "extended.b2.ctrl.s0"]
    results = played("py:tests.order_ledgers:Extends", "expiry", scratch, plans)
    assert [codes([result]) for result in results] == [{"AO402"}] * 2


def test_nothing_is_over_before_its_time(scratch: Path) -> None:
    results = played("py:tests.order_ledgers:Floors", "expiry", scratch, ["edge.b2.idem.s0"])
    assert codes(results) == {"AO406"}


@pytest.mark.parametrize(
    ("name", "plan", "code"),
    [
        ("LateInTheEast", "zoned.b1.idem.s0", "AO402"),
        ("LateInTheEast", "zoned.b2.ctrl.s0", "AO402"),
        ("EarlyInTheEast", "zoned.b2.ctrl.s0", "AO406"),
    ],
)
def test_local_time_is_not_utc(name: str, plan: str, code: str, scratch: Path) -> None:
    results = played(f"py:tests.zoned_ledgers:{name}", "expiry", scratch, [plan])
    assert codes(results) == {code}


def test_local_time_throughout_is_right(scratch: Path) -> None:
    plans = ["zoned.b1.idem.s0", "zoned.b2.ctrl.s0"]
    acquitted(played("py:tests.zoned_ledgers:Local", "expiry", scratch, plans), "AO402")


def test_the_machines_clock_is_asked_in_another_zone(scratch: Path) -> None:
    results = played("py:tests.order_ledgers:OwnClock", "expiry", scratch, ["zoned.b2.idem.s0"])
    acquitted(results, "AO402")
