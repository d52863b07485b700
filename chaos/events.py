"""What a run leaves: one event a line, as it happens, from every source.

An event says *what* (its class), and its ``Stamp`` says when, in which order and who saw it.
Checks read nothing else (design: "What is observed"), so an event must carry the evidence
itself and never a conclusion. The JSON form of each is in ``schemas/history-v1.json``.

Calls are numbered per schedule. ``label`` is the mark that the workload planted in the
arguments of one authorization; everything is grouped by it, never by an identifier that the
ledger under test chose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..targets.terms import Admission, Approval, AuditView, Call, Context, Receipt, View

HISTORY_VERSION: Final = 1

Outcome = Literal["granted", "replayed", "refused", "busy", "unknown"]

Fault = Literal["target", "harness"]
"""Whose fault it is that a schedule cannot be judged."""

Why = Literal[
    "reply",  # the ledger said so
    "classified",  # its exception was classified so
    "dropped",  # it replied, the harness dropped it
    "dead",  # the node died before it replied
    "silent",  # the deadline passed
    "unclassified",  # an exception that nobody classified
    "malformed",  # the reply was no reply of the contract
    "corrected",  # Busy or Refused although something was written or sent
]


@dataclass(frozen=True, slots=True)
class Approved:
    """The workload made one decision of a user: what may be applied under ``label``, how often."""

    label: str
    approval: Approval


@dataclass(frozen=True, slots=True)
class Invoked:
    """A call was sent to a node; written before the first byte leaves.

    ``request``: the thing that the user wants done once, where the call is about one.
    ``admission``: for commit, release and renew, the admission that it is about. ``call`` here is
    the number; ``presented`` and ``context`` are the call and the execution context that were
    presented, where they differ from the approved ones; ``forged`` names what was altered in a
    credential, confirmation or receipt; ``budget`` is what was asked for where that is another
    one. All of these are attacks: a ledger may refuse them, and is judged by what it would send.
    """

    call: int
    op: str
    node: str
    executor: str
    label: str | None = None
    request: str | None = None
    attempt: str | None = None
    admission: Admission | None = None
    presented: Call | None = None
    context: Context | None = None
    forged: str = ""
    budget: object = None


@dataclass(frozen=True, slots=True)
class Replied:
    """The answer to a call, as the client knows it.

    ``value``: the grant, or the reply noun. ``effects``: how often ``env.effect`` was entered by
    this call. ``wrote``: how many durable writes the probes saw in it, None without probes.
    """

    call: int
    outcome: Outcome
    why: Why
    value: object = None
    effects: int = 0
    wrote: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A place in an operation: ``write 2 before``, ``statement 3 after``, ``reply 1 before``.

    ``kind``: "begin", "statement", "write" (a durable write: COMMIT, autocommit statement, fsync,
    rename, close), "effect", "reply", or the adapter's own name from ``env.at``. ``nth`` counts
    from 1 within one call of ``op``.
    """

    op: str
    kind: str
    side: Literal["before", "after"]
    nth: int

    def __str__(self) -> str:
        return f"{self.op}.{self.kind}{self.nth}.{self.side}"


@dataclass(frozen=True, slots=True)
class Armed:
    """The next call on this node will stop at the point. ``name``: FP1 … FP12, or a race's."""

    name: str
    node: str
    point: Point


@dataclass(frozen=True, slots=True)
class Stopped:
    """The node reported the point and stands there. ``text``: the statement or file, bounded."""

    name: str
    node: str
    point: Point
    call: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Released:
    """The node goes on from its stop: "go", "raise …", or "drop" (of the reply)."""

    name: str
    node: str
    how: str

    @property
    def raises(self) -> bool:
        """Its store was made to fail there."""
        return self.how.startswith("raise ")


@dataclass(frozen=True, slots=True)
class Killed:
    """The node was reaped. ``signal`` is the one that it died of, 0 if it left by itself;
    ``injected``: the harness sent it; ``left``: processes it left behind, killed too."""

    node: str
    pid: int
    signal: int
    injected: bool
    left: int = 0


@dataclass(frozen=True, slots=True)
class FaultOn:
    """Something around the nodes is hurt from here on: ``what`` is "session killed", "server
    killed", or a fault of a link ("reply-lost"); ``where`` the server or link, by its name."""

    what: str
    where: str


@dataclass(frozen=True, slots=True)
class FaultOff:
    """It is whole again: the server serves, the link carries everything."""

    what: str
    where: str


@dataclass(frozen=True, slots=True)
class SinkRequested:
    """The sink received an effect request, or a lookup of ``key`` (``lookup`` True).

    ``number`` is the request's number at this sink. ``label`` was found in the arguments.
    ``call``: the client call that it belongs to, None if it belongs to none (open, work).
    ``held``: it is on its way, the sink has it not yet; it comes again when delivered.
    """

    number: int
    node: str
    call: int | None
    key: str | None
    tool: str
    args: object
    label: str | None
    lookup: bool = False
    held: bool = False
    request: str | None = None


@dataclass(frozen=True, slots=True)
class SinkApplied:
    """The sink applied an effect: what N_effect counts. ``application`` is its own number."""

    request: int
    application: int
    key: str | None
    label: str | None
    digest: str


@dataclass(frozen=True, slots=True)
class SinkReplied:
    """What happened to the answer: "applied", "repeated" (stored receipt), "refused" (the key
    came with another payload), "found", "absent", "cannot_tell", or "dropped" (nobody got it)."""

    request: int
    how: str
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """``inspect`` was run. ``view`` None with ``problem`` empty: the target cannot say.

    ``moment``: "after_fault", "after_heal", "after_revoke", "after_expiry", "final". ``began_ns``
    to the stamp's time is the interval of the reading.
    """

    moment: str
    node: str
    label: str
    began_ns: int
    view: View | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class AuditRead:
    """The audit head and count were copied out."""

    moment: str
    node: str
    view: AuditView


@dataclass(frozen=True, slots=True)
class Clock:
    """At the stamp's time the machine's clock showed ``wall_s``, seconds since the epoch, and that
    of the node (``env.now``) ``skew_s`` more: what expiry is judged by."""

    node: str
    wall_s: float
    skew_s: float


@dataclass(frozen=True, slots=True)
class Phase:
    """The schedule enters a phase: "hurt", "heal", "recover", "drain", "end"."""

    name: str


@dataclass(frozen=True, slots=True)
class Note:
    """Anything a reader should see that no check reads: stderr of a node, SQL around a stop."""

    topic: str
    text: str


@dataclass(frozen=True, slots=True)
class Harm:
    """Something that makes the schedule unjudgeable: a protocol error, an unclassified exception,
    a hang without a fault. ``fault`` names whose it is: "target" or "harness"."""

    fault: Fault
    what: str
    detail: str = ""


Event: TypeAlias = (
    Approved
    | Invoked
    | Replied
    | Armed
    | Stopped
    | Released
    | Killed
    | FaultOn
    | FaultOff
    | SinkRequested
    | SinkApplied
    | SinkReplied
    | Read
    | AuditRead
    | Clock
    | Phase
    | Note
    | Harm
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """When (monotonic, ns), in which order (per schedule), and who saw it."""

    seq: int
    t_ns: int
    source: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line of a history."""

    stamp: Stamp
    event: Event
