"""The checks by their stable codes, and ``judge``, which puts a history to all of them.

To add a check is to write its judge and one entry in the ``CHECKS`` of its hundred. A check that
crashes is a problem of the suite (``JudgeProblem``) and never a pass; so is a history that breaks
its own rules.
"""

from __future__ import annotations

from typing import Final

from ..history import History
from ..results import Finding
from ..story import Story, tell
from ..validate import validate
from . import (
    attacks,
    budget,
    budget_effects,
    delegation,
    durability,
    ending,
    identity,
    linear,
    liveness,
    order,
    recovery,
    renewal,
    reopening,
    repeats,
    sink,
)
from .ruling import Breach, Check, Docket, Ruling

CHECKS: Final[dict[str, Check]] = {
    check.code: check
    for check in sorted(
        (
            *budget.CHECKS,
            *budget_effects.CHECKS,
            *identity.CHECKS,
            *attacks.CHECKS,
            *recovery.CHECKS,
            *order.CHECKS,
            *linear.CHECKS,
            *delegation.CHECKS,
            *durability.CHECKS,
            *liveness.CHECKS,
            *ending.CHECKS,
            *renewal.CHECKS,
            *reopening.CHECKS,
            *repeats.CHECKS,
            *sink.CHECKS,
        ),
        key=lambda check: check.code,
    )
}


class JudgeProblem(Exception):
    """A history could not be judged. ``code`` is that of the check that failed, AO901 where the
    history itself is not valid."""

    def __init__(self, code: str, what: str) -> None:
        super().__init__(f"{code}: {what}")
        self.code = code
        self.what = what


def judge(history: History) -> tuple[dict[str, int], list[Finding]]:
    """Opportunities per code, and every finding. Raises ``JudgeProblem``; never passes on doubt.

    A check whose claim the target does not make has no opportunity and finds nothing.
    """
    problems = validate(history)
    if problems:
        raise JudgeProblem("AO901", "the history breaks its own rules: " + "; ".join(problems[:5]))
    return judge_valid(history)


def judge_valid(history: History) -> tuple[dict[str, int], list[Finding]]:
    """The same for a history that was already found to keep its own rules."""
    try:
        story = tell(history)
    except Exception as problem:
        raise JudgeProblem("AO902", f"the story could not be told: {problem!r}") from problem
    return judge_story(story)


def judge_story(story: Story) -> tuple[dict[str, int], list[Finding]]:
    """The same for a story that was already derived from a valid history."""
    opportunities: dict[str, int] = {}
    findings: list[Finding] = []
    for code, check in CHECKS.items():
        opportunities[code] = 0
        if check.claim is not None and not story.claims(check.claim):
            continue
        try:
            ruling = check.judge(story)
        except Exception as problem:
            raise JudgeProblem(code, f"the check failed: {problem!r}") from problem
        opportunities[code] = ruling.opportunities
        if ruling.breaches:
            findings += check.findings(ruling)
    return opportunities, findings


__all__ = [
    "CHECKS",
    "Breach",
    "Check",
    "Docket",
    "JudgeProblem",
    "Ruling",
    "judge",
    "judge_story",
    "judge_valid",
]
