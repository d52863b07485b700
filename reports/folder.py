"""The report folder: made, and tried, before a run spends minutes on what it cannot store."""

from __future__ import annotations

import fcntl
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .text import clean


def problem(what: str, where: str, todo: str) -> str:
    """How every usage and preflight error reads: what is wrong, where, and what to do about it.

    >>> print(problem("cannot import the target", "py:mine:Target", "pip install mine"))
    admitone: cannot import the target
      where:  py:mine:Target
      to do:  pip install mine
    """
    lines = [f"admitone: {clean(what, 400)}"]
    if where:
        lines.append(f"  where:  {clean(where, 400)}")
    if todo:
        lines.append(f"  to do:  {clean(todo, 400)}")
    return "\n".join(lines)


class ReportProblem(Exception):
    """Reports cannot be stored. Its text is complete: show it and exit with 2."""

    def __init__(self, what: str, where: Path, todo: str) -> None:
        super().__init__(problem(what, str(where), todo))


@dataclass(frozen=True, slots=True)
class ReportFolder:
    """Where one run's files go. Make it with ``prepare``."""

    root: Path

    @classmethod
    def prepare(cls, root: Path) -> ReportFolder:
        """Make the folder, and show that a file can be written into it."""
        folder = cls(root)
        try:
            folder.histories.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=root):
                pass
        except OSError as error:
            raise ReportProblem(
                f"cannot write reports: {error.strerror or error}",
                root,
                "give another folder with --report-dir, or make this one writable",
            ) from error
        folder._claim()
        return folder

    def _claim(self) -> None:
        """Two runs in one folder would destroy each other's journal. The lock is the process's,
        and ends with it."""
        lock = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise ReportProblem(
                "another run is writing its reports there",
                self.root,
                "wait for it, or give another folder with --report-dir",
            ) from None

    @property
    def journal(self) -> Path:
        return self.root / "journal.jsonl"

    @property
    def summary(self) -> Path:
        return self.root / "summary.json"

    @property
    def histories(self) -> Path:
        """Whole histories, one file each; whoever ran the schedule stores them."""
        return self.root / "histories"

    def write(self, name: str, data: str) -> Path:
        """Store a whole file: a reader sees the old one or the new one, never a part."""
        path = self.root / name
        handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=self.root)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(data)
            Path(temporary).chmod(0o644)  # mkstemp's 0600 would hide reports from other CI steps
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path
