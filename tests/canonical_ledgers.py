"""Ledgers with a canonical form of their own, each of which forgets one thing about a call.

``py:tests.canonical_ledgers:NAME``; ``FORGETS`` says by which variation each is found out. What
was presented is sent, so that a call that passes for another one is carried out.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from admitone.targets import contract as c
from tests.small_ledger import SmallLedger, SmallTarget


class Forgetful(SmallTarget, ABC):
    """Compares two calls by ``form`` of their arguments."""

    @abstractmethod
    def form(self, args: Any) -> object:
        """What is compared of them."""

    def open(self, store: c.Json, env: c.Env) -> SmallLedger:
        return _ByForm(env.workspace / str(store), env, self)


class _ByForm(SmallLedger):
    def __init__(self, path: Any, env: c.Env, target: Forgetful) -> None:
        super().__init__(path, env)
        self._form = target.form

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Busy:
        with self._records(authorization.record) as found:
            kept = c.Call(**found[authorization.record]["call"])
        alike = replace(call, args=kept.args) == kept
        same = alike and self._form(call.args) == self._form(kept.args)
        admission = super().prepare(authorization, kept if same else call, context, attempt)
        return replace(admission, call=None) if isinstance(admission, c.Admission) else admission


def _texts(value: Any, change: Any) -> Any:
    """The same value with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {key: _texts(item, change) for key, item in value.items()}
    return value


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{path}.{number}")
    else:
        yield path, value


class Column(Forgetful):
    """Texts are kept in columns of 255 characters."""

    def form(self, args: Any) -> object:
        return _texts(args, lambda text: text[:255])


class Blanks(Forgetful):
    """Blanks between words are one blank."""

    def form(self, args: Any) -> object:
        return _texts(args, lambda text: " ".join(text.split()))


class Words(Forgetful):
    """Of a text its letters and digits count."""

    def form(self, args: Any) -> object:
        return _texts(args, lambda text: re.sub(r"[^\w ]", "", text))


class Truthy(Forgetful):
    """What is empty, nothing or false is as if it were not there."""

    def form(self, args: Any) -> object:
        return {key: value for key, value in args.items() if value}


class Names(Forgetful):
    """Names of arguments are compared in small letters."""

    def form(self, args: Any) -> object:
        return {key.lower(): value for key, value in args.items()}


class Sorted(Forgetful):
    """The values are sorted, and whose they are is not looked at."""

    def form(self, args: Any) -> object:
        return sorted(json.dumps(value, sort_keys=True) for value in args.values())


class Joined(Forgetful):
    """The values are joined with nothing between them."""

    def form(self, args: Any) -> object:
        return "".join(map(str, args.values()))


class Paths(Forgetful):
    """Each value stands under the path to it."""

    def form(self, args: Any) -> object:
        return dict(_leaves(args))


class Sets(Forgetful):
    """Lists are taken for sets."""

    def form(self, args: Any) -> object:
        split = args.get("split", {})
        rest = frozenset(json.dumps(item) for item in split.get("rest", ()))
        return {**args, "split": {**split, "rest": rest}}


FORGETS: dict[str, tuple[str, ...]] = {
    "Column": ("tail",),
    "Blanks": ("space", "spaces"),
    "Words": ("dash",),
    "Truthy": ("null", "false"),
    "Names": ("renamed",),
    "Sorted": ("swapped", "renamed"),
    "Joined": ("shifted", "renamed"),
    "Paths": ("flat",),
    "Sets": ("order", "double"),
}
