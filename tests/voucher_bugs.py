"""Voucher ledgers that are wrong, each by a few lines over the correct one, for tests alone.

``py:tests.voucher_bugs:NAME``. Most are wrong in what they let a child be, which no total shows
before somebody uses all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from admitone.targets import contract as c
from tests.voucher_ledger import VoucherLedger, VoucherTarget


class _CutsByBeginning(VoucherLedger):
    def is_within(self, name: str, wider: str) -> bool:
        return name.startswith(wider)


class _CutsAnything(VoucherLedger):
    def units_of(self, b: c.Budget) -> Any:
        return b


class _TakesAgain(VoucherLedger):
    def found_again(self, parent: Any, units: int) -> None:
        self.reserve(parent, units)


class _ReturnsAgain(VoucherLedger):
    def fold(self, child: Any) -> None:
        super().fold(child)
        if child["state"] == "revoked":
            keep = "UPDATE voucher SET state = 'revoked' WHERE id = ?"
            self.db.execute(keep, (child["id"],))


class _WhatIsThere(VoucherLedger):
    def is_holder(self, context: c.Context, holder: Any) -> bool:
        return all(asked in ("", holder[name]) for name, asked in asdict(context).items())


class _Beginnings(VoucherLedger):
    def is_holder(self, context: c.Context, holder: Any) -> bool:
        return all(str(holder[n]).startswith(str(asked)) for n, asked in asdict(context).items())


class _OpensAgain(VoucherLedger):
    def find(self, parent: Any, holder: str) -> Any:
        again = "UPDATE voucher SET state = 'live' WHERE parent = ? AND holder = ?"
        self.db.execute(f"{again} AND state = 'closed'", (parent["id"], holder))
        return super().find(parent, holder)


class _ClosesOne(VoucherLedger):
    def fold(self, child: Any) -> None:
        self.db.execute("UPDATE voucher SET state = 'closed' WHERE id = ?", (child["id"],))
        back = "UPDATE voucher SET given = given - ? WHERE id = ?"
        self.db.execute(back, (child["units"] - child["used"], child["parent"]))

    def check_live(self, voucher: Any) -> None:
        alone = {**voucher, "parent": None}
        super().check_live(alone)


class _KeyOfTheDay(VoucherLedger):
    def sink_key(self, key: str) -> str:
        return f"{key}-{self.env.now() // 86_400:.0f}"


class _KeyOfTheSender(VoucherLedger):
    def sink_key(self, key: str) -> str:
        return f"{key}-{self.env.identity.name}"


class _EndsTheYoungest(VoucherLedger):
    def ended(self, key: str) -> str:
        query = (
            "SELECT key FROM payment WHERE state = 'open' AND root ="
            " (SELECT root FROM payment WHERE key = ?) ORDER BY rowid DESC"
        )
        row = self.db.execute(query, (key,)).fetchone()
        return str(row[0]) if row else key


class _ClosesInTwo(VoucherLedger):
    def close(self, authorization: c.Authorization) -> c.Done:
        with self.writing():
            child = self.get(authorization.credential)
            end = "UPDATE voucher SET state = 'closed' WHERE id = ?"
            self.db.execute(end, (child["id"],))
        if child["state"] != "closed":
            with self.writing():
                self.fold(child)
        return c.Done()


class _LeavesOpen(VoucherLedger):
    def __init__(self, path: Path, env: c.Env) -> None:
        super().__init__(path, env)
        self.db.execute("PRAGMA busy_timeout = 50")

    @contextmanager
    def writing(self) -> Iterator[None]:
        if not self.db.in_transaction:
            self.db.execute("BEGIN IMMEDIATE")
        yield
        self.db.execute("COMMIT")  # not reached after an exception


class CutsByBeginning(VoucherTarget):
    """A child of "s1" may act in "s10"."""

    ledger = _CutsByBeginning


class CutsAnything(VoucherTarget):
    """A child of -1 units leaves its parent one more."""

    ledger = _CutsAnything


class TakesAgain(VoucherTarget):
    """Whoever asks for a child again takes its units once more."""

    ledger = _TakesAgain


class ReturnsAgain(VoucherTarget):
    """A revoked child stays revoked when it is closed, and gives back each time."""

    ledger = _ReturnsAgain


class WhatIsThere(VoucherTarget):
    """What a caller leaves out is not compared."""

    ledger = _WhatIsThere


class Beginnings(VoucherTarget):
    """The beginning of a name is good enough."""

    ledger = _Beginnings


class OpensAgain(VoucherTarget):
    """A closed child is opened again for whoever asks for it, without taking its units again."""

    ledger = _OpensAgain


class ClosesOne(VoucherTarget):
    """A closed child gives back what its own child still has, and uses."""

    ledger = _ClosesOne


class KeyOfTheDay(VoucherTarget):
    """Its sink key holds a date."""

    ledger = _KeyOfTheDay


class KeyOfTheSender(VoucherTarget):
    """Its sink key holds the name of whoever sends."""

    ledger = _KeyOfTheSender


class EndsTheYoungest(VoucherTarget):
    """A receipt is written down with the youngest payment that is open."""

    ledger = _EndsTheYoungest


class ClosesInTwo(VoucherTarget):
    """A child is closed in one transaction, and gives back in the next."""

    ledger = _ClosesInTwo


class LeavesOpen(VoucherTarget):
    """A refusal leaves its transaction open, and with it the lock, as long as its process lives."""

    ledger = _LeavesOpen
    declaration = replace(
        VoucherTarget.declaration, facts=replace(VoucherTarget.declaration.facts, waits_s=0.5)
    )
