"""Writers: everything that tells somebody what a run saw, over one stream of results.

The front door fans each result out to all of them. Writers only tell: one that fails is noted
once and left out from then on, the others go on, and no verdict changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..scenarios.history import History
from ..scenarios.results import Finding, ScheduleResult
from ..scenarios.summary import RunFacts, RunTally
from .text import clean


class Writer(Protocol):
    """One report. Called from one thread, in this order: begin, then results, then end.

    ``finding`` comes after the ``result`` that it belongs to, once for each finding whose whole
    history was kept. ``name`` is what a person calls the report.
    """

    @property
    def name(self) -> str: ...

    def begin(self, facts: RunFacts) -> None:
        """The run starts."""
        ...

    def result(self, result: ScheduleResult) -> None:
        """One schedule ended."""
        ...

    def finding(self, result: ScheduleResult, finding: Finding, history: History) -> None:
        """One broken rule, with the history that shows it."""
        ...

    def end(self, tally: RunTally) -> None:
        """The run is over and its outcome stands."""
        ...


class Silent:
    """A writer that tells nothing: the base of writers that need only some of the calls."""

    name = "silent"

    def begin(self, facts: RunFacts) -> None: ...
    def result(self, result: ScheduleResult) -> None: ...
    def finding(self, result: ScheduleResult, finding: Finding, history: History) -> None: ...
    def end(self, tally: RunTally) -> None: ...


@dataclass(frozen=True, slots=True)
class WriterProblem:
    """A writer that failed, at which call, and what it said."""

    writer: str
    step: str
    text: str

    def __str__(self) -> str:
        return f"the {self.writer} report stopped ({self.step}): {self.text}; verdicts are unharmed"


class Fan:
    """Passes everything on to every writer that still works.

    ``note`` is told about each writer that fails, once. A plug-in that calls ``sys.exit`` has
    failed like any other; only an interruption by the user passes through.
    """

    name = "fan"

    def __init__(self, writers: Sequence[Writer], note: Callable[[str], None]) -> None:
        self._writers = list(writers)
        self._note = note
        self.problems: list[WriterProblem] = []

    def begin(self, facts: RunFacts) -> None:
        """Tell all that the run starts."""
        self._each("begin", lambda writer: writer.begin(facts))

    def result(self, result: ScheduleResult) -> None:
        """Pass one result on."""
        self._each("result", lambda writer: writer.result(result))

    def finding(self, result: ScheduleResult, finding: Finding, history: History) -> None:
        """Pass one finding on."""
        self._each("finding", lambda writer: writer.finding(result, finding, history))

    def end(self, tally: RunTally) -> None:
        """Tell all that the run is over."""
        self._each("end", lambda writer: writer.end(tally))

    def _each(self, step: str, call: Callable[[Writer], None]) -> None:
        for writer in tuple(self._writers):
            try:
                call(writer)
            except (Exception, SystemExit) as problem:  # whatever it is, it is not the verdict's
                self._writers.remove(writer)
                self._report(writer, step, problem)

    def _report(self, writer: Writer, step: str, problem: BaseException) -> None:
        said = f"{type(problem).__name__}: {problem}"
        noted = WriterProblem(clean(writer.name, 60), step, clean(said, 200))
        self.problems.append(noted)
        try:
            self._note(str(noted))
        except OSError:  # nobody listens any more; `problems` still has it
            return
