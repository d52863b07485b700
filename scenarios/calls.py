"""The values that a stage speaks in: settings, subjects, stops, calls and their answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

from ..chaos.channel import Message
from ..chaos.events import Outcome, Point, Why
from ..chaos.handle import NodeHandle
from ..chaos.servers import RunningServer
from ..targets.replies import Unknown
from ..targets.terms import Admission, Call, Context, Json, Trust
from .desk import Letter, Transit


@dataclass(frozen=True, slots=True)
class Setting:
    """What every node of a schedule shares.

    ``servers``: those in which the store lives; ``prefix`` makes a node's name one that no other
    schedule's clients have there. ``detours``: the proxy that leads to a server, by its endpoint.
    """

    workspace: Path
    store: Json
    trust: Trust
    deadline_s: float
    lease_s: float = 1.0
    patience_s: float = 2.0
    sink_url: str | None = None
    servers: tuple[RunningServer, ...] = ()
    prefix: str = ""
    detours: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def with_store(self, store: Json, prefix: str) -> Setting:
        """The same, in another store."""
        return replace(self, store=store, prefix=prefix)

    def client(self, node: str) -> str:
        """What the servers know a node by."""
        return f"{self.prefix}{node}"

    def store_for(self, node: str) -> Json:
        """The store as one node gets it: with the address of each server, or its proxy's."""
        if not self.servers or not isinstance(self.store, dict):
            return self.store
        client = self.client(node)
        found = {s.endpoint: s.address(client, self.detours.get(s.endpoint)) for s in self.servers}
        return {**self.store, **found}


@dataclass(frozen=True, slots=True)
class Subject:
    """What a call is about, for the history (see ``Invoked``)."""

    label: str | None = None
    request: str | None = None
    attempt: str | None = None
    admission: Admission | None = None
    presented: Call | None = None
    context: Context | None = None
    forged: str = ""
    budget: object = None


@dataclass(frozen=True, slots=True)
class Arm:
    """A stop for the next call. ``name``: the failure point or race it stands for."""

    name: str
    point: Point


Until: TypeAlias = Literal["answer", "blocked", "asleep"]
"""Till when a call is listened to."""


@dataclass(frozen=True, slots=True)
class Twist:
    """What the plan does to one call.

    ``arm``: it stops at a point. ``transit``: what happens to its first effect request, with the
    name of the failure point that this stands for. ``patience_s``: it is listened to only so long,
    and stays open; ``until``: and no longer than this, see ``Hearing.drive``. ``faulted``: what the
    plan does may reach it as an error of its store. ``lane``: it runs in a thread of its own in the
    node. ``start_ns``: the node begins at this instant of the monotonic clock, so that many begin
    together.
    """

    arm: Arm | None = None
    transit: tuple[str, Transit] | None = None
    patience_s: float | None = None
    until: Until = "blocked"
    faulted: bool = False
    lane: int | None = None
    start_ns: int | None = None


PLAIN = Twist()
"""Nothing is done to the call."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client knows after a call."""

    outcome: Outcome
    value: Any = None
    why: Why = "reply"

    @property
    def granted(self) -> bool:
        """The ledger granted it."""
        return self.outcome == "granted"

    @property
    def left(self) -> bool:
        """A guarded ledger took it without a word on how it ended: its worker may do it later."""
        return self.why == "corrected" and isinstance(self.value, Unknown)


@dataclass(slots=True, eq=False)
class Pending:
    """A call that has not been answered yet. ``ran_ns``: when the node says that it really began
    and ended, on the monotonic clock; told only of calls that were given an instant to begin.
    ``fired``: the error that the plan wanted was really raised. ``sent``: effects that were sent
    for it, for certain; ``doubtful``: those that may have been sent for another process' call."""

    call: int
    op: str
    node: NodeHandle
    subject: Subject
    arm: Arm | None = None
    transit: tuple[str, Transit] | None = None
    ask: int | None = None
    letter: Letter | None = None
    faulted: bool = False
    answer: Answer | None = None
    reached: bool = False
    ran_ns: tuple[int, int] | None = None

    fired: bool = False
    sent: int = 0
    doubtful: int = 0

    def note(self, reply: Message) -> None:
        """What the node says of the call besides its answer; nonsense is not believed."""
        self.fired = reply.get("fired") is True
        match reply.get("ran_ns"):
            case [int(began), int(ended)]:
                self.ran_ns = (began, ended)


Resume: TypeAlias = Callable[[NodeHandle, Admission, Twist], "Pending | None"]
"""Carries out what a recovery handed back, as the client does whose record that is."""

ASKED_AGAIN: Final = 4
"""How often a call is made where the plan needs it to come to something."""

AGAIN_S: Final = 0.01
"""The pause before it is made once more, seconds: what Busy asks of an honest client."""

Asked = TypeVar("Asked", bound="Pending | None")


def told(ask: Callable[[], Asked]) -> Asked:
    """The call, made again if its answer is Busy: a ledger that sheds load says that to whoever
    comes first, and is then neither surveyed nor stopped at any place."""
    pending = ask()
    for _ in range(ASKED_AGAIN - 1):
        answer = None if pending is None else pending.answer
        if answer is None or answer.outcome != "busy":
            break
        time.sleep(AGAIN_S)
        pending = ask()
    return pending


@dataclass(slots=True)
class Tally:
    """What the schedule did, for the live table."""

    kills: int = 0
    drops: int = 0
    pauses: int = 0
    fired: list[tuple[str, str]] = field(default_factory=list)
