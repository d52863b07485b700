"""MA2, audit-in-own-transaction: the record of a transition is written after the transition.

Changed: audit records are kept back until the operation's transaction is committed, and are then
appended in one of their own. Who dies in between leaves a transition without a record, for ever:
a repeated request is answered from the slot and appends nothing. The chain itself always verifies.

Real class: ``after_commit`` hooks, audit logs in another table, file or service than the state.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from ..caplease.chain import Entry
from ..caplease.ledger import CapLease
from ..caplease.store_sqlite import SqliteStore
from ..caplease.target import CapLeaseSqlite
from ..terms import TargetName


class AfterCommit(SqliteStore):
    """A store that does something else once a transaction is committed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.afterwards: list[Callable[[], None]] = []

    @contextmanager
    def writing(self) -> Iterator[None]:
        self.afterwards.clear()
        with super().writing():
            yield
        for do in self.afterwards:
            with super().writing():
                do()


class AuditsLater(CapLease):
    """Records wait for the COMMIT."""

    def _append(self, *entries: Entry) -> None:
        assert isinstance(self.store, AfterCommit)
        self.store.afterwards.append(partial(super()._append, *entries))


class MA2(CapLeaseSqlite):
    """The target ``builtin:broken/MA2``."""

    name = TargetName("admitone", "broken/MA2", "1")
    convicted_by: tuple[str, ...] = ("AO703",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO105",
        "AO106",
        "AO201",
        "AO203",
        "AO301",
        "AO303",
        "AO304",
        "AO701",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return AuditsLater

    def store_class(self) -> type[SqliteStore]:
        return AfterCommit
