"""A ledger of events is acquitted; each way to fold or to write them wrongly is convicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.played import acquitted, codes, played

FOUND = {
    "SortsText": ("budgets", "order.b10.ctrl.s0", {"AO304"}),
    "RemembersRefusals": ("release", "awaited.b2.idem.s0", {"AO802"}),
    "GivesOneMore": ("delegation", "one.b2.idem.s0", {"AO502"}),
    "ComparesWithRoot": ("delegation", "wide.below_session.b1.ctrl.s0", {"AO501"}),
    "PassesOverClosed": ("delegation", "closed.orphaned.b2.ctrl.s0", {"AO301"}),
    "KnowsChildren": ("delegation", "deep.b2.idem.s0", {"AO301"}),
    "TakesOvertakenForDone": (
        "consumers",
        "held.commit-use.commit.statement1.after.b2.ctrl.s0",
        {"AO304", "AO701"},
    ),
}
MORE = {
    "consumers": (
        "held.commit-other.commit.write1.before.b2.ctrl.s0",
        "held.use-commit.prepare.write1.before.b2.ctrl.s0",
    ),
    "delegation": (
        "closed.awaited.b1.idem.s0",
        "closed.spent.b1.idem.s0",
        "closed.spent.b2.idem.s0",
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_is_folded_or_written_wrongly_is_convicted(name: str, scratch: Path) -> None:
    family, plan, found = FOUND[name]
    assert codes(played(f"py:tests.event_bugs:{name}", family, scratch, [plan])) == found


@pytest.mark.parametrize("family", sorted({family for family, _, _ in FOUND.values()}))
def test_the_correct_one_is_acquitted(family: str, scratch: Path) -> None:
    plans = [plan for of, plan, _ in FOUND.values() if of == family]
    plans += MORE.get(family, ())
    acquitted(played("py:tests.event_ledger:EventTarget", family, scratch, plans))


def test_what_is_revoked_below_does_not_come_back(scratch: Path) -> None:
    """Nor is a unit lost that a child had when it was revoked."""
    plans = [f"{moment}.b{b}.idem.s0" for moment in ("disowned", "spent") for b in (1, 2)]
    acquitted(played("builtin:caplease-sqlite", "delegation", scratch, plans), "AO502")


def test_a_use_that_ends_minds_what_others_wrote_meanwhile(scratch: Path) -> None:
    plans = ["held.settle.execute.statement8.after.b2.ctrl.s0"]
    assert codes(played("py:tests.leased_ledgers:Rewrites", "consumers", scratch, plans))
