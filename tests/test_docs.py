"""The documentation tried out: every command is run, and must print what is shown.

In a ``console`` block a line that begins with ``$ `` is a command; what follows it, up to the next
command, is what it prints, on both streams. A line that is just ``…`` stands for any lines, and
``…`` inside a line for any text: for what varies from run to run, and for what is left out. The
commands of one page run in one shell, which starts in a fresh copy of README and docs.

``python FILE`` blocks must stand so in docs/examples/FILE; ``sh`` blocks, which are not run, may
hold only what a fresh machine needs.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from admitone.chaos.network.programs import CACHE_VARIABLE, TOXIPROXY_VARIABLE, cache_folder
from admitone.chaos.servers import find
from admitone.reports.reference import pages
from tests import conftest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = ROOT / "docs" / "examples"
FENCE = re.compile(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
MARK = "=== end of a command ==="
HANDED_ON = (TOXIPROXY_VARIABLE, find.VARIABLE)
"""Where a machine has its servers, if it says so."""
TIMEOUT_S = 240.0  # only a hang takes this long


@dataclass(frozen=True, slots=True)
class Shown:
    """A command of a page, and what the page says that it prints."""

    command: str
    output: str


def commands(text: str) -> Iterator[Shown]:
    for kind, _, body in FENCE.findall(text):
        if kind == "console":
            assert body.startswith("$ "), f"a console block begins with a command: {body[:60]!r}"
            for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                yield Shown(command, output)


def pattern(shown: str) -> re.Pattern[str]:
    """What a command may print, line by line."""
    lines = []
    for line in shown.splitlines():
        if line == "…":
            lines.append(r"(?:[^\n]*\n)*?")
        else:
            lines.append(r"[^\n]*?".join(map(re.escape, line.split("…"))) + r"\n")
    return re.compile("".join(lines))


def difference(shown: str, printed: str) -> str:
    """Empty if the output is as shown; else the first line of the page that it does not have."""
    printed = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    if pattern(shown).fullmatch(printed):
        return ""
    lines = shown.splitlines()
    for count in range(1, len(lines) + 1):
        if not pattern("\n".join([*lines[:count], "…"])).fullmatch(printed):
            return f"not printed: {lines[count - 1]}\nbut:\n{printed}"
    return f"printed more than is shown:\n{printed}"


def run_all(shown: list[Shown], folder: Path, home: Path) -> list[str]:
    """What each command prints, in one shell that starts in ``folder``."""
    programs = home / "bin"
    programs.mkdir(parents=True)
    for program in ("admitone", "pytest"):
        front = programs / program
        front.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {program} "$@"\n')
        front.chmod(0o755)
    script = "".join(
        f"(exit $status)\n{each.command}\nstatus=$?\nprintf '%s\\n' '{MARK}'\n" for each in shown
    )
    ran = subprocess.run(
        ["bash", "-c", f"status=0\n{script}"],
        cwd=folder,
        env={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(home),
            "TMPDIR": str(home),
            "LC_ALL": "C.UTF-8",
            CACHE_VARIABLE: str(cache_folder()),  # what `make test` has built
            **{name: os.environ[name] for name in HANDED_ON if name in os.environ},
            conftest.MARK: os.environ[conftest.MARK],  # so that what is left running is seen
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    *outputs, rest = ran.stdout.split(f"{MARK}\n")
    assert (len(outputs), rest) == (len(shown), ""), ran.stdout[-2000:]
    return outputs


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if "```console" in p.read_text()], ids=name)
def test_commands_print_what_is_shown(page: Path, scratch: Path) -> None:
    folder = scratch / "admitone"
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "README.md", folder)
    shown = list(commands(page.read_text()))
    for each, printed in zip(shown, run_all(shown, folder, scratch / "home"), strict=True):
        wrong = difference(each.output, printed)
        assert not wrong, f"{name(page)}: $ {each.command}\n{wrong}"


@pytest.mark.parametrize(
    ("shown", "printed", "fits"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\nc\n", False),
        ("a\n", "a\nb\n", False),
        ("a\nb\n", "a\n", False),
        ("", "", True),
        ("", "a\n", False),
        ("…\nb\n", "b\n", True),
        ("…\nb\n", "x\ny\nb\n", True),
        ("…\nb\n", "x\nb\ny\n", False),
        ("b=… of …\n", "b=1 of 2\n", True),
        ("b=… of …\n", "b=1\nof 2\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_an_output_that_differs_is_seen(shown: str, printed: str, fits: bool) -> None:
    assert (difference(shown, printed) == "") is fits


def test_shown_code_stands_in_the_examples() -> None:
    found = [
        (page, file, body)
        for page in PAGES
        for kind, file, body in FENCE.findall(page.read_text())
        if kind == "python" and file
    ]
    assert {file for _, file, _ in found} >= {"tickets.py", "tickets_target.py"}
    for page, file, body in found:
        assert body in (EXAMPLES / file).read_text(), f"{name(page)}: other than {file}:\n{body}"


def test_what_is_not_run_is_only_what_a_fresh_machine_needs() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        for kind, _, body in FENCE.findall(page.read_text()):
            assert kind in ("console", "python", "sh", "text"), f"{name(page)}: a block of {kind}"
            for line in body.splitlines() if kind == "sh" else ():
                program, word = line.split()[:2]
                placeholder = line == "admitone run py:package.module:Factory"
                assert placeholder or (program == "make" and word in targets), line


def test_links_lead_somewhere() -> None:
    broken = [
        f"{name(page)}: {link}"
        for page in PAGES
        for link in LINK.findall(page.read_text())
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert broken == []


def test_reference_pages_are_those_of_the_code() -> None:
    folder = ROOT / "docs" / "reference"
    written = {path.name: path.read_text() for path in folder.glob("*.md")}
    assert "python -m tests.campaigns.matrix" in written.pop("matrix.md"), "a campaign writes it"
    assert written == pages(), "run: python -m admitone.reports.reference docs/reference"


def test_an_adapter_of_the_tutorial_has_at_most_sixty_lines() -> None:
    assert len((EXAMPLES / "tickets_target.py").read_text().splitlines()) <= 60


def test_after_a_kill_inside_commit_a_read_only_connection_cannot_read(scratch: Path) -> None:
    """What the guide says of ``inspect``: the journal is hot, and only a writer may roll back."""
    store, left = scratch / "store.db", scratch / "left.db"
    with closing(sqlite3.connect(store, isolation_level=None)) as db:
        db.executescript("CREATE TABLE t (n, filler); INSERT INTO t VALUES (1, zeroblob(99999))")
        db.execute("PRAGMA cache_size = 1")  # so that pages and journal reach the file early
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE t SET n = 2, filler = zeroblob(88888)")
        for suffix in ("", "-journal"):
            shutil.copy(f"{store}{suffix}", f"{left}{suffix}")
    with closing(sqlite3.connect(f"file:{left}?mode=ro", uri=True)) as db:
        with pytest.raises(sqlite3.OperationalError) as raised:
            db.execute("SELECT n FROM t").fetchone()
        assert raised.value.sqlite_errorname == "SQLITE_READONLY_ROLLBACK"
    with closing(sqlite3.connect(f"file:{left}?mode=rw", uri=True)) as db:
        db.execute("PRAGMA query_only=ON")
        assert db.execute("SELECT n FROM t").fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db.execute("UPDATE t SET n = 3")
