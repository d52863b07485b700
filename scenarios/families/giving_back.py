"""One schedule of the family ``release``: a unit is given back, rightly or not, or by two at once.

Each public method is named after the topic that it plays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ...chaos.events import Point
from ...chaos.handle import NodeHandle
from ..calls import Pending, Subject, Twist
from ..client import Use
from ..moves import as_executor, release, revoke
from ..race import Ask, meet
from ..scene import Scene

POINT: Final = "effect-refused"
"""The name under which a definite non-effect is reported, beside the twelve points."""


class GivingBack:
    """See the module. ``mine`` is the holder's node."""

    def __init__(self, scene: Scene, budget: int) -> None:
        self.scene, self.budget = scene, budget
        self.client = scene.approve(budget)
        self.mine = scene.victim(self.client.executor)
        scene.phase("hurt")
        self.client.issue(self.mine)

    def turned_away(self) -> None:
        """A definite non-effect, given back; the drain shows what came of it."""
        use = self._refused()
        if use.admission is not None and "release" in self.mine.operations:
            self._release(use)

    def withdrawn(self) -> None:
        """Given back, and revoked before anybody asks again: the same attempt is a new use then."""
        use = self._refused()
        if use.admission is not None and "release" in self.mine.operations:
            self._release(use)
        asked = revoke(self.client, self.mine)
        if asked.answer is not None and asked.answer.granted:
            self._look()
        if self.scene.facts.attempt_identity:
            self.client.finish(self.mine, use)
        self._look()

    def awaited(self) -> None:
        """All units are out, and another request is turned away. Then one comes back, and whoever
        was turned away for want of it asks again, in the same process."""
        held = [self._prepared() for _ in range(self.budget - 1)]
        use = self._refused()
        self.client.prepare(self.mine, self.client.new_use())
        if use.admission is not None:
            self._release(use)
        for other in held:
            if other.admission is not None:
                self.client.carry_out(self.mine, other, other.admission)

    def overtaken(self) -> None:
        """Revoked while it is held, and given back afterwards: then it is free for nobody."""
        use = self._refused()
        asked = revoke(self.client, self.mine)
        if asked.answer is not None and asked.answer.granted:
            self._look()
        if use.admission is not None:
            self._release(use)
            self._look()
        self.client.finish(self.mine, self.client.new_use())

    def stranger(self) -> None:
        """Somebody else gives back what the holder is about to use."""
        use = self._prepared()
        if use.admission is None:
            return
        other = as_executor(self.client.approval.context, "executor-9").executor
        node = self.scene.helper(other)
        seen = use.admission
        if isinstance(seen.handle, str):  # a text that proves a tenure; a stranger has it not
            seen = replace(seen, handle="0" * len(seen.handle))
        release(self.client, node, seen, request="x1", executor=other)
        self._look()
        self.scene.stage.dismiss(node)
        self._use_all()
        self.client.carry_out(self.mine, use, use.admission)

    def twice(self) -> None:
        """Given back once rightly; once more when another request may hold the unit."""
        use = self._refused()
        if use.admission is None:
            return
        self._release(use)
        other = self._prepared()
        self._release(use)
        self._look()
        self._use_all()
        if other.admission is not None:
            self.client.carry_out(self.mine, other, other.admission)

    def finished(self) -> None:
        """Its effect stands, and the ledger knows it."""
        use = self._prepared()
        if use.admission is None:
            return
        self.client.carry_out(self.mine, use, use.admission)
        self._look()
        self._release(use)
        self._look()
        self._use_all()

    def doubtful(self) -> None:
        """The effect stands and its answer is lost; recovery hands the unit out as well, and only
        then its first holder says that nothing happened. A guarded ledger is told so of its own
        second request, which says nothing of the first."""
        if self.scene.survey.guarded:
            self._doubtful_inside()
            return
        use = self._prepared()
        if use.admission is None:
            return
        sent = self.client.send(
            self.mine, use, use.admission, Twist(transit=("effect-unanswered", "unanswered"))
        )
        self._unanswer(sent)
        if "recover" in self.mine.operations:
            known = [self.client.authorization]
            about = Subject(self.client.label)
            self.scene.stage.call(self.mine, "recover", [known], about, self.client.executor)
        elif self.scene.facts.attempt_identity:
            self.client.prepare(self.mine, use)
        else:
            self.scene.idle = "nothing hands a unit out twice"
            return
        self._release(use)
        self._look()
        self._use_all()

    def _doubtful_inside(self) -> None:
        use = self.client.new_use()
        sent = self.client.execute(
            self.mine, use, Twist(transit=("effect-unanswered", "unanswered"))
        )
        self._unanswer(sent)
        self.client.executed(use, sent)
        away = Twist(transit=(POINT, "refused"))
        if self.scene.facts.attempt_identity:
            again = self.client.execute(self.mine, use, away)
        elif (recovery := self.client.recovery(self.mine, away)) is not None:
            again = recovery
        else:
            self.scene.idle = "nothing sends a unit's effect twice"
            return
        if again.reached:
            self.scene.stage.tally.fired.append((POINT, "turned away"))
        self._look()
        for _ in range(self.budget):
            self.client.finish(self.mine, self.client.new_use(), brief=True)

    def _unanswer(self, sent: Pending) -> None:
        """The effect is applied, and whoever asked for it hears that nobody knows."""
        if sent.letter is not None:
            self.scene.stage.tally.fired.append(("effect-unanswered", "applied, no answer"))
            self.scene.stage.desk.forsake(sent.letter, "no answer from the sink")
            self.scene.stage.drive(sent)

    # races -------------------------------------------------------------------------------------

    def releases(self, point: Point) -> None:
        """A definite non-effect is given back by two processes of its holder at once; the unit is
        free once."""
        use = self._refused()
        if use.admission is None:
            return
        node = self.scene.helper(self.client.executor)
        meet(self.scene, point, self._gives(use, self.mine), self._gives(use, node))
        self._look()
        self.scene.stage.dismiss(node)

    def recovered(self, point: Point) -> None:
        """Its holder gives back what a recovery is about to send again: one of the two has it."""
        use = self._refused()
        if use.admission is None:
            return
        node = self.scene.helper(self.client.executor)

        def recovers(twist: Twist) -> Pending | None:
            return self.client.recovery(node, twist)

        gives = self._gives(use, self.mine)
        if point.op == "release":
            _, found = meet(self.scene, point, gives, recovers)
        else:
            found, _ = meet(self.scene, point, recovers, gives)
        if found is not None:
            self.client.resume(node, found)
        self._look()
        self.scene.stage.dismiss(node)

    def _gives(self, use: Use, node: NodeHandle) -> Ask:
        held = use.admission
        assert held is not None
        return lambda twist: release(self.client, node, held, request=use.request, twist=twist)

    # pieces ------------------------------------------------------------------------------------

    def _prepared(self) -> Use:
        use = self.client.new_use()
        self.client.prepare(self.mine, use)
        return use

    def _refused(self) -> Use:
        """Admitted, sent, and definitely turned away."""
        use, away = self.client.new_use(), Twist(transit=(POINT, "refused"))
        if self.scene.survey.guarded:
            pending = self.client.execute(self.mine, use, away)
        else:
            self.client.prepare(self.mine, use)
            if use.admission is None:
                return use
            pending = self.client.send(self.mine, use, use.admission, away)
        if pending.reached:
            self.scene.stage.tally.fired.append((POINT, "turned away"))
        return use

    def _release(self, use: Use) -> None:
        assert use.admission is not None
        release(self.client, self.mine, use.admission, request=use.request)

    def _look(self) -> None:
        """What the ledger shows between two steps."""
        stage, client = self.scene.stage, self.client
        stage.inspect(self.mine, client.known, client.label, "after_release")

    def _use_all(self) -> None:
        """Others use whatever is free, before the holder goes on."""
        for _ in range(self.budget):
            if self.mine.alive:
                use = self._prepared()
                if use.admission is not None:
                    self.client.carry_out(self.mine, use, use.admission)

    def heal(self) -> None:
        """Recovery; then what is left is used."""
        scene, client = self.scene, self.client
        scene.phase("heal")
        scene.phase("recover")
        client.recover(self.mine)
        scene.survivor = self.mine
        scene.drain(client, self.mine, self.budget)
        scene.end(client, self.mine)
