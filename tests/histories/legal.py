"""Legal histories that a naive check would accuse. Each says in its name what is tempting."""

from __future__ import annotations

from . import (
    legal_attacks,
    legal_delegation,
    legal_makes,
    legal_order,
    legal_releases,
    legal_resumed,
    legal_retries,
)

LEGAL = {
    name: make
    for module in (
        legal_attacks,
        legal_delegation,
        legal_retries,
        legal_releases,
        legal_resumed,
        legal_makes,
        legal_order,
    )
    for name, make in vars(module).items()
    if callable(make) and make.__module__ == module.__name__
}
"""Every one by its name."""
