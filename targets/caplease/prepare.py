"""Prepare: admit one use, by a compare-and-swap on one Issued slot.

The operation is two steps under one lock: *examine* decides what this request may have, and *take*
takes it. That they are separate methods is for the broken ledgers, which take them apart.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar, cast

from sqlalchemy import Executable, bindparam, case, or_, select, update

from .. import identity
from ..replies import Replayed
from ..terms import Admission, Authorization, Call, Context, Receipt
from ..values import decode
from .base import Base
from .chain import Entry
from .denials import answering, lost_race, refused
from .records import Record, sigma_of
from .schema import COMMITTED, ISSUED, PREPARED, slot
from .store import Found

_ATTEMPTED = slot.c.attempt == bindparam("attempt")

CHOOSE = (
    # The slot that this attempt has, else the first free one.
    select(slot.c.j, slot.c.state, slot.c.attempt, slot.c.k, slot.c.receipt)
    .where(slot.c.nu == bindparam("root"), slot.c.holder == bindparam("nu"))
    .where(or_(_ATTEMPTED, slot.c.state == ISSUED))
    .order_by(case((_ATTEMPTED, 0), else_=1), slot.c.j)
    .limit(1)
)

TAKE = (
    update(slot)
    .where(slot.c.nu == bindparam("root"), slot.c.j == bindparam("number"))
    .values(state=PREPARED, attempt=bindparam("taker"), k=bindparam("key"))
)
TAKE_IF_FREE = TAKE.where(slot.c.state == ISSUED, slot.c.holder == bindparam("giver"))


@dataclass(frozen=True, slots=True)
class Request:
    """A Prepare as it was presented, with what needs no lock verified."""

    nu: str
    sigma: str
    context: Context
    attempt: str


@dataclass(frozen=True, slots=True)
class Free:
    """A slot that may be taken under the record."""

    record: Record
    j: int


@dataclass(frozen=True, slots=True)
class Taken:
    """A slot as it was just taken."""

    j: int
    attempt: str
    k: str


class Preparing(Base):
    """The ``prepare`` operation."""

    take: ClassVar[Executable] = TAKE_IF_FREE

    @answering
    def prepare(
        self, authorization: Authorization, call: Call, context: Context, attempt: str
    ) -> Admission | Replayed:
        """Admit one use under this attempt, once."""
        nu = self.credential.read(authorization)
        return self._admit(Request(nu, sigma_of(call), context, attempt))

    def _admit(self, request: Request) -> Admission | Replayed:
        with self.store.writing():
            found = self._examine(request)
            return self._take(found, request) if isinstance(found, Free) else found

    def _examine(self, request: Request) -> Free | Admission | Replayed:
        """What the request may have. Who asks and for what comes first; then a repeated attempt,
        which neither expiry nor revocation stops; then whether anything new may begin."""
        record = self._held(request.nu)
        record.check_presenter(request.context)
        if record.sigma != request.sigma:
            raise refused("wrong_action")
        chosen = self._choose(record, request.attempt)
        if chosen is not None and chosen.state == COMMITTED:
            return Replayed(read_receipt(chosen.receipt))
        if chosen is not None and chosen.state == PREPARED:
            return self._admission(chosen, record)
        record.check_alive(self._now())
        if chosen is None:
            raise refused("exhausted")
        return Free(record, chosen.j)

    def _held(self, nu: str) -> Record:
        """The record, under the lock that Revoke takes."""
        return self._lock(nu)

    def _choose(self, record: Record, attempt: str) -> Found | None:
        """The slot that the attempt already has, or the first free one."""
        return self.store.one(CHOOSE, root=record.root, nu=record.nu, attempt=attempt)

    def _take(self, free: Free, request: Request) -> Admission:
        record = free.record
        key = identity.sink_key(record.root, str(free.j), record.tool)
        if not self._swap(free, request.attempt, key):
            raise lost_race()
        self._append(Entry(record.root, free.j, "prepare", request.attempt))
        return self._admission(Taken(free.j, request.attempt, key), record)

    def _swap(self, free: Free, attempt: str, key: str) -> bool:
        """Take exactly this slot, if it is still free."""
        swapped = self.store.run(
            self.take,
            root=free.record.root,
            number=free.j,
            giver=free.record.nu,
            taker=attempt,
            key=key,
        )
        return swapped == 1


def read_receipt(text: str) -> Receipt:
    """A receipt as Commit stored it."""
    return cast(Receipt, decode(json.loads(text)))
