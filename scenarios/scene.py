"""What a family is given to play a plan: a stage, the target's declaration, and its nodes.

Every schedule has a store of its own, and whoever heals is a fresh process. To spare a fork the
process that healed one schedule becomes the victim of the next (a *veteran*); a ledger that keeps
state in its process could be wronged by that, so every violation is tried again with a fresh victim
before it is reported (``worker.py``).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from ..chaos.events import Approved, Note, Phase, Released
from ..chaos.handle import NodeHandle
from ..idempotent_sink.labels import make_label
from ..targets.declaration import Declaration, Facts
from ..targets.identity import confirm
from ..targets.terms import Approval, Budget, View
from .client import Client, approve, copy_audit
from .links import Links
from .placement import Place, Survey
from .stage import Stage

DRAIN_EXTRA = 2
"""Refusals that a drain waits for: the first one, and one more that a wrong bound would grant."""


class Abandoned(Exception):
    """The schedule cannot go on, for the harm that stands in its history."""


@dataclass(slots=True)
class Scene:
    """One schedule being played. ``idle``: why it exercised nothing, said by the family;
    ``unfit``: why nothing may be concluded from it.

    ``links``: ways through a proxy.
    """

    stage: Stage
    declaration: Declaration
    survey: Survey
    draws: random.Random
    reference: bool = False
    veteran: NodeHandle | None = None
    survivor: NodeHandle | None = None
    links: Links | None = None
    races_started: int = 0
    races_overlapped: int = 0
    idle: str = ""
    unfit: str = ""

    @property
    def facts(self) -> Facts:
        """How the ledger is built."""
        return self.declaration.facts

    @property
    def clock_is_known(self) -> bool:
        """The clock that the ledger reads is that of a process of this machine."""
        return self.facts.clock != "server" or bool(self.survey.servers)

    def approve(self, budget: Budget) -> Client:
        """One user decision and its client."""
        return approve(self.stage, self.facts, self.stage.setting.trust, self.draws, budget)

    def approve_beside(self, client: Client) -> Client:
        """Another action of the same user, on the same resource and in the same context."""
        label, call = make_label(self.draws), client.approval.call
        other = replace(call, args={**call.args, "memo": f"invoice {label}"})
        approval = self._decided(label, replace(client.approval, call=other))
        return Client(self.stage, self.facts, label, approval)

    def confirmed_anew(self, client: Client) -> Client:
        """The user decides once more about the same action: another event, and another budget."""
        approval = self._decided(client.label, client.approval)
        return replace(client, approval=approval, authorization=None)

    def _decided(self, label: str, approval: Approval) -> Approval:
        """The approval under a confirmation of its own."""
        event = f"e-{self.draws.getrandbits(64):016x}"
        key = self.stage.setting.trust.confirmation_key
        confirmation = confirm(key, event, approval.call, approval.budget)
        decided = replace(approval, confirmation=confirmation)
        self.stage.recorder.record("client", Approved(label, decided))
        return decided

    def victim(self, executor: str) -> NodeHandle:
        """A node with the ledger open, to be hurt: the veteran where there is one."""
        node = self.stage.node(self.veteran)
        self.veteran = None
        node = self._opened(node, executor)
        copy_audit(self.stage, node, executor, "begin")
        return node

    def helper(self, executor: str, *, skew_s: float = 0.0, zone: str | None = None) -> NodeHandle:
        """A fresh node with the ledger open; its clock is so much ahead. ``zone``: it is of an
        interpreter of its own, in this time zone."""
        apart = self.stage.parent.fork_apart("zoned", zone) if zone is not None else None
        return self._opened(self.stage.node(apart), executor, skew_s)

    def healer(
        self, client: Client, moment: str | None, *, apart: bool = False
    ) -> tuple[NodeHandle, View | None]:
        """A fresh node that looks at the store before anything touches it, then opens it.
        ``apart``: of another interpreter; it is not the victim of the next schedule then."""
        node = self.stage.node(self.stage.parent.fork_apart("apart") if apart else None)
        view = None
        if moment is not None:
            view = self.stage.inspect(node, client.known, client.label, moment)
        node = self._opened(node, client.executor)
        self.survivor = None if apart else node
        return node, view

    @property
    def _struck(self) -> bool:
        """A process was killed, or a store failed."""
        said = (line.event for line in self.stage.recorder.lines)
        failed = (isinstance(x, Released) and x.raises for x in said)
        return bool(self.stage.tally.kills) or any(failed)

    def _opened(self, node: NodeHandle, executor: str, skew_s: float = 0.0) -> NodeHandle:
        """Raises ``Abandoned`` where the ledger does not open, or is another than was surveyed."""
        answer = self.stage.open(node, executor, skew_s=skew_s)
        if answer.why == "unclassified" and self._struck:
            # nobody may be able to, since then: a second process tells that from a chance
            self.stage.dismiss(node)
            node = self.stage.node()
            answer = self.stage.open(node, executor, skew_s=skew_s)
        if answer.granted and set(node.operations) == set(self.survey.operations):
            return node
        if not self.stage.harmed:
            seen = ", ".join(node.operations) if answer.granted else f"{answer.value}"
            self.stage.harm(
                "target",
                f"open() did not answer the ledger that the adapter check saw, but: {seen}",
            )
        raise Abandoned

    def check_durable(self, place: Place, variant: str, earlier: int, view: View | None) -> None:
        """What must be durable by then: asserted on the suite's own ledgers, for a killed
        process, where a point that lies elsewhere than it says would make the whole run vain."""
        if not self.reference or variant != "kill" or view is None:
            return
        expected = durable_by_then(place.name, earlier)
        seen = units(view)
        if seen != expected:
            self.stage.harm(
                "harness",
                f"{place.name} is not where it says: (known, prepared, committed) is {seen} "
                f"after the kill, and should be {expected}",
            )

    def phase(self, name: str) -> None:
        """Enter a phase. What the dead had asked of a server is over before anybody recovers."""
        if name != "hurt" and (left := self.stage.sessions.await_all(self.stage.setting)):
            note = f"sessions of the dead are still there: {', '.join(left)}"
            self.stage.recorder.record("harness", Note("sessions", note))
        self.stage.recorder.record("harness", Phase(name))

    def drain(self, client: Client, node: NodeHandle, budget: int) -> None:
        """Honest clients use what is left, to the first refusal and one further attempt."""
        self.phase("drain")
        if node.alive:
            client.audit(node, "drain")
        self.use_up(client, node, budget)

    def use_up(self, client: Client, node: NodeHandle, budget: int) -> None:
        """The same within a phase that has begun: where there are several to be drained."""
        for _ in range(DRAIN_EXTRA):
            if client.authorization is None and node.alive:
                client.issue(node)  # it was not served while others were hurt; now it must be
        denials, left = 0, False
        for _ in range(budget + DRAIN_EXTRA):
            if client.authorization is None or not node.alive:
                return
            answer = client.finish(node, client.new_use())
            left = left or answer.left
            if answer.why in ("silent", "dead"):
                return  # asking on would only wait again
            denials += not (answer.granted or answer.left)
            if denials == DRAIN_EXTRA:
                break
        for _ in client.uses if left else ():
            client.work(node)  # a worker may take one use a pass

    def end(self, client: Client, node: NodeHandle) -> None:
        """The last readings, when everything is delivered and every holder is dead or done."""
        self.phase("end")
        if node.alive:
            client.audit(node, "final")
        self.look(client, node)

    def look(self, client: Client, node: NodeHandle) -> None:
        """The last reading of one authorization."""
        if node.alive:
            self.stage.inspect(node, client.known, client.label, "final")


def units(view: View) -> tuple[bool, int, int]:
    """Whether the record is known, and how many units stand prepared and committed."""
    if view.slots is not None:
        states = [slot.state for slot in view.slots]
        return view.known, states.count("prepared"), states.count("committed")
    counts = view.counts
    return (view.known, counts.prepared, counts.committed) if counts else (view.known, 0, 0)


def durable_by_then(point: str, earlier: int) -> tuple[bool, int, int]:
    """What is durable when the point is reached, with ``earlier`` uses complete."""
    known = point != "FP1"
    prepared = point in ("FP4", "FP5", "FP6", "FP7", "FP8", "FP9", "FP11", "FP12")
    return known, int(prepared), earlier + (point == "FP10")
