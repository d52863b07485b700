"""When a fault could reach a call: while a node stands stopped, a packet is held, a node dies, a
server is down, a link is cut."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from ...chaos.events import (
    Event,
    FaultOff,
    FaultOn,
    Harm,
    Invoked,
    Killed,
    Released,
    Replied,
    SinkReplied,
    Stopped,
)
from ..history import History
from .calls import FOREVER
from .sinklog import SinkLog


@dataclass(frozen=True, slots=True)
class Disturbance:
    """From ``began`` to ``ended``, both sequence numbers. ``label``: that of the one authorization
    whose request the sink turned away or left without an answer; None: it may concern all."""

    began: int
    ended: int
    label: str | None = None


def find_disturbances(history: History, sink: SinkLog) -> tuple[Disturbance, ...]:
    """All of them. An armed point that was not reached disturbs nothing, nor does the end of a
    node that had nothing to do and owed nothing: the harness tidies up."""
    found: list[Disturbance] = []
    standing: dict[str, int] = {}
    stops: dict[int | None, str] = {}
    hurt: dict[tuple[str, str], int] = {}
    about = {number: effect.event.label for number, effect in sink.by_number.items()}
    busy = _Nodes()
    for line in history.lines:
        event, seq = line.event, line.stamp.seq
        if isinstance(event, Stopped):
            standing.setdefault(event.node, seq)
            stops[event.call] = event.node
        elif isinstance(event, Released):
            found.append(Disturbance(standing.pop(event.node, seq), seq))
        elif isinstance(event, Killed):
            began = standing.pop(event.node, seq)
            if began != seq or busy.owes(event.node, event.injected):
                found.append(Disturbance(began, seq))
        elif isinstance(event, FaultOn):
            hurt.setdefault((event.what, event.where), seq)
        elif isinstance(event, FaultOff):
            found.append(Disturbance(hurt.pop((event.what, event.where), seq), seq))
        elif isinstance(event, Harm) or (
            isinstance(event, SinkReplied) and event.how in ("dropped", "cannot_tell", "refused")
        ):
            label = about.get(event.request) if isinstance(event, SinkReplied) else None
            found.append(Disturbance(seq, seq, label))
        elif isinstance(event, Replied) and event.why != "dropped" and event.call in stops:
            # it went on without having been released: a request of its was answered or lost
            found.append(Disturbance(standing.pop(stops.pop(event.call), seq), seq))
        busy.see(event)
    found += [Disturbance(began, FOREVER) for began in (*standing.values(), *hurt.values())]
    found += [Disturbance(e.sent, e.received) for e in sink.effects if e.event.held]
    return tuple(found)


class _Nodes:
    """What each node still has to do: calls without a reply, uses that nobody has finished."""

    def __init__(self) -> None:
        self._calls: dict[int, Invoked] = {}
        self._open: Counter[str] = Counter()
        self._uses: dict[str, set[str | None]] = defaultdict(set)

    def see(self, event: Event) -> None:
        if isinstance(event, Invoked):
            self._calls[event.call] = event
            self._open[event.node] += 1
        elif isinstance(event, Replied) and event.call in self._calls:
            call = self._calls[event.call]
            self._open[call.node] -= 1
            if call.op == "prepare" and event.outcome in ("granted", "unknown"):
                self._uses[call.node].add(call.attempt)
            elif _finishes(call, event):
                for uses in self._uses.values():
                    uses.discard(call.attempt)

    def owes(self, node: str, injected: bool) -> bool:
        """Whoever the harness ends, by a fault or a dismissal, leaves its uses unfinished. Who
        died by itself is a harm of its own, and ends only its open calls."""
        return self._open[node] > 0 or (injected and bool(self._uses[node]))


def _finishes(call: Invoked, reply: Replied) -> bool:
    """The use of this call's attempt has come to its end, whoever brought it there."""
    if call.op == "commit":
        return reply.outcome in ("granted", "replayed")
    return call.op == "prepare" and reply.outcome == "replayed"
