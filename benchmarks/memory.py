"""Whether the harness stays as small as it is: resident memory over many schedules.

Every so many schedules the resident sets of the campaign's process, a worker, its warm parent and
its node are read; at the end also descriptors, zombies and what lies in memory as files.

    python benchmarks/memory.py [--schedules 20000] [--every 1000]
"""

from __future__ import annotations

import argparse
import os
import statistics
from pathlib import Path

import psutil
from crew import Crew
from tables import footing, heading, table

from admitone.chaos.runfolder import RunFolder
from admitone.reports.journal import JournalWriter
from admitone.scenarios.results import ScheduleResult
from admitone.scenarios.summary import RunFacts

WARM = 200
"""Schedules before the first look."""
PARTS = ("campaign", "worker", "warm parent", "node")


def family(worker: int) -> dict[str, psutil.Process]:
    """The processes of one worker, by what they are."""
    found = {"campaign": psutil.Process(), "worker": psutil.Process(worker)}
    parents = found["worker"].children()
    if parents:
        found["warm parent"] = parents[0]
        if nodes := parents[0].children():
            found["node"] = nodes[0]
    return found


def main() -> None:
    """Play, look, and fit a line through what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    heading("Memory of the harness")
    seen: dict[str, list[tuple[int, float]]] = {part: [] for part in PARTS}
    bad: list[ScheduleResult] = []
    with RunFolder() as folder:
        crew = Crew(folder.path, options.workers)
        # the journal lies on disk, as in a run, and is not part of what is measured
        journal = JournalWriter(Path(os.devnull))

        def note(result: ScheduleResult) -> None:
            journal.result(result)
            if result.verdict != "passed":
                bad.append(result)

        try:
            played = 0
            journal.begin(RunFacts(0, "", "", "", "", ""))
            crew.play(WARM, options.workers, note)
            while played < options.schedules:
                crew.play(options.every, options.workers, note)
                played += options.every
                for part, process in family(crew.pids[0]).items():
                    seen[part].append((played, process.memory_info().rss / 2**20))
            processes = family(crew.pids[0])
            tree = psutil.Process().children(recursive=True)
            zombies = sum(process.status() == psutil.STATUS_ZOMBIE for process in tree)
            files = sum(path.stat().st_size for path in folder.path.rglob("*") if path.is_file())
            descriptors = {part: process.num_fds() for part, process in processes.items()}
        finally:
            crew.close()
        left = [str(path) for path in folder.path.glob("w*/t*/s*")]
    rows = []
    for part, points in seen.items():
        thousands = [number / 1000 for number, _ in points]
        sizes = [size for _, size in points]
        slope = statistics.linear_regression(thousands, sizes).slope if len(points) > 1 else 0.0
        rows.append(
            [
                part,
                f"{sizes[0]:.1f}",
                f"{sizes[-1]:.1f}",
                f"{max(sizes):.1f}",
                f"{slope * 1024:+.1f}",
                str(descriptors.get(part, "-")),
            ]
        )
    table(["", "first MB", "last MB", "most MB", "KB/1,000 schedules", "descriptors"], rows)
    print(f"\n  {played + WARM} schedules, {len(bad)} of them not passed")
    print(f"  zombies {zombies}; files of the run in memory {files} bytes; stores left {len(left)}")
    footing()


if __name__ == "__main__":
    main()
