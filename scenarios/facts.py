"""What is known of a run before its first schedule: the frame in which results are read.

A report is worth nothing without it: which version, which seed, which command, and above all
what was *asked for*, because only against that can "not exercised" be told from "fine".
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ..targets.declaration import CLAIMS, Declaration

CORE: Final = "core"
"""What every ledger is judged by, claimed or not: N_effect <= N_admit <= N_issue <= b."""

FACT_CLAIMS: Final = ("key", "attempt_identity", "slot_identity", "binds")
"""Facts that are claims too: what a ledger lacks of them is shown as not claimed."""

ALL_CLAIMS: Final[tuple[str, ...]] = (CORE, *CLAIMS, *FACT_CLAIMS)
"""The rows of every claims matrix, in order."""

UNJUDGED: Final = ("finds_unfinished", "structured_denials", "durable_power")
"""Claims that no check of this version could refute, whatever is played."""

FAILURE_POINTS: Final[Mapping[str, str]] = {
    "FP1": "issue-before-commit",
    "FP2": "issue-unacknowledged",
    "FP3": "prepare-before-commit",
    "FP4": "prepare-unacknowledged",
    "FP5": "admitted-before-send",
    "FP6": "effect-in-flight",
    "FP7": "sink-before-record",
    "FP8": "effect-unacknowledged",
    "FP9": "commit-before-commit",
    "FP10": "commit-unacknowledged",
    "FP11": "recover-before-resend",
    "FP12": "recover-after-receipt",
}
"""The twelve, by name. A report lists all of them, also those that were never armed."""


def claims_made(declaration: Declaration) -> Mapping[str, str]:
    """Every claim of a target, facts that are claims among them, with the sentence behind it."""
    facts = declaration.facts
    made = {
        "key": facts.key != "none",
        "attempt_identity": facts.attempt_identity,
        "slot_identity": facts.slot_identity,
        "binds": bool(facts.binds),
    }
    return {**declaration.claims, **{name: "declared as a fact" for name in made if made[name]}}


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """One target of the run.

    ``claims``: claim to the sentence that makes it (``claims_made``). ``not_applicable``: the
    failure points, checks and families that this target cannot have, each with the reason.
    ``unseen``: failure points that it should have and that no place was found for.
    """

    name: str
    version: str = ""
    content_hash: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Required:
    """What each target must have been put through before a run may be called complete."""

    families: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The whole frame. ``planned``: schedules per family, as far as they can be counted before.

    ``started`` is the wall clock in ISO 8601; ``command`` what repeats the run. ``left_out``: the
    families that nobody asked for by name and that this machine cannot run, each with the command
    that would let it.
    """

    seed: int
    profile: str
    version: str
    command: str
    machine: str
    started: str
    targets: tuple[TargetFacts, ...] = ()
    required: Required = field(default_factory=Required)
    planned: Mapping[str, int] = field(default_factory=dict)
    strict: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def run(self) -> str:
        """A short name for this run, the same in every line that it leaves."""
        text = f"{self.started}\n{self.seed}\n{self.command}\n{self.machine}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
