"""The stage of one schedule: nodes on one fresh store, one sink, one history.

Families speak to it in calls. A call runs until it is answered, or until a stop that the plan
placed is reached; then the plan decides: kill, drop the reply, hold while another acts, raise, go
on. What a node does meanwhile is heard in ``hearing.py``.
"""

from __future__ import annotations

import time
from typing import Any, Final

from ..chaos.channel import Message
from ..chaos.events import (
    Armed,
    Clock,
    Invoked,
    Read,
    Released,
)
from ..chaos.handle import NodeHandle
from ..targets.terms import Approval, View
from ..targets.values import encode
from .calls import PLAIN, Answer, Pending, Subject, Twist
from .hearing import Hearing, in_transit
from .opening import to_open
from .reading import read
from .together import settle

_ABOUT: Final = ("prepare", "execute", "revoke", "delegate", "close")
"""Operations about an authorization, which there may be none of: then Issue was not granted."""


class Stage(Hearing):
    """See the module. One instance per schedule."""

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
        around = to_open(self.setting, node.name, executor, skew_s)
        pending = self._start("open", node, around, Subject(), executor)
        self.drive(pending)
        answer = pending.answer or Answer("unknown")
        if answer.granted and isinstance(answer.value, list):
            node.operations = tuple(str(name) for name in answer.value)
        return answer

    def work(self, node: NodeHandle, executor: str, twist: Twist = PLAIN) -> Pending:
        """One pass of the target's own sweeper, relay or reaper, in a living node that has it."""
        ask: Message = {"do": "work", "store": self.setting.store_for(node.name)}
        return self._asked("work", node, ask, Subject(), executor, twist)

    def kill(self, node: NodeHandle, *open_calls: Pending) -> None:
        """SIGKILL, wait for the death, reap; its open calls are never answered now."""
        if node.alive:
            self.tally.kills += 1
            node.kill()
            self.buried(node, injected=True)
        for pending in open_calls:
            if pending.answer is None:
                self.replied(pending, Answer("unknown", why="dead"))

    def dismiss(self, node: NodeHandle) -> None:
        """End a node that is no longer needed; no fault of the plan."""
        if node.alive:
            node.kill()
            self.buried(node, injected=True)

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
        without = op in _ABOUT and args[0] is None
        if not node.alive or without:  # nobody can ask it; why not stands in the history
            return Pending(0, op, node, subject, answer=Answer("unknown", why="dead"))
        message: Message = {"do": "call", "op": op, "args": [encode(item) for item in args]}
        if twist.lane is not None:
            message["lane"] = twist.lane
        if twist.start_ns is not None:
            message["start_ns"] = twist.start_ns
        return self._asked(op, node, message, subject, executor, twist)

    def _asked(
        self,
        op: str,
        node: NodeHandle,
        message: Message,
        subject: Subject,
        executor: str,
        twist: Twist,
    ) -> Pending:
        if self.trace:
            message["trace"] = True
        if twist.arm is not None:
            name, point = twist.arm.name, twist.arm.point
            message["arm"] = [[name, point.kind, point.side, point.nth]]
            self.recorder.record("fault", Armed(name, node.name, point))
        elif twist.transit is not None:
            name, transit = twist.transit
            self.recorder.record("fault", Armed(name, node.name, in_transit(op, transit)))
        pending = self._start(op, node, message, subject, executor)
        pending.arm, pending.transit, pending.faulted = twist.arm, twist.transit, twist.faulted
        self.drive(pending, twist.patience_s, twist.until)
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
            self.replied(pending, Answer("unknown", why="dropped"))

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
