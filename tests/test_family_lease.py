"""Lease: whoever is slow keeps the unit, or loses it under its own key; nobody gets it anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from admitone.scenarios.families.lease import HOWS
from tests.played import acquitted, codes, played

ALL = tuple(f"{how}.b1.idem.s0" for how in HOWS)


@pytest.mark.parametrize("name", ["caplease-sqlite", "correct/guarded", "correct/json-flock"])
def test_a_ledger_without_leases_is_acquitted(name: str, scratch: Path) -> None:
    plans = [plan for plan in ALL if not plan.startswith("renewed")]
    acquitted(played(f"builtin:{name}", "lease", scratch, plans), "AO102", "AO105")


@pytest.mark.parametrize("target", ["SmallTarget", "SmallAsyncTarget"])
def test_a_takeover_under_the_same_key_is_legal(target: str, scratch: Path) -> None:
    plans = [plan for plan in ALL if not plan.startswith("renewed")]
    acquitted(played(f"py:tests.small_ledger:{target}", "lease", scratch, plans), "AO102")


def test_a_lease_that_passes_on_is_acquitted(scratch: Path) -> None:
    acquitted(played("builtin:correct/lease", "lease", scratch, ALL), "AO104", "AO105")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("MV1", {"AO104", "AO105"}), ("lease-frees", {"AO103", "AO104", "AO105", "AO201"})],
)
def test_a_reaper_that_frees_what_is_held_is_convicted(
    name: str, wanted: set[str], scratch: Path
) -> None:
    plans = ("paused.b1.idem.s0", "sending.b2.idem.s0", "dead.b1.ctrl.s0")
    results = played(f"builtin:broken/{name}", "lease", scratch, plans)
    assert all("AO104" in codes([result]) for result in results)
    assert wanted <= codes(results) <= wanted | {"AO701"}


@pytest.mark.parametrize(("name", "wanted"), [("Patient", set()), ("Idle", {"AO301"})])
def test_recovery_has_no_excuse_once_the_lease_has_lapsed(
    name: str, wanted: set[str], scratch: Path
) -> None:
    plans = ("FP5.drop.gone.b1.idem.s0", "FP5.kill.gone.b1.idem.s0")
    for result in played(f"py:tests.leased_ledgers:{name}", "crash", scratch, plans):
        assert codes([result]) == wanted, result.id
        assert result.opportunities["AO301"]


def test_nor_has_it_once_the_lease_of_a_dead_recoverer_has_lapsed(scratch: Path) -> None:
    plans = ("FP11.reply.sent.kill.b1.ctrl.s0", "FP12.unanswered.unsent.twice.b1.idem.s0")
    results = played("builtin:correct/lease", "crash", scratch, plans)
    acquitted(results)
    assert all(result.opportunities["AO301"] for result in results)


@pytest.mark.parametrize(("name", "wanted"), [("Patient", set()), ("Once", {"AO301"})])
def test_a_recoverer_that_waits_for_the_lease_is_killed_as_well(
    name: str, wanted: set[str], scratch: Path
) -> None:
    plans = ["FP11.reply.unsent.kill.b1.idem.s0"]
    (result,) = played(f"py:tests.leased_ledgers:{name}", "crash", scratch, plans)
    assert [(p.name, p.fired) for p in result.points] == [("FP11", 1)]
    assert codes([result]) == wanted
