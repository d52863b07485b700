"""The special judge: is the history of one budget linearizable? Near linear, exact for its class.

One authorization with b units, used by Prepare and ended by Revoke, and nothing ever given back.
An admission needs a free unit and no revocation before it. A refusal needs a cause at some instant
within its interval: every unit used, or revoked. A Revoke stops the units that are free, and says
how many; a repeated one may say none, or the same again. What is unknown may happen at any instant
from its beginning on, or never.

No search is needed, because for every number T of units that end up used

1. the unknown Prepares that happened may be taken to be those that begin first;
2. admissions are best placed at their beginning, refusals at their end;
3. a refusal is explained by exhaustion if T = b and the last admission begins before it ends; every
   other one bounds the instant r of the revocation from above;
4. r lies after the beginning of the last admission, before the end of every refusal that is left
   over and of every acknowledged Revoke, and within a Revoke that can be the first one.

Each step compares minima and maxima of what was sorted once, for at most b + 1 candidates for T.
It agrees with a search through all orders on random histories (``tests/test_budget_judge.py``).
Whether a history belongs to the class is decided by ``checks/linear.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

NEVER: Final = math.inf
"""Where the interval of an unknown operation ends."""

Kind = Literal["granted", "refused", "unknown"]
Cause = Literal["any", "exhausted", "revoked"]


@dataclass(frozen=True, slots=True)
class Prepare:
    """One request for a unit, [began, ended]. ``granted``: it has one; ``unknown``: perhaps.

    ``cause``: what must explain a refusal; "any" of the two, or the one that its code names.
    """

    kind: Kind
    began: float
    ended: float = NEVER
    cause: Cause = "any"


@dataclass(frozen=True, slots=True)
class Revoke:
    """One Revoke, [began, ended]; without an end nobody was told, and it may never happen.

    ``stopped``: how many units it says that it stopped; None: it does not say.
    """

    began: float
    ended: float = NEVER
    stopped: int | None = None

    @property
    def unknown(self) -> bool:
        """Nobody was told."""
        return self.ended == NEVER


Operation = Prepare | Revoke


def explain(budget: int, operations: Iterable[Operation]) -> int | None:
    """The fewest used units under which every answer is explained; None: nothing explains them."""
    listed = tuple(operations)
    prepares = [op for op in listed if isinstance(op, Prepare)]
    revokes = [op for op in listed if isinstance(op, Revoke)]
    granted = sorted(p.began for p in prepares if p.kind == "granted")
    unknown = sorted(p.began for p in prepares if p.kind == "unknown")
    refusals = _Refusals.of(prepares)
    most = min(len(granted) + len(unknown), budget)
    for used in range(len(granted), most + 1):
        happened = unknown[: used - len(granted)]
        last = max([*granted[-1:], *happened[-1:]], default=-NEVER)
        bound = refusals.bound(last, exhausted=used == budget)
        if bound is not None and _revoked_by(bound, last, budget - used, revokes):
            return used
    return None


@dataclass(frozen=True, slots=True)
class _Refusals:
    """The earliest end among the refusals of each cause: no other one can bind."""

    either: float
    exhausted: float
    revoked: float

    @staticmethod
    def of(prepares: Sequence[Prepare]) -> _Refusals:
        ends = {"any": NEVER, "exhausted": NEVER, "revoked": NEVER}
        for prepare in prepares:
            if prepare.kind == "refused":
                ends[prepare.cause] = min(ends[prepare.cause], prepare.ended)
        return _Refusals(ends["any"], ends["exhausted"], ends["revoked"])

    def bound(self, last: float, *, exhausted: bool) -> float | None:
        """Before when the revocation must have been, to explain what exhaustion does not; NEVER:
        nothing is left to explain; None: a refusal says exhausted, and nothing was."""
        since = last if exhausted else NEVER  # from here on exhaustion explains
        if self.exhausted < since:
            return None
        return min(self.revoked, self.either if self.either < since else NEVER)


def _revoked_by(bound: float, last: float, free: int, revokes: Sequence[Revoke]) -> bool:
    """Some instant of revocation after ``last`` and before ``bound`` fits what the Revokes say."""
    told = [revoke for revoke in revokes if not revoke.unknown]
    if any(revoke.stopped not in (None, 0, free) for revoke in told):
        return False
    if bound == NEVER and not told:
        return True
    latest = min([bound, *(revoke.ended for revoke in told)])
    return any(_can_be_first(revoke, free, last, latest) for revoke in revokes)


def _can_be_first(revoke: Revoke, free: int, earliest: float, latest: float) -> bool:
    """This one can be the first that has an effect, at some instant between the bounds."""
    if not revoke.unknown and revoke.stopped not in (None, free):
        return False
    return max(earliest, revoke.began) <= min(latest, revoke.ended)
