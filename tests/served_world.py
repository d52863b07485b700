"""The world of ``caplease_world.py`` on a real PostgreSQL: a schema for each site, and operations
that stand still between their statements.

What waits for another session's lock is seen to wait by the server's own word, and never by the
passing of time.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from admitone.chaos.servers.postgres import PostgresServer
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.store_postgres import connect
from admitone.targets.caplease.target_postgres import CapLeasePostgres
from tests.caplease_world import Site, World

_NUMBERS: Final = itertools.count(1)
DEADLINE_S: Final = 30.0
PATIENT: Final = {"patience_s": 60.0}
"""For clients that must wait as long as the ledger ever does."""


@dataclass
class ServedSite(Site):
    """A site whose store is a schema of its own; its clients are sessions with names."""

    server: PostgresServer = cast(PostgresServer, None)
    opened: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.target, CapLeasePostgres)
        made = self.target.fresh(cast(Any, self._addressed("steward")), next(_NUMBERS))
        self.deployment = replace(self.deployment, store=made)

    def alter(self, sql: str) -> None:
        store = self._addressed("raw")
        with connect(store["postgres"], {"search_path": store["schema"]}) as raw:
            raw.execute(sql.encode())

    def client(self, **world: Any) -> tuple[CapLease, World]:
        return self.named(f"client-{next(self.opened)}", **world)

    def named(self, name: str, **world: Any) -> tuple[CapLease, World]:
        """A client whose session has this name at the server."""
        env = World(self.workspace, **world)
        ledger = self.target.open(cast(Any, self._addressed(name)), env)
        self.clients.append(ledger)
        return ledger, env

    def await_blocked(self, name: str) -> None:
        """Until the client's session waits for a lock that another one holds."""
        until = time.monotonic() + DEADLINE_S
        while not self.server.is_blocked(name):
            assert time.monotonic() < until, f"{name} waits for nothing"
            time.sleep(0.002)

    def shut(self) -> None:
        super().shut()
        assert isinstance(self.target, CapLeasePostgres)
        self.target.discard(cast(Any, self._addressed("steward")))

    def _addressed(self, name: str) -> dict[str, str]:
        store = cast("dict[str, str]", self.deployment.store)
        return {**store, "postgres": self.server.address(name)}


class Stand:
    """An operation in a thread of its own, that stands before it calls one of its methods."""

    def __init__(self, ledger: CapLease, method: str, operation: Callable[[], Any]) -> None:
        self._reached, self._go, self._dies = threading.Event(), threading.Event(), False
        self._stock = getattr(ledger, method)
        setattr(ledger, method, self._stands)
        self._answer = in_thread(operation)
        self._answer.add_done_callback(lambda _: self._reached.set())
        assert self._reached.wait(DEADLINE_S)
        assert not self._answer.done(), f"it never came to {method}: {self._answer.result()}"

    def goes_on(self) -> Any:
        """Let it; its answer."""
        self._go.set()
        return self._answer.result(DEADLINE_S)

    def dies(self) -> None:
        """Its transaction ends as that of a client that is gone."""
        self._dies = True
        self._go.set()
        assert isinstance(self._answer.exception(DEADLINE_S), Died)

    def _stands(self, *args: Any) -> Any:
        self._reached.set()
        assert self._go.wait(DEADLINE_S)
        if self._dies:
            raise Died
        return self._stock(*args)


class Died(Exception):
    """Stands for the death of a client."""


def in_thread(operation: Callable[[], Any]) -> Future[Any]:
    """Begin an operation that may have to wait."""
    pool = ThreadPoolExecutor(1)
    begun = pool.submit(operation)
    pool.shutdown(wait=False)
    return begun


def classified(site: Site, operation: Callable[[], Any]) -> Any:
    """The answer, as a node would give it."""
    try:
        return operation()
    except Exception as raised:  # whatever it is, it is classified
        return site.target.classify(raised) or raised
