"""What a run is measured against: which failure points and families a target must be put through.

A point that a target cannot have (no issue step, no commit step, no durable write in it) is
``not applicable``, with the reason; every other one that never fires makes the run incomplete.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .facts import FAILURE_POINTS, Required, TargetFacts, claims_made
from .placement import places
from .preflight import Fitting

COVERED: Final = ("FP1", "FP2", "FP3", "FP4", "FP5", "FP6", "FP8", "FP9", "FP10")
"""Points that the families of this version place."""

_ELSEWHERE: Final = "no family of this version places it"


def required_of(families: Sequence[str]) -> Required:
    """What must have happened for a run of these families to be called complete."""
    points = COVERED if "crash" in families else ()
    return Required(families=tuple(families), points=points)


def target_facts(fitting: Fitting, families: Sequence[str]) -> TargetFacts:
    """One target's part of the frame."""
    name = fitting.greeting.name
    declared = fitting.greeting.declaration
    placed = {place.name for place in places(fitting.survey)}
    excused = {
        point: _why_not(point, fitting)
        for point in FAILURE_POINTS
        if point not in placed and point in COVERED
    }
    if "crash" not in families:
        excused.update(dict.fromkeys(FAILURE_POINTS, "family crash was not asked for"))
    return TargetFacts(
        name=fitting.target,
        version=f"{name.library} {name.version}".strip(),
        claims=claims_made(declared),
        not_applicable=excused,
    )


def _why_not(point: str, fitting: Fitting) -> str:
    operation = {"FP1": "issue", "FP2": "issue", "FP3": "prepare", "FP4": "prepare"}.get(
        point, "commit"
    )
    if operation not in fitting.survey.operations and not fitting.survey.guarded:
        return f"the ledger has no {operation}"
    return f"{operation} makes no durable write that a probe can see"
