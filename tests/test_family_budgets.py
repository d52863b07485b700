"""Budgets: what is enough for ten uses is not for forty."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.played import acquitted, codes, played

MANY = ["many.b40.idem.s0"]


@pytest.mark.parametrize(
    ("target", "code"),
    [("RemembersTen", "AO802"), ("FindsTen", "AO301"), ("KeepsShort", "AO405")],
)
def test_a_ledger_that_keeps_ten_of_something_is_convicted(
    target: str, code: str, scratch: Path
) -> None:
    assert code in codes(played(f"py:tests.bounded_ledgers:{target}", "budgets", scratch, MANY))


@pytest.mark.parametrize(
    "target",
    [
        *("py:tests.bounded_ledgers:TakesTen", "builtin:caplease-sqlite"),
        *("builtin:correct/guarded", "builtin:correct/lease", "builtin:correct/plain"),
    ],
)
def test_forty_uses_are_as_good_as_one(target: str, scratch: Path) -> None:
    acquitted(played(target, "budgets", scratch, MANY), "AO102", "AO103", "AO802")
