"""Consumers: many callers of one authorization at once, held or let loose.

The first parameter of a plan says which. *Held* races leave nothing to chance and replay
(``held.py``). *Stress* releases real processes and threads together and sees what happens; a
finding of it is reported as it was seen, and may take several tries to be seen again
(``stress.py``). *Neighbours* have authorizations of their own, and nothing is the matter with them
(``neighbours.py``). All end in the same way: everybody carries on, recovery, drain, last reading.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..plan import Plan, PlanProblem
from ..scene import Scene
from . import Subjects, held, neighbours, stress


class ConsumersFamily:
    """See the module."""

    name = "consumers"
    tries = "several callers of one authorization: one held between statements, or all at once"
    points: tuple[str, ...] = ()
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    rows: tuple[str, ...] = (
        "PR02",
        "PR11",
        "PR12",
        "BU03",
        "IS02",
        "RC05",
        "FX09",
        "CM04",
    )
    topics: tuple[str, ...] = ("held", "stress", "neighbour")

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every held pair at every point, then every free race and every neighbour once."""
        yield from held.placed(subject, self.name)
        yield from stress.placed(subject, self.name)
        yield from neighbours.placed(subject, self.name)

    def replays(self, plan: Plan) -> bool:
        """A held race has one order of events; a free one has not. Nor have two calls of a guarded
        ledger that stand in nobody's way: let go, both may be at the sink at once."""
        free = plan.params[:1] == (stress.TOPIC,)
        return not free and plan.params[1:3] not in (("same", "execute"), ("apart", "execute"))

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        if plan.params[0] == held.TOPIC:
            held.run(plan, scene)
        elif plan.params[0] == stress.TOPIC:
            stress.run(plan, scene)
        elif plan.params[0] == neighbours.TOPIC:
            neighbours.run(plan, scene)
        else:
            raise PlanProblem(
                f"{plan.id}: there is no race {plan.params[0]!r}; held, stress or neighbour"
            )
