"""The families of schedules, and their registry: to add one is one file and one entry here."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from ...targets.declaration import Declaration
from ..placement import Survey
from ..plan import Plan, PlanProblem

if TYPE_CHECKING:
    from ..scene import Scene


@dataclass(frozen=True, slots=True)
class Subjects:
    """What a family may plan for: one target, as it was surveyed."""

    target: str
    declaration: Declaration
    survey: Survey


class Family(Protocol):
    """One kind of schedule.

    ``points``: the failure points that it places. ``replayable``: one plan gives one order of
    events; a race of free processes does not, and what it shows is reported as it was seen.
    ``needs`` and ``claims``: operations and claims without which a target has nothing for this
    family, and is ``not applicable``. ``rows``: the requirements that it asserts, by id.
    ``topics``: what the first parameter of its plans can be, known before any ledger is.
    """

    name: str
    tries: str
    points: tuple[str, ...]
    replayable: bool
    needs: tuple[str, ...]
    claims: tuple[str, ...]
    rows: tuple[str, ...]
    topics: tuple[str, ...]

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every position once, at small size: the required set."""
        ...

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        ...


FAMILIES: Final[dict[str, str]] = {
    "crash": "crash:CrashFamily",
    "consumers": "consumers:ConsumersFamily",
    "revocation": "revocation:RevocationFamily",
    "expiry": "expiry:ExpiryFamily",
    "delegation": "delegation:DelegationFamily",
    "lease": "lease:LeaseFamily",
    "release": "release:ReleaseFamily",
    "reissuance": "reissuance:ReissuanceFamily",
    "binding": "binding:BindingFamily",
    "budgets": "budgets:BudgetsFamily",
    "server": "server:ServerFamily",
    "network": "network:NetworkFamily",
    "stateful": "stateful:StatefulFamily",
}
"""Family name to ``module:class`` in this package."""


@runtime_checkable
class PartlyFree(Protocol):
    """A family of which some plans are free races."""

    def replays(self, plan: Plan) -> bool:
        """Whether this plan gives one order of events."""
        ...


@runtime_checkable
class Choosy(Protocol):
    """A family that asks for more of a target than operations and claims."""

    def lacks(self, survey: Survey) -> str:
        """What this one lacks, or an empty text."""
        ...


@runtime_checkable
class Equipped(Protocol):
    """A family that needs a program which a machine may lack."""

    def missing(self) -> str:
        """What the machine lacks and the command that installs it, or an empty text."""
        ...


@runtime_checkable
class Widening(Protocol):
    """A family that samples more than it places."""

    def sampled(self, plan: Plan, chance: random.Random) -> Plan:
        """A variation of a placed plan, which only sampling plays."""
        ...


def replays(plan: Plan) -> bool:
    """Whether playing the plan again is sure to show the same. Raises ``PlanProblem``."""
    tried = family(plan.family)
    return tried.replays(plan) if isinstance(tried, PartlyFree) else tried.replayable


def missing_here(names: Iterable[str]) -> dict[str, str]:
    """Those of these families that this machine cannot run, each with what it lacks."""
    tried = {name: family(name) for name in names}
    lacking = {n: each.missing() for n, each in tried.items() if isinstance(each, Equipped)}
    return {name: why for name, why in lacking.items() if why}


BUDGETS: Final = (1, 2)
"""Budgets that every placed position is played with."""

WIDE_BUDGETS: Final = (1, 2, 5, 10)
"""Budgets that are played at all."""


def budgets_of(declaration: Declaration) -> tuple[int, ...]:
    """Budgets that a placed schedule is played with: more than 1 only where it is claimed."""
    return BUDGETS if declaration.claims_that("multi_budget") else BUDGETS[:1]


def budgeted(plan: Plan, declaration: Declaration) -> None:
    """Raises ``PlanProblem`` for a budget that no run would try: a ledger may refuse it."""
    played = WIDE_BUDGETS if declaration.claims_that("multi_budget") else BUDGETS[:1]
    if plan.budget not in played:
        raise PlanProblem(
            f"{plan.id}: no run plays this target with a budget of {plan.budget}; its budgets are "
            f"{', '.join(map(str, played))}"
        )


def family(name: str) -> Family:
    """The family of this name. Raises ``PlanProblem`` for an unknown one."""
    if name not in FAMILIES:
        raise PlanProblem(f"there is no family {name!r}; there are: {', '.join(sorted(FAMILIES))}")
    module, _, attribute = FAMILIES[name].partition(":")
    made: Family = getattr(import_module(f".{module}", __package__), attribute)()
    return made
