"""What a node says, turned into lines of the history: points, effects, answers, its death.

A node may ask the sink, stand still, answer, die by itself, flood, or go silent; none of that is an
exception of the harness. ``Stage`` adds what the harness asks of nodes.
"""

from __future__ import annotations

import time

from ..chaos.channel import Message
from ..chaos.events import Fault, Harm, Killed, Point, Replied, Stopped
from ..chaos.handle import Garbage, Gone, NodeHandle, Said, Silent, as_int
from ..chaos.parent import Ended, WarmParent
from ..chaos.recorder import Recorder
from ..idempotent_sink.protocol import SinkLike
from ..targets.values import ValueProblem, decode
from .borrowed import believed, disown, hear_first
from .calls import Answer, Pending, Resume, Setting, Tally, Until
from .desk import Desk, Transit
from .replies import answer_of, malformed
from .sessions import Sessions, is_blocked

LOOK_S = 0.01
"""How long a call is listened to before the server is asked whether it waits for a lock."""

NAP_S = 0.004
"""How long it is listened to before its process is looked at."""

ASLEEP_LOOKS = 3
"""How often in a row a process must be seen asleep before its call counts as waiting."""


class Hearing:
    """The part of a stage that listens. One instance per schedule."""

    def __init__(
        self, parent: WarmParent, sink: SinkLike, setting: Setting, recorder: Recorder
    ) -> None:
        self.parent = parent
        self.setting = setting
        self.recorder = recorder
        self.desk = Desk(sink, recorder, self.blind)
        self.tally = Tally()
        self.sessions = Sessions()
        self.nodes: list[NodeHandle] = []
        self.holders: dict[str, Resume] = {}
        self.harmed = False
        self.blinded = ""
        self.trace = False
        self.clocks = False
        self._calls = 0
        self._open: dict[int, Pending] = {}

    def drive(
        self, pending: Pending, deadline_s: float | None = None, until: Until = "blocked"
    ) -> bool:
        """Run a call on. True: it is answered (or lost); False: it stands at its stop, or the
        given deadline passed, or it was seen to wait for a lock, with the call still open.

        On a server waiting is seen by the server. ``asleep``: without one, a process that sleeps,
        look after look, waits; one that only has no turn on its core is not asleep. ``answer``:
        it may wait for as long as it likes."""
        patience_s = self.setting.deadline_s if deadline_s is None else deadline_s
        end = time.monotonic() + patience_s  # a node that never stops asking is silent too
        served = bool(self.setting.servers)
        looks = served and until != "answer" and deadline_s is not None and deadline_s > LOOK_S
        naps = until == "asleep" and not served
        slice_s = LOOK_S if looks else NAP_S if naps else patience_s
        asleep = 0
        while True:
            left_s = max(0.0, end - time.monotonic())
            heard = hear_first(pending.node, self._idle(pending), min(left_s, slice_s), self._serve)
            if (looks or naps) and isinstance(heard, Silent) and time.monotonic() < end:
                asleep = asleep + 1 if naps and pending.node.asleep() else 0
                if asleep == ASLEEP_LOOKS or (
                    looks and is_blocked(self.setting, pending.node.name)
                ):
                    return False
                continue
            if isinstance(heard, Said):
                settled = self._said(pending, heard.message)
                if settled is not None:
                    return settled
            if isinstance(heard, Silent) or (isinstance(heard, Said) and time.monotonic() > end):
                if deadline_s is not None:
                    return False
                self.fell_silent(pending)
                return True
            if not isinstance(heard, Said):
                self._lost(pending, heard)
                return True

    def _idle(self, pending: Pending) -> list[NodeHandle]:
        """The living nodes that nobody has asked anything, or that have answered it."""
        busy = {other.node.name for other in self._open.values() if other.answer is None}
        busy.add(pending.node.name)
        return [n for n in self.nodes if n.alive and n.operations and n.name not in busy]

    def _serve(self, node: NodeHandle, message: Message) -> None:
        """A thread of a ledger that has no call open wants something of the sink."""
        try:
            if "lookup" in message:
                self.desk.look_up(node, message)
                return
            letter = self.desk.open(node, message, None)
            self.desk.without_key(letter)
            if not self.desk.spurns(letter):
                self.desk.deliver(letter)
        except (RecursionError, LookupError, TypeError, ValueError) as problem:
            self.harm(
                "target", f"a thread of node {node.name} asked what is no question: {problem!r}"
            )

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
        disown(pending, letter, message, self._open.values())
        if pending.op != "effect":
            self.desk.without_key(letter)
        if self.desk.spurns(letter):
            return None
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
        point = in_transit(pending.op, transit)
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
        entered = max(0, as_int(message.get("entered")) - pending.doubtful)
        effects = max(0, entered - as_int(message.get("not_applied")))
        wrote = as_int(message.get("wrote"))
        if "unclassified" in message:
            self._unclassified(pending, message)
            return True
        value = decode(message.get("value"))
        if problem := malformed(pending.op, value):
            self.harm("target", problem)
            self.replied(pending, Answer("unknown", why="malformed"), entered, wrote, problem)
            return True
        works = "work" in self.parent.greeting.optional
        answer = believed(
            pending, answer_of(pending.op, value, effects, wrote, works=works), entered
        )
        detail = str(message.get("raised", ""))[:500]
        self.replied(pending, answer, entered, wrote, detail)
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
        self.replied(pending, Answer("unknown", why="unclassified"), detail=shown)

    def fell_silent(self, pending: Pending) -> None:
        """The deadline passed. Nobody knows what came of the call; without a fault it is a hang,
        and its node of no further use."""
        self.replied(pending, Answer("unknown", why="silent"))
        if not pending.faulted and not pending.reached:
            self.harm(
                "target",
                f"{pending.op} did not answer within {self.setting.deadline_s:g} s. If it may wait "
                "for others that long, say so in Facts(waits_s=…)",
            )
            if pending.node.alive:
                pending.node.kill()
                self.buried(pending.node, injected=True)

    def replied(
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
            self.buried(node, injected=True)
        elif node.alive:
            node.kill()
            ended = self.buried(node, injected=False)
            how = f"signal {ended.signal}" if ended.signal else "it left"
            self.harm("target", f"the node died by itself during {pending.op} ({how})")
        if pending.answer is None:
            self.replied(pending, Answer("unknown", why="dead"))

    def harm(self, fault: Fault, what: str, detail: str = "") -> None:
        """Something that makes the schedule unjudgeable happened."""
        self.harmed = True
        self.recorder.record("harness", Harm(fault, what, detail))

    def blind(self, what: str) -> None:
        """The ground truth has a hole, through no fault of the ledger: nothing may be judged."""
        if not self.blinded:
            self.blinded = what
            self.harm("harness", what)

    def buried(self, node: NodeHandle, *, injected: bool) -> Ended:
        ended = self.parent.reap(node.pid)
        self.sessions.left_by(self.setting, node.name)
        self.recorder.record(
            "fault", Killed(node.name, node.pid, ended.signal, injected, ended.left)
        )
        return ended


def in_transit(op: str, transit: Transit) -> Point:
    """The point that a state of an operation's effect stands for."""
    return Point(op, f"effect-{transit}", "after", 1)
