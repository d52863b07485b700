"""The links of one worker: ways to a server that lead through a real Toxiproxy.

Made when a schedule first asks for one, and kept, with the sinks that they lead to: a process costs
more to start than a schedule to play. Between schedules every link is healed, and leads wherever
the next one needs it to.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..chaos.servers import ServerProblem
from ..idempotent_sink.process import SinkProcess
from ..idempotent_sink.protocol import SinkKind
from ..targets.terms import Trust
from .plan import PlanProblem
from .sinks import Sinks

if TYPE_CHECKING:
    from ..chaos.network.link import Link
    from ..chaos.network.toxiproxy import Toxiproxy


class Links:
    """See the module. Stores of sinks are kept in ``folder``."""

    def __init__(self, folder: Path, trust: Trust) -> None:
        self._trust = trust
        self._folder = folder / "links"
        self._sinks: Sinks | None = None
        self._proxy: Toxiproxy | None = None
        self._links: dict[str, Link] = {}

    def to(self, name: str, host: str, port: int) -> Link:
        """The link of this name, healed, leading there. Raises ``PlanProblem`` where the machine
        has no Toxiproxy: the schedule could not run."""
        try:
            link = self._links.get(name)
            if link is None:
                self._links[name] = link = self._started().proxy(name, host, port)
            link.heal()
            link.retarget(host, port)
        except ServerProblem as problem:
            self._forget()
            raise PlanProblem(str(problem)) from None
        return link

    def sink(self, kind: SinkKind) -> SinkProcess:
        """A sink of this kind in a process of its own, with nothing in it. Raises
        ``SinkProcessProblem`` if it does not start."""
        if self._sinks is None:
            self._folder.mkdir(exist_ok=True)
            self._sinks = Sinks("process", self._folder, self._trust.receipt_key)
        sink = self._sinks.fresh(kind)
        assert isinstance(sink, SinkProcess)
        return sink

    def close(self) -> None:
        """End the proxy and the sinks. More than once does no harm."""
        if self._sinks is not None:
            self._sinks.close()
            self._sinks = None
        self._forget()

    def _started(self) -> Toxiproxy:
        if self._proxy is None:
            from ..chaos.network.toxiproxy import Toxiproxy  # only where a link is needed

            self._proxy = Toxiproxy()
        return self._proxy

    def _forget(self) -> None:
        self._links.clear()
        if self._proxy is not None:
            with suppress(ServerProblem):
                self._proxy.close()
            self._proxy = None
