"""What every operation stands on: the store, the credential, the clock, and the audit chain."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, select

from ..contract import Env
from ..terms import Admission, Authorization
from .chain import APPEND, GENESIS, HEAD, Entry, link
from .credential import Credential
from .denials import refused
from .records import RECORD, Record, record_from
from .schema import slot
from .store import Found, Store

SLOTS_OF = (
    select(slot.c.j, slot.c.holder, slot.c.state)
    .where(slot.c.nu == bindparam("root"))
    .order_by(slot.c.j)
)


class Base:
    """One client of the ledger. Operations are added one a file; see ``ledger.py``."""

    def __init__(self, store: Store, credential: Credential, env: Env) -> None:
        self.store = store
        self.credential = credential
        self.env = env

    def disconnect(self) -> None:
        """Close this client's connection."""
        self.store.disconnect()

    def _lock(self, nu: str) -> Record:
        """The record, its tree held against every other writer until the end of the transaction.

        It is read when the lock is held, by a statement of its own: where a statement sees the
        state at its beginning, one that waits would answer what held before the wait.
        """
        if not self.store.lock_tree(nu):
            raise refused("unknown_record")
        return self._record(nu)

    def _record(self, nu: str) -> Record:
        row = self.store.one(RECORD, nu=nu)
        if row is None:
            raise refused("unknown_record")
        return record_from(row)

    def _now(self) -> float:
        """The clock, read when nothing is left to wait for: a wait for the chain must not carry a
        request past t_e either."""
        self.store.lock_audit()
        return self.env.now()

    def _slots(self, root: str) -> list[Found]:
        """Every slot of the tree, in order."""
        return list(self.store.all(SLOTS_OF, root=root))

    def _granted(self, record: Record) -> Authorization:
        return Authorization(record.nu, record.budget, self.credential.write(record))

    def _admission(self, slot_: Any, record: Record) -> Admission:
        """What an executor, or whoever recovers for it, needs to bring a taken slot to its end.

        ``slot_`` has ``j``, ``attempt`` and ``k``; ``record`` is any of the slot's tree.
        """
        return Admission(
            record=record.root,
            slot=str(slot_.j),
            key=slot_.k,
            handle={"record": record.root, "slot": slot_.j, "attempt": slot_.attempt},
            call=record.approved,
            attempt=slot_.attempt,
        )

    def _append(self, *entries: Entry) -> None:
        """Put transitions on the audit chain, in the transaction that makes them."""
        self.store.lock_audit()
        head = self.store.one(HEAD)
        seq, prev = (0, GENESIS) if head is None else (head.seq, head.hash)
        for entry in entries:
            seq += 1
            hash_ = link(prev, seq, entry)
            self.store.run(
                APPEND,
                seq=seq,
                prev=prev,
                hash=hash_,
                nu=entry.nu,
                j=entry.j,
                op=entry.op,
                attempt=entry.attempt,
            )
            prev = hash_
