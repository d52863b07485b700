"""Calls: each invocation with its reply, in the phase in which it was made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ...chaos.events import (
    Invoked,
    Outcome,
    Phase,
    Replied,
    SinkApplied,
    SinkReplied,
    SinkRequested,
)
from ...targets.terms import Admission
from ..history import History

ADMITTING: Final = ("prepare", "execute")
"""The operations that may take a unit of the budget."""

NOTHING_NEW: Final[tuple[Outcome, ...]] = ("refused", "busy", "replayed")
"""Outcomes that are definite: this call took nothing."""

FOREVER: Final = 2**62
"""Later than every event: the time of what never came."""

_HONEST: Final = re.compile(r"r[0-9]+")


@dataclass(frozen=True, slots=True)
class CallStory:
    """One call. ``ended`` is FOREVER while it is open; an open call's outcome is "unknown".

    ``keeps``: its refusal is the sink's and not the ledger's, which keeps the unit all the same.
    ``meanwhile``: rightly told that it is done, for it was admitted and stood, and another one, a
    recovery, carried it out before it went on.
    """

    invoked: Invoked
    began: int
    began_ns: int
    phase: str | None
    replied: Replied | None = None
    ended: int = FOREVER
    ended_ns: int = FOREVER
    keeps: bool = False
    meanwhile: bool = False

    @property
    def op(self) -> str:
        return self.invoked.op

    @property
    def outcome(self) -> Outcome:
        return self.replied.outcome if self.replied is not None else "unknown"

    @property
    def took_nothing(self) -> bool:
        """Definite: this call itself changed nothing."""
        return self.outcome in NOTHING_NEW and not self.keeps and not self.meanwhile

    @property
    def granted(self) -> bool:
        return self.outcome == "granted"

    @property
    def acknowledged(self) -> bool:
        """The ledger said yes, and its client heard it."""
        return self.replied is not None and self.granted and self.replied.why == "reply"

    @property
    def came_back(self) -> bool:
        """The ledger itself gave a definite answer, whoever heard it."""
        said = self.replied is not None and self.replied.why in ("dropped", "corrected")
        return said or self.outcome != "unknown"

    @property
    def value(self) -> object:
        return self.replied.value if self.replied is not None else None

    @property
    def said(self) -> object:
        """What the ledger itself said, also when the harness dropped the reply on its way: a
        dropped grant is no knowledge of the client, yet it proves what the ledger did."""
        if self.replied is None or not (self.granted or self.replied.why == "dropped"):
            return None
        return self.replied.value

    @property
    def attempt(self) -> str | None:
        """The attempt of the call, else that of the admission that it is about."""
        return _attempt(self.invoked)

    @property
    def owner(self) -> str:
        """Whoever takes at most one unit by this call: its attempt, else its request, else it."""
        invoked = self.invoked
        return invoked.attempt or invoked.request or f"call {invoked.call}"

    @property
    def honest(self) -> bool:
        """A legitimate use: the workload names those r1, r2, … and its attacks otherwise."""
        request = self.invoked.request
        return request is not None and _HONEST.fullmatch(request) is not None

    @property
    def of_no_request(self) -> bool:
        """It serves no single request: an Issue, a recovery, a withdrawal."""
        return self.invoked.request is None


def pair_calls(history: History) -> dict[int, CallStory]:
    """Every call of the history by its number, in the order of invocation."""
    replies = {
        line.event.call: (line.stamp, line.event)
        for line in history.lines
        if isinstance(line.event, Replied)
    }
    calls: dict[int, CallStory] = {}
    keeping, applied = _keeping(history), _applied(history)
    phase: str | None = None
    for line in history.lines:
        event, stamp = line.event, line.stamp
        if isinstance(event, Phase):
            phase = event.name
        elif isinstance(event, Invoked):
            reply = replies.get(event.call)
            if reply is None:
                calls[event.call] = CallStory(event, stamp.seq, stamp.t_ns, phase)
            else:
                ended, replied = reply
                stood = (stamp.seq, ended.seq)
                calls[event.call] = CallStory(
                    event, stamp.seq, stamp.t_ns, phase, replied, ended.seq, ended.t_ns,
                    event.call in keeping, _carried_out(event, replied, stood, applied),
                )  # fmt: skip
    return calls


_Applied = tuple[int, str | None, str | None]
"""When an effect was applied, its label, and for which attempt it was sent; None: nobody says."""


def _applied(history: History) -> list[_Applied]:
    asked = {e.call: e for e in history.events(Invoked)}
    sent = {e.number: e.call for e in history.events(SinkRequested) if not e.lookup}
    found: list[_Applied] = []
    for line in history.lines:
        if isinstance(line.event, SinkApplied):
            number = sent.get(line.event.request)
            sender = asked.get(number) if number is not None else None
            attempt = _attempt(sender) if sender is not None else None
            found.append((line.stamp.seq, line.event.label, attempt))
    return found


def _carried_out(
    asked: Invoked, replied: Replied, stood: tuple[int, int], applied: list[_Applied]
) -> bool:
    """What was sent for another attempt is not it."""
    if asked.op not in ADMITTING or replied.outcome != "replayed":
        return False
    mine = (None, _attempt(asked))
    return any(
        stood[0] < at < stood[1] and label == asked.label and attempt in mine
        for at, label, attempt in applied
    )


def _attempt(asked: Invoked) -> str | None:
    about: Admission | None = asked.admission
    return asked.attempt or (about.attempt if about is not None else None)


def _keeping(history: History) -> set[int]:
    """Calls that entered the effect and were refused because all that they sent was turned away,
    on the way or by the sink, where that leaves the unit blocked."""
    if history.header.declaration.facts.after_not_applied != "blocked":
        return set()
    refused = {e.request for e in history.events(SinkReplied) if e.how == "refused"}
    entered = {e.call for e in history.events(Replied) if e.outcome == "refused" and e.effects}
    sent = [e for e in history.events(SinkRequested) if e.call in entered and not e.lookup]
    return entered - {e.call for e in sent if e.number not in refused}
