"""Looking from outside at a PostgreSQL: the same reading, by a session that cannot write."""

from __future__ import annotations

from contextlib import closing

from ..terms import Approval, View
from .store_postgres import connect
from .view import BY_EVENT, BY_RECORD, named, view_of


def read_view(url: str, schema: str, approval: Approval) -> View:
    """One statement sees one state, and waits for no lock."""
    by_record, name = named(approval)
    statement = (BY_RECORD if by_record else BY_EVENT).replace("?", "%s")
    settings = {"search_path": schema, "default_transaction_read_only": "on"}
    with closing(connect(url, settings)) as connection:
        rows = connection.execute(statement, (name,)).fetchall()
    return view_of(rows)
