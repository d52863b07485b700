"""The tables: records, their slots, and the audit chain.

Two things are deliberate. ``parent`` is the empty text for a root and never NULL, because NULLs are
all different to a unique index. And a slot belongs to its *root* for ever: delegation only changes
its ``holder``, so that no unit of a budget can be counted twice.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    ColumnElement,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    and_,
)

ISSUED: Final = "Issued"
PREPARED: Final = "Prepared"
COMMITTED: Final = "Committed"
REVOKED: Final = "Revoked"

metadata = MetaData()

auth = Table(
    "auth",
    metadata,
    Column("nu", Text, primary_key=True),
    Column("root", Text, nullable=False),
    Column("parent", Text, nullable=False),
    Column("sigma", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("budget", Integer, nullable=False),
    Column("chi", Text, nullable=False),
    Column("ti", Float, nullable=False),
    Column("te", Float),
    Column("tool", Text, nullable=False),
    Column("call", Text, nullable=False),
    Column("effect", Text, nullable=False),
    Column("revoked", Integer, nullable=False),
)

slot = Table(
    "slot",
    metadata,
    Column("nu", Text, primary_key=True),
    Column("j", Integer, primary_key=True, autoincrement=False),
    Column("holder", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempt", Text),
    Column("k", Text),
    Column("receipt", Text),
    CheckConstraint("state IN ('Issued', 'Prepared', 'Committed', 'Revoked')", name="known_state"),
    CheckConstraint(
        "(attempt IS NULL) = (k IS NULL) AND (k IS NULL) = (state IN ('Issued', 'Revoked'))",
        name="admitted_has_key",
    ),
    CheckConstraint("(receipt IS NULL) = (state <> 'Committed')", name="committed_has_receipt"),
    sqlite_with_rowid=False,
)

audit = Table(
    "audit",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("prev", Text, nullable=False, unique=True),
    Column("hash", Text, nullable=False),
    Column("nu", Text, nullable=False),
    Column("j", Integer),
    Column("op", Text, nullable=False),
    Column("attempt", Text),
)


def _index(name: str, where: ColumnElement[bool], *columns: Column[str], unique: bool) -> None:
    Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


_ROOT = auth.c.parent == ""
_CHILD = auth.c.parent != ""
_index("one_record_per_authorization", _ROOT, auth.c.sigma, auth.c.event, unique=True)
_index("one_record_per_confirmation", _ROOT, auth.c.event, unique=True)
_index(
    "one_live_child_per_context",
    and_(_CHILD, auth.c.revoked == 0),
    auth.c.parent,
    auth.c.chi,
    unique=True,
)
_index("descendants", _CHILD, auth.c.root, unique=False)
_index("unfinished", slot.c.state == PREPARED, slot.c.nu, unique=False)
