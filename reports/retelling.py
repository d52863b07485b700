"""A history retold for one finding: what does not belong to it dropped, what belongs together
joined into one row.

Joined are a call and its reply where nothing lies between, an effect with its application and
answer, a stop with the kill that ends it, and statements that one node passes in a row. The
events at which the finding points are never dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..chaos.events import (
    Approved,
    Armed,
    AuditRead,
    Event,
    FaultOff,
    FaultOn,
    Harm,
    Invoked,
    Killed,
    Note,
    Phase,
    Read,
    Recorded,
    Released,
    Replied,
    SinkApplied,
    SinkReplied,
    SinkRequested,
    Stopped,
)
from ..scenarios.history import History
from ..scenarios.results import Finding
from .text import clean
from .words import Words, death, place

LEDGER: Final = "ledger"
SINK: Final = "sink"
FAULT: Final = "fault"
NO_LANE: Final = ""

_NOTE_LINES: Final = 4
_SETTLED: Final = frozenset({"applied", "found", "absent"})


@dataclass(slots=True, eq=False)
class Row:
    """One line of the diagram. ``weight``: what is dropped last has the highest.

    ``open`` and ``dead``: lanes with a call under way, and lanes whose node is gone. ``joins``:
    what the next event must be about to be joined to this row.
    """

    seq: int
    lane: str
    mark: str
    text: str
    weight: int
    open: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    also: str = NO_LANE
    shown: bool = False
    joins: object = None


@dataclass(slots=True)
class Relevant:
    """Which calls, sink requests and nodes belong to the finding's label."""

    calls: set[int] = field(default_factory=set)
    requests: set[int] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    everything: bool = False

    @classmethod
    def to(cls, history: History, finding: Finding) -> Relevant:
        """Calls without a label (recover, audit) touch every authorization."""
        found = cls(everything=True)
        for event in history:
            match event:
                case Invoked(label=label) if label in (None, finding.label):
                    found.calls.add(event.call)
                    found.nodes.add(event.node)
                    found.everything &= label is None
                case SinkRequested(label=label) if label == finding.label:
                    found.requests.add(event.number)
                    found.everything = False
                case SinkRequested(label=None) if event.call in found.calls:
                    found.requests.add(event.number)
        return found

    def has(self, event: Event, label: str) -> bool:
        """Whether one event belongs to the story."""
        match event:
            case _ if self.everything:
                return True
            case Invoked(call=call) | Replied(call=call):
                return call in self.calls
            case Approved(label=other) | Read(label=other):
                return other == label
            case SinkRequested(number=number):
                return number in self.requests
            case SinkApplied(request=number) | SinkReplied(request=number):
                return number in self.requests
            case Armed(node=node) | Released(node=node) | Killed(node=node):
                return node in self.nodes
            case Stopped(node=node, call=call):
                return call in self.calls if call is not None else node in self.nodes
        return True


