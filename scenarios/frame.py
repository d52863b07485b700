"""What a run is measured against: which failure points and families a target must be put through.

A point that a target cannot have (no issue step, no commit step) is ``not applicable``, with the
reason; every other one that never fires makes the run incomplete. Durable writes that no probe can
see are no excuse: an adapter marks them with ``env.at``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .facts import FAILURE_POINTS, Required, TargetFacts, claims_made
from .placement import places
from .preflight import Fitting

COVERED: Final = ("FP1", "FP2", "FP3", "FP4", "FP5", "FP6", "FP8", "FP9", "FP10")
"""Points that the families of this version place."""


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
        point: why
        for point in COVERED
        if point not in placed and (why := _excused(point, fitting)) is not None
    }
    if "crash" not in families:
        excused.update(dict.fromkeys(FAILURE_POINTS, "family crash was not asked for"))
    return TargetFacts(
        name=fitting.target,
        version=f"{name.library} {name.version}".strip(),
        claims=claims_made(declared),
        not_applicable=excused,
    )


def _excused(point: str, fitting: Fitting) -> str | None:
    """Why the target cannot have this point; None if it can, though nothing was seen there."""
    survey = fitting.survey
    if point in ("FP1", "FP2"):
        if "issue" not in survey.operations:
            return "the ledger has no issue"
        if fitting.greeting.declaration.facts.issues != "stored":
            return "issue stores nothing (declared)"
    if point in ("FP9", "FP10") and not survey.guarded and "commit" not in survey.operations:
        return "the ledger has no commit"
    if any(survey.writes(op) for op in survey.steps):  # so probes do see into this store
        return "no durable write was made there in an undisturbed use"
    return None
