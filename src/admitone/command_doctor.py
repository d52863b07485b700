"""``admitone doctor``: what this machine can run, what it lacks, and the command for each."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import __version__
from .chaos.network.build import find_go
from .chaos.network.programs import TOXIPROXY, find_toxiproxy
from .chaos.parent import TargetProblem
from .chaos.runfolder import RunFolder, base_folder, sweep
from .chaos.servers import ServerProblem
from .chaos.servers.find import find_postgres
from .chaos.servers.owner import owner_for
from .reports.text import clean, put
from .scenarios.campaign import check_adapters


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. ``todo``: what to do where it is not in order."""

    name: str
    fine: bool
    seen: str
    todo: str = ""
    needed: bool = True


def doctor(options: argparse.Namespace) -> int:
    """Look at the machine, then at each target's adapter; 2 if something needed is missing."""
    machine = (_system, _pidfd, _stores, _left_behind, _sqlite, _postgres, _toxiproxy, _go)
    findings = [look() for look in machine]
    findings += [_target(target) for target in options.targets]
    width = min(60, max(len(finding.name) for finding in findings))
    put(sys.stdout, f"admitone {__version__} · Python {platform.python_version()}\n")
    for finding in findings:
        word = "ok" if finding.fine else ("MISSING" if finding.needed else "absent")
        lines = [*finding.seen.splitlines()[:8], *([] if finding.fine else [finding.todo])]
        print(f"{clean(finding.name, 60):<{width}}  {word:<7}  {clean(lines[0], 600)}")
        for line in filter(None, lines[1:]):
            print(f"{'':<{width}}           {clean(line, 600)}")
    return 0 if all(finding.fine or not finding.needed for finding in findings) else 2


def _system() -> Finding:
    fine = platform.system() == "Linux" and sys.version_info >= (3, 11)
    seen = f"{platform.system()} {platform.release()}, {os.cpu_count()} cores"
    return Finding("system", fine, seen, "run it on Linux with Python 3.11 or newer")


def _pidfd() -> Finding:
    try:
        descriptor = os.pidfd_open(os.getpid())
        signal.pidfd_send_signal(descriptor, 0)
        os.close(descriptor)
    except (AttributeError, OSError) as problem:
        return Finding("kill by pidfd", False, str(problem), "needs Linux 5.3 or newer")
    return Finding("kill by pidfd", True, "processes can be killed and waited for by descriptor")


def _stores() -> Finding:
    base = base_folder()
    in_memory = base != Path(tempfile.gettempdir())
    where = f"{base}, {shutil.disk_usage(base).free >> 20} MiB free"
    todo = "give /dev/shm 256 MiB to make kill schedules faster"
    return Finding("stores", in_memory, where, todo, needed=False)


def _left_behind() -> Finding:
    removed = sweep(base_folder())
    return Finding("left behind", True, f"{removed} folders of killed runs were removed")


def _sqlite() -> Finding:
    return Finding("sqlite", sqlite3.sqlite_version_info >= (3, 35), sqlite3.sqlite_version)


def _postgres() -> Finding:
    def found() -> str:
        its = find_postgres()
        owner = owner_for(its.program("postgres"))
        return f"{its.version} of {its.source}: {its.bin}; started as {owner.name}"

    return _optional("postgresql", found)


def _toxiproxy() -> Finding:
    return _optional("toxiproxy", lambda: "{0.path} ({0.how})".format(find_toxiproxy()))


def _go() -> Finding:
    return _optional("go", lambda: "{0.version}: {0.path}".format(find_go(TOXIPROXY.oldest_go)))


def _optional(name: str, look: Callable[[], str]) -> Finding:
    """What only some families need. Where it lacks, the text ends with the command."""
    try:
        return Finding(name, True, look())
    except ServerProblem as problem:
        seen, _, todo = str(problem).rpartition(" Run: ")
        return Finding(name, False, seen or todo, f"run: {todo}" if seen else "", needed=False)


def _target(target: str) -> Finding:
    def checked() -> str:
        with RunFolder() as folder:
            fitting = check_adapters([target], folder.path)[0]
        has = ", ".join(fitting.survey.operations)
        claims = ", ".join(fitting.greeting.declaration.claims) or "nothing"
        return f"adapter in order; operations: {has}; claims: {claims}"

    return _tried(target, checked)


def _tried(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, check())
    except TargetProblem as problem:
        return Finding(name, False, str(problem))
