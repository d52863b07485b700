"""From the one string that names a target to the target, and to what it says of itself.

``builtin:NAME`` (the scheme may be left out) is a shipped target, ``py:package.module:Factory`` a
class, a function without arguments, or an object. Whatever goes wrong ends in one exception that
says what, where, and what to do; it is shown to somebody who may never have seen this code.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final, cast

from .check_declaration import Wrong, check_declaration
from .contract import Target
from .declaration import Declaration
from .registry import BUILTIN
from .terms import TargetName

REQUIRED: Final = ("deploy", "open", "inspect")


@dataclass(eq=False)
class TargetProblem(Exception):
    """A target that cannot be used: what is wrong, where, and what to do about it."""

    what: str
    where: str
    todo: str

    def __str__(self) -> str:
        return f"{self.what}\n  where: {self.where}\n  to do: {self.todo}"


def resolve(target: str) -> Target:
    """The target that a string names. Raises ``TargetProblem``."""
    scheme, colon, rest = target.partition(":")
    if not colon:
        return _builtin(target)
    if scheme == "builtin":
        return _builtin(rest)
    if scheme == "py":
        return _python(rest)
    if scheme in ("exec", "http", "https"):
        raise TargetProblem(
            f"this version does not carry {scheme}: targets yet",
            target,
            "wrap the ledger in a Python adapter and name it as py:package.module:Factory",
        )
    raise TargetProblem(
        f"unknown scheme {scheme!r}",
        target,
        f"name a target as builtin:NAME or py:package.module:Factory (py:{target}?)",
    )


def describe(target: object) -> tuple[TargetName, Declaration]:
    """Name and declaration of a target, with defaults for what it leaves out; both checked."""
    where = _type_name(target)
    name = getattr(target, "name", None)
    if name is None:
        name = TargetName(where)
    if not isinstance(name, TargetName):
        raise TargetProblem(
            f"its name is a {_type_name(name)}",
            where,
            "set name = TargetName(library, layer, version)",
        )
    declaration = getattr(target, "declaration", None)
    if declaration is None:
        return name, Declaration()
    try:
        return name, check_declaration(declaration)
    except Wrong as wrong:
        raise TargetProblem(wrong.what, f"the declaration of {where}", wrong.todo) from None


def _builtin(name: str) -> Target:
    entry = BUILTIN.get(name)
    if entry is None:
        close = get_close_matches(name, BUILTIN, n=3, cutoff=0.4)
        meant = f"perhaps you meant {' or '.join(close)}"
        there = meant if close else "`admitone list targets` shows them"
        raise TargetProblem(
            f"there is no shipped target {name!r}",
            f"builtin:{name}",
            f"{there}; your own is named py:package.module:Factory",
        )
    module, _, attribute = entry.factory.partition(":")
    return _made(f"{__package__}.{module}", attribute, f"builtin:{name}")


def _python(path: str) -> Target:
    module, colon, attribute = path.partition(":")
    where = f"py:{path}"
    if not (module and colon and attribute):
        raise TargetProblem(
            "a Python target has two parts", where, "name it as py:package.module:Factory"
        )
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    return _made(module, attribute, where)


def _made(module_name: str, attribute: str, where: str) -> Target:
    """Import, find the attribute, make the object, and see that it is a target."""
    made = _attribute(_module(module_name, where), attribute, where)
    if isinstance(made, type) or (callable(made) and not _is_target(made)):
        try:
            made = made()
        except Exception as problem:
            raise TargetProblem(
                f"{attribute} could not be made: {_last_line(problem)}",
                f"{where}, {_place(problem)}",
                "make it callable without arguments; leave connections and imports to open()",
            ) from problem
    lacking = [name for name in REQUIRED if not callable(getattr(made, name, None))]
    if lacking:
        raise TargetProblem(
            f"{_type_name(made)} is no target: it has no {', no '.join(lacking)}",
            where,
            "a target has three methods: deploy(workspace), open(store, env), "
            "inspect(store, approval)",
        )
    return cast(Target, made)


def _module(name: str, where: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        missing = problem.name or name
        itself = name == missing or name.startswith(f"{missing}.")
        raise TargetProblem(
            f"there is no module {missing!r}" + ("" if itself else f", which {name} imports"),
            where,
            "check its spelling, and run where it can be imported from (the working directory is)"
            if itself
            else f"install what provides {missing!r} in this environment",
        ) from problem
    except Exception as problem:
        raise TargetProblem(
            f"the module {name} does not import: {_last_line(problem)}",
            f"{where}, {_place(problem)}",
            f"make `python -c 'import {name}'` work first",
        ) from problem


def _attribute(module: object, path: str, where: str) -> object:
    found = module
    for part in path.split("."):
        if not hasattr(found, part):
            public = [name for name in dir(found) if not name.startswith("_")]
            close = get_close_matches(part, public, n=3, cutoff=0.5)
            raise TargetProblem(
                f"the module has no {path!r}",
                where,
                f"perhaps you meant {' or '.join(close)}" if close else "check its spelling",
            )
        found = getattr(found, part)
    return found


def _is_target(candidate: object) -> bool:
    return all(callable(getattr(candidate, name, None)) for name in REQUIRED)


def _type_name(value: object) -> str:
    return type(value).__qualname__


def _last_line(problem: BaseException) -> str:
    return traceback.format_exception_only(problem)[-1].strip()


def _place(problem: BaseException) -> str:
    """File and line at which the exception was raised."""
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{problem.filename}:{problem.lineno}"
    frames = traceback.extract_tb(problem.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "at an unknown place"
