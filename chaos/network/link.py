"""One way through the proxy: to be used in place of a server's own address, and hurt."""

from __future__ import annotations

from ..servers import ServerProblem
from .api import Api
from .faults import NULL, Fault

_ARMED = "armed"


class Link:
    """A proxy in front of one server. ``host`` and ``port`` are where its clients connect; they
    stay the same over faults, healings and other servers.

    One fault at a time; ``current`` is the one that is on. All methods raise ``ServerProblem``.
    """

    def __init__(self, api: Api, name: str, upstream_host: str, upstream_port: int) -> None:
        self._api = api
        self._toxics: list[str] = []
        self._is_down = False
        self._is_closed = False
        self.name = name
        self.upstream = (upstream_host, upstream_port)
        host, _, port = api.create(name, _joined(*self.upstream)).rpartition(":")
        self.host = host
        self.port = int(port)
        self.current: Fault = NULL

    def arm(self, fault: Fault) -> None:
        """Let connections that are made from now on be reset by ``fault``; nothing else changes.

        Nothing to do for faults that need no preparation. An armed connection ends by RST at the
        server too when its client leaves. ``heal`` disarms.
        """
        if fault.resets and _ARMED not in self._toxics:
            self._add(_ARMED, fault, toxicity=0.0)

    def fault(self, fault: Fault) -> None:
        """Have it from now on, in place of another (what that one held is delivered first)."""
        if self.current is not NULL:
            self._end(keep_armed=fault.resets)
        self.current = fault
        if fault.down:
            self._is_down = True
            self._api.update(self.name, enabled=False)
        else:
            self._add("fault", fault, toxicity=1.0)

    def heal(self) -> None:
        """No fault any more: what was held is delivered, new connections are as usual."""
        self._end(keep_armed=False)

    def retarget(self, upstream_host: str, upstream_port: int) -> None:
        """Lead to another server from now on. Where it is another, connections are closed."""
        if (upstream_host, upstream_port) != self.upstream:
            self._api.update(self.name, upstream=_joined(upstream_host, upstream_port))
            self.upstream = (upstream_host, upstream_port)

    def close(self) -> None:
        """Remove it; its connections are closed. More than once does no harm."""
        if not self._is_closed:
            self._is_closed = True
            self._api.delete(self.name)

    def _add(self, called: str, fault: Fault, toxicity: float) -> None:
        for number, toxic in enumerate(fault.toxics):
            name = called if called == _ARMED else f"{called}{number}"
            self._toxics.append(name)  # before: it may be there even if the answer is not
            self._api.add(self.name, toxic, name, toxicity)

    def _end(self, *, keep_armed: bool) -> None:
        for name in list(self._toxics):  # in the order of the fault: what is held goes first
            if not (keep_armed and name == _ARMED):
                self._api.remove(self.name, name)
                self._toxics.remove(name)
        if self._is_down:
            self._api.update(self.name, enabled=True)
            self._is_down = False
        self.current = NULL


def _joined(host: str, port: int) -> str:
    if host.startswith(("/", "@")):
        raise ServerProblem(
            f"no proxy can stand before the unix socket {host}: name the server by host and port"
        )
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
