"""What the realizations of the ledger share: which ledger runs over which store and credential.

The methods here are what a realization, or a broken ledger over one, answers otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contract import Env

if TYPE_CHECKING:
    from .credential import Credential
    from .ledger import CapLease
    from .store import Store


class Realization:
    """A ledger with manifests, over a store that its subclass opens."""

    def client(self, store: Store, key: str, env: Env) -> CapLease:
        """One client on a store that was opened for it; ``key`` authenticates credentials."""
        return self.ledger_class()(store, self.credential(bytes.fromhex(key)), env)

    def credential(self, key: bytes) -> Credential:
        """What its clients carry."""
        from .credential import Manifest

        return Manifest(key)

    def ledger_class(self) -> type[CapLease]:
        """Which ledger this is; the broken ones answer another."""
        from .ledger import CapLease

        return CapLease


class WithSelector(Realization):
    """The Server Ledger of the paper: its clients carry a selector for nu, and no scope."""

    def credential(self, key: bytes) -> Credential:
        from .selector import Selector

        return Selector(key)
