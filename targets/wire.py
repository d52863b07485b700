"""The wire: every message that the harness and a node exchange, one dataclass each.

Messages are JSON objects, one a line, over a descriptor of the node's own. The harness sends
*requests* (``do``); the node answers each with one reply that carries the request's ``id``, and
asks in between: a stop that it stands at, an effect for the sink, a lookup. Each question carries
a fresh ``ask``, and the harness's *answer* repeats it. These classes describe the messages and
are never made: ``wire_schema.py`` turns them into the published ``schemas/wire-v1.json``.

A field whose name is a word of Python has an underscore here and none on the wire. A field with
a default may be left out. What a call takes and what its reply carries are not repeated here:
both follow from the methods of the contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, NamedTuple

from .contract import OPERATIONS
from .terms import Approval, Identity, Json, Trust

WIRE_VERSION: Final = 1

CALLS: Final = (*OPERATIONS, "effect")
"""What ``call`` may name. ``effect`` is the workload's own send, through the node's ``env``."""


class Spot(NamedTuple):
    """A point within one call: ``["write", "before", 2]``; ``nth`` counts from 1."""

    kind: str
    side: Literal["before", "after"]
    nth: int


class Arming(NamedTuple):
    """A stop to stand at: ``["FP3", "write", "before", 1]``; the name comes back in ``at``."""

    name: str
    kind: str
    side: Literal["before", "after"]
    nth: int


# requests: from the harness ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Deploy:
    """Make an empty store in the workspace."""

    DO: ClassVar = "deploy"

    id: int
    workspace: str


@dataclass(frozen=True, slots=True)
class Fresh:
    """Make store number ``n`` in the servers that ``store`` has the addresses of."""

    DO: ClassVar = "fresh"

    id: int
    store: Json
    n: int


@dataclass(frozen=True, slots=True)
class Discard:
    """Remove a store that ``fresh`` made."""

    DO: ClassVar = "discard"

    id: int
    store: Json


@dataclass(frozen=True, slots=True)
class Open:
    """Open the ledger as this identity; an open one is forgotten."""

    DO: ClassVar = "open"

    id: int
    store: Json
    workspace: str
    identity: Identity
    trust: Trust
    skew_s: float
    lease_s: float
    patience_s: float
    sink_url: str | None


@dataclass(frozen=True, slots=True)
class Invoke:
    """Make one call on the open ledger.

    ``arm``: stops of this call. ``trace``: report every point. ``lane``: beside other calls, in a
    thread of its own. ``start_ns``: begin at this instant of the monotonic clock.
    """

    DO: ClassVar = "call"

    id: int
    op: str
    args: tuple[object, ...]
    arm: tuple[Arming, ...] = ()
    trace: bool = False
    lane: int | None = None
    start_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Inspect:
    """Read what the store durably holds for an approval, by a connection of its own."""

    DO: ClassVar = "inspect"

    id: int
    workspace: str
    store: Json
    approval: Approval


@dataclass(frozen=True, slots=True)
class Work:
    """Run one pass of the sweeper, relay or reaper. ``arm`` and ``trace`` as for a call."""

    DO: ClassVar = "work"

    id: int
    store: Json
    arm: tuple[Arming, ...] = ()
    trace: bool = False


@dataclass(frozen=True, slots=True)
class Leave:
    """End the process."""

    DO: ClassVar = "leave"


# replies and questions: from the node ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to the request with this id.

    ``raised``: the exception that ``value`` was classified from. ``entered``: how often the call
    asked the sink for an effect; ``not_applied``: how often it heard a definite no; ``wrote``:
    how many durable writes were seen in it; ``fired``: an error that the harness asked for at a
    stop was really raised there. ``content``, of ``deploy``: a digest of the target's code.
    """

    reply: int
    value: object
    entered: int
    not_applied: int
    wrote: int
    raised: str | None = None
    fired: bool = False
    content: str = ""


@dataclass(frozen=True, slots=True)
class Unclassified:
    """The request ended in an exception that the target cannot name; ``raised``: its trace."""

    reply: int
    unclassified: str
    raised: str
    entered: int
    not_applied: int
    wrote: int
    fired: bool = False


@dataclass(frozen=True, slots=True)
class At:
    """The call stands at an armed stop, and waits."""

    at: Spot
    name: str
    call: int
    text: str
    ask: int


@dataclass(frozen=True, slots=True)
class Trace:
    """The call passed a point."""

    trace: Spot
    call: int
    text: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the sink is to do. Without ``key`` the harness may make one."""

    tool: str
    args: object
    key: str | None


@dataclass(frozen=True, slots=True)
class Effect:
    """Ask the sink to apply an effect. ``call`` None: it belongs to no call. ``guessed``: it is the
    only call that this node has open, and a thread that no call made asks: another node's client
    may have wanted it."""

    effect: Wanted
    call: int | None
    ask: int
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Lookup:
    """Ask the sink what stands applied under a key."""

    lookup: str
    call: int | None
    ask: int


# answers: from the harness -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Go:
    """Go on from the stop."""

    answer: int


@dataclass(frozen=True, slots=True)
class RaiseThere:
    """Go on from the stop, which fails: the way a full disk or a busy store fails."""

    answer: int
    raise_: Literal["busy", "io"]


@dataclass(frozen=True, slots=True)
class Applied:
    """The effect stands, with this receipt. For a lookup null: nothing up to now."""

    answer: int
    receipt: object


@dataclass(frozen=True, slots=True)
class NotAppliedThere:
    """Definite: the sink did not apply it and never will."""

    answer: int
    not_applied: str


@dataclass(frozen=True, slots=True)
class UnknownThere:
    """No answer came: it may stand applied, or be applied later."""

    answer: int
    unknown: str


REQUESTS: Final = {
    "deploy": Deploy,
    "fresh": Fresh,
    "discard": Discard,
    "open": Open,
    "inspect": Inspect,
    "work": Work,
    "leave": Leave,
}
"""Requests by the name of their definition. ``Invoke`` has one for each of ``CALLS``."""

ANSWERS: Final = {
    "go": Go,
    "raise": RaiseThere,
    "receipt": Applied,
    "not_applied": NotAppliedThere,
    "unknown": UnknownThere,
}

QUESTIONS: Final = {"at": At, "trace": Trace, "effect": Effect, "lookup": Lookup}
