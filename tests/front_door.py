"""The front door as a user has it: ``python -m admitone`` in a process and a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

import admitone
from admitone.chaos.runfolder import base_folder
from admitone.reports.journal import Journal, read_journal

DEADLINE_S = 90.0
"""For a run of seconds: only a machine that stands still makes it pass."""

REPORT = "admitone-report"


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """The one message of a mistake: nothing on stdout, and no traceback."""
        assert self.out == ""
        assert self.err.startswith("admitone: ")
        assert "Traceback" not in self.err
        assert self.err.count("admitone: ") == 1
        return self.err


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "admitone", *arguments]


def environment(**more: str) -> dict[str, str]:
    """Ours, with the package found from any folder, and plain output."""
    quiet = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    return {**quiet, "PYTHONPATH": str(Path(admitone.__file__).parent.parent), **more}


def admitone_in(folder: Path, *arguments: str) -> Ran:
    """Run one command to its end."""
    done = subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def summary_in(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / REPORT / "summary.json").read_text())
    return found


def journal_in(folder: Path) -> Journal:
    return read_journal(folder / REPORT / "journal.jsonl")


def verdicts_in(folder: Path) -> dict[str, str]:
    return {result.id: result.verdict for result in journal_in(folder).results}


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for what must come."""
    end = time.monotonic() + DEADLINE_S
    while not true():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.02)


class Running:
    """A command that goes on; as a context manager it is gone afterwards."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            command(*arguments),
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._children: list[psutil.Process] = []

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.kill()
        self.process.communicate()

    def until_results(self, least: int = 1) -> None:
        """Wait until the run is in its middle: so many schedules are in its journal."""
        journal = self.folder / REPORT / "journal.jsonl"

        def there() -> bool:
            assert self.process.poll() is None, f"it ended: {self.process.communicate()}"
            lines = journal.read_bytes().count(b"\n") if journal.exists() else 0
            return lines > least

        until(there, f"{least} results")
        self._children = psutil.Process(self.process.pid).children(recursive=True)
        self._names = [_name(child) for child in self._children]

    def sinks(self) -> int:
        """How many sink servers there were in the middle of the run."""
        return self._names.count("admitone-sink")

    def workers(self) -> list[psutil.Process]:
        """Forks of the run itself, one for each ``-n``."""
        return psutil.Process(self.process.pid).children()

    def end(self) -> Ran:
        """Wait for the end; nothing of it may be left: no process, no folder of stores."""
        out, err = self.process.communicate(timeout=DEADLINE_S)
        until(lambda: not any(map(_lives, self._children)), "the end of all children")
        mine = f"admitone-{os.getuid()}-{self.process.pid}-*"
        until(lambda: not list(base_folder().glob(mine)), "the removal of the run's folder")
        return Ran(self.process.returncode, out, err)


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:  # a node that was killed meanwhile, as nodes are
        return ""


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
