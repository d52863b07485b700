"""Effects that cross a real link to a sink in a process of its own.

The desk asks by way of the proxy, as an executor does, with an executor's patience; what became of
the request is then read in the sink's own log, by a way that nobody hurts. So the history shows
both ends: what the sender was told, and what the sink received and applied.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..chaos.events import SinkApplied, SinkReplied, SinkRequested
from ..chaos.recorder import Recorder
from ..idempotent_sink.client import HttpSink
from ..idempotent_sink.process import SinkProcess
from ..idempotent_sink.protocol import Answer, Received
from ..targets.replies import EffectUnknown, NotApplied
from ..targets.values import decode

if TYPE_CHECKING:
    from .desk import Letter

PATIENCE_S: Final = 0.25
"""How long an executor waits for an answer of the sink, seconds."""


@dataclass(frozen=True, slots=True)
class Crossed:
    """What the two ends saw of one request: it reached the sink; its sender got an answer."""

    reached: bool
    answered: bool


class Crossing:
    """See the module. ``sent``: the requests for effects, in order, as both ends saw them."""

    def __init__(self, sink: SinkProcess, recorder: Recorder) -> None:
        self._sink = sink
        self._recorder = recorder
        self._through: HttpSink | None = None
        self._seen = 0
        self._applied = 0
        self._request_of: dict[int | None, str | None] = {}
        self.sent: list[Crossed] = []

    def by_way_of(self, host: str, port: int) -> None:
        """Send what is sent from now on by this way."""
        self._through = HttpSink(f"http://{host}:{port}/", timeout_s=PATIENCE_S)

    def send(self, letter: Letter) -> dict[str, Any]:
        """Ask for an effect; what its sender is told. Raises ``EffectUnknown`` if the sink's own
        log cannot be read."""
        self._request_of[letter.call] = letter.request
        told: dict[str, Any] = {}
        found: Answer | None = None
        try:
            assert self._through is not None
            found = self._through.request(
                letter.key, letter.tool, letter.args, node=letter.node.name, call=letter.call
            )
        except NotApplied as failure:
            told = {"not_applied": str(failure)}
        except EffectUnknown as failure:
            told = {"unknown": str(failure)}
        self.sent.append(Crossed(self.see(found) > 0, found is not None))
        if found is not None and found.receipt is not None:
            told = {"receipt": found.receipt}
        elif found is not None:
            told = {"not_applied": f"the sink refused it: {found.problem}"}
        return told

    def look_up(self, key: str, node: str, call: int | None) -> Answer | None:
        """Ask what stands applied under a key. None: no answer came."""
        found: Answer | None = None
        try:
            assert self._through is not None
            found = self._through.lookup(key, node=node, call=call)
        except EffectUnknown:
            found = None
        self.see(found)
        return found

    def see(self, answered: Answer | None = None) -> int:
        """Write down what came to the sink since the last time, with what it did. ``answered``:
        the answer that reached its sender. How many requests were new."""
        log = self._sink.log()
        fresh = log.requests[self._seen :]
        self._seen = len(log.requests)
        for received in fresh:
            self._recorder.record("sink", self._as_event(received))
        for application in log.applications[self._applied :]:
            self._recorder.record(
                "sink",
                SinkApplied(
                    application.request,
                    application.number,
                    application.key,
                    application.label,
                    application.digest,
                ),
            )
        self._applied = len(log.applications)
        for received in fresh:
            reached = answered is not None and answered.request_number == received.number
            how = answered.how if reached and answered is not None else "dropped"
            receipt = answered.receipt if reached and answered is not None else None
            self._recorder.record("sink", SinkReplied(received.number, how, receipt))
        return len(fresh)

    def await_late(self, deadline_s: float) -> bool:
        """Wait until a request comes that was on its way; False: none did by the deadline."""
        until = time.monotonic() + deadline_s
        while not self.see():
            if time.monotonic() > until:
                return False
            time.sleep(0.002)
        return True

    def _as_event(self, received: Received) -> SinkRequested:
        lookup = received.kind == "lookup"
        args = None if received.args_json is None else decode(json.loads(received.args_json))
        return SinkRequested(
            received.number,
            received.node,
            received.call,
            received.key,
            received.tool,
            args,
            None if lookup else received.label,
            lookup=lookup,
            request=self._request_of.get(received.call),
        )
