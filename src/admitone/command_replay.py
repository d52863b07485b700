"""``admitone replay ID``: one schedule again, from its id alone, with the lanes it shows."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .chaos.parent import TargetProblem, WarmParent
from .chaos.runfolder import RunFolder
from .cli import UsageProblem, could_not_run
from .reports.lanes import lanes
from .reports.text import clean, put
from .scenarios.conductor import Conductor, Played
from .scenarios.families import family, missing_here
from .scenarios.plan import Plan, PlanProblem
from .scenarios.preflight import Fitting, fit
from .scenarios.premises import CannotRun
from .targets.registry import is_reference


def replay(options: argparse.Namespace) -> int:
    """Play the schedule again, with a fresh victim; the exit code of what it comes to."""
    try:
        plan = Plan.parse(options.id)
        family(plan.family)
    except PlanProblem as problem:
        raise UsageProblem(f"replay: {problem}") from None
    if lacking := missing_here([plan.family]).get(plan.family):
        return could_not_run(f"family {plan.family}: {lacking}")
    if options.keep is not None:
        _empty_folder(options.keep)
    with RunFolder() as folder:
        try:
            plays, output = _played(plan, folder.path, options)
        except CannotRun as absent:
            return could_not_run(absent)
        except TargetProblem as problem:
            raise UsageProblem(str(problem)) from None
    return _tell(plays, output)


def _played(plan: Plan, folder: Path, options: argparse.Namespace) -> tuple[list[Played], str]:
    """Play it as often as was asked for; and what the target printed."""
    parent = WarmParent(plan.target, folder, folder / "output.log")
    fitting = _fitted(parent, folder, options)
    reference = is_reference(plan.target)
    conductor = Conductor(parent, fitting, folder, reference=reference, sink=options.sink)
    try:
        plays = [conductor.play(plan, keep=options.keep, virgin=True)]
        plays += [conductor.play(plan, virgin=True) for _ in range(options.times - 1)]
        return plays, conductor.output()
    finally:
        conductor.close()


def _fitted(parent: WarmParent, folder: Path, options: argparse.Namespace) -> Fitting:
    """Check the adapter as a run would; its parent then goes on to play."""
    place = folder / "fit"
    place.mkdir()
    try:
        return fit(parent, place, sink=options.sink)
    except BaseException:
        parent.close()
        raise


def _empty_folder(keep: Path) -> None:
    try:
        keep.mkdir(parents=True, exist_ok=True)
        filled = any(keep.iterdir())
    except OSError as problem:
        raise UsageProblem(
            f"--keep {keep}: no folder can be made there ({problem.strerror}); name another one"
        ) from None
    if filled:
        raise UsageProblem(f"--keep {keep}: the folder is not empty; name another one")


def _tell(plays: list[Played], output: str) -> int:
    first = plays[0]
    result = first.result
    if result.verdict == "could_not_run":
        raise UsageProblem(f"replay: {clean(result.reason, 600)}")
    for finding in result.findings:
        put(sys.stdout, f"{lanes(first.history, finding)}\n\n")
    if result.findings and output.strip():
        print("output of the target:")
        print("\n".join(f"  {clean(line)}" for line in output.splitlines()[-12:]))
    print(f"{clean(result.id, 400)}: {result.verdict.replace('_', ' ')}")
    if result.reason:
        print(f"  {clean(result.reason, 400)}")
    same = sum(play.result.digest == result.digest for play in plays)
    if len(plays) > 1:
        print(f"  the same history in {same} of {len(plays)} plays")
    verdicts = {play.result.verdict for play in plays}
    if "violation" in verdicts:
        return 1
    if verdicts == {"passed"}:
        return 0
    return 3
