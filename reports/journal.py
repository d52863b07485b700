"""The journal: one line for the run's begin, one a schedule, one for its end.

It is the run's memory: `admitone report` reads nothing else. A schedule counts only if
its line is complete, so a run that dies loses at most the batch that it had not written yet, and
a violation is on disk before anybody hears of it. Whole histories lie beside it in ``histories/``.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, get_args

from ..scenarios.results import ScheduleResult
from ..scenarios.summary import EXIT_CODES, RunFacts, RunTally, StopReason
from .lines import (
    LineProblem,
    facts_fields,
    facts_from,
    packed,
    result_fields,
    result_from,
    seconds_of,
    typed,
)
from .text import clean
from .writer import Silent

JOURNAL_VERSION: Final = 1
STOP_REASONS: Final = get_args(StopReason)
_LONGEST_LINE: Final = 1_000_000  # run.begin may be long, nothing is longer


class JournalWriter(Silent):
    """Appends lines, a batch at a time: every ``every`` lines or ``after_s`` seconds.

    The time is looked at when a result comes. ``resume`` goes on behind what is there, a torn
    last line cut off; else the file begins anew.
    """

    name = "journal"

    def __init__(
        self,
        path: Path,
        *,
        every: int = 50,
        after_s: float = 1.0,
        resume: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._every = every
        self._after_s = after_s
        self._resume = resume
        self._clock = clock
        self._file: BinaryIO | None = None
        self._batch: list[str] = []
        self._flushed_s = clock()
        self._run = ""
        self._seq = 0

    def begin(self, facts: RunFacts) -> None:
        """Open the file; the first line is there at once."""
        self._run = facts.run
        if self._resume and self._path.exists():
            _cut_torn_line(self._path)
        self._file = self._path.open("ab" if self._resume else "wb", buffering=0)
        self._line("run.begin", {"facts": facts_fields(facts)})
        self.flush()

    def result(self, result: ScheduleResult) -> None:
        """One line; at once where it is a violation."""
        self._line("schedule.end", result_fields(result))
        due = self._clock() - self._flushed_s >= self._after_s
        if due or len(self._batch) >= self._every or result.verdict == "violation":
            self.flush()

    def end(self, tally: RunTally) -> None:
        """The last line, and the file is closed."""
        ended = {
            "outcome": tally.outcome,
            "exit_code": tally.exit_code,
            "complete": tally.complete,
            "stop_reason": tally.stop_reason,
            "stop_detail": clean(tally.stop_detail, 400),
            "required_left": tally.required_left,
            "duration_s": round(tally.duration_s, 3),
            "schedules": tally.total().done,
        }
        self._line("run.end", ended)
        self.close()

    def close(self) -> None:
        """Nothing more will be written; what a run that broke off has seen is kept."""
        self.flush()
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    def flush(self) -> None:
        """Hand the batch to the operating system: from here on it survives this process."""
        if self._file is None:
            return
        data = memoryview("".join(self._batch).encode("ascii"))
        self._batch.clear()
        self._flushed_s = self._clock()
        while data:
            data = data[self._file.write(data) :]

    def _line(self, kind: str, content: Mapping[str, object]) -> None:
        frame: dict[str, object] = {
            "v": JOURNAL_VERSION,
            "kind": kind,
            "run": self._run,
            "seq": self._seq,
            "t_ns": time.monotonic_ns(),
            "source": "run",
        }
        self._seq += 1
        self._batch.append(packed(frame | dict(content)) + "\n")


class JournalProblem(Exception):
    """A journal that cannot be read, with the number of the first line at fault."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended, as its journal says: what ``RunTally.stop`` was told."""

    reason: StopReason
    detail: str
    duration_s: float
    required_left: int


@dataclass(frozen=True, slots=True)
class Journal:
    """What a journal holds. ``note`` is empty, or says what a reader must know of it.

    ``facts`` are those of the first run in it; a resumed run has several. ``exit_code`` and
    ``end`` are the last run's, None where it never came to its end.
    """

    facts: RunFacts
    results: tuple[ScheduleResult, ...]
    runs: int
    exit_code: int | None
    torn: bool = False
    note: str = ""
    end: RunEnd | None = None


def read_journal(path: Path) -> Journal:
    """Read a whole journal. A torn last line is left out and noted; anything else that is not a
    journal raises ``JournalProblem``."""
    facts: RunFacts | None = None
    results: list[ScheduleResult] = []
    runs, exit_code, torn = 0, None, 0
    end: RunEnd | None = None
    for number, line in _numbered(path):
        if not line.endswith(b"\n"):
            torn = number
            break
        try:
            value = _object(line)
            if runs == 0 and value["kind"] != "run.begin":
                raise LineProblem("a journal begins with run.begin")
            if value["kind"] == "run.begin":
                facts = facts or facts_from(typed(value, "facts", (dict,), {}))
                runs, exit_code, end = runs + 1, None, None
            elif value["kind"] == "schedule.end":
                results.append(result_from(value))
            elif value["kind"] == "run.end":
                exit_code, end = _exit_code(value), _end(value)
        except LineProblem as wrong:
            raise JournalProblem(f"{path}, line {number}: {clean(wrong, 200)}") from None
    if facts is None:
        raise JournalProblem(f"{path}, line 1: nothing complete is written here")
    note = _note(torn, exit_code)
    return Journal(facts, tuple(results), runs, exit_code, bool(torn), note, end)


def _exit_code(value: Mapping[str, Any]) -> int:
    code = value.get("exit_code")
    if type(code) is not int or code not in EXIT_CODES.values():
        raise LineProblem("run.end has no exit code that a run can have")
    return code


def _end(value: Mapping[str, Any]) -> RunEnd:
    reason, detail = value.get("stop_reason", "finished"), value.get("stop_detail", "")
    if reason not in STOP_REASONS or not isinstance(detail, str):
        raise LineProblem("run.end says no reason that a run has to end")
    left = value.get("required_left", 0)
    if type(left) is not int:
        raise LineProblem("run.end has a number that is none")
    return RunEnd(reason, detail, seconds_of(value, "duration_s"), left)


def _note(torn: int, exit_code: int | None) -> str:
    if torn:
        return f"line {torn} is torn (the run died while writing it) and was left out"
    return "" if exit_code is not None else "the run never came to its end"


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise JournalProblem(f"{path}, line {number}: longer than {_LONGEST_LINE}")
                yield number, line
    except OSError as problem:
        raise JournalProblem(f"{path}: {problem.strerror or problem}") from None


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise LineProblem("this is no JSON") from None
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise LineProblem("no event: an object with a kind is needed")
    if value.get("v") != JOURNAL_VERSION:
        version = clean(value.get("v"), 20)
        raise LineProblem(f"version {version}; this program reads version {JOURNAL_VERSION}")
    return value


def _cut_torn_line(path: Path) -> None:
    """Drop what follows the last line end, so that the next line stands by itself."""
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        start = max(end - _LONGEST_LINE, 0)
        file.seek(start)
        file.truncate(start + file.read().rfind(b"\n") + 1)
