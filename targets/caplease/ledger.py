"""The ledger in full: every operation, over one store and one kind of credential."""

from __future__ import annotations

from .audit import Auditing
from .commit import Committing
from .delegate import Delegating
from .issue import Issuing
from .prepare import Preparing
from .recover import Recovering


class CapLease(Issuing, Preparing, Committing, Recovering, Delegating, Auditing):
    """One client of the ledger."""
