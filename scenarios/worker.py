"""A worker: one process on one core that plays plans and sends results back as they come.

Forked from the campaign after the adapter checks, so that it inherits what they found. It dies
with the campaign (end of file on its pipe, and a death signal), and Ctrl-C is not for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from ..chaos.events import Note
from ..chaos.parent import TargetProblem, WarmParent
from ..chaos.runfolder import no_room
from .conductor import Conductor, Played, with_note
from .families import replays
from .historyfile import write_history
from .plan import Plan
from .preflight import Fitting
from .results import ScheduleResult
from .sinks import SinkHome

CONFIRM_TRIES: Final = 3
"""How often a violation by a veteran victim is tried again with a fresh one."""

CONFIRMED_ENOUGH: Final = 3
"""Once a code was confirmed this often for a target, further findings of it need no replay."""

WARM_TARGETS: Final = 4
"""Warm parents that one worker keeps at once; each costs some 40 MB."""

KEPT_PER_CODE: Final = 5
"""Whole histories kept per target and code, and per other verdict that needs a look."""

_PR_SET_PDEATHSIG: Final = 1


@dataclass(frozen=True, slots=True)
class Order:
    """Plans of one target to play; the target's fitting is inherited, named by its index.
    ``until_s``: when none of them is begun any more, by the monotonic clock."""

    target: int
    plans: tuple[Plan, ...]
    keep: frozenset[str] = frozenset()
    until_s: float = math.inf


@dataclass(frozen=True, slots=True)
class Broke:
    """The worker itself failed, or a target could not be warmed in it."""

    text: str
    of_target: bool


@dataclass(frozen=True, slots=True)
class Bench:
    """What a worker inherits."""

    fittings: tuple[Fitting, ...]
    references: frozenset[int]
    folder: Path
    histories: Path | None
    sink: SinkHome = "embedded"


class Worker:
    """See the module."""

    def __init__(self, number: int, bench: Bench, pipe: Connection) -> None:
        self._bench = bench
        self._pipe = pipe
        self._folder = bench.folder / f"w{number}"
        self._conductors: dict[int, Conductor] = {}
        self._confirmed: Counter[tuple[int, str]] = Counter()
        self._kept: dict[tuple[int, str], int] = {}

    def serve(self) -> None:
        """Play orders until there are none."""
        self._folder.mkdir(exist_ok=True)
        try:
            while True:
                order: Order | None = self._pipe.recv()
                if order is None:
                    return
                conductor = self._for(order.target)
                for plan in order.plans:
                    if time.monotonic() > order.until_s:
                        break
                    played = self._played(conductor, order, plan)
                    kept = self._keep(played, order, plan)
                    self._pipe.send(replace(played.result, history_kept=kept))
                self._pipe.send(order)  # done: ready for the next one
        finally:
            for conductor in self._conductors.values():
                conductor.close()

    def _for(self, target: int) -> Conductor:
        """The conductor of a target; the least lately used one gives way."""
        conductor = self._conductors.pop(target, None)
        if conductor is None:
            conductor = self._engage(target)
        self._conductors[target] = conductor
        while len(self._conductors) > WARM_TARGETS:
            self._conductors.pop(next(iter(self._conductors))).close()
        return conductor

    def _engage(self, target: int) -> Conductor:
        fitting = self._bench.fittings[target]
        folder = self._folder / f"t{target}"
        shutil.rmtree(folder, ignore_errors=True)  # of one that gave way: its sinks are not empty
        folder.mkdir()
        parent = WarmParent(fitting.target, folder, folder / "output.log")
        return Conductor(
            parent,
            fitting,
            folder,
            reference=target in self._bench.references,
            sink=self._bench.sink,
        )

    def _played(self, conductor: Conductor, order: Order, plan: Plan) -> Played:
        """Play a plan; a violation is believed when a fresh victim shows it too."""
        target, digest = order.target, plan.id in order.keep
        if not replays(plan):  # a race is believed when it is seen
            return conductor.play(plan, virgin=True, digest=digest)
        played = conductor.play(plan, digest=digest)
        if played.result.verdict != "violation" or played.result.id != plan.id:
            return played  # what a search reports was shrunk with fresh victims
        code = played.result.findings[0].code
        if all(self._confirmed[target, each] >= CONFIRMED_ENOUGH for each in _codes(played)):
            return played
        for _ in range(CONFIRM_TRIES):
            again = conductor.play(plan, virgin=True)
            if again.result.verdict == "violation":
                self._confirmed.update((target, each) for each in _codes(again))
                return again
        note = Note(
            "confirmation",
            f"{code} was seen once, with a victim process that had served another store before, "
            f"and in none of {CONFIRM_TRIES} repetitions with a fresh one",
        )
        result = replace(
            played.result,
            verdict="harness_error",
            reason=f"{code} seen once and not again in {CONFIRM_TRIES} repetitions: the ledger's "
            "process keeps state from store to store, or the schedule is not deterministic",
        )
        return Played(result, with_note(played.history, note))

    def _keep(self, played: Played, order: Order, plan: Plan) -> str | None:
        """Store the whole history where a person will want to look at it."""
        result = played.result
        folder = self._bench.histories
        if folder is None:
            return None
        if result.verdict == "passed":
            if plan.id not in order.keep:
                return None
        else:
            codes = result.findings[0].code if result.findings else result.verdict
            count = self._kept.get((order.target, codes), 0)
            if count >= KEPT_PER_CODE and plan.id not in order.keep:
                return None
            self._kept[order.target, codes] = count + 1
        name = _file_name(result)
        try:
            write_history(played.history, folder / name)
        except OSError as problem:  # the verdict stands without it, and replay makes it anew
            sys.stderr.write(f"admitone: the history of {result.id} is not kept: {problem}\n")
            return None
        return name


def run_worker(number: int, bench: Bench, pipe: Connection) -> None:
    """The life of a worker process, from the fork to its end."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for courtesy in (signal.SIGTERM, signal.SIGHUP):  # the campaign's courtesy is not for us
        signal.signal(courtesy, signal.SIG_DFL)
    cores = sorted(os.sched_getaffinity(0))
    if number < len(cores):  # one more than there are cores goes wherever another one waits
        with contextlib.suppress(OSError):  # a sandbox may forbid it: then the kernel chooses
            os.sched_setaffinity(0, {cores[number]})
    try:
        Worker(number, bench, pipe).serve()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except TargetProblem as problem:
        pipe.send(Broke(str(problem), of_target=True))
    except BaseException as problem:  # whatever it is, the campaign must hear of it
        with contextlib.suppress(OSError):  # it is gone, and hears no more
            pipe.send(Broke(no_room(problem) or _traced(problem), of_target=False))


def _traced(problem: BaseException) -> str:
    """What happened, then where: who shows one line of it shows the first."""
    what = traceback.format_exception_only(problem)[-1]
    return what + "".join(traceback.format_exception(problem))


def _codes(played: Played) -> set[str]:
    return {finding.code for finding in played.result.findings}


def _file_name(result: ScheduleResult) -> str:
    safe = "".join(c if c.isalnum() or c in "._-@" else "-" for c in result.id)
    return f"{safe[-150:]}.jsonl"
