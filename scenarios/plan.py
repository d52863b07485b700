"""Plans: one schedule as a value, and the id that is all one needs to repeat it.

``caplease-sqlite/crash:FP8.kill.b2.idem.s17@1`` reads: target, family, the family's parameters,
budget, sink, seed, plan version. Everything random in a schedule is drawn from this text, so a
line copied out of a CI log replays on another machine without any file.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from .history import SinkKind

PLAN_VERSION: Final = 1
"""Changes when the same id would no longer mean the same schedule."""

_SINKS: Final[dict[SinkKind, str]] = {"idempotent": "idem", "control": "ctrl"}
_ID: Final = re.compile(
    r"(?P<target>.+)/(?P<family>[a-z]+):(?P<params>[A-Za-z0-9_.-]+?)"
    r"\.b(?P<budget>\d+)\.(?P<sink>idem|ctrl)\.s(?P<seed>\d+)@(?P<version>\d+)\Z"
)


class PlanProblem(ValueError):
    """An id that cannot be replayed. The text says what, where and what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One planned run of one target."""

    target: str
    family: str
    params: tuple[str, ...]
    budget: int
    sink: SinkKind
    seed: int

    @property
    def id(self) -> str:
        """The self-contained id."""
        target = quote(self.target.removeprefix("builtin:"), safe="/:")
        params = ".".join(self.params)
        return (
            f"{target}/{self.family}:{params}.b{self.budget}.{_SINKS[self.sink]}"
            f".s{self.seed}@{PLAN_VERSION}"
        )

    def draws(self) -> random.Random:
        """The schedule's own source of chance: the same for the same id, on any machine."""
        return random.Random(self.id)  # reproducible, no secret

    @staticmethod
    def parse(text: str) -> Plan:
        """The plan of an id. Raises ``PlanProblem`` for anything that is none of this version."""
        found = _ID.match(text.strip())
        if found is None:
            raise PlanProblem(
                f"{text[:200]!r} is no schedule id. It looks like "
                "caplease-sqlite/crash:FP8.kill.b2.idem.s17@1; copy it whole from a report."
            )
        version = int(found["version"])
        if version != PLAN_VERSION:
            raise PlanProblem(
                f"{text[:200]}: this id is of plan version {version}, this admitone runs version "
                f"{PLAN_VERSION}, where the same id would be another schedule. Replay it with the "
                "admitone version that printed it (it stands in that run's summary.json)."
            )
        sink: SinkKind = "idempotent" if found["sink"] == "idem" else "control"
        return Plan(
            unquote(found["target"]),
            found["family"],
            tuple(found["params"].split(".")),
            int(found["budget"]),
            sink,
            int(found["seed"]),
        )
