"""Faults of a link, each defined by what its two ends observe, and as Toxiproxy's toxics.

A fault lasts from ``Link.fault`` to ``Link.heal``, for connections that stand and for new ones.
Most wait for an event and not for a time: ``limit_data`` closes a connection with the byte that
reaches its limit, so whoever stands before a statement can be given a fault at leisure.

*Closed* means that the client's next read ends (EOF), or fails with ECONNRESET where the system had
bytes of its request left. The server's end is closed too, always: a proxy that has lost one end
keeps nothing of the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Stream = Literal["upstream", "downstream"]
Reaches = Literal["at once", "never", "when healed"]
Sees = Literal["answer", "closed", "reset", "nothing", "refused"]

FOREVER_MS: Final = 24 * 3600 * 1000
"""Longer than any run: what is held so long is delivered by healing, milliseconds."""

PARAMETER_LIMIT: Final = 10**9


@dataclass(frozen=True, slots=True)
class Toxic:
    """One toxic of Toxiproxy. ``upstream`` is towards the server, ``downstream`` to the client."""

    kind: str
    stream: Stream
    attribute: str
    value: int


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the exchanges of a link while it lasts.

    ``token`` names it in the id of a schedule; ``fault_named`` reads it back. ``reaches``: whether
    the server gets a request that is sent under the fault. ``sees``: what the client gets for it.
    """

    token: str
    reaches: Reaches
    sees: Sees
    toxics: tuple[Toxic, ...] = ()
    down: bool = False

    @property
    def resets(self) -> bool:
        """It can show only on connections made after ``Link.arm``; older ones are closed."""
        return any(toxic.kind == "reset_peer" for toxic in self.toxics)


def _limit(stream: Stream, count: int) -> Toxic:
    return Toxic("limit_data", stream, "bytes", count)


NULL: Final = Fault("null", "at once", "answer")
"""No fault, by way of the same proxy: the control.

Client: the answer. Server: the request."""

REQUEST_LOST: Final = Fault("request-lost", "never", "closed", (_limit("upstream", 0),))
"""The first byte of the next request closes the connection.

Client: closed, without a byte. Server: closed, without a byte of the request. An answer to an
*earlier* request that is still on its way arrives."""

REPLY_LOST: Final = Fault("reply-lost", "at once", "closed", (_limit("downstream", 0),))
"""The first byte of the next answer closes the connection.

Client: closed, without a byte: nothing tells it from request-lost. Server: the whole request; it
could write its answer."""

BOTH_LOST: Final = Fault(
    "both-lost", "never", "closed", (_limit("upstream", 0), _limit("downstream", 0))
)
"""The next byte of either end closes the connection.

Client and server: as for request-lost; besides, the answer to an earlier request is lost too."""

LATE: Final = Fault(
    "late", "when healed", "nothing", (Toxic("latency", "upstream", "latency", FOREVER_MS),)
)
"""Requests are held by the network and delivered by ``heal``, also when their sender has gone.

Client: nothing, until it gives up by itself (a deadline, a kill). Server: nothing, then, at the
healing, the whole request as it was sent, then the end of the connection if its sender had gone."""

SILENCE: Final = Fault(
    "silence",
    "never",
    "nothing",
    (
        Toxic("timeout", "upstream", "timeout", 0),
        Toxic("timeout", "downstream", "timeout", 0),
    ),
)
"""A black hole: the connection stays, and nothing passes either way, ever.

Client: nothing; closed at the healing. Server: nothing; closed at the healing. What was sent
meanwhile is lost, so a connection that was silent is never used on."""

RESET: Final = Fault("reset", "never", "reset", (Toxic("reset_peer", "upstream", "timeout", 0),))
"""The first byte of the next request resets the connection.

Client: ECONNRESET. Server: ECONNRESET, without a byte of the request. Both by RST only on a
connection made while the fault was on or armed (``Link.arm``): Toxiproxy prepares a connection for
it when it is made. An older one is closed, as under request-lost."""

RESET_AFTER: Final = Fault(
    "reset-after", "at once", "reset", (Toxic("reset_peer", "downstream", "timeout", 0),)
)
"""The first byte of the next answer resets the connection.

Client: ECONNRESET, without a byte. Server: the whole request; ECONNRESET later. Older connections:
as for reset, so as under reply-lost."""

DOWN: Final = Fault("down", "never", "refused", down=True)
"""Nobody listens: the one fault after which a new client *knows* that nothing was sent.

Client: closed where it was connected (also while it waits for an answer); a new connection is
refused. Server: closed; no new connection."""

FIXED: Final = (
    NULL,
    REQUEST_LOST,
    REPLY_LOST,
    BOTH_LOST,
    LATE,
    SILENCE,
    RESET,
    RESET_AFTER,
    DOWN,
)
"""Those without a number, the control first."""


def cut(count: int) -> Fault:
    """``cut-N``: the connection is closed after N bytes of the answer.

    Client: the first N bytes, then closed (an answer of N bytes or fewer arrives whole; cut-0 is
    reply-lost). Server: the whole request; it could write its answer.
    """
    if not 0 <= count < PARAMETER_LIMIT:
        raise ValueError(f"no answer can be cut after {count} bytes")
    return Fault(f"cut-{count}", "at once", "closed", (_limit("downstream", count),))


def late(hang_up_ms: int) -> Fault:
    """``late-MS``: as late, and the client is cut off MS milliseconds after the fault or, where it
    connects later, after that: for clients that would wait for ever.

    Client: closed after that time, without a byte. Server: nothing, then, at the healing, the whole
    request if its sender had got it out before the cut, then the end of the connection.
    """
    if not 0 < hang_up_ms < PARAMETER_LIMIT:
        raise ValueError(f"no client can be cut off after {hang_up_ms} ms")
    hang_up = Toxic("timeout", "downstream", "timeout", hang_up_ms)
    return Fault(f"late-{hang_up_ms}", "when healed", "closed", (*LATE.toxics, hang_up))


def fault_named(token: str) -> Fault:
    """The fault of a token. Raises ``ValueError``: there is none of that name."""
    for fault in FIXED:
        if fault.token == token:
            return fault
    if found := re.fullmatch(r"(cut|late)-(0|[1-9][0-9]{0,8})", token):
        return (cut if found[1] == "cut" else late)(int(found[2]))
    raise ValueError(f"there is no network fault {token[:40]!r}")