class Retelling:
    """Walks a history once. Afterwards ``rows`` is the story and ``lanes`` its client lanes."""

    def __init__(self, history: History, finding: Finding) -> None:
        self.rows: list[Row] = []
        self.lanes: dict[str, str] = {}
        self._words = Words(history)
        self._finding = finding
        self._calls: dict[int, Invoked] = {}
        self._requests: dict[int, SinkRequested] = {}
        self._stands: dict[str, Stopped] = {}
        self._dead: set[str] = set()
        self._views: dict[str, str] = {}
        self._reached = {(e.name, e.node) for e in history.events(Stopped)}
        relevant = Relevant.to(history, finding)
        at = frozenset(finding.at)
        for line in history.lines:
            shown = line.stamp.seq in at
            if shown or relevant.has(line.event, finding.label):
                self._tell(line, shown)

    def _tell(self, line: Recorded, shown: bool) -> None:
        before = self.rows[-1] if self.rows else None
        told = self._row(line, before, shown)
        if told is not None:
            self.rows.append(told)
        elif shown and before is not None:
            before.shown = True  # joined to the row before it: that row shows it now
        if self.rows:
            self.rows[-1].open = frozenset(call.node for call in self._calls.values())
            self.rows[-1].dead = frozenset(self._dead)

    def _row(self, line: Recorded, before: Row | None, shown: bool) -> Row | None:
        event, seq = line.event, line.stamp.seq
        told: Row | None = None
        match event:
            case Approved():
                told = self._approved(event)
            case Invoked():
                told = self._invoked(event)
            case Replied():
                told = self._replied(event, before)
            case Armed() | Stopped() | Released() | Killed():
                told = self._fault(event, before)
            case SinkRequested() | SinkApplied() | SinkReplied():
                told = self._sink(event, before)
            case Read() | AuditRead():
                told = self._read(event, shown)
            case Phase(name=name):
                told = Row(0, NO_LANE, "─", clean(name, 40), 3)
            case Note(topic=topic, text=text):
                lane = line.stamp.source if line.stamp.source in self.lanes else NO_LANE
                told = Row(0, lane, "", f"{clean(topic, 30)}: {_last_lines(text)}", 2)
            case FaultOn() | FaultOff():
                told = _around(event)
            case Harm(fault=fault, what=what, detail=detail):
                said = f"{clean(fault, 20)} at fault: {clean(what, 120)} {clean(detail, 160)}"
                told = Row(0, FAULT, "✗", said.rstrip(), 8)
        if told is not None:
            told.seq, told.shown = seq, shown
        return told

    def _approved(self, event: Approved) -> Row:
        approval = event.approval
        call = f"{clean(approval.call.tool, 40)} for {clean(approval.call.principal, 30)}"
        said = (
            f"approved {clean(event.label, 30)}: {call}, b={clean(repr(approval.budget), 24)}, "
            f"e_u {clean(approval.confirmation.event, 24)}"
        )
        return Row(0, NO_LANE, "", said, 4)

    def _invoked(self, event: Invoked) -> Row:
        if event.node not in self.lanes:
            self.lanes[event.node] = event.executor
        self._dead.discard(event.node)
        self._calls[event.call] = event
        return Row(0, event.node, "┌", self._call(event), 3, joins=("call", event.call))

    def _replied(self, event: Replied, before: Row | None) -> Row | None:
        call = self._calls.pop(event.call, None)
        if call is None:
            return Row(0, NO_LANE, "└", f"call {event.call} → {self._words.reply(event)}", 2)
        said = f"{self._call(call)} → {self._words.reply(event)}"
        weight = 5 if event.outcome in ("granted", "unknown") else 3
        if before is not None and before.joins == ("call", event.call):
            before.text, before.mark, before.weight, before.joins = said, "●", weight, None
            return None
        return Row(0, call.node, "└", said, weight)

    def _call(self, event: Invoked) -> str:
        parts = [event.op, event.request or "", event.attempt or ""]
        if event.admission is not None:
            parts.append(self._words.admission(event.admission))
        return " ".join(clean(part, 60) for part in parts if part)

    def _fault(self, event: Armed | Stopped | Released | Killed, before: Row | None) -> Row | None:
        match event:
            case Armed(name=name, node=node, point=point):
                if (name, node) in self._reached:
                    return None
                said = f"{clean(name, 30)} armed at {clean(point, 60)} of {clean(node, 20)}"
                return Row(0, FAULT, "", f"{said}, never reached", 3)
            case Stopped():
                return self._stopped(event, before)
            case Released(node=node, how=how):
                return self._released(node, how, before)
            case Killed(node=node):
                stop = self._stands.pop(node, None)
                self._dead.add(node)
                said = death(event, stop)
                name = f" [{clean(stop.name, 30)}]" if stop is not None else ""
                if before is not None and before.joins == ("stand", node):
                    before.text, before.mark = f"{said}{name}", "✗"
                    before.weight, before.joins = 7, None
                    return None
                return Row(0, node, "✗", f"{said}{name}", 7, also=FAULT)
        return None

    def _stopped(self, event: Stopped, before: Row | None) -> Row | None:
        self._stands[event.node] = event
        if event.point.kind == "statement":
            key = ("steps", event.node, event.point.op)
            said = f"steps through {event.point.op} to {place(event)}"
            if before is not None and before.joins == key:
                before.text = said
                return None
            return Row(0, event.node, "■", f"{event.point.op} at {place(event)}", 3, joins=key)
        said = f"stands at {place(event)} [{clean(event.name, 30)}]"
        return Row(0, event.node, "■", said, 6, also=FAULT, joins=("stand", event.node))

    def _released(self, node: str, how: str, before: Row | None) -> Row | None:
        stop = self._stands.pop(node, None)
        stepping = stop is not None and stop.point.kind == "statement"
        if how == "go" and (stepping or (before is not None and before.joins == ("stand", node))):
            return None
        where = f" from {clean(stop.point, 60)}" if stop is not None else ""
        said = {"go": "goes on", "drop": "goes on, its reply is dropped,"}.get(
            how, f"goes on with {clean(how, 80)}"
        )
        return Row(0, node, "■", f"{said}{where}", 3 if how == "go" else 6, also=FAULT)

    def _sink(
        self, event: SinkRequested | SinkApplied | SinkReplied, before: Row | None
    ) -> Row | None:
        match event:
            case SinkRequested(number=number):
                self._requests[number] = event
                said = f"request {self._words.request(event)}"
                return Row(0, SINK, "●", said, 4, joins=("sink", number))
            case SinkApplied(request=number, application=application, key=key):
                said = f"effect #{application} applied {self._words.key(key)}"
                return self._joined(Row(0, SINK, "●", said, 8, joins=("sink", number)), before)
            case SinkReplied(request=number, how=how):
                if before is not None and before.joins == ("sink", number):
                    if how != "applied":
                        before.text += f" → {clean(how, 40)}"
                    return None
                if how in _SETTLED:
                    return None
                return Row(0, SINK, "●", f"answer to request {number}: {clean(how, 40)}", 4)
        return None

    def _joined(self, row: Row, before: Row | None) -> Row | None:
        if before is None or before.joins != row.joins:
            return row
        before.text, before.weight = row.text, row.weight
        return None

    def _read(self, event: Read | AuditRead, shown: bool) -> Row | None:
        if isinstance(event, AuditRead):
            if not (shown or self._finding.code.startswith("AO7")):
                return None
            chain = "ok" if event.view.chain_ok else "BROKEN"
            said = f"audit {clean(event.moment, 20)}: count {event.view.count}, chain {chain}"
            return Row(0, LEDGER, "●", said, 3)
        seen = self._words.read(event)
        if self._views.get(event.label) == seen and not shown:
            return None  # nothing new since the last reading
        self._views[event.label] = seen
        return Row(0, LEDGER, "●", f"read {clean(event.moment, 20)}: {seen}", 3)


def _around(event: FaultOn | FaultOff) -> Row:
    where, what = clean(event.where, 40), clean(event.what, 60)
    if isinstance(event, FaultOn):
        return Row(0, FAULT, "✗", f"{where}: {what}", 7)
    return Row(0, FAULT, "", f"{where}: whole again ({what} is over)", 3)


def _last_lines(text: str) -> str:
    """The end of a longer output: that is where tracebacks say what happened."""
    lines = [line.strip() for line in text[-4000:].splitlines() if line.strip()]
    return " | ".join(clean(line, 160) for line in lines[-_NOTE_LINES:])
