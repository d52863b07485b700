"""What an operation may answer. Every reply is exactly one of these.

* a grant: ``Authorization``, ``Admission``, ``Done``, ``Revoked``, ``Recovered`` or ``AuditView``;
* ``Replayed``: done before, nothing new happened;
* ``Refused``: definite, nothing happened and nothing will;
* ``Busy``: definite for this call, nothing happened, try again;
* ``Unknown``: it may have happened, or may still happen; stays open to the end of the history.

"When in doubt, Unknown" is always honest; turning a doubt into ``Refused`` or ``Busy`` is what
makes a test suite lie. An adapter *returns* these; it lets the library's exceptions pass, and
``Target.classify`` says what each of them means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .terms import Admission, AuditView, Authorization, Receipt

REFUSAL_CODES_V1 = frozenset(
    {
        "exhausted",
        "revoked",
        "expired",
        "not_revocable",
        "in_doubt",
        "held",
        "duplicate",
        "invalid",
        "widened",
        "wrong_principal",
        "wrong_action",
        "wrong_epoch",
        "bad_credential",
        "wrong_key",
        "receipt_mismatch",
        "not_prepared",
        "unknown_record",
        "ambiguous_call",
        "stale",
        "needs_confirmation",
        "unspecified",
    }
)
"""The list of codes, version 1. Another code is shown as it is, as a refusal without cause."""


@dataclass(frozen=True, slots=True)
class Done:
    """A grant without content: commit, release, renew and close took effect."""

    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Revoked:
    """Revocation took effect.

    ``stopped`` names the slots (or, without slot names, counts the units) that can no longer be
    admitted; ``too_late`` those already admitted, which run on. None: this ledger does not say.
    """

    stopped: tuple[str, ...] | int | None = None
    too_late: tuple[str, ...] | int | None = None


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery found. ``resume``: admissions whose effect must now be sent again under the
    same key and then committed. ``settled``: those that it brought to their end by itself."""

    resume: tuple[Admission, ...] = ()
    settled: tuple[Admission, ...] = ()


@dataclass(frozen=True, slots=True)
class Replayed:
    """The same request was done before; its stored result, if the ledger keeps one."""

    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Definite: nothing happened. ``code`` from ``REFUSAL_CODES_V1``; "unspecified" if the
    library gives no reason (never make a second, racy call to find one)."""

    code: str = "unspecified"
    retryable: bool | None = None
    next: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Busy:
    """Definite for this call: nothing happened, the same call may succeed later.

    ``contention``: a lock or a lost race. ``in_flight``: somebody holds what was asked for.
    """

    cause: Literal["contention", "in_flight"] = "contention"
    retry_after_s: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """It may have happened, or happen later. ``detail`` says why this is not known."""

    detail: str = ""


Grant: TypeAlias = Authorization | Admission | Done | Revoked | Recovered | AuditView
NotGranted: TypeAlias = Replayed | Refused | Busy | Unknown
Reply: TypeAlias = Grant | NotGranted


class NotApplied(Exception):
    """``env.effect``: definite, the sink did not apply the effect and never will."""


class EffectUnknown(Exception):
    """``env.effect`` or ``env.lookup``: the sink may have applied it; nobody here can know."""
