"""What a check is, and what it answers.

A check reads a ``Story`` and answers a ``Ruling``: how often this history could have broken the
rule, and where it did. No opportunity means "not exercised", which is no pass. Whatever is not
proven by the history is not accused; whatever could not have gone wrong is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..results import Finding
from ..story import Story


@dataclass(frozen=True, slots=True)
class Breach:
    """One place where the rule is broken: the numbers, what should be, what was seen, where."""

    label: str
    inequality: str
    expected: str
    seen: str
    at: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ruling:
    """A check's answer for one history."""

    opportunities: int
    breaches: tuple[Breach, ...] = ()


class Docket:
    """Collects a ruling while a judge works; one breach a label is enough, the first one."""

    def __init__(self) -> None:
        self._opportunities = 0
        self._breaches: dict[str, Breach] = {}

    def tried(self, times: int = 1) -> None:
        self._opportunities += times

    def breach(
        self, label: str, inequality: str, expected: str, seen: str, at: tuple[int, ...] = ()
    ) -> None:
        if label not in self._breaches:
            where = tuple(sorted(set(at)))
            self._breaches[label] = Breach(label, inequality, expected, seen, where)

    def ruling(self) -> Ruling:
        found = tuple(self._breaches.values())
        return Ruling(max(self._opportunities, len(found)), found)


@dataclass(frozen=True, slots=True)
class Check:
    """One rule with its stable code, and everything that ``admitone explain`` prints.

    ``claim``: judged only where the target claims this (or states the fact that is a claim too);
    None: the core, judged always.
    """

    code: str
    title: str
    claim: str | None
    section: str
    meaning: str
    cause: str
    remedy: str
    judge: Callable[[Story], Ruling]

    def findings(self, ruling: Ruling) -> tuple[Finding, ...]:
        """The breaches with the code, title, remedy and claim of this check."""
        return tuple(
            Finding(
                self.code, self.title, b.label, b.inequality, b.expected, b.seen, self.remedy,
                b.at, self.claim,
            )
            for b in ruling.breaches
        )  # fmt: skip
