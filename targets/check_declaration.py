"""Whether a declaration says only what the contract has words for.

A misspelt claim would never be judged, and a misspelt fact would select a rule that does not exist:
both would pass silently, so both are refused before anything runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from .declaration import CLAIMS, Boundary, Declaration, Facts


@dataclass(eq=False)
class Wrong(Exception):
    """What is wrong with a declaration, and what to do."""

    what: str
    todo: str


def check_declaration(declaration: object) -> Declaration:
    """The declaration itself, once it holds. Raises ``Wrong``."""
    if not isinstance(declaration, Declaration):
        raise Wrong(
            f"the declaration is a {type(declaration).__qualname__}",
            "set declaration = Declaration(facts=Facts(...), claims={...})",
        )
    if not isinstance(declaration.facts, Facts):
        raise Wrong("its facts are no Facts", "write facts=Facts(...)")
    _check_facts(declaration.facts)
    if not isinstance(declaration.claims, Mapping):
        raise Wrong("its claims are no mapping", "write claims={name: sentence}")
    for name, sentence in declaration.claims.items():
        _check_claim(name, sentence)
    for boundary in declaration.boundaries:
        if not isinstance(boundary, Boundary):
            raise Wrong("a boundary is no Boundary", "write Boundary(what, sentence, codes)")
        if not _is_sentence(boundary.sentence):
            raise Wrong(
                f"the boundary {boundary.what!r} has no sentence",
                "quote the sentence of the documentation that states it",
            )
    return declaration


def _check_facts(facts: Facts) -> None:
    hints = get_type_hints(Facts)
    for field in fields(Facts):
        value = getattr(facts, field.name)
        if not _fits(value, hints[field.name]):
            raise Wrong(
                f"the fact {field.name} cannot be {value!r}",
                f"give {_shown(hints[field.name])}",
            )


def _check_claim(name: object, sentence: object) -> None:
    if name not in CLAIMS:
        close = get_close_matches(str(name), CLAIMS, n=2)
        raise Wrong(
            f"there is no claim {name!r}",
            f"perhaps you meant {' or '.join(close)}" if close else _one_of(CLAIMS),
        )
    if not _is_sentence(sentence):
        raise Wrong(
            f"the claim {name} has no sentence",
            "quote the sentence of the documentation that makes it",
        )


def _is_sentence(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is one that the field's type allows; True is no number here."""
    origin = get_origin(hint)
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in get_args(hint))
    if origin is UnionType:
        return any(_fits(value, choice) for choice in get_args(hint))
    if origin is tuple:
        item = get_args(hint)[0]
        return isinstance(value, tuple) and all(_fits(each, item) for each in value)
    if hint is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return 0 <= value < math.inf
    return type(value) is hint


def _shown(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return _one_of(get_args(hint))
    if get_origin(hint) is UnionType:
        return " or ".join(_shown(choice) for choice in get_args(hint))
    if get_origin(hint) is tuple:
        return f"a tuple of any of {', '.join(get_args(get_args(hint)[0]))}"
    number = "a number that is finite and not below 0"
    return {NoneType: "None", bool: "True or False", float: number, str: "a text"}[hint]


def _one_of(choices: Iterable[object]) -> str:
    return f"one of {', '.join(map(repr, choices))}"
