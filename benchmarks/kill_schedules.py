"""Isolated kill schedules a second, beside what one would write by hand, in one run.

Bursts take turns - the suite with one worker, again with one (the A/A twin), with two, by hand
with ``sqlite3``, by hand with SQLAlchemy - and then from the start. Neighbours in time are
compared, so a machine that grows slower meanwhile changes the rates and hardly the ratios.
The CPU time of a schedule is printed too: where others use the machine, the suite's rate falls
faster than that of the hand-written test, since its many short steps each wait for their turn.

    python benchmarks/kill_schedules.py [--rounds 5] [--burst 120]
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from by_hand.schedules import Kind
from by_hand.schedules import main as by_hand
from crew import Crew
from tables import footing, heading, paired, spread, table

from admitone.chaos.runfolder import RunFolder, base_folder
from admitone.reports.lines import packed, result_fields
from admitone.scenarios.results import ScheduleResult

ONE, TWIN, TWO = "admitone, 1 worker", "the same again (A/A)", "admitone, 2 workers"
BARE_1, BARE_2 = "by hand, sqlite3, 1 process", "by hand, sqlite3, 2 processes"
CORE_1, CORE_2 = "by hand, SQLAlchemy, 1 process", "by hand, SQLAlchemy, 2 processes"


@dataclass(frozen=True, slots=True)
class Burst:
    """Schedules a second, and CPU milliseconds of each."""

    rate: float
    cpu_ms: float


def suite_burst(crew: Crew, journal: Path, number: int, workers: int) -> Burst:
    """One burst of the suite; every schedule must have killed (some kill twice) and passed."""
    cpu_s = crew.cpu_s()
    with journal.open("a") as file:

        def note(result: ScheduleResult) -> None:
            assert result.verdict == "passed", result
            assert result.kills, result
            file.write(packed(result_fields(result)) + "\n")

        began = time.perf_counter()
        crew.play(number, workers, note)
        rate = number / (time.perf_counter() - began)
    return Burst(rate, (crew.cpu_s() - cpu_s) / number * 1000)


def hand_burst(kind: Kind, number: int, processes: int, seed: int) -> Burst:
    """The same of the hand-written test, in so many processes at once."""
    context = get_context("fork")
    share, base = max(1, number // processes), str(base_folder())
    began, cpu_s = time.perf_counter(), _children_cpu_s()
    running = [
        context.Process(target=by_hand, args=(kind, share, seed + n, base))
        for n in range(processes)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join()
        assert process.exitcode == 0
    number = share * processes
    took_s, cpu_s = time.perf_counter() - began, _children_cpu_s() - cpu_s
    return Burst(number / took_s, cpu_s / number * 1000)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Take turns, then print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--burst", type=int, default=120, help="schedules of a burst of the suite")
    options = parser.parse_args()
    heading("Isolated kill schedules a second")
    bursts: dict[str, list[Burst]] = {}
    with RunFolder() as folder:
        crew, journal, burst = Crew(folder.path, 2), folder.path / "journal", options.burst
        kinds: dict[str, Callable[[int], Burst]] = {
            ONE: lambda _: suite_burst(crew, journal, burst, 1),
            TWIN: lambda _: suite_burst(crew, journal, burst, 1),
            TWO: lambda _: suite_burst(crew, journal, 2 * burst, 2),
            BARE_1: lambda seed: hand_burst("ledger_sqlite3", burst // 10, 1, seed),
            BARE_2: lambda seed: hand_burst("ledger_sqlite3", burst // 5, 2, seed),
            CORE_1: lambda seed: hand_burst("ledger_sqlalchemy", burst // 30, 1, seed),
            CORE_2: lambda seed: hand_burst("ledger_sqlalchemy", burst // 15, 2, seed),
        }
        try:
            crew.play(40, 2, lambda _: None)  # both have a warm parent and a veteran now
            for number in range(options.rounds):
                for name, burst_of in kinds.items():
                    bursts.setdefault(name, []).append(burst_of(100 * number))
        finally:
            crew.close()
    pairs = {
        TWIN: ("A/A: noise of a ratio", ONE),
        TWO: ("against 1 worker", ONE),
        BARE_1: ("admitone is faster by", ONE),
        BARE_2: ("admitone is faster by", TWO),
        CORE_1: ("admitone is faster by", ONE),
        CORE_2: ("admitone is faster by", TWO),
    }
    rows = []
    for name, some in bursts.items():
        what, base = pairs.get(name, ("", ""))
        hand, rates = name.startswith("by hand"), [burst.rate for burst in some]
        against = [burst.rate for burst in bursts[base or name]]
        ratio = paired(against, rates) if hand else paired(rates, against) if base else ""
        cpu = spread([burst.cpu_ms for burst in some])
        rows.append([name, spread(rates), cpu, what, ratio])
    table(["", "schedules/s: median (range)", "CPU ms each", "", "ratio of rates"], rows)
    footing()


if __name__ == "__main__":
    main()
