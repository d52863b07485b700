"""Histories that must be convicted: at least one for every code."""

from __future__ import annotations

from . import (
    convicting_again,
    convicting_attacks,
    convicting_budget,
    convicting_delegation,
    convicting_life,
    convicting_order,
    convicting_rarely,
    convicting_recovery,
    convicting_views,
)

CONVICTING = {
    name.upper()[:5] + name[5:]: make
    for module in (
        convicting_again,
        convicting_attacks,
        convicting_budget,
        convicting_delegation,
        convicting_life,
        convicting_order,
        convicting_rarely,
        convicting_recovery,
        convicting_views,
    )
    for name, make in vars(module).items()
    if name.startswith("ao")
}
"""Every one by its name, which starts with the code that must convict it."""
