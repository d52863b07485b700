"""One ledger on the bench of one test process: checked once, then tried plan by plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .chaos.parent import TargetProblem, WarmParent
from .chaos.runfolder import RunFolder
from .reports.text import clean_lines
from .scenarios.conductor import Conductor, Played
from .scenarios.families import Subjects, family, missing_here
from .scenarios.frame import lacks, target_facts
from .scenarios.plan import Plan
from .scenarios.preflight import fit
from .targets.registry import is_reference


class LedgerBenchProblem(Exception):
    """The adapter is not in order. The text says what, where and what to do."""


class LedgerBench:
    """See the module. Make it once per process, and close it."""

    def __init__(self, target: str) -> None:
        self._folder = RunFolder()
        try:
            self._parent = WarmParent(target, self._folder.path, self._folder.path / "output.log")
        except TargetProblem as problem:
            self._folder.close()
            raise LedgerBenchProblem(clean_lines(problem)) from None
        try:
            self.fitting = fit(self._parent, self._folder.path)
        except TargetProblem as problem:
            self._parent.close()
            self._folder.close()
            raise LedgerBenchProblem(clean_lines(problem)) from None
        self._conductor = Conductor(
            self._parent, self.fitting, self._folder.path, reference=is_reference(target)
        )

    def lacking(self, name: str) -> str:
        """What the target lacks for a family, or the machine, or an empty text."""
        if absent := missing_here([name]).get(name, ""):
            return f"this machine cannot run it: {absent}"
        return lacks(family(name), self.fitting)

    def unseen(self, name: str, topic: str) -> bool:
        """Whether the target should have this failure point, and no place for it was found."""
        return topic in target_facts(self.fitting, (name,)).unseen

    def plans(self, name: str, topic: str, seed: int) -> Iterator[Plan]:
        """The placed plans of a family on one topic: those whose parameters begin with it."""
        subject = Subjects(
            self.fitting.target, self.fitting.greeting.declaration, self.fitting.survey
        )
        for plan in family(name).placed(subject):
            if topic in ("all", plan.params[0]):
                yield replace(plan, seed=seed)

    def play(self, plan: Plan) -> Played:
        """Play one plan with a fresh victim and judge it."""
        return self._conductor.play(plan, virgin=True)

    def output(self) -> str:
        """What the target printed lately."""
        return self._conductor.output()

    def close(self) -> None:
        """End every process and remove every file."""
        self._conductor.close()
        self._folder.close()
