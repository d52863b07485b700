"""The desk between nodes and the sink: where an effect is logged, held, lost, applied, answered.

A node's effect reaches the harness as a question. What the network would do to it is decided
here, so a request can be on its way while its sender is killed (FP6), or stand applied while the
answer is lost (FP8). The sink itself knows nothing of faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..chaos.channel import Message
from ..chaos.events import SinkApplied, SinkReplied, SinkRequested
from ..chaos.handle import NodeHandle
from ..chaos.recorder import Recorder
from ..idempotent_sink.labels import find_label
from ..idempotent_sink.protocol import Answer, Application, SinkLike
from ..targets.replies import EffectUnknown, NotApplied
from ..targets.values import ValueProblem, decode, encode
from .crossing import Crossing

Transit = Literal["held", "lost", "unanswered", "refused"]
"""held: on its way, delivered later. lost: never arrives. unanswered: applied, no reply.
refused: a definite non-effect, and its sender is told so."""


Spurning: TypeAlias = Literal["refused", "silent"]
"""How the other side deals with everything of one authorization, for good."""


@dataclass(slots=True)
class Spurned:
    """One authorization with which the other side will have nothing to do: it turns each of its
    requests away, or none of them ever arrives. Whose it is the next request says."""

    how: Spurning
    label: str | None = None
    times: int = 0

    def takes(self, label: str | None) -> bool:
        """Whether a request of this label is one of those."""
        if label is None:
            return False
        self.label = self.label or label
        self.times += self.label == label
        return self.label == label


@dataclass(slots=True)
class Letter:
    """One effect request as a node asked for it."""

    node: NodeHandle
    ask: int
    call: int | None
    key: str | None
    tool: str
    args: Any
    request: str | None
    waited_for: bool = True


class Desk:
    """Serves the questions of all nodes of one schedule, and writes down each of them.

    ``blind``: told why, when the sink itself is lost. ``passed_on``: requests that reached it.
    """

    def __init__(self, sink: SinkLike, recorder: Recorder, blind: Callable[[str], None]) -> None:
        self.sink = sink
        self._recorder = recorder
        self._blind = blind
        self.passed_on = 0
        self._received = 0
        self._made_keys = 0
        self.effects = 0
        self.applied_by: Counter[int] = Counter()  # by the identity of the sink
        self.crossing: Crossing | None = None
        self.spurned: Spurned | None = None

    def open(self, node: NodeHandle, message: Message, request: str | None) -> Letter:
        """Read a node's question. Raises ``ValueProblem`` where it is malformed."""
        body = message.get("effect")
        ask, call = message.get("ask"), message.get("call")
        if not isinstance(body, dict) or type(ask) is not int:
            raise ValueProblem("an effect needs a tool, arguments and an ask")
        key, tool = body.get("key"), body.get("tool")
        if not isinstance(tool, str) or not (key is None or isinstance(key, str)):
            raise ValueProblem("tool is a text, key a text or null")
        call = call if type(call) is int else None
        return Letter(node, ask, call, key, tool, decode(body.get("args")), request)

    def without_key(self, letter: Letter) -> None:
        """A guarded ledger that gives no key sends a new one at each entry; then no check of
        keys is judged, but a second application is."""
        if letter.key is None:
            self._made_keys += 1
            letter.key = f"suite-entry-{self._made_keys}"

    def hold(self, letter: Letter) -> None:
        """The request left its sender; the sink has not got it yet."""
        self._log(letter, held=True)

    def deliver(self, letter: Letter, *, answer: bool = True) -> None:
        """The request reaches the sink, which acts; the answer goes back if anyone waits. Where
        there is a ``crossing``, the network decides that."""
        if self.crossing is not None:
            self._cross(self.crossing, letter)
            return
        number = self._log(letter)
        found = self._asked(
            lambda: self.sink.request(
                letter.key, letter.tool, letter.args, node=letter.node.name, call=letter.call
            )
        )
        if found is None:
            self._recorder.record("sink", SinkReplied(number, "dropped"))
            self._answer(letter, {"unknown": "the sink is lost"})
            return
        if found.how == "applied" and found.application and found.receipt:
            self.effects += 1
            self.applied_by[id(self.sink)] += 1
            self._recorder.record(
                "sink",
                SinkApplied(
                    number,
                    found.application,
                    letter.key,
                    find_label(letter.args),
                    found.receipt.digest,
                ),
            )
        how = found.how if answer else "dropped"
        self._recorder.record("sink", SinkReplied(number, how, found.receipt))
        if not answer:
            return
        if found.receipt is None:
            self._answer(letter, {"not_applied": f"the sink refused it: {found.problem}"})
        else:
            self._answer(letter, {"receipt": encode(found.receipt)})

    def _cross(self, crossing: Crossing, letter: Letter) -> None:
        try:
            told = crossing.send(letter)
        except EffectUnknown as failure:
            self._blind(f"the suite's own sink is lost: {failure}")
            told = {"unknown": "the sink is lost"}
        if "receipt" in told:
            self.effects += 1
            told = {"receipt": encode(told["receipt"])}
        self._answer(letter, told)

    def spurns(self, letter: Letter) -> bool:
        """Deal with a request of the authorization that is spurned; False: it is of another."""
        if self.spurned is None or not self.spurned.takes(find_label(letter.args)):
            return False
        if self.spurned.how == "refused":
            self.refuse(letter)
        else:
            self._recorder.record("sink", SinkReplied(self._log(letter), "dropped"))
            self._answer(letter, {"unknown": "no answer from the sink"})
        return True

    def refuse(self, letter: Letter) -> None:
        """The other side turns the request away: it is not applied, and never will be."""
        self._recorder.record("sink", SinkReplied(self._log(letter), "refused"))
        self._answer(letter, {"not_applied": "the other side turned it away"})

    def deliver_to_its_death(
        self, letter: Letter, deliver: Callable[[], Application | None]
    ) -> None:
        """The request reaches a sink that dies of it; nobody is answered. ``deliver`` does it, and
        says what stands applied when the sink is back."""
        number = self._log(letter)
        found = deliver()
        if found is not None:
            self.effects += 1
            self.applied_by[id(self.sink)] += 1
            label = find_label(letter.args)
            applied = SinkApplied(number, found.number, letter.key, label, found.digest)
            self._recorder.record("sink", applied)
        self._recorder.record("sink", SinkReplied(number, "dropped"))

    def forsake(self, letter: Letter, why: str) -> None:
        """Tell the sender that no answer came: it cannot know what happened."""
        self._answer(letter, {"unknown": why})

    def look_up(self, node: NodeHandle, message: Message) -> None:
        """Answer a lookup by key."""
        key, call = message.get("lookup"), message.get("call")
        key = key if isinstance(key, str) else repr(key)[:200]
        self._received += 1
        number = self._received
        call = call if type(call) is int else None
        if self.crossing is not None:
            self._look_across(self.crossing, node, message.get("ask"), key, call)
            return
        self._recorder.record(
            "sink",
            SinkRequested(number, node.name, call, key, "", None, None, lookup=True),
        )
        found = self._asked(lambda: self.sink.lookup(key))
        if found is None:
            self._recorder.record("sink", SinkReplied(number, "dropped"))
            node.say({"answer": message.get("ask"), "unknown": "the sink is lost"})
            return
        self._recorder.record("sink", SinkReplied(number, found.how, found.receipt))
        if found.how == "cannot_tell":
            node.say({"answer": message.get("ask"), "unknown": "this sink cannot look up"})
        else:
            node.say({"answer": message.get("ask"), "receipt": encode(found.receipt)})

    def _look_across(
        self, crossing: Crossing, node: NodeHandle, ask: object, key: str, call: int | None
    ) -> None:
        found = crossing.look_up(key, node.name, call)
        if found is None:
            node.say({"answer": ask, "unknown": "no answer of the sink came"})
        elif found.how == "cannot_tell":
            node.say({"answer": ask, "unknown": "this sink cannot look up"})
        else:
            node.say({"answer": ask, "receipt": encode(found.receipt)})

    def _asked(self, ask: Callable[[], Answer]) -> Answer | None:
        """The sink's answer. None: it died, or failed, and nobody planned it."""
        try:
            found = ask()
        except (NotApplied, EffectUnknown) as failure:
            self._blind(f"the suite's own sink is lost: {failure}")
            return None
        self.passed_on += found.request_number > 0
        return found

    def _log(self, letter: Letter, *, held: bool = False) -> int:
        self._received += 1
        self._recorder.record(
            "sink",
            SinkRequested(
                self._received,
                letter.node.name,
                letter.call,
                letter.key,
                letter.tool,
                letter.args,
                find_label(letter.args),
                held=held,
                request=letter.request,
            ),
        )
        return self._received

    def _answer(self, letter: Letter, body: Message) -> None:
        if letter.node.alive and letter.waited_for:
            letter.waited_for = False
            letter.node.say({"answer": letter.ask, **body})
