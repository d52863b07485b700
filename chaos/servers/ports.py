"""A free port of this machine, below those that the kernel gives to clients.

A server that was killed must come back on its port. Were that one of the ports that clients get
when they connect, any client (even one that knocks at the dead server's door, and so connects to
itself) could hold it meanwhile.
"""

from __future__ import annotations

import random
import socket
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LOWEST = 10_000
_TRIES = 50
_CHOICE = random.SystemRandom()  # the seed of a schedule must not make two runs meet


def free_port() -> int:
    """A port that nothing is bound to just now; it can be taken the next moment."""
    lowest_of_clients = 32_768
    with suppress(OSError, ValueError):
        text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
        lowest_of_clients = int(text.split()[0])
    if lowest_of_clients - _LOWEST >= 1_000:
        for _ in range(_TRIES):
            port = _CHOICE.randrange(_LOWEST, lowest_of_clients)
            if is_free(port):
                return port
    with socket.socket() as any_port:
        any_port.bind((LOOPBACK, 0))
        return int(any_port.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether a server could listen there; what is left of closed connections is no hindrance."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True
