"""Naming a target: what is found, and what somebody who mistyped is told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.declaration import Boundary, Declaration, Facts
from admitone.targets.registry import BUILTIN
from admitone.targets.resolve import TargetProblem, describe, resolve
from admitone.targets.terms import TargetName

ADAPTERS = """
class Plain:
    def deploy(self, workspace): ...
    def open(self, store, env): ...
    def inspect(self, store, approval): ...

class Needs:
    def __init__(self, url): ...

class Half:
    def deploy(self, workspace): ...

class Group:
    Inner = Plain

def make():
    return Plain()

def fails():
    raise RuntimeError("no server here")

ready = Plain()
number = 3
"""


@pytest.fixture
def adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with adapters in it, on no path yet."""
    (tmp_path / "their_adapters.py").write_text(ADAPTERS)
    (tmp_path / "their_syntax.py").write_text("def broken(:\n")
    (tmp_path / "their_import.py").write_text("import library_that_is_absent\n")
    (tmp_path / "their_error.py").write_text("x = 1\nraise ValueError('bad settings')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("their_")]:
        del sys.modules[name]


def problem(target: str) -> TargetProblem:
    with pytest.raises(TargetProblem) as raised:
        resolve(target)
    found = raised.value
    assert str(found) == f"{found.what}\n  where: {found.where}\n  to do: {found.todo}"
    return found


@pytest.mark.parametrize("name", list(BUILTIN))
def test_every_shipped_target_resolves_and_describes_itself(name: str) -> None:
    target: Any = resolve(name)
    title, declaration = describe(target)
    assert isinstance(title, TargetName)
    assert declaration == target.declaration


def test_the_builtin_prefix_is_optional() -> None:
    assert type(resolve("builtin:caplease-sqlite")) is type(resolve("caplease-sqlite"))


@pytest.mark.usefixtures("adapters")
@pytest.mark.parametrize("attribute", ["Plain", "make", "ready", "Group.Inner"])
def test_a_class_a_function_and_an_object_are_taken(attribute: str) -> None:
    target = resolve(f"py:their_adapters:{attribute}")
    assert type(target).__name__ == "Plain"
    assert describe(target) == (TargetName("Plain"), Declaration())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("caplease-sqlight", "caplease-sqlite"), ("broken/mp1", "broken/MP1"), ("MP6", "broken/MP6")],
)
def test_an_unknown_name_is_answered_with_close_ones(typed: str, meant: str) -> None:
    found = problem(typed)
    assert repr(typed) in found.what
    assert meant in found.todo
    assert problem(f"builtin:{typed}").what == found.what


def test_a_name_like_no_other_is_answered_with_the_list_of_all() -> None:
    assert problem("zzzz").todo.startswith("`admitone list targets` shows them; your own")


@pytest.mark.usefixtures("adapters")
@pytest.mark.parametrize(
    ("target", "what", "where", "todo"),
    [
        ("py:their_adaptors:Plain", "no module 'their_adaptors'", "py:", "spelling"),
        ("py:their.adapters:Plain", "no module 'their'", "py:", "spelling"),
        ("py:their_import:X", "'library_that_is_absent', which their_import", "py:", "install"),
        ("py:their_syntax:X", "SyntaxError", "their_syntax.py:1", "import their_syntax"),
        ("py:their_error:X", "ValueError: bad settings", "their_error.py:2", "import their_error"),
        ("py:their_adapters:Plane", "no 'Plane'", "py:", "perhaps you meant Plain"),
        ("py:their_adapters:Group.Outer", "no 'Group.Outer'", "py:", "spelling"),
        ("py:their_adapters:fails", "RuntimeError: no server", "their_adapters.py:20", "callable"),
        ("py:their_adapters:Needs", "Needs could not be made: TypeError", "py:", "arguments"),
        ("py:their_adapters:Half", "Half is no target: it has no open, no inspect", "py:", "th"),
        ("py:their_adapters:number", "int is no target", "py:", "deploy(workspace)"),
        ("py:their_adapters", "two parts", "py:their_adapters", "py:package.module:Factory"),
        ("py::Plain", "two parts", "py:", "py:package.module:Factory"),
        ("exec:./driver --fast", "does not carry exec:", "exec:./driver", "Python adapter"),
        ("http://127.0.0.1:8080/", "does not carry http:", "http://127", "Python adapter"),
        ("https://ledger.example/", "does not carry https:", "https://", "Python adapter"),
        ("their_adapters:Plain", "unknown scheme", "their_", "py:their_adapters:Plain"),
        ("", "no shipped target ''", "builtin:", "admitone list targets"),
    ],
)
def test_what_is_wrong_where_and_what_to_do(target: str, what: str, where: str, todo: str) -> None:
    found = problem(target)
    assert what in found.what
    assert where in found.where
    assert todo in found.todo


