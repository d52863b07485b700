"""The matrix: each seeded bug is convicted by a code of its own, and by none that must stay silent.

One small seed each, up to the first conviction; the long form, ten seeds with every schedule
played, is ``python -m tests.campaigns.guilty``. The other side, that no correct ledger is accused,
is held by the tests of the families and of whole runs.
"""

from __future__ import annotations

from typing import Any

import pytest

from admitone.ledger_bench import LedgerBench
from admitone.scenarios.campaign import placed_plans
from admitone.scenarios.families import FAMILIES
from admitone.targets.registry import BUILTIN
from admitone.targets.resolve import resolve

MOST = 400
"""Plans that a conviction may take: about the required set of the quick profile."""

LATE = (
    "broken/any-receipt",
    "broken/audit-best-effort",
    "broken/one-out-per-user",
    "broken/receipt-of-another",
    "broken/receipt-replaced",
    "broken/delegate-as-asked",
    "broken/MD1",
    "broken/MV4",
    "broken/revoke-one-record",
    "broken/close-keeps",
    "broken/kin-unrecorded",
    "broken/revoke-counts-own",
    "broken/recover-stops",
    "broken/two-locks",
    "broken/log-best-effort",
    "broken/two-steps",
    "broken/lock-left",
    "broken/once-per-action",
)
"""These show in a few schedules of one family, and so after a hundred plans of all: see
``test_matrix_codes.py`` for one of those, and the campaign for the search."""

BROKEN = [name for name, entry in BUILTIN.items() if entry.kind == "broken" and name not in LATE]


def first_conviction(target: str, wanted: tuple[str, ...], seed: int) -> tuple[set[str], int]:
    """Codes seen up to the first wanted one, and how many plans it took."""
    bench = LedgerBench(target)
    seen: set[str] = set()
    try:
        plans = placed_plans(bench.fitting, tuple(FAMILIES), seed)[:MOST]
        for number, plan in enumerate(plans, 1):
            found = {finding.code for finding in bench.play(plan).result.findings}
            seen |= found
            if found & set(wanted):
                return seen, number
        return seen, len(plans)
    finally:
        bench.close()


@pytest.mark.parametrize("name", BROKEN)
def test_a_seeded_bug_is_convicted_by_its_own_code(name: str) -> None:
    guilty: Any = resolve(f"builtin:{name}")
    seen, plans = first_conviction(f"builtin:{name}", guilty.convicted_by, seed=0)
    assert seen & set(guilty.convicted_by), f"{plans} plans, and only {sorted(seen)}"
    assert not seen & set(guilty.never_by)
