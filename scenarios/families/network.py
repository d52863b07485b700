"""Network: what crosses a link is lost, late, cut or doubled by time, through a real Toxiproxy.

Two links. ``sink``: from the executor to the sink, in a process of its own. ``ledger``: from every
client to the ledger's server. Each fault is one of ``chaos/network/faults.py``, defined by what the
two ends observe, and always followed by healing; ``null`` goes through the same proxy unhurt.

On the ledger's link the fault comes while the client stands before a statement or a COMMIT, so its
answer is cut there: whether it happened, the client cannot know. How often it had, and how often it
had not, is counted. On the sink's link the fault meets the effect of one request. What the sink
really got is read in its own log, and a fault that was not what it says makes the schedule void.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...chaos.servers import ServerProblem
from ..history import SinkKind
from ..placement import Survey
from ..plan import Plan, PlanProblem
from ..race import tokens_of
from ..scene import Scene
from . import Subjects, budgeted, budgets_of, network_ledger, network_sink
from .spots import spot_of, spots

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")


class NetworkFamily:
    """See the module."""

    name = "network"
    tries = "requests and answers lost, late, cut and reset, to the sink and to the ledger's server"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    topics: tuple[str, ...] = ("sink", "ledger")
    rows: tuple[str, ...] = ("RC17", "RC04", "CM06", "FI04")

    def missing(self) -> str:
        """The proxy, where it is not here."""
        from ...chaos.network.programs import find_toxiproxy

        try:
            find_toxiproxy()
        except ServerProblem as problem:
            return str(problem)
        return ""

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every fault on each link; budgets and sinks in turn."""
        budgets = budgets_of(subject.declaration)
        for turn, shape in enumerate(_shapes(subject)):
            budget, sink = budgets[turn // 2 % len(budgets)], SINKS[turn % len(SINKS)]
            yield Plan(subject.target, self.name, shape, budget, sink, 0)

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        budgeted(plan, scene.declaration)
        match plan.params:
            case ("sink", fault, order) if order in network_sink.ORDERS:
                network_sink.run(plan, scene, fault, order)
            case ("ledger", fault, op, step, side, order) if order in network_ledger.ORDERS:
                point = spot_of(plan, scene.survey, (op, step, side))
                network_ledger.run(plan, scene, fault, point, order)
            case _:
                raise PlanProblem(f"{plan.id}: this family plays {', '.join(self.topics)}")


def _shapes(subject: Subjects) -> Iterator[tuple[str, ...]]:
    for fault in network_sink.FAULTS:
        for order in network_sink.ORDERS if fault != "null" else network_sink.ORDERS[:1]:
            yield "sink", fault, order
    if not _has_link(subject.survey):
        return
    before = [p for p in spots(subject) if p.side == "before" or p.kind == "statement"]
    for number, point in enumerate(before):
        for turn, fault in enumerate(network_ledger.faults_at(point)):
            order = network_ledger.ORDERS[(number + turn) % len(network_ledger.ORDERS)]
            yield "ledger", fault, *tokens_of(point), order


def _has_link(survey: Survey) -> bool:
    return bool(survey.links)