class Described(CapLeaseSqlite):
    """A target with something else to say of itself."""

    def __init__(self, **said: Any) -> None:
        vars(self).update(said)


@pytest.mark.parametrize(
    ("declaration", "what", "todo"),
    [
        ({"claims": {}}, "the declaration is a dict", "Declaration("),
        (Declaration(facts={"key": "none"}), "no Facts", "Facts("),  # type: ignore[arg-type]
        (Declaration(claims={"revok": "It revokes."}), "no claim 'revok'", "revoke"),
        (Declaration(claims={"zzz": "It does."}), "no claim 'zzz'", "one of 'multi_budget'"),
        (Declaration(claims={"revoke": "  "}), "revoke has no sentence", "quote"),
        (
            Declaration(claims={"revoke": True}),  # type: ignore[dict-item]
            "revoke has no sentence",
            "quote",
        ),
        (Declaration(claims=["revoke"]), "no mapping", "claims={"),  # type: ignore[arg-type]
        (Declaration(boundaries=(Boundary("w", ""),)), "'w' has no sentence", "quote"),
        (Declaration(boundaries=("w",)), "no Boundary", "Boundary("),  # type: ignore[arg-type]
    ],
)
def test_a_declaration_must_hold(declaration: Any, what: str, todo: str) -> None:
    with pytest.raises(TargetProblem) as raised:
        describe(Described(declaration=declaration))
    assert what in raised.value.what
    assert todo in raised.value.todo
    assert "Described" in raised.value.where


@pytest.mark.parametrize(
    ("fact", "todo"),
    [
        ({"key": "random"}, "one of 'derived', 'stored', 'none'"),
        ({"attempt_identity": 1}, "True or False"),
        ({"waits_s": "2"}, "a number that is finite and not below 0"),
        ({"waits_s": True}, "a number that is finite and not below 0"),
        ({"waits_s": float("nan")}, "finite"),
        ({"waits_s": float("inf")}, "finite"),
        ({"clock_error_s": -1.0}, "not below 0"),
        ({"retention_s": "forever"}, "a number that is finite and not below 0 or None"),
        ({"manual_state": 3}, "a text or None"),
        ({"binds": ("argument",)}, "a tuple of any of principal"),
        ({"binds": ["args"]}, "a tuple of any of principal"),
    ],
)
def test_a_fact_has_a_value_that_the_contract_knows(fact: dict[str, Any], todo: str) -> None:
    facts = replace(Facts(), **fact)
    with pytest.raises(TargetProblem) as raised:
        describe(Described(declaration=Declaration(facts=facts)))
    assert f"the fact {next(iter(fact))} cannot be" in raised.value.what
    assert todo in raised.value.todo


def test_allowed_facts_are_let_through() -> None:
    facts = Facts(waits_s=2, retention_s=None, manual_state="IN DOUBT", binds=("args", "tool"))
    said = Declaration(facts=facts, boundaries=(Boundary("what", "A sentence.", ("AO101",)),))
    assert describe(Described(declaration=said))[1] is said


def test_a_name_must_be_a_target_name() -> None:
    with pytest.raises(TargetProblem, match="its name is a str"):
        describe(Described(name="mine"))
