"""Trying a form of a durable write: its points, and what a real kill at its first write leaves.

A trial runs in a process of its own, which installs the probes before it imports what they shall
see, and which may fork: ``python -m tests.probe_forms FOLDER`` answers with one JSON object.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from admitone.chaos.probes import sight, statements

ROOT: Final = Path(__file__).parent.parent
BEGIN: Final = ["begin.before", "begin.after"]
STATEMENT: Final = ["statement.before", "statement.after"]
WRITE: Final = ["write.before", "write.after"]
WRITING: Final = ["statement.before", *WRITE, "statement.after"]

Form = tuple[Callable[[Path], object], Callable[[Path], int]]
"""What works in an empty folder, watched, and what then counts there, unwatched."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a form did: its points, its count, and signal and count of a kill at a write."""

    points: list[str]
    count: int
    before: tuple[int, int]
    after: tuple[int, int]


@dataclass
class Notes:
    """Writes points down, and gives an answer at one of them."""

    points: list[str] = field(default_factory=list)
    answer: tuple[str, sight.Raise] | None = None

    def point(self, kind: str, side: str, text: str) -> sight.Raise | None:
        assert 0 < len(text) <= statements.TEXT_LIMIT
        self.points.append(f"{kind}.{side}")
        if self.answer is not None and self.answer[0] == self.points[-1]:
            return self.answer[1]
        return None


@dataclass(frozen=True)
class Killer:
    """Kills its own process where it first stands at a write."""

    side: str

    def point(self, kind: str, side: str, text: str) -> None:
        if (kind, side) == ("write", self.side):
            os.kill(os.getpid(), signal.SIGKILL)


def run(form: Form, folder: Path, observer: sight.Observer) -> None:
    """Let the form work in a new folder."""
    folder.mkdir()
    sight.install(observer, folder)
    form[0](folder)


def killed(form: Form, folder: Path, side: str) -> tuple[int, int]:
    """Run the form in a fork that dies at its first write; its signal, and what it left."""
    pid = os.fork()
    if pid == 0:
        run(form, folder, Killer(side))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return (os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0), form[1](folder)


def answer(forms: Mapping[str, Form]) -> None:
    """Try all forms and print what was found."""
    root, found = Path(sys.argv[1]), {}
    for number, (name, form) in enumerate(forms.items()):
        notes = Notes()
        run(form, root / f"{number}", notes)
        points, count = [*notes.points], form[1](root / f"{number}")
        before, after = (
            killed(form, root / f"{number}-{side}", side) for side in ("before", "after")
        )
        found[name] = asdict(Found(points, count, before, after))
    json.dump(found, sys.stdout)


def tried(module: str, folder: Path) -> dict[str, Found]:
    """Try all forms of a module in a new process."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    ran = subprocess.run(
        [sys.executable, "-m", module, str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return {
        name: Found(one["points"], one["count"], tuple(one["before"]), tuple(one["after"]))
        for name, one in json.loads(ran.stdout).items()
    }
