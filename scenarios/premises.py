"""Where the stores of schedules live: in folders that are copied, or in real servers.

A conductor has premises of its own: it starts the servers that its target names, so that killing
one hurts nobody else, and has every schedule's store made in them by a *steward*, a node that is
never hurt. Nothing of it is left when the premises are closed.

A user's own PostgreSQL is named by ``ADMITONE_POSTGRES`` (not by an option: a command line is
there for everybody to read). It is never killed, and what was made in it is discarded.
"""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from ..chaos.channel import Message
from ..chaos.handle import NodeHandle, Said, unsaid
from ..chaos.parent import TargetProblem, WarmParent
from ..chaos.runfolder import Template
from ..chaos.servers import RunningServer, ServerMissing, ServerProblem
from ..chaos.servers.elsewhere import Elsewhere
from ..targets.terms import POSTGRES, Json, Server, Trust
from ..targets.values import ValueProblem, decode
from .calls import Setting

USER_POSTGRES: Final = "ADMITONE_POSTGRES"

STEWARD: Final = "steward"
STEWARD_DEADLINE_S: Final = 30.0
DISCARD_DEADLINE_S: Final = 5.0
SERVING_DEADLINE_S: Final = 30.0


class CannotRun(TargetProblem):
    """This machine lacks what the target needs. The text names the command that installs it."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What premises are made of: the deployed template, the servers that the target names and the
    ``endpoints`` of those that are somebody else's, whether it makes and discards ``fresh``
    stores, and the folder of what servers share (images)."""

    template: Template
    servers: tuple[Server, ...]
    endpoints: tuple[str, ...]
    fresh: bool
    discards: bool
    kept: Path


class Premises:
    """See the module. ``folder`` is theirs alone. Raises ``CannotRun`` or ``TargetProblem``."""

    def __init__(self, parent: WarmParent, ground: Ground, folder: Path, trust: Trust) -> None:
        self._parent = parent
        self._ground = ground
        self._trust = trust
        self._steward: NodeHandle | None = None
        self._asked = itertools.count(1)
        # unique also where several workers have one server: pids of living processes differ
        self._numbers = itertools.count(os.getpid() * 1_000_000 + 1)
        self._given: dict[str, Setting] = {}
        self.servers: tuple[RunningServer, ...] = ()
        self._began: list[RunningServer] = []
        try:
            for number, server in enumerate(ground.servers):
                self._began.append(_started(parent.target, server, folder, number, ground.kept))
            if ground.fresh and not ground.discards and not self._all_ours():
                raise TargetProblem(
                    f"{parent.target}: its server is yours, and the target has no discard(store). "
                    "What fresh() makes for every schedule would stay there: remove it in discard."
                )
            store = ground.template.store
            for endpoint in ground.endpoints:
                address = store.get(endpoint) if isinstance(store, dict) else None
                self._began.append(_elsewhere(parent.target, endpoint, address))
        except BaseException:
            self.close()
            raise
        self.servers = tuple(self._began)

    def setting(self, workspace: Path, deadline_s: float, sink_url: str | None) -> Setting:
        """A fresh store, with the workspace written for it."""
        self._ground.template.write(workspace)
        setting = Setting(
            workspace,
            self._ground.template.store,
            self._trust,
            deadline_s,
            sink_url=sink_url,
            servers=self.servers,
        )
        if not self._ground.fresh:
            return setting
        number = next(self._numbers)
        setting = setting.with_store(setting.store, f"s{number}-")
        for server in self.servers:
            self._serving(server)
        made = self._ask({"do": "fresh", "store": setting.store_for(STEWARD), "n": number})
        setting = self._given[setting.prefix] = setting.with_store(made, setting.prefix)
        return setting

    def give_up(self, setting: Setting) -> None:
        """A schedule's store is no longer needed. In a server that is thrown away it may stay where
        it cannot be discarded (a client that hangs may hold its locks)."""
        if self._ground.fresh and self._ground.discards:
            try:
                for server in self.servers:
                    self._serving(server)
                self._discard(setting)
            except TargetProblem:
                if not self._all_ours():
                    raise
        self._given.pop(setting.prefix, None)

    def close(self) -> None:
        """End the steward and the servers. More than once does no harm."""
        if self._given and not self._all_ours():
            self._discard_all()
        if self._steward is not None:
            self._end_steward(self._steward)
            self._steward = None
        for server in self._began:
            server.close()
        self._began = []

    def _all_ours(self) -> bool:
        return all(server.ours for server in self._began)

    def _discard(self, setting: Setting) -> None:
        self._ask({"do": "discard", "store": setting.store_for(STEWARD)}, DISCARD_DEADLINE_S)

    def _discard_all(self) -> None:
        """Leave nothing in a server that goes on: the adapter check gives up no store, and a run
        that ends early has one in use. Whoever uses it still would hold its locks."""
        with suppress(TargetProblem):  # the parent is gone, and its nodes with it
            self._parent.end_nodes()
        self._steward = None
        for setting in self._given.values() if self._ground.discards else ():
            with suppress(TargetProblem):  # it cannot be helped, and more is to be ended yet
                self._discard(setting)
        self._given.clear()

    def _serving(self, server: RunningServer) -> None:
        try:
            server.await_serving(SERVING_DEADLINE_S)
        except ServerProblem as problem:
            raise TargetProblem(f"{self._parent.target}: {problem}") from None

    def _ask(self, message: Message, deadline_s: float = STEWARD_DEADLINE_S) -> Json:
        """Have the steward do it. Raises ``TargetProblem`` with what it said."""
        if self._steward is None:
            self._steward = self._parent.fork(STEWARD)
        number = next(self._asked)
        self._steward.say({**message, "id": number})
        heard = self._steward.hear(deadline_s)
        what = f"{self._parent.target}: {message['do']}()"
        if not isinstance(heard, Said):
            self._end_steward(self._steward)
            self._steward = None
            raise TargetProblem(f"{what} {unsaid(heard)}. Last output: {self._parent.printed()}")
        if "unclassified" in heard.message:
            raised = str(heard.message.get("raised", ""))[-2000:]
            raise TargetProblem(f"{what} raised {heard.message['unclassified']}\n{raised}")
        try:
            return cast(Json, decode(heard.message.get("value")))
        except (ValueProblem, RecursionError) as problem:
            raise TargetProblem(f"{what}: {problem}; a store must be plain JSON") from None

    def _end_steward(self, steward: NodeHandle) -> None:
        with suppress(TargetProblem):  # its parent may be gone, and took it along
            if steward.alive:
                steward.kill()
                self._parent.reap(steward.pid)


def _started(target: str, server: Server, folder: Path, number: int, kept: Path) -> RunningServer:
    place = folder / f"server{number}"
    place.mkdir(parents=True, exist_ok=True)
    from ..chaos.servers.start import start  # a driver is loaded only where there is a server

    named = os.environ.get(USER_POSTGRES) if server.argv[:1] == (POSTGRES,) else None
    try:
        return start(server, place, kept, named or None)
    except ServerMissing as missing:
        raise CannotRun(f"{target}: {missing}") from None
    except ServerProblem as problem:
        about = f"{target}: {USER_POSTGRES}" if named else target
        raise TargetProblem(f"{about}: {problem}") from None


def _elsewhere(target: str, endpoint: str, address: Json) -> RunningServer:
    try:
        return Elsewhere(endpoint, address)
    except ServerProblem as problem:
        raise TargetProblem(f"{target}: deploy(): {problem}") from None
