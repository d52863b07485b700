"""A record as operations hold it, how it is read under its lock, and how contexts compare."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, cast

from sqlalchemy import bindparam, select

from .. import identity
from ..terms import Budget, Call, Context
from ..values import decode, encode
from .denials import refused
from .schema import auth

MAX_BUDGET: Final = 1000
"""A slot is a row, so a budget is bounded; what lies beyond belongs into several approvals."""


@dataclass(frozen=True, slots=True)
class Record:
    """One row of ``auth``: alpha = (sigma, e_u, b), where it may be used, and its place in a tree.

    ``chi`` and ``call`` are texts as stored; ``effect`` is the digest that a receipt must carry.
    """

    nu: str
    root: str
    parent: str
    sigma: str
    event: str
    budget: int
    chi: str
    ti: float
    te: float | None
    tool: str
    call: str
    effect: str
    revoked: int

    def values(self) -> dict[str, object]:
        """The row, by the names of its columns."""
        return {name: getattr(self, name) for name in _COLUMNS}

    @property
    def approved(self) -> Call:
        """The call as the user approved it."""
        return read_call(self.call)

    def check_alive(self, now_s: float) -> None:
        """Refuse what is revoked, or over: t_e itself is over."""
        if self.revoked:
            raise refused("revoked")
        if self.te is not None and now_s >= self.te:
            raise refused("expired")

    def check_presenter(self, context: Context) -> None:
        """Refuse anybody but the one that chi names."""
        presented = write_context(context)
        if presented == self.chi:
            return
        ours, theirs = json.loads(self.chi), json.loads(presented)
        same_holder = json.dumps(ours[:3]) == json.dumps(theirs[:3])
        raise refused("wrong_epoch" if same_holder else "wrong_principal")


_COLUMNS: Final = tuple(column.name for column in auth.columns)

RECORD = select(auth).where(auth.c.nu == bindparam("nu"))
RECORD_OF_EVENT = select(auth).where(auth.c.parent == "", auth.c.event == bindparam("event"))


def write_context(context: Context) -> str:
    """chi as text. Texts are compared and not values, because True == 1 in Python."""
    return json.dumps(
        [
            context.executor,
            context.session,
            context.task,
            context.policy_epoch,
            context.schema_epoch,
        ]
    )


def read_context(chi: str) -> Context:
    """The inverse of ``write_context``."""
    return Context(*json.loads(chi))


def write_call(call: Call) -> str:
    """A call as text, its arguments in tagged JSON."""
    return json.dumps(encode(call), separators=(",", ":"))


def read_call(text: str) -> Call:
    """The inverse of ``write_call``."""
    return cast(Call, decode(json.loads(text)))


def check_context(context: Context) -> None:
    """Refuse a chi that names nobody, or whose fields are of the wrong kind."""
    names = (context.executor, context.session, context.task)
    epochs = (context.policy_epoch, context.schema_epoch)
    if any(type(name) is not str for name in names) or any(type(e) is not int for e in epochs):
        raise refused("invalid", "context")
    if not context.executor:
        raise refused("invalid", "executor")


def check_budget(budget: Budget) -> int:
    """Refuse everything but a whole number of 1 to ``MAX_BUDGET``: no bool, float or text."""
    if type(budget) is not int or not 1 <= budget <= MAX_BUDGET:
        raise refused("invalid", "budget")
    return budget


def sigma_of(call: Call) -> str:
    """sigma, always recomputed; a call without one canonical form has none."""
    try:
        return identity.action_identity(call)
    except (ValueError, TypeError, RecursionError) as problem:
        raise refused("ambiguous_call", str(problem)[:200]) from None


def record_from(row: Any) -> Record:
    """The record in a row of ``auth``."""
    return Record(*row)
