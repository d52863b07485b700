"""Plays the steps of a stateful schedule on real nodes, then heals and drains.

A step that makes no sense where it comes (a commit without a receipt) is passed over, so that any
subsequence of a schedule is a schedule again: that is what makes shrinking simple.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..chaos.handle import NodeHandle
from .attacker import Attacker
from .calls import PLAIN, Arm, Pending, Twist
from .client import Client, Use
from .desk import Letter
from .moves import as_executor, reissue, revoke
from .race import RACE
from .scene import Scene
from .steps import Kind, Step

REQUESTS = 3
"""Requests that a schedule may be about, beside those of the drain."""


def operations(guarded: bool) -> dict[Kind, str]:
    """The ledger's operation for each kind of step that can be hurt."""
    use = "execute" if guarded else "prepare"
    return {"issue": "issue", "use": use, "send": "effect", "commit": "commit"}


@dataclass(slots=True)
class Player:
    """One stateful schedule being played."""

    scene: Scene
    budget: int
    client: Client = field(init=False)
    attacker: Attacker = field(init=False)
    uses: dict[int, Use] = field(default_factory=dict)
    nodes: list[NodeHandle | None] = field(default_factory=lambda: [None, None])
    acting: int = 0
    letters: list[Letter] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = self.scene.approve(self.budget)
        self.attacker = Attacker(self.client)
        self.scene.phase("hurt")

    @property
    def node(self) -> NodeHandle:
        """The client that acts; a new process where the last one died."""
        node = self.nodes[self.acting]
        if node is None or not node.alive:
            node = self.nodes[self.acting] = self.scene.helper(self.client.executor)
        return node

    def play(self, step: Step) -> None:
        """Take one step."""
        match step.kind:
            case "issue":
                self.client.issue(self.node)
            case "use" | "send" | "commit":
                self._plain(step)
            case "hold":
                self._hold(step.number)
            case "kill" | "drop":
                self._hurt(step)
            case "recover":
                self.client.recover(self.node)
            case "other":
                self.acting = 1 - self.acting
            case "deliver":
                self._deliver()
            case _:
                self._with_authorization(step.kind)

    def finish(self) -> None:
        """Heal, ask again, recover, drain, look."""
        self.scene.phase("heal")
        self._deliver()
        if self.client.authorization is None:
            self.client.issue(self.node)
        self.scene.phase("recover")
        node = self.node
        self.client.recover(node)
        self._ask_again(node)
        for other in self.nodes:
            if other is not None and other is not node:
                self.scene.stage.dismiss(other)
        self.client.recover(node)
        self.scene.drain(self.client, node, self.budget)
        self.scene.end(self.client, node)

    def _ask_again(self, node: NodeHandle) -> None:
        for use in self.uses.values():
            if use.done or self.client.authorization is None:
                continue
            if self.scene.facts.attempt_identity:
                self.client.finish(node, use)
            elif use.admission is not None:
                self.client.carry_out(node, use, use.admission)

    def _with_authorization(self, kind: Kind) -> None:
        if self.client.authorization is None:
            return
        context, call = self.client.approval.context, self.client.approval.call
        if kind == "reissue" and "issue" in self.node.operations:
            other = replace(context, session=f"{context.session}-2", task=f"{context.task}-2")
            reissue(self.client, self.node, context=other)
            if self.scene.facts.context_update in ("narrow", "replace"):
                reissue(self.client, self.node)  # the update was the user's to make, and is undone
        elif kind == "revoke" and "revoke" in self.node.operations:
            revoke(self.client, self.node)
        elif kind == "thief":
            self.attacker.present(self.node, context=as_executor(context, "somebody-else"))
        elif kind == "mutant":
            mutated = replace(call, args={**call.args, "amount": "999999.99"})
            self.attacker.present(self.node, call=mutated)

    def _plain(self, step: Step) -> None:
        used = self.uses.get(step.number)
        if step.kind != "use" or used is None or self._may_repeat(used):
            self._use(step.kind, step.number, PLAIN)

    def _hold(self, number: int) -> None:
        """The effect leaves and does not arrive; its sender is told that no answer came."""
        kind: Kind = "use" if "execute" in self.node.operations else "send"
        used = self.uses.get(number)
        if kind == "use" and used is not None and not self._may_repeat(used):
            return
        pending = self._use(kind, number, Twist(transit=(RACE, "held")))
        if pending is None or pending.letter is None or pending.answer is not None:
            return
        self.letters.append(pending.letter)
        self.scene.stage.desk.forsake(pending.letter, "no answer from the sink")
        self.scene.stage.drive(pending)
        if kind == "use":
            self.client.executed(self.uses[number], pending)

    def _use(self, kind: Kind, number: int, twist: Twist) -> Pending | None:
        if self.client.authorization is None:
            return None
        use = self.uses.get(number)
        if kind == "use":
            use = use or self._new(number)
            if "execute" in self.node.operations:
                return self.client.execute(self.node, use, twist)
            return self.client.prepare(self.node, use, twist)
        if use is None or use.admission is None or "execute" in self.node.operations:
            return None
        if kind == "send":
            return self.client.send(self.node, use, use.admission, twist)
        return self.client.commit(self.node, use, use.admission, twist)

    def _new(self, number: int) -> Use:
        use = self.uses[number] = self.client.new_use()
        return use

    def _hurt(self, step: Step) -> None:
        assert step.hits is not None
        assert step.point is not None
        twist = Twist(Arm(RACE, step.point))
        if step.hits == "issue":
            pending = self.client.issue(self.node, twist)
        else:
            used = self.uses.get(step.number)
            if step.hits == "use" and used is not None and not self._may_repeat(used):
                return
            pending = self._use(step.hits, step.number, twist)
        if pending is None or pending.answer is not None or not pending.reached:
            return
        use = self.uses.get(step.number)
        if step.kind == "kill":
            self.scene.stage.kill(pending.node, pending)
        else:
            self.scene.stage.lose_reply(pending)
            self.scene.stage.go(pending)
        if use is not None and step.hits == "use":
            use.unknown = True

    def _may_repeat(self, use: Use) -> bool:
        return self.scene.facts.attempt_identity or not (use.unknown or use.admission or use.done)

    def _deliver(self) -> None:
        while self.letters:
            self.scene.stage.desk.deliver(self.letters.pop())
