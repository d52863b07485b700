"""Stops: the places where a node can be made to stand, seen from inside the node.

The one primitive of every placed fault: the n-th point of a kind within one call reports itself
and blocks, until the harness kills the process, lets it go on, or has an error raised there.
Points are counted per call, so the same plan stands at the same place each time.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field

from .channel import Channel, Message
from .probes.sight import Raise, Side
from .probes.statements import TEXT_LIMIT


@dataclass(slots=True, eq=False)
class OpenCall:
    """One call that the node is working on. ``perhaps``: how often the effect was entered by a
    thread that may have worked for this call, or for another one."""

    id: int
    op: str
    arms: dict[tuple[str, str, int], str] = field(default_factory=dict)
    trace: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    entered: int = 0
    perhaps: int = 0
    not_applied: int = 0
    wrote: int = 0
    began_ns: int | None = None
    wishes: list[Raise] = field(default_factory=list)


CURRENT: ContextVar[OpenCall | None] = ContextVar("admitone_call", default=None)


class Stops:
    """The observer that the probes report to, and ``env.at``, and the node's own points."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._open: list[OpenCall] = []

    def opened(self, call: OpenCall) -> None:
        """From here on points in threads without a context may belong to this call."""
        self._open.append(call)

    def closed(self, call: OpenCall) -> None:
        """The call has been answered, and what it was to suffer is over."""
        for wish in call.wishes:
            wish.over = True
        self._open.remove(call)

    def current(self) -> OpenCall | None:
        """The call that this thread works for: by context variable; else, in a thread that the
        library made, the only one that it can be; else none, for nobody can tell."""
        call = CURRENT.get()
        if call is not None:
            return call
        candidates = self._candidates()
        return candidates[0] if len(candidates) == 1 else None

    def certain(self) -> bool:
        """This thread is known to work for its call; one that the library made may also carry out
        what a client in another process asked for."""
        return CURRENT.get() is not None

    def entered(self) -> OpenCall | None:
        """The effect is entered here: by this call; None: by one of those that it may be."""
        call = self.current()
        if call is not None:
            call.entered += 1
        else:
            for candidate in self._candidates():
                candidate.perhaps += 1
        return call

    def _candidates(self) -> list[OpenCall]:
        """What a thread of the library's own may work for: an ``execute``, where one is open."""
        found = list(self._open)
        return [call for call in found if call.op == "execute"] or found

    def point(self, kind: str, side: Side, text: str = "") -> Raise | None:
        """A point was reached. Returns when the harness lets it go on."""
        call = self.current()
        if call is None:
            return None
        nth = call.counts.get(kind, 0)
        if side == "before":
            nth += 1
            call.counts[kind] = nth
        elif kind == "write":
            call.wrote += 1
        if call.trace:
            self._channel.send(
                {"trace": [kind, side, nth], "call": call.id, "text": text[:TEXT_LIMIT]}
            )
        name = call.arms.pop((kind, side, nth), None)
        if name is None:
            return None
        answer = self._channel.ask(_at(call, name, kind, side, nth, text))
        error = answer.get("raise")
        if not error:
            return None
        wish = Raise(error)
        call.wishes.append(wish)
        return wish


def _at(call: OpenCall, name: str, kind: str, side: str, nth: int, text: str) -> Message:
    return {"at": [kind, side, nth], "name": name, "call": call.id, "text": text[:TEXT_LIMIT]}
