"""Workers of the suite for benchmarks: started once, given plans, timed from outside.

They are the campaign's own worker processes. What differs from a campaign is that they outlive a
burst, so that bursts of different kinds can take turns without paying for a start each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain, islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final

import psutil

from admitone.scenarios.campaign import check_adapters, placed_plans, sampled_plans
from admitone.scenarios.plan import Plan
from admitone.scenarios.preflight import Fitting
from admitone.scenarios.results import ScheduleResult
from admitone.scenarios.worker import Bench, Broke, Order, run_worker

TARGET: Final = "builtin:caplease-sqlite"
CHUNK: Final = 4


def kill_plans(fitting: Fitting, seed: int = 0) -> Iterator[Plan]:
    """Every placed position of the crash family that kills, then samples of them, without end;
    crash loops, which kill five times, are left out. Both sinks, and budgets as in a campaign."""
    crashes = placed_plans(fitting, ("crash",), seed)
    placed = [p for p in crashes if "kill" in p.params and p.params[0] != "loop"]
    return chain(placed, sampled_plans(placed, seed))


class Crew:
    """``count`` workers on one target."""

    def __init__(self, folder: Path, count: int) -> None:
        fittings = check_adapters((TARGET,), folder)
        bench = Bench(fittings, frozenset({0}), folder, None)
        self.plans = kill_plans(fittings[0])
        self.pids: list[int] = []
        self._pipes: list[Connection] = []
        for number in range(count):
            ours, theirs = Pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    for pipe in (ours, *self._pipes):
                        pipe.close()
                    run_worker(number, bench, theirs)
                finally:
                    os._exit(0)
            theirs.close()
            self.pids.append(pid)
            self._pipes.append(ours)

    def play(self, number: int, workers: int, on_result: Callable[[ScheduleResult], None]) -> None:
        """Have the first ``workers`` of them play so many plans."""
        plans = islice(self.plans, number)
        busy: dict[Connection, int] = {}
        for pipe in self._pipes[:workers] * 2:  # one order ahead, so that nobody waits
            self._give(pipe, plans, busy)
        while any(busy.values()):
            ready = wait([pipe for pipe, orders in busy.items() if orders])
            for pipe in [pipe for pipe in busy if pipe in ready]:
                said = pipe.recv()
                if isinstance(said, ScheduleResult):
                    on_result(said)
                elif isinstance(said, Broke):
                    raise SystemExit(said.text)
                else:
                    busy[pipe] -= 1
                    self._give(pipe, plans, busy)

    def cpu_s(self) -> float:
        """CPU time of the workers, their warm parents and all nodes that ended, seconds."""
        workers = [psutil.Process(pid) for pid in self.pids]
        parents = [parent for worker in workers for parent in worker.children()]
        own = sum(sum(process.cpu_times()[:2]) for process in workers)
        return own + sum(sum(parent.cpu_times()[:4]) for parent in parents)  # children too

    def close(self) -> None:
        """End the workers; each ends its nodes."""
        for pipe in self._pipes:
            pipe.close()
        for pid in self.pids:
            os.waitpid(pid, 0)

    def _give(self, pipe: Connection, plans: Iterator[Plan], busy: dict[Connection, int]) -> None:
        chunk = tuple(islice(plans, CHUNK))
        if chunk:
            pipe.send(Order(0, chunk))
            busy[pipe] = busy.get(pipe, 0) + 1
