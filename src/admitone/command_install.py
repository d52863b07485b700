"""``admitone install``: build what no package registry of Python brings, once, into the cache."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from .chaos.network.build import build
from .chaos.network.programs import ETCD, ETCDCTL, TOXIPROXY, Found, Program, seek_toxiproxy
from .chaos.servers import ServerProblem
from .reports.text import clean, clean_lines

MISSING: Final = 3
"""The exit code where something is missing still."""


def install(options: argparse.Namespace) -> int:
    """Build what was asked for and is not there; 3 if something could not be."""
    code = 0
    for name in dict.fromkeys(options.names):
        try:
            for line in _INSTALLERS[name]():
                print(line, flush=True)
        except ServerProblem as problem:
            print(f"admitone: {name}: {clean_lines(problem, 600)}", file=sys.stderr)
            code = MISSING
    return code


def _toxiproxy() -> Iterator[str]:
    found = seek_toxiproxy()
    if isinstance(found, Found):
        yield f"toxiproxy: {clean(found.path)} ({found.how})"
    else:
        yield _built(TOXIPROXY)


def _etcd() -> Iterator[str]:
    for program in (ETCD, ETCDCTL):
        yield _built(program)


def _built(program: Program) -> str:
    path = build(program, _say)
    return f"{program.name}: {clean(path)} (version {program.version}, built here)"


def _say(text: str) -> None:
    print(clean(text, 400), flush=True)


_INSTALLERS: Final[Mapping[str, Callable[[], Iterator[str]]]] = MappingProxyType(
    {"toxiproxy": _toxiproxy, "etcd": _etcd}
)
