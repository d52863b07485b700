"""The families of schedules, and their registry: to add one is one file and one entry here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from ...targets.declaration import Declaration
from ..placement import Survey
from ..plan import Plan


@dataclass(frozen=True, slots=True)
class Subjects:
    """What a family may plan for: one target, as it was surveyed."""

    target: str
    declaration: Declaration
    survey: Survey


class Family(Protocol):
    """One kind of schedule."""

    name: str
    tries: str

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every position once, at small size: the required set."""
        ...

    def run(self, plan: Plan, scene: object) -> None:
        """Play one plan on a scene."""
        ...


FAMILIES: Final[dict[str, str]] = {
    "crash": "crash:CrashFamily",
    "consumers": "held:HeldFamily",
}
"""Family name to ``module:class`` in this package."""
