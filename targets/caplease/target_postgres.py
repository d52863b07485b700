"""The target ``builtin:caplease-postgres``: the reference ledger in a schema of a PostgreSQL.

Naming it costs neither SQLAlchemy nor psycopg, as with SQLite.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..contract import Env
from ..replies import Busy, Refused, Unknown
from ..terms import Approval, Deployment, Json, TargetName, View, postgres_server
from .declaration import DECLARATION
from .realization import Realization

if TYPE_CHECKING:
    from .ledger import CapLease
    from .store_postgres import PostgresStore

_ROLLED_BACK = ("55P03", "40000", "40001", "40P01")
"""Lock not available, and the transactions that the server has rolled back."""

_UNFIT = ("22", "54")
"""Classes of values that this database cannot hold: a NUL in a text, a name beyond an index."""


class CapLeasePostgres(Realization):
    """The manifest realization over PostgreSQL."""

    name = TargetName("admitone", "caplease-postgres", "1")
    declaration = replace(DECLARATION, facts=replace(DECLARATION.facts, reach="network"))

    def warm(self) -> None:
        """Import, compile, and run every operation once: over SQLite, for no server runs yet."""
        from .store_postgres import compile_all
        from .warmup import exercise_elsewhere

        compile_all(exercise_elsewhere(self))

    def deploy(self, workspace: Path) -> Deployment:
        """Names alone: schemas are made when the server runs, by ``fresh``."""
        store: dict[str, Json] = {
            "postgres": "",
            "schema": f"admitone_{secrets.token_hex(4)}",
            "credential_key": secrets.token_hex(32),
        }
        return Deployment(store, servers=(postgres_server("postgres"),))

    def fresh(self, store: Json, n: int) -> Json:
        """A schema of its own."""
        from .store_postgres import create

        deployed = cast("dict[str, str]", store)
        schema = f"{deployed['schema']}_{n}"
        create(deployed["postgres"], schema)
        return {**deployed, "schema": schema}

    def discard(self, store: Json) -> None:
        """Drop the schema with everything in it."""
        from .store_postgres import drop

        deployed = cast("dict[str, str]", store)
        drop(deployed["postgres"], deployed["schema"])

    def open(self, store: Json, env: Env) -> CapLease:
        """One client with a connection of its own."""
        deployed = cast("dict[str, str]", store)
        url, schema = deployed["postgres"], deployed["schema"]
        opened = self.store_class()(url, schema, env.patience_s)
        return self.client(opened, deployed["credential_key"], env)

    def store_class(self) -> type[PostgresStore]:
        """Which store it works on; some of the broken ones answer another."""
        from .store_postgres import PostgresStore

        return PostgresStore

    def inspect(self, store: Json, approval: Approval) -> View:
        """The slots as they are durable, read in one snapshot."""
        from .view_postgres import read_view

        deployed = cast("dict[str, str]", store)
        return read_view(deployed["postgres"], deployed["schema"], approval)

    def classify(self, exc: BaseException) -> Busy | Refused | Unknown | None:
        """An error of a statement means that all was rolled back. Of a lost connection nobody can
        say what came of a COMMIT that was on its way, so that is never taken for a refusal."""
        import psycopg

        if not isinstance(exc, psycopg.Error):
            return None
        state = exc.sqlstate or ""
        if state in _ROLLED_BACK:
            return Busy("contention", detail=str(exc))
        if state.startswith(_UNFIT) or type(exc) is psycopg.DataError:
            return Refused(
                "invalid", retryable=False, next="shorten or correct it", detail=str(exc)
            )
        return Unknown(str(exc)) if isinstance(exc, psycopg.OperationalError) else None
