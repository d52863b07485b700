"""What a sink is to its callers: the values it answers with, and the methods that every sink has.

A sink is the world outside the ledger. It is the ground truth of N_effect, so it says two
different things and never mixes them up: a *request* is a message that reached it, an
*application* is an effect that it caused. A repeated key is one more request and no application.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, Protocol, get_args

from ..targets.terms import Receipt

SinkKind = Literal["idempotent", "control"]
"""Idempotent: one application per key, atomically with its record. Control: neither remembers
nor looks up, so every request applies; it shows what a ledger owes to the idempotent one."""

How = Literal["applied", "repeated", "refused", "found", "absent", "cannot_tell"]
"""What a request came to (the first three) or what a lookup found (the others).

Refused is definite: nothing was applied and nothing ever will be by this request.
"""

SINK_KINDS: Final[tuple[SinkKind, ...]] = get_args(SinkKind)
HOWS: Final[tuple[How, ...]] = get_args(How)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the sink answers. ``request_number`` is its own number of the request, 0 if an unfit
    request was turned away before it reached the sink.

    ``receipt`` and ``application`` belong to the effect that stands applied, if one does.
    ``problem`` says in one sentence why a request was refused.
    """

    request_number: int
    how: How
    receipt: Receipt | None = None
    application: int | None = None
    label: str | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Received:
    """One line of the request log: what came, before anything was decided.

    ``args_json`` is tagged JSON text. Where ``problem`` is not empty the request was unfit and
    the fields that could not be read safely are None or empty.
    """

    number: int
    t_ns: int
    kind: Literal["effect", "lookup"]
    key: str | None
    tool: str
    args_json: str | None
    digest: str | None
    label: str | None
    node: str
    call: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class Application:
    """One effect that stands applied. ``receipt`` None: the sink has no record of it, because it
    stopped between the two (only the control sink can)."""

    number: int
    request: int
    t_ns: int
    key: str | None
    tool: str
    digest: str
    label: str | None
    receipt: Receipt | None


@dataclass(frozen=True, slots=True)
class Log:
    """The whole log at one instant, each part in the order in which it happened."""

    requests: tuple[Received, ...]
    applications: tuple[Application, ...]


class SinkLike(Protocol):
    """A sink, in this process (``Sink``) or in one of its own (``HttpSink``)."""

    def request(
        self, key: str | None, tool: str, args: object, *, node: str = "", call: int | None = None
    ) -> Answer:
        """Ask for an effect. ``node`` and ``call`` are written to the log and mean nothing here.

        Only a sink behind a network raises: ``NotApplied`` or ``EffectUnknown``.
        """
        ...

    def lookup(self, key: str, *, node: str = "", call: int | None = None) -> Answer:
        """Ask what stands applied under a key: found, absent (up to now) or cannot_tell."""
        ...

    def log(self) -> Log:
        """Requests and applications, read at one instant."""
        ...

    def requests(self) -> tuple[Received, ...]:
        """Every request as it came, lookups too."""
        ...

    def applications(self, label: str | None = None) -> tuple[Application, ...]:
        """Every application, or those under one label."""
        ...

    def close(self) -> None:
        """Let go of whatever is held open."""
        ...
