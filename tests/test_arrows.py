"""Who may import whom: arrows point down only, and ground truth never rests on a ledger.

The rules are functions of a ``House``, read from the source without importing it, so that each
is also tried on a small guilty house.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FRONT = "front doors"
FLOORS = ("targets", "idempotent_sink", "chaos", "scenarios", "reports", FRONT)

CONTRACT = frozenset(
    {
        "targets",
        "targets.contract",
        "targets.declaration",
        "targets.identity",
        "targets.replies",
        "targets.terms",
        "targets.values",
    }
)
"""What is known of a ledger before there is one."""

GROUND_TRUTH = (
    "idempotent_sink",
    "scenarios.checks",
    "scenarios.history",
    "scenarios.judges",
    "scenarios.model",
    "scenarios.story",
)
"""What says that a ledger is wrong: it must not be computed by a ledger."""

NODE = ("chaos.zygote",)
"""The program that loads a target by its name; nodes are forks of it. Nobody imports it."""


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement's target, as written and as a module of the house (None: foreign)."""

    importer: str
    line: int
    written: str
    level: int
    module: str | None

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.module or self.written}"


class House:
    """All modules below ``admitone`` by dotted name ("" is the package), and their imports."""

    def __init__(self, sources: Mapping[str, str], packages: frozenset[str]) -> None:
        self._packages = packages | {""}
        self._names = frozenset(sources) | self._packages
        self.imports = {name: list(self._imports(name, text)) for name, text in sources.items()}

    @classmethod
    def standing(cls) -> House:
        """The house as it stands in this checkout."""
        sources, packages = {}, set()
        for floor in FLOORS[:-1]:
            for path in (ROOT / floor).rglob("*.py"):
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                if path.name == "__init__.py":
                    name = name.removesuffix(".__init__")
                    packages.add(name)
                sources[name] = path.read_text()
        for path in (ROOT / "src" / "admitone").glob("*.py"):
            sources["" if path.stem == "__init__" else path.stem] = path.read_text()
        return cls(sources, frozenset(packages))

    def _imports(self, name: str, text: str) -> list[Import]:
        found: list[Import] = []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found += [self._found(name, node.lineno, 0, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                start = self._start(name, node.level)
                base = ".".join(part for part in (start, node.module or "") if part)
                for alias in node.names:
                    longer = f"{base}.{alias.name}" if base else alias.name
                    known = longer.removeprefix("admitone.") in self._names
                    written = longer if known else base
                    found.append(self._found(name, node.lineno, node.level, written))
        return found

    def _start(self, name: str, level: int) -> str:
        """The package that a relative import of ``level`` dots starts from."""
        parts = name.split(".") if name else []
        up = level - 1 if name in self._packages else level
        return ".".join(parts[: len(parts) - up]) if level else ""

    def _found(self, name: str, line: int, level: int, written: str) -> Import:
        """``written`` is a module of ours after dots, or where it begins with our name."""
        module = f"admitone.{written}" if level else written
        ours = module.split(".")[0] == "admitone"
        inside = module.removeprefix("admitone").lstrip(".")
        return Import(name, line, written, level, inside if ours else None)

    def reached_from(self, name: str) -> dict[str, str]:
        """Every module that importing ``name`` runs, each with the module that first asked."""
        reached, waiting = {name: name}, [name]
        while waiting:
            asker = waiting.pop()
            for found in self.imports.get(asker, []):
                if found.module is None:
                    continue
                for module in (found.module, *_parents(found.module)):
                    if module not in reached:
                        reached[module] = asker
                        waiting.append(module)
        return reached


Rule = Callable[[House], list[str]]


def _parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def _below(module: str, folders: tuple[str, ...]) -> bool:
    return any(module == folder or module.startswith(folder + ".") for folder in folders)


def _floor(module: str) -> int:
    first = module.split(".")[0]
    return FLOORS.index(first if first in FLOORS else FRONT)


def upward(house: House) -> list[str]:
    """Imports that point up."""
    return [
        str(found)
        for name, imports in house.imports.items()
        for found in imports
        if found.module is not None and _floor(found.module) > _floor(name)
    ]


def not_relative(house: House) -> list[str]:
    """Imports of the house by an absolute name inside the folders: the way to a second copy of
    every class, since a checkout's folders can be imported under two names."""
    return [
        str(found)
        for name, imports in house.imports.items()
        for found in imports
        if found.level == 0
        and found.written.split(".")[0] in {"admitone", *FLOORS}
        and _floor(name) < FLOORS.index(FRONT)
    ]


def truth_from_a_ledger(house: House) -> list[str]:
    """Ground truth that reaches, through what it imports, more of targets/ than the contract."""
    return [
        f"{name} reaches {module}, asked for by {asker}"
        for name in house.imports
        if _below(name, GROUND_TRUTH)
        for module, asker in house.reached_from(name).items()
        if _below(module, ("targets",)) and module not in CONTRACT
    ]


def ledger_in_the_harness(house: House) -> list[str]:
    """Modules of the harness that reach a ledger, or what loads one: ledgers live in nodes, so that
    a kill means the same for every target and the run survives it."""
    return [
        f"{name} reaches {module}, asked for by {asker}"
        for name in house.imports
        if not _below(name, ("targets", *NODE))
        for module, asker in house.reached_from(name).items()
        if module == "targets.resolve" or _is_ledger(house, module)
    ]


def _is_ledger(house: House, module: str) -> bool:
    """Each kind of ledger has a folder of its own in targets/."""
    folder = ".".join(module.split(".")[:2])
    inside = any(name.startswith(folder + ".") for name in house.imports)
    return folder.startswith("targets.") and inside


RULES: tuple[Rule, ...] = (upward, not_relative, truth_from_a_ledger, ledger_in_the_harness)


@pytest.fixture(scope="module")
def standing() -> House:
    return House.standing()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(standing: House, rule: Rule) -> None:
    assert rule(standing) == []


def test_the_house_was_read(standing: House) -> None:
    assert set(standing.imports) >= CONTRACT | {"", "cli", "pytest_plugin", "chaos.events"}
    found = [i.module for i in standing.imports["chaos.events"]]
    assert "targets.terms" in found


GUILTY: dict[Rule, dict[str, str]] = {
    upward: {"targets.a": "def f():\n    from ..chaos import events"},
    not_relative: {"chaos.a": "from admitone.targets.terms import Call"},
    truth_from_a_ledger: {
        "scenarios.checks.budget": "from ..model import step",
        "scenarios.model": "from ..targets.caplease import sql",
    },
    ledger_in_the_harness: {"cli": "def main():\n    from .chaos.zygote import start"},
}
"""For each rule a house that breaks it."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_guilty_house_is_found_out(rule: Rule) -> None:
    innocent = {
        "targets": "",
        "targets.terms": "class Call: ...",
        "targets.resolve": "from .caplease import sql",
        "targets.caplease": "",
        "targets.caplease.sql": "from ..terms import Call",
        "chaos": "",
        "chaos.events": "import json",
        "chaos.zygote": "from ..targets import resolve",
        "scenarios": "",
        "scenarios.checks": "from ...targets.terms import Call",
        "scenarios.model": "",
        "reports": "",
        "cli": "from .chaos import events",
        "": "",
    }
    packages = frozenset(
        {"targets", "targets.caplease", "chaos", "scenarios", "scenarios.checks", "reports"}
    )
    assert rule(House(innocent, packages)) == []
    assert rule(House(innocent | GUILTY[rule], packages)) != []
