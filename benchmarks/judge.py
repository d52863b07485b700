"""Histories a second: validate, tell the story, run every check; and the canonical digest.

Real histories of the crash family are played first, then judged again and again.

    python benchmarks/judge.py [--histories 60] [--rounds 7]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import islice

from crew import TARGET, kill_plans
from tables import footing, heading, paired, spread, table

from admitone.chaos.parent import WarmParent
from admitone.chaos.runfolder import RunFolder
from admitone.scenarios.canonical import canonical_digest
from admitone.scenarios.checks import judge
from admitone.scenarios.conductor import Conductor
from admitone.scenarios.history import History
from admitone.scenarios.preflight import fit
from admitone.scenarios.validate import validate


def played(number: int) -> list[History]:
    """So many real histories."""
    with RunFolder() as folder:
        parent = WarmParent(TARGET, folder.path, folder.path / "output.log")
        fitting = fit(parent, folder.path)
        conductor = Conductor(parent, fitting, folder.path, reference=True)
        try:
            return [conductor.play(p).history for p in islice(kill_plans(fitting), number)]
        finally:
            conductor.close()


def rate(step: Callable[[History], object], histories: list[History], times: int) -> float:
    """How often a second the step is done."""
    began = time.perf_counter()
    for _ in range(times):
        for history in histories:
            step(history)
    return times * len(histories) / (time.perf_counter() - began)


def main() -> None:
    """Take turns, then print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    heading("Judging histories")
    histories = played(options.histories)
    steps: dict[str, Callable[[History], object]] = {
        "validate, tell, judge": lambda history: (validate(history), judge(history)),
        "the same again (A/A)": lambda history: (validate(history), judge(history)),
        "validate alone": validate,
        "canonical digest": canonical_digest,
    }
    rates: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(options.rounds):
        for name, step in steps.items():
            rates[name].append(rate(step, histories, 3))
    events = sum(len(history.lines) for history in histories) / len(histories)
    base = rates["validate, tell, judge"]
    table(
        ["", "histories/s: median (range)", "events/s", "ratio: median (range)"],
        [
            [
                name,
                spread(values, 0),
                f"{statistics.median(values) * events:.0f}",
                paired(values, base),
            ]
            for name, values in rates.items()
        ],
    )
    print(f"\n  {len(histories)} histories of {events:.0f} events each, on average")
    footing()


if __name__ == "__main__":
    main()
