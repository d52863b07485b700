"""The stage of one schedule: nodes on one fresh store, one sink, one history.

Families speak to it in calls. A call runs until it is answered, or until a stop that the plan
placed is reached; then the plan decides: kill, drop the reply, hold while another acts, raise, go
on. Whatever a node does meanwhile (asks the sink, dies by itself, floods, goes silent) is turned
into lines of the history here, and never into an exception.
"""

from __future__ import annotations

import time
from typing import Any

from ..chaos.channel import Message
from ..chaos.events import (
    Armed,
    Clock,
    Fault,
    Harm,
    Invoked,
    Killed,
    Point,
    Read,
    Released,
    Replied,
    Stopped,
)
from ..chaos.handle import Garbage, Gone, NodeHandle, Said, Silent, as_int
from ..chaos.parent import Ended, WarmParent
from ..chaos.recorder import Recorder
from ..idempotent_sink.protocol import SinkLike
from ..targets.terms import Approval, View
from ..targets.values import ValueProblem, decode, encode
from .calls import PLAIN, Answer, Pending, Setting, Subject, Tally, Twist
from .desk import Desk, Transit
from .opening import to_open
from .reading import read
from .replies import answer_of, malformed
from .together import settle


class Stage:
    """See the module. One instance per schedule."""

    def __init__(
        self, parent: WarmParent, sink: SinkLike, setting: Setting, recorder: Recorder
    ) -> None:
        self.parent = parent
        self.setting = setting
        self.recorder = recorder
        self.desk = Desk(sink, recorder, self.blind)
        self.tally = Tally()
        self.nodes: list[NodeHandle] = []
        self.harmed = False
        self.blinded = ""
        self.trace = False
        self.clocks = False
        self._calls = 0
        self._open: dict[int, Pending] = {}

    # nodes -----------------------------------------------------------------------------------

    def node(self, node: NodeHandle | None = None) -> NodeHandle:
        """A new node (or one that served the schedule before), not yet opened."""
        name = f"n{len(self.nodes) + 1}"
        self.nodes.append(node or self.parent.fork(name))
        self.nodes[-1].name = name
        return self.nodes[-1]

    def open(self, node: NodeHandle, executor: str, *, skew_s: float = 0.0) -> Answer:
        """Open the ledger in a node, as this executor. ``clocks``: write down what each shows."""
        if self.clocks or skew_s:
            self.recorder.record(f"node {node.name}", Clock(node.name, time.time(), skew_s))
        around = to_open(self.setting, executor, skew_s)
        pending = self._start("open", node, around, Subject(), executor)
        self.drive(pending)
        answer = pending.answer or Answer("unknown")
        if answer.granted and isinstance(answer.value, list):
            node.operations = tuple(str(name) for name in answer.value)
        return answer

    def work(self, node: NodeHandle, executor: str) -> Answer:
        """One pass of the target's own sweeper, relay or reaper, in a living node that has it."""
        ask: Message = {"do": "work", "store": self.setting.store}
        pending = self._start("work", node, ask, Subject(), executor)
        self.drive(pending)
        return pending.answer or Answer("unknown")

    def kill(self, node: NodeHandle, *open_calls: Pending) -> None:
        """SIGKILL, wait for the death, reap; its open calls are never answered now."""
        if node.alive:
            self.tally.kills += 1
            node.kill()
            self._buried(node, injected=True)
        for pending in open_calls:
            if pending.answer is None:
                self._replied(pending, Answer("unknown", why="dead"))

    def dismiss(self, node: NodeHandle) -> None:
        """End a node that is no longer needed; no fault of the plan."""
        if node.alive:
            node.kill()
            self._buried(node, injected=True)

    def _buried(self, node: NodeHandle, *, injected: bool) -> Ended:
        ended = self.parent.reap(node.pid)
        self.recorder.record(
            "fault", Killed(node.name, node.pid, ended.signal, injected, ended.left)
        )
        return ended

    # calls -----------------------------------------------------------------------------------

    def call(
        self,
        node: NodeHandle,
        op: str,
        args: list[Any],
        subject: Subject,
        executor: str,
        twist: Twist = PLAIN,
    ) -> Pending:
        """Begin a call and run it to its answer, to its stop, or for the twist's patience."""
        if not node.alive:  # nobody can ask it; what ended it stands in the history
            return Pending(0, op, node, subject, answer=Answer("unknown", why="dead"))
        message: Message = {"do": "call", "op": op, "args": [encode(item) for item in args]}
        if twist.lane is not None:
            message["lane"] = twist.lane
        if twist.start_ns is not None:
            message["start_ns"] = twist.start_ns
        if self.trace:
            message["trace"] = True
        if twist.arm is not None:
            name, point = twist.arm.name, twist.arm.point
            message["arm"] = [[name, point.kind, point.side, point.nth]]
            self.recorder.record("fault", Armed(name, node.name, point))
        elif twist.transit is not None:
            name, transit = twist.transit
            self.recorder.record("fault", Armed(name, node.name, _in_transit(op, transit)))
        pending = self._start(op, node, message, subject, executor)
        pending.arm, pending.transit = twist.arm, twist.transit
        self.drive(pending, twist.patience_s)
        return pending

    def settle(self, *open_calls: Pending) -> None:
        """Run several open calls to their answers; see ``together.settle``."""
        settle(self, open_calls)

    def go(
        self, pending: Pending, raised: str | None = None, *, patience_s: float | None = None
    ) -> None:
        """Let a stopped call go on, to its answer or its next stop."""
        name = pending.arm.name if pending.arm else pending.op
        how = "go" if raised is None else f"raise {raised}"
        self.recorder.record("fault", Released(name, pending.node.name, how))
        answer: Message = {"answer": pending.ask}
        if raised is not None:
            answer["raise"] = raised
            pending.faulted = True
        pending.node.say(answer)
        pending.ask = None
        self.drive(pending, patience_s)

    def lose_reply(self, pending: Pending) -> None:
        """The connection breaks while the call stands or its reply travels: the client knows
        nothing, the node works on, and what it answers reaches nobody."""
        self.tally.drops += 1
        if pending.answer is None or pending.answer.why != "dead":
            self._replied(pending, Answer("unknown", why="dropped"))

    def drive(self, pending: Pending, deadline_s: float | None = None) -> bool:
        """Run a call on. True: it is answered (or lost); False: it stands at its stop, or the
        given deadline passed with the call still open."""
        patience_s = self.setting.deadline_s if deadline_s is None else deadline_s
        until = time.monotonic() + patience_s  # a node that never stops asking is silent too
        while True:
            heard = pending.node.hear(max(0.0, until - time.monotonic()))
            if isinstance(heard, Said):
                settled = self._said(pending, heard.message)
                if settled is not None:
                    return settled
            if isinstance(heard, Silent) or (isinstance(heard, Said) and time.monotonic() > until):
                if deadline_s is not None:
                    return False
                self.fell_silent(pending)
                return True
            if not isinstance(heard, Said):
                self._lost(pending, heard)
                return True

    def _start(
        self, op: str, node: NodeHandle, message: Message, subject: Subject, executor: str
    ) -> Pending:
        self._calls += 1
        self.recorder.record(
            "client",
            Invoked(
                self._calls,
                op,
                node.name,
                executor,
                subject.label,
                subject.request,
                subject.attempt,
                subject.admission,
                subject.presented,
                subject.context,
                subject.forged,
                subject.budget,
            ),
        )
        pending = Pending(self._calls, op, node, subject)
        self._open[self._calls] = pending
        message["id"] = self._calls
        node.say(message)
        return pending

    def _said(self, pending: Pending, message: Message) -> bool | None:
        """One message of a node: True the call is answered, False it stands, None neither.

        A node may work on several calls at once; a message is about the one that it names.
        """
        number = message.get("reply", message.get("call"))
        about = self._open.get(number, pending) if type(number) is int else pending
        if type(number) is int and "reply" not in message and about.call != number:
            self._lost(pending, Garbage(f"it speaks of call {number}, which nobody made"))
            return True
        about = about if about.node is pending.node else pending
        settled = self._heard(about, message)
        return settled if about is pending or pending.answer is not None else None

    def _heard(self, pending: Pending, message: Message) -> bool | None:
        try:
            if "reply" in message:
                return True if self._reply(pending, message) else None
            if "at" in message:
                return self._stopped(pending, message)
            if "effect" in message:
                return self._effect(pending, message)
            if "lookup" in message:
                self.desk.look_up(pending.node, message)
                return None
        except (RecursionError, LookupError, TypeError, ValueError) as problem:
            self._lost(pending, Garbage(f"{problem!r} of {str(message)[:120]}"))
            return True
        self._lost(pending, Garbage(f"no message of the protocol: {str(message)[:120]}"))
        return True

    def _stopped(self, pending: Pending, message: Message) -> bool | None:
        kind, side, nth = message["at"]
        if type(message["ask"]) is not int or side not in ("before", "after"):
            raise ValueProblem("a stop needs an ask, and a side")
        if pending.arm is None:
            raise ValueProblem("a stop that nobody armed")
        pending.ask = message["ask"]
        pending.reached = True
        self.recorder.record(
            f"node {pending.node.name}",
            Stopped(
                pending.arm.name,
                pending.node.name,
                Point(pending.op, str(kind), side, as_int(nth)),
                pending.call,
                str(message.get("text", ""))[:500],
            ),
        )
        return False

    def _effect(self, pending: Pending, message: Message) -> bool | None:
        letter = self.desk.open(pending.node, message, pending.subject.request)
        if pending.op != "effect":
            self.desk.without_key(letter)
        if pending.transit is None or pending.reached:
            self.desk.deliver(letter)
            return None
        name, transit = pending.transit
        pending.reached = True
        if transit == "refused":
            self.desk.refuse(letter)
            return None
        pending.letter = letter
        if transit == "held":
            self.desk.hold(letter)
        elif transit == "unanswered":
            self.desk.deliver(letter, answer=False)
        point = _in_transit(pending.op, transit)
        self.recorder.record(
            "sink", Stopped(name, pending.node.name, point, pending.call, letter.tool)
        )
        return False

    # answers ---------------------------------------------------------------------------------

    def _reply(self, pending: Pending, message: Message) -> bool:
        if message["reply"] != pending.call:
            return False  # the late answer of a call whose client has gone
        if pending.answer is not None:
            return True  # its reply was lost before
        pending.note(message)
        effects = as_int(message.get("entered")) - as_int(message.get("not_applied"))
        wrote = as_int(message.get("wrote"))
        if "unclassified" in message:
            self._unclassified(pending, message)
            return True
        value = decode(message.get("value"))
        if problem := malformed(pending.op, value):
            self.harm("target", problem)
            self._replied(pending, Answer("unknown", why="malformed"), effects, wrote, problem)
            return True
        answer = answer_of(pending.op, value, effects, wrote)
        detail = str(message.get("raised", ""))[:500]
        self._replied(pending, answer, effects, wrote, detail)
        return True

    def _unclassified(self, pending: Pending, message: Message) -> None:
        shown = str(message["unclassified"])[:500]
        if not pending.faulted and not pending.reached:
            self.harm(
                "target",
                f"{pending.op} raised an exception that the target's classify() does not name: "
                f"{shown}",
                str(message.get("raised", ""))[-2000:],
            )
        self._replied(pending, Answer("unknown", why="unclassified"), detail=shown)

    def fell_silent(self, pending: Pending) -> None:
        """The deadline passed. Nobody knows what came of the call; without a fault it is a hang,
        and its node of no further use."""
        self._replied(pending, Answer("unknown", why="silent"))
        if not pending.faulted and not pending.reached:
            self.harm(
                "target",
                f"{pending.op} did not answer within {self.setting.deadline_s:g} s. If it may wait "
                "for others that long, say so in Facts(waits_s=…)",
            )
            if pending.node.alive:
                pending.node.kill()
                self._buried(pending.node, injected=True)

    def _replied(
        self,
        pending: Pending,
        answer: Answer,
        effects: int = 0,
        wrote: int | None = None,
        detail: str = "",
    ) -> None:
        pending.answer = answer
        self.recorder.record(
            "client",
            Replied(pending.call, answer.outcome, answer.why, answer.value, effects, wrote, detail),
        )

    def _lost(self, pending: Pending, heard: Gone | Garbage) -> None:
        """The node died by itself, or speaks nonsense: an end of the node, not of the harness."""
        node = pending.node
        if isinstance(heard, Garbage):
            self.harm("target", f"the node's protocol broke during {pending.op}: {heard.why}")
            node.kill()
            self._buried(node, injected=True)
        elif node.alive:
            node.kill()
            ended = self._buried(node, injected=False)
            how = f"signal {ended.signal}" if ended.signal else "it left"
            self.harm("target", f"the node died by itself during {pending.op} ({how})")
        if pending.answer is None:
            self._replied(pending, Answer("unknown", why="dead"))

    def harm(self, fault: Fault, what: str, detail: str = "") -> None:
        """Something that makes the schedule unjudgeable happened."""
        self.harmed = True
        self.recorder.record("harness", Harm(fault, what, detail))

    def blind(self, what: str) -> None:
        """The ground truth has a hole, through no fault of the ledger: nothing may be judged."""
        if not self.blinded:
            self.blinded = what
            self.harm("harness", what)

    def inspect(self, node: NodeHandle, approval: Approval, label: str, moment: str) -> View | None:
        """Have a node read what the ledger durably holds, by a connection of its own."""
        if not node.alive:
            return None
        began_ns = self.recorder.now_ns
        self._calls += 1
        reading = read(node, self._calls, self.setting, approval)
        if reading.harm:
            self.harm("target", reading.harm, reading.detail)
        elif reading.problem and moment == "final":
            self.harm("target", f"inspect, when all was over: {reading.problem}")
        self.recorder.record(
            f"node {node.name}",
            Read(moment, node.name, label, began_ns, reading.view, reading.problem),
        )
        return reading.view


def _in_transit(op: str, transit: Transit) -> Point:
    return Point(op, f"effect-{transit}", "after", 1)
