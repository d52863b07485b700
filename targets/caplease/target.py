"""The target ``builtin:caplease-sqlite``: the reference ledger on one SQLite file.

Naming it costs no SQLAlchemy: the ledger itself is imported by ``warm``, ``deploy`` and ``open``,
which run in processes that the harness made for it.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..contract import Env
from ..replies import Busy
from ..terms import Approval, Deployment, Json, TargetName, View
from .declaration import DECLARATION
from .realization import Realization
from .view import read_view

if TYPE_CHECKING:
    from .ledger import CapLease
    from .store_sqlite import SqliteStore

_DATABASE = "ledger.sqlite3"
_BUSY_CODES = {5, 6}  # SQLITE_BUSY and SQLITE_LOCKED, without their extended bits


class CapLeaseSqlite(Realization):
    """The manifest realization over SQLite."""

    name = TargetName("admitone", "caplease-sqlite", "1")
    declaration = DECLARATION

    def warm(self) -> None:
        """Import, make the engine and the statements, and run every operation once."""
        from .warmup import exercise

        exercise(self)

    def deploy(self, workspace: Path) -> Deployment:
        """An empty database, and the key that authenticates credentials: it lies with the store,
        so that nodes share it."""
        from .store_sqlite import create

        create(workspace / _DATABASE)
        return Deployment({"database": _DATABASE, "credential_key": secrets.token_hex(32)})

    def open(self, store: Json, env: Env) -> CapLease:
        """One client with a connection of its own."""
        from .store_sqlite import connect

        deployed = cast("dict[str, str]", store)
        path = env.workspace / deployed["database"]
        opened = connect(path, env.patience_s, self.store_class())
        return self.client(opened, deployed["credential_key"], env)

    def store_class(self) -> type[SqliteStore]:
        """Which store it works on; some of the broken ones answer another."""
        from .store_sqlite import SqliteStore

        return SqliteStore

    def inspect(self, store: Json, approval: Approval) -> View:
        """The slots as they are durable, read from the file."""
        return read_view(Path(cast("dict[str, str]", store)["database"]), approval)

    def classify(self, exc: BaseException) -> Busy | None:
        """SQLite's "busy" means that nothing was written: the one transaction was rolled back."""
        cause: Any = getattr(exc, "orig", None) or exc
        code = getattr(cause, "sqlite_errorcode", None)
        if code is not None:
            return Busy("contention", detail=str(cause)) if code & 0xFF in _BUSY_CODES else None
        text = str(cause)
        if type(cause).__name__ == "OperationalError" and "is locked" in text:
            return Busy("contention", detail=text)
        return None
