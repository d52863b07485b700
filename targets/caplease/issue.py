"""Issue: open the one record of an authorization, or answer the one that stands.

What decides is the unique index on e_u, not a look beforehand: of any number of clients that issue
at once, one inserts and the others read what it inserted.
"""

from __future__ import annotations

import math
import secrets

from sqlalchemy import insert

from .. import identity
from ..terms import Authorization, Budget, Call, Confirmation, Context, Validity
from .base import Base
from .chain import Entry
from .denials import answering, lost_race, refused
from .records import (
    RECORD_OF_EVENT,
    Record,
    check_budget,
    check_context,
    record_from,
    sigma_of,
    write_call,
    write_context,
)
from .schema import ISSUED, auth, slot

_MAKE_SLOT = insert(slot)


class Issuing(Base):
    """The ``issue`` operation."""

    @answering
    def issue(
        self,
        call: Call,
        confirmation: Confirmation,
        budget: Budget,
        context: Context,
        validity: Validity,
    ) -> Authorization:
        """Everything that needs no lock is verified first; then one transaction."""
        units = check_budget(budget)
        check_context(context)
        begin_s, end_s = _interval(validity)
        sigma = sigma_of(call)
        self._check_confirmation(confirmation, call, sigma, units)
        nu = secrets.token_hex(16)
        record = Record(
            nu=nu,
            root=nu,
            parent="",
            sigma=sigma,
            event=confirmation.event,
            budget=units,
            chi=write_context(context),
            ti=begin_s,
            te=end_s,
            tool=call.tool,
            call=write_call(call),
            effect=identity.effect_digest(call.tool, dict(call.args)),
            revoked=0,
        )
        return self._granted(self._open(record))

    def _open(self, record: Record) -> Record:
        """The record that stands for this authorization afterwards, whatever its state."""
        with self.store.writing():
            if not self._insert(record):
                return self._standing(record)
            # Under every lock: a wait for whoever inserts the same must not carry it past t_e.
            if record.te is not None and self._now() >= record.te:
                raise refused("expired")
            self.store.many(_MAKE_SLOT, [_free_slot(record, j) for j in _numbers(record)])
            self._append(Entry(record.nu, None, "issue"))
            return record

    def _insert(self, record: Record) -> bool:
        """Insert unless e_u has its record; whether it was inserted."""
        return self.store.insert_once(auth, record.values())

    def _standing(self, record: Record) -> Record:
        row = self.store.one(RECORD_OF_EVENT, event=record.event)
        if row is None:
            raise lost_race()
        standing = record_from(row)
        if standing.sigma != record.sigma:
            raise refused("duplicate", "this confirmation event opened a record for another action")
        return standing

    def _check_confirmation(
        self, confirmation: Confirmation, call: Call, sigma: str, budget: int
    ) -> None:
        """e_u must be genuine and bind this principal, action and budget (types included)."""
        if not _is_genuine(self.env.trust.confirmation_key, confirmation):
            raise refused("bad_credential", "the confirmation is not genuine")
        if confirmation.principal != call.principal:
            raise refused("wrong_principal", "another principal confirmed")
        if confirmation.action != sigma:
            raise refused("wrong_action", "another action was confirmed")
        confirmed = check_budget(confirmation.budget)
        if confirmed != budget:
            raise refused("widened" if budget > confirmed else "invalid", "another budget")


def _is_genuine(key: bytes, confirmation: Confirmation) -> bool:
    try:
        return identity.confirmation_is_genuine(key, confirmation)
    except (ValueError, TypeError):  # fields that have no canonical form were never signed
        return False


def _interval(validity: Validity) -> tuple[float, float | None]:
    begin, end = validity.issued_s, validity.expires_s
    for moment in (begin, end):
        if moment is not None and (type(moment) not in (int, float) or not math.isfinite(moment)):
            raise refused("invalid", "validity")
    if end is not None and end < begin:
        raise refused("invalid", "it expires before it begins")
    return float(begin), None if end is None else float(end)


def _numbers(record: Record) -> range:
    return range(1, record.budget + 1)


def _free_slot(record: Record, j: int) -> dict[str, object]:
    return {
        "nu": record.nu,
        "j": j,
        "holder": record.nu,
        "state": ISSUED,
        "attempt": None,
        "k": None,
        "receipt": None,
    }
