"""Which grants are one admission.

An admission is one unit of the budget in somebody's hand. Two ok replies for one attempt, a
recovery that names it again and a reading that shows it are *evidence* of one and the same
admission. It is identified by its slot where the ledger names slots, else by the ledger's sink
key, else by the attempt, else by the grant. What carries less than that is evidence of nothing
in particular, and is counted only by readings.

A unit that was released and granted again is another admission (``Admitted`` anew).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from ...targets.terms import Admission
from ...targets.values import encode
from .calls import FOREVER

Kind = Literal["reply", "dropped", "resume", "settled", "reading", "entry"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One sign of an admission. ``asked``: when the call that shows it began."""

    kind: Kind
    at: int
    asked: int
    admission: Admission
    owner: str | None = None
    attempt: str | None = None
    executor: str | None = None


@dataclass(slots=True, eq=False)
class Admitted:
    """One admission: everything that shows it, and when it was given back.

    ``since``: proven from here on. ``freed``: not proven to be held from here on, because its
    holder asked for its release and was not refused, or because its effect definitely failed.
    """

    evidence: list[Evidence]
    freed: int = FOREVER
    freed_until: int = FOREVER  # when the release was surely over
    release_asked: bool = False  # by anybody, also by one who had no right to
    committed: int = FOREVER
    pending: set[int] = field(default_factory=set)  # guarded: effects not refused, by number

    @property
    def since(self) -> int:
        return self.evidence[0].at

    @property
    def slot(self) -> str | None:
        return next((e.admission.slot for e in self.evidence if e.admission.slot), None)

    @property
    def key(self) -> str | None:
        return next((e.admission.key for e in self.evidence if e.admission.key), None)

    @property
    def record(self) -> str:
        return self.evidence[0].admission.record

    @property
    def name(self) -> str:
        """How a message calls it."""
        if self.slot:
            return f"slot {self.slot}"
        first = self.evidence[0]
        return f"key {self.key}" if self.key else f"admission of {first.owner or 'nobody known'}"

    def grants(self) -> Iterator[Evidence]:
        """Where the ledger granted it to somebody who asked."""
        return (e for e in self.evidence if e.kind in ("reply", "dropped"))

    def held_at(self, seq: int) -> bool:
        return self.since <= seq < self.freed


class Book:
    """All admissions of one label, filled in the order of the history."""

    def __init__(self) -> None:
        self.admissions: list[Admitted] = []
        self._by: dict[tuple[str, str, str], Admitted] = {}
        self.by_effect: dict[int, Admitted] = {}

    def add(self, evidence: Evidence, *, may_be_new: bool = True) -> Admitted | None:
        """File one sign under the admission that it shows; open one if it shows a new one.

        None: it names nothing, and ``may_be_new`` forbids to count it as another one.
        """
        admission = evidence.admission
        found = self.find(admission, evidence.attempt)
        if found is not None and evidence.at > found.freed:
            watched = evidence.kind in ("reading", "resume", "settled")
            if watched and evidence.asked < found.freed_until:
                return found  # before or after the release? It proves neither.
            others = all(e.owner != evidence.owner for e in found.evidence)
            if watched or others or evidence.asked > found.freed:
                found = None
        if found is None:
            if not may_be_new and not (admission.slot or admission.key or evidence.attempt):
                return None
            found = Admitted([])
            self.admissions.append(found)
        found.evidence.append(evidence)
        self.name(found, evidence)
        return found

    def name(self, found: Admitted, evidence: Evidence) -> None:
        """Find this admission by the names in the evidence from now on."""
        for alias in _aliases(evidence.admission, evidence.attempt):
            self._by[alias] = found

    def of_effect(self, number: int) -> Admitted | None:
        """Guarded: the admission behind a request at the sink, by the request's number."""
        return self.by_effect.get(number)

    def used_at(self, about: Admission, attempt: str | None, at: int) -> Admitted | None:
        """The admission that a client used at this moment: the last one granted until then in just
        these words, for a freed unit that is admitted again has the same names as before."""
        for admitted in reversed(self.admissions):
            if any(e.at <= at and e.admission == about for e in admitted.evidence):
                return admitted
        return self.find(about, attempt)

    def find(self, admission: Admission, attempt: str | None) -> Admitted | None:
        """The admission that this one names, by the strongest name that both have."""
        record = admission.record
        if admission.slot:
            found = self._by.get(("slot", record, admission.slot))
            if found is not None:
                return found
        if admission.key:
            found = self._by.get(("key", record, admission.key))
            if found is not None and not (found.slot and admission.slot):
                return found
        attempt = admission.attempt or attempt
        if attempt:
            found = self._by.get(("attempt", record, attempt))
            if found is not None and not _differ(found, admission):
                return found
        if admission.handle is not None:
            found = self._by.get(("handle", record, _text(admission)))
            if found is not None and not _differ(found, admission):
                return found
        return None


def _differ(found: Admitted, admission: Admission) -> bool:
    """They cannot be one: a stronger name than the one compared tells them apart."""
    if found.slot and admission.slot:
        return found.slot != admission.slot
    return bool(found.key and admission.key and found.key != admission.key)


def _aliases(admission: Admission, attempt: str | None) -> Iterator[tuple[str, str, str]]:
    record = admission.record
    if admission.slot:
        yield "slot", record, admission.slot
    if admission.key:
        yield "key", record, admission.key
    if admission.attempt or attempt:
        yield "attempt", record, admission.attempt or attempt or ""
    if admission.handle is not None:
        yield "handle", record, _text(admission)


def _text(admission: Admission) -> str:
    return json.dumps(encode(admission.handle), sort_keys=True)
