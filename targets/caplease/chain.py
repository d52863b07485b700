"""The audit chain: each record's hash covers the one before it (append-only, one successor each).

Only names go in - record, slot, operation, attempt - and never arguments or credentials, so that
the chain may be shown to people who may not see those.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import insert, select

from .schema import audit

GENESIS: Final = "0" * 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One transition: of slot ``j`` of the root ``nu``, or of the record as a whole (j None)."""

    nu: str
    j: int | None
    op: str
    attempt: str | None = None


HEAD = select(audit.c.seq, audit.c.hash).order_by(audit.c.seq.desc()).limit(1)
APPEND = insert(audit)
WHOLE_CHAIN = select(audit).order_by(audit.c.seq)


def link(prev: str, seq: int, entry: Entry) -> str:
    """The hash of a record, over its own fields and its predecessor's hash."""
    fields = json.dumps([prev, seq, entry.nu, entry.j, entry.op, entry.attempt])
    return hashlib.sha256(fields.encode()).hexdigest()


def verifies(rows: Iterable[Any]) -> bool:
    """Whether rows, in order of seq, form one chain from the genesis without a gap."""
    prev, expected = GENESIS, 1
    for row in rows:
        entry = Entry(row.nu, row.j, row.op, row.attempt)
        if row.seq != expected or row.prev != prev or row.hash != link(prev, row.seq, entry):
            return False
        prev, expected = row.hash, expected + 1
    return True
