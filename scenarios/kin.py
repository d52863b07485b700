"""A parent and its children in one schedule, each under its own context, in its own process.

Whatever a ledger refuses to delegate is None here, and the schedule goes on without it.
"""

from __future__ import annotations

from collections.abc import Callable

from ..chaos.handle import NodeHandle
from ..targets.terms import Budget, Context
from .calls import Pending, Twist
from .client import Client
from .moves import child_of, delegate, revoke
from .race import Ask
from .scene import Scene

Child = tuple[Client, NodeHandle]
"""A child's client, and the process in which it acts."""


class Kin:
    """See the module. ``node`` is the parent's."""

    def __init__(self, scene: Scene, budget: int) -> None:
        self.scene, self.budget = scene, budget
        self.parent = scene.approve(budget)
        self.node = scene.victim(self.parent.executor)
        self.children: list[Child] = []
        scene.phase("hurt")
        self.parent.issue(self.node)

    def child(self, of: Child | None = None, *, budget: int = 1) -> Child | None:
        """A child of the parent, or of that child, with a narrower session and task."""
        client, node = of or (self.parent, self.node)
        above = client.approval.context
        context = Context(
            f"executor-{len(self.children) + 2}",
            f"{above.session}/part",
            f"{above.task}/part",
            above.policy_epoch,
            above.schema_epoch,
        )
        return self.born(client, node, context, budget)

    def born(
        self, client: Client, node: NodeHandle, context: Context, budget: Budget
    ) -> Child | None:
        """The child for this context, if it is granted. The audit chain is read right before and
        behind it: records of something else must not stand for the one of Delegate."""
        self.parent.audit(self.node, "before_delegate")
        child = self.known(client, delegate(client, node, context, budget), context)
        self.parent.audit(self.node, "after_delegate")
        return child

    def known(self, client: Client, given: Pending, context: Context) -> Child | None:
        """The child that a Delegate answered."""
        child = child_of(client, given, context)
        if child is None:
            return None
        found = child, self.scene.helper(context.executor)
        self.children.append(found)
        return found

    def giving(self, node: NodeHandle, context: Context) -> Ask:
        """A Delegate of all that there is, for a race."""

        def ask(twist: Twist) -> Pending:
            return delegate(self.parent, node, context, self.budget, twist)

        return ask

    def use(self, child: Child | None) -> None:
        """One honest use by a child."""
        if child is not None and child[1].alive:
            child[0].finish(child[1], child[0].new_use())

    def use_own(self) -> None:
        """One honest use by the parent."""
        if self.parent.authorization is not None and self.node.alive:
            self.parent.finish(self.node, self.parent.new_use())

    def withdraw(self, client: Client) -> None:
        """Revoke the parent or a child, and read at once behind the acknowledgement."""
        self.look_behind(revoke(client, self.node, context=client.acting))

    def look_behind(self, asked: Pending | None) -> None:
        """Read at once behind an acknowledged Revoke."""
        if asked is not None and asked.answer is not None and asked.answer.granted:
            moment = "after_revoke"
            self.scene.stage.inspect(self.node, self.parent.known, self.parent.label, moment)

    def heal(self, again: Callable[[Scene, Client, NodeHandle], None] | None = None) -> None:
        """Recovery, and ``again``, where it is asked for once more when all leases have lapsed;
        then children and parent use what is left."""
        scene, parent = self.scene, self.parent
        scene.phase("heal")
        healer = self.node if self.node.alive else scene.helper(parent.executor)
        scene.phase("recover")
        parent.recover(healer)
        if again is not None:
            again(scene, parent, healer)
        scene.survivor = healer
        scene.drain(parent, healer, self.budget)
        for client, node in self.children:
            if node.alive:
                client.finish(node, client.new_use())
            scene.stage.dismiss(node)
        scene.end(parent, healer)
