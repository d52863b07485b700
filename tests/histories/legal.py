"""Legal histories that a naive check would accuse. Each says in its name what is tempting."""

from __future__ import annotations

from . import (
    legal_again,
    legal_attacks,
    legal_children,
    legal_commits,
    legal_delegation,
    legal_doubts,
    legal_leases,
    legal_makes,
    legal_order,
    legal_rarely,
    legal_releases,
    legal_resumed,
    legal_retries,
    legal_views,
)

LEGAL = {
    name: make
    for module in (
        legal_again,
        legal_attacks,
        legal_children,
        legal_commits,
        legal_delegation,
        legal_doubts,
        legal_leases,
        legal_makes,
        legal_order,
        legal_rarely,
        legal_releases,
        legal_resumed,
        legal_retries,
        legal_views,
    )
    for name, make in vars(module).items()
    if callable(make) and make.__module__ == module.__name__ and name[0] != "_"
}
"""Every one by its name."""
