"""A whole history as a file: one begin line, the events, one end line.

The end line carries the number of events and the SHA-256 of everything before it. A file
without a complete one was cut off, and a history that was cut off proves nothing: a missing
refusal would look like a pass. Every problem is one message: what, where, what to do.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast, get_args

from ..chaos.codec import LineProblem, from_object, parse, to_line
from ..chaos.events import HISTORY_VERSION, Recorded
from ..targets.declaration import Declaration
from ..targets.terms import TargetName
from ..targets.values import ValueProblem, decode, encode
from .history import Header, History, SinkKind

LINE_LIMIT_BYTES: Final = 4 * 1024 * 1024
"""No event needs more; a longer line is a file of another kind."""

_BEGIN: Final = frozenset(
    {"v", "kind", "schedule", "target", "declaration", "operations", "sink", "reference", "lease_s"}
)
_END: Final = frozenset({"v", "kind", "schedule", "events", "digest"})


class HistoryProblem(ValueError):
    """The file holds no complete history. The message says what, where, and what to do."""


def write_history(history: History, path: Path) -> None:
    """Write the file in one step: readers see the whole of it or nothing."""
    unfinished = path.with_name(path.name + ".part")
    try:
        with unfinished.open("wb") as out:
            for line in history_lines(history):
                out.write(line.encode("ascii") + b"\n")
            out.flush()
            os.fsync(out.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def history_lines(history: History) -> Iterator[str]:
    """The lines of the file, without their newlines."""
    schedule = history.header.schedule
    begin = _begin_line(history.header)
    seen = hashlib.sha256(begin.encode("ascii") + b"\n")
    yield begin
    for recorded in history.lines:
        line = to_line(recorded, schedule)
        seen.update(line.encode("ascii") + b"\n")
        yield line
    yield _text(
        {
            "v": HISTORY_VERSION,
            "kind": "schedule.end",
            "schedule": schedule,
            "events": len(history.lines),
            "digest": seen.hexdigest(),
        }
    )


def read_history(path: Path) -> History:
    """Read one history. Raises ``HistoryProblem``, also for a file that cannot be opened."""
    try:
        with path.open("rb") as source:
            return _Reader(str(path)).read(_numbered(source))
    except OSError as problem:
        raise HistoryProblem(
            f"{path} cannot be read ({problem.strerror}); check the path and its permissions"
        ) from None


class _Reader:
    """Reads one file; knows where it stands, so that every message can say so."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._line = 0
        self._seen = hashlib.sha256()

    def read(self, lines: Iterator[tuple[int, bytes]]) -> History:
        header: Header | None = None
        recorded: list[Recorded] = []
        finished = False
        for self._line, raw in lines:
            if finished:
                raise self._problem("there is text after the end line", "keep one history a file")
            line = self._parsed(raw)
            if header is None:
                header = self._header(line)
            elif line.get("kind") == "schedule.end":
                self._check_end(line, header, len(recorded))
                finished = True
            else:
                recorded.append(self._event(line, header))
            self._seen.update(raw)
        if header is None or not finished:
            raise self._problem(
                "the file ends without a complete schedule.end line",
                "the run that wrote it was cut off: run the schedule again",
            )
        return History(header, tuple(recorded))

    def _parsed(self, raw: bytes) -> dict[str, Any]:
        if len(raw) > LINE_LIMIT_BYTES:
            raise self._problem(
                f"the line is longer than {LINE_LIMIT_BYTES} bytes", "this is no history file"
            )
        if not raw.endswith(b"\n"):
            raise self._problem("the line is cut off", "run the schedule again")
        try:
            return parse(raw.decode("utf-8"))
        except UnicodeDecodeError:
            raise self._problem("the line is not UTF-8", "histories are UTF-8 JSON") from None
        except LineProblem as problem:
            raise self._refused(problem) from None

    def _header(self, line: dict[str, Any]) -> Header:
        if line.get("kind") != "schedule.begin":
            raise self._problem(
                "the first line is no schedule.begin line", "give a whole history file"
            )
        try:
            return _header_of(line)
        except (LineProblem, ValueProblem) as problem:
            raise self._refused(problem) from None

    def _event(self, line: dict[str, Any], header: Header) -> Recorded:
        schedule = line.get("schedule", header.schedule)
        if schedule != header.schedule:
            raise self._problem(
                f"the line belongs to {schedule!r}, the file to {header.schedule!r}",
                "split the file: one history each",
            )
        try:
            return from_object(line)
        except LineProblem as problem:
            raise self._refused(problem) from None

    def _check_end(self, line: dict[str, Any], header: Header, count: int) -> None:
        if set(line) != _END or line["schedule"] != header.schedule:
            raise self._problem("the end line is not complete", "run the schedule again")
        if type(line["events"]) is not int or line["events"] != count:
            raise self._problem(
                f"the end line counts {line['events']} events, the file has {count}",
                "lines were lost or added: run the schedule again",
            )
        if line["digest"] != self._seen.hexdigest():
            raise self._problem(
                "the digest of the end line is not that of the lines before it",
                "the file was changed after it was written: run the schedule again",
            )

    def _refused(self, problem: Exception) -> HistoryProblem:
        return self._problem(
            str(problem), "see chaos/schemas/history-v1.json, or write it with this version"
        )

    def _problem(self, what: str, remedy: str) -> HistoryProblem:
        return HistoryProblem(f"{self._name}, line {self._line}: {what}; {remedy}")


def _numbered(source: Any) -> Iterator[tuple[int, bytes]]:
    number = 0
    while raw := source.readline(LINE_LIMIT_BYTES + 1):
        number += 1
        yield number, raw


def _begin_line(header: Header) -> str:
    return _text(
        {
            "v": HISTORY_VERSION,
            "kind": "schedule.begin",
            "schedule": header.schedule,
            "target": encode(header.target),
            "declaration": encode(header.declaration),
            "operations": list(header.operations),
            "sink": header.sink,
            "reference": header.reference,
            "lease_s": header.lease_s,
        }
    )


def _header_of(line: dict[str, Any]) -> Header:
    unknown = sorted(set(line) - _BEGIN)
    if unknown:
        raise LineProblem(f"schedule.begin has no field {unknown[0]!r}")
    missing = sorted(_BEGIN - {"reference", "lease_s"} - set(line))
    if missing:
        raise LineProblem(f"schedule.begin needs the field {missing[0]!r}")
    target, declaration = decode(line["target"]), decode(line["declaration"])
    operations, sink = line["operations"], line["sink"]
    reference, lease_s = line.get("reference", False), line.get("lease_s", 0.0)
    right = (
        type(line["schedule"]) is str
        and type(target) is TargetName
        and type(declaration) is Declaration
        and type(operations) is list
        and all(type(name) is str for name in operations)
        and sink in get_args(SinkKind)
        and type(reference) is bool
        and type(lease_s) in (int, float)
    )
    if not right:
        raise LineProblem("schedule.begin has a field of another type")
    return Header(
        line["schedule"],
        target,
        declaration,
        tuple(operations),
        cast(SinkKind, sink),
        reference,
        float(lease_s),
    )


def _text(line: dict[str, Any]) -> str:
    return json.dumps(line, separators=(",", ":"), allow_nan=False)
