"""What the probes see, whom they tell, and the switch that makes them nearly free.

A probe stands between a ledger and its driver. It reports a *point* before and after each
statement and each durable write; the observer may let it pass, hold it (the process is then
killed or let go), or answer ``Raise``. Points are reported on the thread that does the work, so
an observer that keeps a context variable knows which operation each belongs to.

The node installs the probes in its warm parent, before the target is imported, and forks. Only
between ``watch(True)`` and ``watch(False)`` is anything reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar

Kind = Literal["begin", "statement", "write"]
"""``begin`` opens a transaction; ``write`` is a durable write: the COMMIT of a transaction that
changed something, an autocommitted statement that did, fsync, the close of a written file, a name
made, moved or removed. ``statement``: also a read, check or lock of a file."""

Side = Literal["before", "after"]

T = TypeVar("T")


@dataclass(slots=True)
class Raise:
    """The observer's wish that a write, or a statement, fails the way the store fails.

    ``busy``  before a write: it was not done. Its transaction is still open on SQLite; on
              PostgreSQL, where only a serializable one fails so, it is rolled back. Before a
              statement in a PostgreSQL transaction: a deadlock, which aborts the transaction.
    ``io``    before: not done, and the transaction gone with it; after: done all the same. Before a
              change of rows in a SQLite transaction: neither that nor the rest of it. Before bytes
              go out to a file: no room for them (``room``), while the call lasts.

    ``fired`` turns True when the probe really raised. It stays False where the store could not
    fail so at this point, or where the probe does not control the boundary. ``over`` is for the
    observer to set, when the call has ended in which it wished so.
    """

    error: Literal["busy", "io"]
    fired: bool = False
    over: bool = False


class Observer(Protocol):
    """Who is told. ``point`` may block; its answer counts at ``write`` points, and before the
    statements of a PostgreSQL transaction, the changes of one of SQLite, and bytes that go out to a
    file."""

    def point(self, kind: Kind, side: Side, text: str) -> Raise | None: ...


def _nobody(_kind: Kind, _side: Side, _text: str) -> Raise | None:
    return None


watching = False
"""The switch. Probes read it before anything else; set it with ``watch``."""

covered: list[type] = []
"""Driver connections that a driver probe sees into: the layers above them keep silent."""

tell: Callable[[Kind, Side, str], Raise | None] = _nobody
"""The observer's ``point``; probes call it themselves only where they have read the switch."""


def install(observer: Observer, root: Path | None = None) -> None:
    """Probe the drivers, and name the observer and the folder whose files count.

    Call it before the target is imported; again, before the fork, for layers that it imported.
    """
    from . import alchemy, files, open_files, psycopg, sqlite  # they report to this module

    observe(observer)
    open_files.below(root)
    sqlite.install()
    files.install()
    psycopg.install_after_import()
    alchemy.install_after_import()


def observe(observer: Observer) -> None:
    """Name another observer; the probes stay as they are."""
    global tell  # noqa: PLW0603  # one per process
    tell = observer.point


def uninstall() -> None:
    """Give the drivers back. Objects that were made meanwhile go on working, unseen."""
    from . import alchemy, files, open_files, psycopg, sqlite

    global tell  # noqa: PLW0603  # one per process
    watch(False)
    tell = _nobody
    alchemy.uninstall()
    psycopg.uninstall()
    files.uninstall()
    sqlite.uninstall()
    open_files.below(None)


def watch(on: bool) -> None:
    """Turn reporting on or off. A node turns it on once, after the fork, for its whole life."""
    global watching  # noqa: PLW0603  # a module's name is the fastest switch
    watching = on


@contextmanager
def watched() -> Iterator[None]:
    """Report while the block runs."""
    watch(True)
    try:
        yield
    finally:
        watch(False)


def report(kind: Kind, side: Side, text: str) -> Raise | None:
    """Tell the observer, and hand back its answer."""
    return tell(kind, side, text) if watching else None


def around(kind: Kind, text: str, action: Callable[[], T]) -> T:
    """Run ``action`` between its two points; both are reported also when it fails."""
    if not watching:
        return action()
    tell(kind, "before", text)
    try:
        return action()
    finally:
        tell(kind, "after", text)
