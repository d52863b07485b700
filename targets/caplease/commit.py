"""Commit: bring a Prepared slot to its end on the sink's authenticated word.

The receipt alone is the evidence: genuine, under the slot's key, for the approved payload. Who
brings it does not matter, because recovery is anybody's.
"""

from __future__ import annotations

import json

from sqlalchemy import bindparam, select, update

from .. import identity
from ..replies import Done
from ..terms import Admission, Receipt
from ..values import encode
from .base import Base
from .chain import Entry
from .denials import answering, lost_race, refused
from .schema import COMMITTED, PREPARED, auth, slot
from .store import Found

_ONE_SLOT = (
    select(slot.c.state, slot.c.attempt, slot.c.k, slot.c.receipt, auth.c.tool, auth.c.effect)
    .join(auth, auth.c.nu == slot.c.nu)
    .where(slot.c.nu == bindparam("root"), slot.c.j == bindparam("number"))
)

_SETTLE = (
    update(slot)
    .where(slot.c.nu == bindparam("root"), slot.c.j == bindparam("number"))
    .where(slot.c.state == PREPARED, slot.c.k == bindparam("key"))
    .values(state=COMMITTED, receipt=bindparam("evidence"))
)


class Committing(Base):
    """The ``commit`` operation."""

    @answering
    def commit(self, admission: Admission, receipt: Receipt) -> Done:
        """The effect stands; a repetition with the same receipt is done as well."""
        root, j, attempt = _read_handle(admission)
        if not _is_genuine(self.env.trust.receipt_key, receipt):
            raise refused("receipt_mismatch", "the receipt is not genuine")
        evidence = json.dumps(encode(receipt))
        with self.store.writing():
            known = self.store.lock_tree(root)
            found = self.store.one(_ONE_SLOT, root=root, number=j) if known else None
            if found is None:
                raise refused("unknown_record")
            self._check_evidence(found, attempt, admission, receipt)
            if found.state == COMMITTED:
                if found.receipt != evidence:
                    raise refused("receipt_mismatch", "it was committed with another receipt")
                return Done(receipt)
            if self.store.run(_SETTLE, root=root, number=j, key=found.k, evidence=evidence) != 1:
                raise lost_race()
            self._append(Entry(root, j, "commit", found.attempt))
        return Done(receipt)

    def _check_evidence(
        self, found: Found, attempt: str, admission: Admission, receipt: Receipt
    ) -> None:
        check_key(found, attempt, admission, receipt)
        if receipt.tool != found.tool or receipt.digest != found.effect:
            raise refused("receipt_mismatch", "the sink applied another payload")


def check_key(found: Found, attempt: str, admission: Admission, receipt: Receipt) -> None:
    """The slot is the attempt's, and everything speaks of its key."""
    if found.k is None or found.attempt != attempt:
        raise refused("not_prepared")
    if receipt.key != found.k or admission.key not in (None, found.k):
        raise refused("wrong_key")


def _read_handle(admission: Admission) -> tuple[str, int, str]:
    match admission.handle:
        # True is an int to a pattern too, and another text on the audit chain
        case {"record": str(root), "slot": int(j), "attempt": str(attempt)} if type(j) is int:
            return root, j, attempt
    raise refused("unknown_record", "not a handle of this ledger")


def _is_genuine(key: bytes, receipt: Receipt) -> bool:
    try:
        return identity.receipt_is_genuine(key, receipt)
    except (ValueError, TypeError):  # fields that have no canonical form were never signed
        return False
