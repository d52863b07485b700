"""What can be changed in an approval, one field at a time: calls, contexts, confirmations.

The label of the workload stays where it is in every variation of the arguments, so that whatever
is sent is still found at the sink.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from ...targets.terms import Approval, Budget, Call, Confirmation, Context
from ..attacker import NO_MAC

_Change = Callable[[Call], Call]

TYPED: Final[dict[str, object]] = {
    "count": 1,
    "name": "Zo\u00eb",  # in one character, where "accent" has the letter and its mark
    "split": {
        "first": "60",
        "rest": [{"to": "acct-7", "share": 30}, {"to": "acct-8", "share": 10}],
    },
    "terms": "net 30 " * 160,  # longer than a column, or the part of a text that is looked at
}
"""Further arguments, in which a type, a nested value or the end of a long text can be changed."""


def _args(**changed: object) -> _Change:
    return lambda call: replace(call, args={**call.args, **changed})


def _without(name: str) -> _Change:
    return lambda call: replace(call, args={k: v for k, v in call.args.items() if k != name})


def _rest(change: Callable[[list[Any]], list[Any]]) -> _Change:
    """Change the innermost list."""

    def changed(call: Call) -> Call:
        split: Any = call.args["split"]
        return replace(call, args={**call.args, "split": {**split, "rest": change(split["rest"])}})

    return changed


def _moved(first: str, second: str, change: Callable[[str, str], tuple[str, str]]) -> _Change:
    """Change two texts of the arguments together."""

    def changed(call: Call) -> Call:
        one, other = change(str(call.args[first]), str(call.args[second]))
        return replace(call, args={**call.args, first: one, second: other})

    return changed


def _renamed(old: str, new: str) -> _Change:
    return lambda call: replace(
        call, args={new if k == old else k: v for k, v in call.args.items()}
    )


def _flat(call: Call) -> Call:
    """A nested value under a name that is written like the path to it."""
    split: Any = call.args["split"]
    rest = {name: value for name, value in split.items() if name != "first"}
    return replace(call, args={**call.args, "split": rest, "split.first": split["first"]})


def _longer(name: str, text: str) -> _Change:
    return _text(name, lambda old: f"{old}{text}")


def _text(name: str, change: Callable[[str], str]) -> _Change:
    """Change a text of the arguments."""
    return lambda call: replace(call, args={**call.args, name: change(str(call.args[name]))})


def _wide(text: str) -> str:
    """The same digits in their full-width forms, which NFKC and ``int`` take for the plain ones."""
    return text.translate({ord(str(n)): chr(0xFF10 + n) for n in range(10)})


CALLS: Final[dict[str, _Change]] = {
    "tool": lambda call: replace(call, tool=f"{call.tool}-all"),
    "version": lambda call: replace(call, tool_version=f"{call.tool_version}.1"),
    "principal": lambda call: replace(call, principal=f"{call.principal}0"),
    "resource": lambda call: replace(call, resource=f"{call.resource}0"),
    "to": _longer("to", "0"),
    "amount": lambda call: replace(call, args={**call.args, "amount": f"1{call.args['amount']}"}),
    "memo": _longer("memo", " and more"),
    "shorter": _text("to", lambda old: old[:-1]),
    "case": _text("to", str.upper),
    "space": _longer("to", " "),
    "spaces": _text("memo", lambda old: old.replace(" ", "  ", 1)),
    "dash": _text("to", lambda old: old.replace("-", "")),
    "tail": _longer("terms", "x"),
    "wide": _text("to", _wide),
    "zero": _longer("amount", "0"),
    "accent": _args(name="Zoe\u0308"),
    "count": _args(count=2),
    "extra": _args(urgent="yes"),
    "null": _args(urgent=None),
    "false": _args(urgent=False),
    "missing": _without("amount"),
    "renamed": _renamed("amount", "Amount"),
    "swapped": _moved("to", "amount", lambda to, amount: (amount, to)),
    "shifted": _moved("to", "amount", lambda to, amount: (to[:-1], to[-1] + amount)),
    "flat": _flat,
    "true": _args(count=True),
    "float": _args(count=1.0),
    "text": _args(count="1"),
    "nested": _rest(lambda rest: [rest[0], {**rest[1], "share": 11}]),
    "order": _rest(lambda rest: rest[::-1]),
    "double": _rest(lambda rest: [*rest, rest[-1]]),
}
"""The call, changed alone. ``float``: 1.0 is 1 in JSON, so that no ledger is accused for it. From
``shorter`` to ``zero`` and from ``null`` to ``flat`` a canonicalizer of somebody's own may find no
difference: it compares beginnings, folds or strips texts, reads numbers, drops what is empty, sorts
values or joins them, or writes a path as a name. ``order`` and ``double``: it sorts lists, or takes
them for sets."""

CONTEXTS: Final[dict[str, Callable[[Context], Context]]] = {
    "session": lambda c: replace(c, session=f"{c.session}-b"),
    "task": lambda c: replace(c, task=f"{c.task}-b"),
    "executor": lambda c: replace(c, executor="executor-2"),
    "policy": lambda c: replace(c, policy_epoch=c.policy_epoch + 1),
    "schema": lambda c: replace(c, schema_epoch=c.schema_epoch + 1),
}
"""The execution context, changed alone."""

PRESENTERS: Final[dict[str, Callable[[Context], Context]]] = {
    **CONTEXTS,
    "longer": lambda c: replace(c, executor=f"{c.executor}0"),
    "shorter": lambda c: replace(c, executor=c.executor[:-1]),
    "nobody": lambda c: replace(c, executor=""),
    "no_session": lambda c: replace(c, session=""),
    "no_task": lambda c: replace(c, task=""),
    "upper": lambda c: replace(c, executor=c.executor.upper()),
    "policy_old": lambda c: replace(c, policy_epoch=c.policy_epoch - 1),
    "schema_old": lambda c: replace(c, schema_epoch=c.schema_epoch - 1),
}
"""The same and more, of whoever asks for admission: a name that begins like the right one or is
its beginning, or differs in its case alone; none at all, which a ledger that compares only what is
there lets through; an epoch that is over, which a comparison by order lets through on one side
alone."""


@dataclass(frozen=True, slots=True)
class Forgery:
    """What is presented to Issue in place of the approved; None: as approved."""

    confirmation: Confirmation | None = None
    call: Call | None = None
    budget: Budget = None


def _confirmed(**changed: Any) -> Callable[[Approval], Forgery]:
    """One field of the confirmation by name."""
    return lambda approval: Forgery(replace(approval.confirmation, **changed))


CONFIRMATIONS: Final[dict[str, Callable[[Approval], Forgery]]] = {
    "mac": _confirmed(mac=NO_MAC),
    "action": _confirmed(action=NO_MAC),
    "principal": lambda a: Forgery(
        replace(a.confirmation, principal=f"{a.confirmation.principal}0")
    ),
    "event": lambda a: Forgery(replace(a.confirmation, event=f"{a.confirmation.event}0")),
    "budget": lambda a: Forgery(
        replace(a.confirmation, budget=more(a.budget)), budget=more(a.budget)
    ),
    "wider": lambda a: Forgery(budget=more(a.budget)),
    "call": lambda a: Forgery(call=CALLS["amount"](a.call)),
    "user": lambda a: Forgery(call=CALLS["principal"](a.call)),
}
"""Confirmations with one field changed and the authenticator as it was; then three that are
genuine and cover something else: a smaller budget, another call, another user's call."""


def more(budget: Budget) -> Budget:
    """A larger budget."""
    assert isinstance(budget, int)
    return budget + 1
