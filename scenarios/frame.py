"""What a run is measured against: which failure points and families a target must be put through.

A point that a target cannot have (no issue step, no commit step) is ``not applicable``, with the
reason; every other one that never fires makes the run incomplete. Durable writes that no probe can
see are no excuse: an adapter marks them with ``env.at``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .facts import FAILURE_POINTS, Required, TargetFacts, claims_made
from .families import FAMILIES, Choosy, Family, family
from .placement import places
from .preflight import Fitting

CORE_CHECKS: Final = ("AO102", "AO103", "AO105", "AO302", "AO802")
"""The core must have had its chance where processes were hurt. Some of it can only be seen by
``inspect``: of a target that shows nothing, "core upheld" would say more than was looked at."""


def required_of(families: Sequence[str]) -> Required:
    """What must have happened for a run of these families to be called complete."""
    points = points_of(families)
    return Required(tuple(families), points, CORE_CHECKS if points else ())


def target_facts(fitting: Fitting, families: Sequence[str]) -> TargetFacts:
    """One target's part of the frame."""
    name = fitting.greeting.name
    declared = fitting.greeting.declaration
    placed = {place.name for place in places(fitting.survey)}
    asked = points_of(families)
    excused = {
        point: why
        for point in asked
        if point not in placed and (why := _excused(point, fitting)) is not None
    }
    if not declared.facts.commits:
        excused["AO302"] = "an admission is final (declared)"
    for other in FAMILIES:
        if other not in families and family(other).points:
            elsewhere = (point for point in FAILURE_POINTS if point not in asked)
            excused.update(dict.fromkeys(elsewhere, f"family {other} was not asked for"))
    for family_name in families:
        if lacking := lacks(family(family_name), fitting):
            excused[family_name] = lacking
    return TargetFacts(
        name=fitting.target,
        version=f"{name.library} {name.version}".strip(),
        content_hash=fitting.content,
        claims=claims_made(declared),
        not_applicable=excused,
        unseen=tuple(point for point in asked if point not in placed and point not in excused),
    )


def lacks(tried: Family, fitting: Fitting) -> str:
    """What a target lacks for a family, or an empty text."""
    for need in tried.needs:
        if need not in fitting.survey.operations:
            return f"the ledger has no {need}"
    for claim in tried.claims:
        if claim not in fitting.greeting.declaration.claims:
            return f"{claim} is not claimed"
    return tried.lacks(fitting.survey) if isinstance(tried, Choosy) else ""


def points_of(families: Sequence[str]) -> tuple[str, ...]:
    """The failure points that these families place, in order."""
    placed = {point for name in families for point in family(name).points}
    return tuple(point for point in FAILURE_POINTS if point in placed)


def _excused(point: str, fitting: Fitting) -> str | None:
    """Why the target cannot have this point; None if it can, though nothing was seen there."""
    survey = fitting.survey
    if point in ("FP1", "FP2"):
        if "issue" not in survey.operations:
            return "the ledger has no issue"
        if fitting.greeting.declaration.facts.issues != "stored":
            return "issue stores nothing (declared)"
    if point in ("FP9", "FP10"):
        if not survey.guarded and "commit" not in survey.operations:
            return "the ledger has no commit"
        if survey.guarded and not fitting.greeting.declaration.facts.commits:
            return "nothing is recorded after the effect (declared)"
    if point in ("FP11", "FP12") and "recover" not in survey.operations:
        return "the ledger has no recover"
    sends = any(step.kind == "effect" for step in survey.steps.get("recover", ()))
    if point in ("FP11", "FP12") and not (survey.resumes or sends):
        return "recovery sends nothing again"
    return None  # a write that must be there and that no probe saw is no reason to be content
