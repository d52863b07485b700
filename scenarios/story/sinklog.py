"""The sink's log: each effect request, when it was on its way, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...chaos.events import SinkApplied, SinkReplied, SinkRequested
from ..history import History
from .calls import FOREVER, CallStory


@dataclass(slots=True, eq=False)
class EffectStory:
    """One request for an effect (no lookup), under its number at the sink.

    ``sent``: first seen, held or not. ``received``: the sink had it. ``refused``: it definitely
    did not and will not take effect. Times are sequence numbers, FOREVER for what never came.
    """

    event: SinkRequested
    sent: int
    sent_ns: int
    call: CallStory | None
    received: int = FOREVER
    applied: list[int] = field(default_factory=list)
    refused: int = FOREVER
    repeated: int = FOREVER  # answered with the receipt of an earlier application
    unanswered: int = FOREVER  # nobody got an answer to it

    @property
    def attempt(self) -> str | None:
        return self.call.attempt if self.call is not None else None

    def replied(self, how: str, seq: int) -> None:
        """Learn what became of the answer; the first of each kind counts."""
        if how == "refused":
            self.refused = min(self.refused, seq)
        elif how == "repeated":
            self.repeated = min(self.repeated, seq)
        elif how == "dropped":
            self.unanswered = min(self.unanswered, seq)

    def held_at(self, seq: int) -> bool:
        """On its way at that moment: sent, not yet with the sink."""
        return self.event.held and self.sent < seq < self.received


@dataclass(frozen=True, slots=True)
class Application:
    """One application of an effect: what N_effect counts."""

    event: SinkApplied
    at: int
    effect: EffectStory | None

    @property
    def label(self) -> str | None:
        return self.event.label


@dataclass(frozen=True, slots=True)
class SinkLog:
    """All that the sink saw. ``blind``: it once could not tell. ``by_number``: each request,
    by all the numbers that it had."""

    effects: tuple[EffectStory, ...]
    applications: tuple[Application, ...]
    blind: bool
    by_number: Mapping[int, EffectStory]


def read_sink(history: History, calls: Mapping[int, CallStory]) -> SinkLog:
    """Pair the events of the sink, by the request's number."""
    effects: dict[int, EffectStory] = {}
    on_their_way: dict[tuple[object, ...], list[EffectStory]] = {}
    applications: list[Application] = []
    blind = False
    for line in history.lines:
        event, stamp = line.event, line.stamp
        if isinstance(event, SinkRequested) and not event.lookup:
            # a delivery is the same request as the held one, under its old number or a new one
            same = (event.node, event.call, event.key, event.tool, event.label)
            waiting = on_their_way.setdefault(same, [])
            effect = effects.get(event.number)
            if effect is None and waiting and not event.held:
                effect = waiting.pop(0)
            elif effect is None:
                call = calls.get(event.call) if event.call is not None else None
                effect = EffectStory(event, stamp.seq, stamp.t_ns, call)
            elif effect in waiting:
                waiting.remove(effect)
            effects[event.number] = effect
            if event.held:
                waiting.append(effect)
            else:
                effect.received = min(effect.received, stamp.seq)
        elif isinstance(event, SinkApplied):
            effect = effects.get(event.request)
            if effect is not None:
                effect.applied.append(stamp.seq)
            applications.append(Application(event, stamp.seq, effect))
        elif isinstance(event, SinkReplied):
            if (effect := effects.get(event.request)) is not None:
                effect.replied(event.how, stamp.seq)
            blind = blind or event.how == "cannot_tell"
    return SinkLog(tuple(dict.fromkeys(effects.values())), tuple(applications), blind, effects)
