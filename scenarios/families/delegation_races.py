"""Races of delegation: Delegate and Close meet each other, a use, or a Revoke.

What a parent gives away is in one hand at a time, whoever asks at the same moment; and whatever is
first, a child that is revoked with its parent is of no use when both are over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...chaos.events import Point
from ...chaos.handle import NodeHandle
from ..calls import Pending, Twist
from ..client import Client
from ..kin import Kin
from ..moves import as_executor, close, revoke
from ..placement import held_points
from ..race import Ask, meet, tokens_of
from ..uses import admitting, ask, carry_on
from . import Subjects

RACES: Final = ("race", "both", "withdrawn", "closing", "closings")


def races_of(subject: Subjects) -> Iterator[tuple[str, ...]]:
    """Every race at every point of those who meet, as tokens of a plan."""
    survey = subject.survey
    uses, gives = held_points(survey, admitting(survey)), held_points(survey, "delegate")
    closes, meets = held_points(survey, "close"), {"race": (*uses, *gives), "both": gives}
    if "revoke" in survey.operations and subject.declaration.claims_that("revoke"):
        meets["withdrawn"] = (*gives, *held_points(survey, "revoke"))
    if closes:
        meets |= {"closing": (*closes, *uses), "closings": closes}
    for race, points in meets.items():
        yield from ((race, *tokens_of(point)) for point in points)


class Races(Kin):
    """One schedule of these: each is named after its race."""

    def race(self, point: Point) -> None:
        """The parent's own use and a Delegate of all that there is meet."""
        use = self.parent.new_use()
        node = self.scene.helper(self.parent.executor)
        context = as_executor(self.parent.approval.context, "executor-2")

        def uses(twist: Twist) -> Pending:
            return ask(self.parent, self.node, use, twist)

        gives = self.giving(node, context)
        if point.op == "delegate":
            given, pending = meet(self.scene, point, gives, uses)
        else:
            pending, given = meet(self.scene, point, uses, gives)
        assert pending is not None
        assert given is not None
        child = self.known(self.parent, given, context)
        carry_on(self.parent, self.node, use, pending)
        self.use(child)
        self.scene.stage.dismiss(node)

    def both(self, point: Point) -> None:
        """Two Delegates of all that there is meet."""
        node = self.scene.helper(self.parent.executor)
        contexts = [as_executor(self.parent.approval.context, f"executor-{n}") for n in (2, 3)]
        first, second = self.giving(self.node, contexts[0]), self.giving(node, contexts[1])
        for given, context in zip(meet(self.scene, point, first, second), contexts, strict=True):
            assert given is not None
            self.use(self.known(self.parent, given, context))
        self.scene.stage.dismiss(node)

    def withdrawn(self, point: Point) -> None:
        """A Delegate of all that there is, and a Revoke of its parent, meet. Whichever is first,
        the child is of no use when both are over."""
        node = self.scene.helper(self.parent.executor)
        context = as_executor(self.parent.approval.context, "executor-2")

        def ends(twist: Twist) -> Pending:
            return revoke(self.parent, self.node, twist)

        gives = self.giving(node, context)
        if point.op == "delegate":
            given, asked = meet(self.scene, point, gives, ends)
        else:
            asked, given = meet(self.scene, point, ends, gives)
        assert given is not None
        self.look_behind(asked)
        self.use(self.known(self.parent, given, context))
        self.scene.stage.dismiss(node)

    def closing(self, point: Point) -> None:
        """A child's own use and its Close meet: its unit is used, or it is given back."""
        child = self.child()
        if child is None:
            return
        client, node = child
        use = client.new_use()

        def uses(twist: Twist) -> Pending:
            return ask(client, node, use, twist)

        closes = self.closes(client, self.node)
        if point.op == "close":
            _, pending = meet(self.scene, point, closes, uses)
        else:
            pending, _ = meet(self.scene, point, uses, closes)
        assert pending is not None
        carry_on(client, node, use, pending)

    def closings(self, point: Point) -> None:
        """One child is closed by two processes at once; what it left comes back once."""
        child = self.child()
        if child is None:
            return
        node = self.scene.helper(self.parent.executor)
        meet(self.scene, point, self.closes(child[0], self.node), self.closes(child[0], node))
        self.scene.stage.dismiss(node)

    def closes(self, child: Client, node: NodeHandle) -> Ask:
        """A Close of this child, for a race."""
        born = child.authorization
        assert born is not None
        return lambda twist: close(child, node, born, child.acting, twist)
