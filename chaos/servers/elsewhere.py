"""A server that the suite neither starts nor knows: only the way to it can be hurt."""

from __future__ import annotations

import socket

from . import ServerProblem

_CONNECT_S = 5.0


class Elsewhere:
    """See ``RunningServer``. ``address``: ``host:port``, as the target's store has it."""

    ours = False

    def __init__(self, endpoint: str, address: object) -> None:
        self.endpoint = endpoint
        host, _, port = str(address).rpartition(":")
        if not isinstance(address, str) or not host or not port.isdecimal():
            raise ServerProblem(
                f"the store has {str(address)[:80]!r} under the endpoint {endpoint!r}; it must be "
                "an address, host:port"
            )
        self.host = host.strip("[]")
        self.port = int(port)

    def address(self, client: str, at: tuple[str, int] | None = None) -> str:
        """Where it is, or the proxy; it knows no names of clients."""
        host, port = at or (self.host, self.port)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def sessions(self, client: str) -> tuple[int, ...]:
        """Nobody here can see them."""
        return ()

    def is_blocked(self, client: str) -> bool:
        """Nobody here can see that."""
        return False

    def is_inside(self, client: str) -> bool:
        """Nobody here can see that either."""
        return False

    def kill_session(self, client: str) -> bool:
        """Never: it is not ours."""
        raise self._not_ours()

    def await_serving(self, deadline_s: float) -> None:
        """See ``RunningServer``."""
        try:
            with socket.create_connection((self.host, self.port), min(deadline_s, _CONNECT_S)):
                return
        except OSError as problem:
            raise ServerProblem(
                f"the server at {self.host}:{self.port} (endpoint {self.endpoint!r}) does not "
                f"answer: {problem}"
            ) from None

    def kill(self) -> None:
        """Never: it is not ours."""
        raise self._not_ours()

    def restart(self) -> None:
        """Never: it is not ours."""
        raise self._not_ours()

    def close(self) -> None:
        """It goes on."""

    def _not_ours(self) -> ServerProblem:
        return ServerProblem(f"the server at {self.host}:{self.port} was not started here")
