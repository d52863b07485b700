"""The campaign: checks the adapters, plans, deals plans out to workers, and streams results.

What is planned depends only on the targets, the seed and the number of schedules; how many
workers play it does not matter. First every placed position once (the required set), then seeded
samples of them until the number or the time is reached.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final, Literal

from ..chaos.parent import WarmParent
from .families import FAMILIES, Subjects, Widening, family
from .families.crash_loop import TOPIC as LOOP
from .frame import lacks
from .layers import first_layer, in_layers
from .plan import Plan
from .preflight import Fitting, fit
from .profiles import Reach, Samples
from .results import ScheduleResult
from .sinks import SinkHome
from .worker import Bench, Broke, Order, run_worker

PATIENCE: Final = 4.0
"""How many times its time a profile may take to finish its required set."""

CHUNK: Final = 4
"""Plans that a worker is given at once; a search, which is many schedules, counts for as many."""

LOOP_SHARE: Final = 0.33
"""The part of sampled kills in which one process dies after another: five deaths have thousands of
orders, while a single one has a handful of ways to be healed."""

DISMISS_S: Final = 10.0
"""How long workers may take to end the schedule they are at, seconds."""

Ended = Literal["finished", "max_time", "suite_failed", "preflight"]


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for. ``schedules`` per target; None: as many as ``max_time_s`` allows."""

    targets: tuple[str, ...]
    families: tuple[str, ...] = tuple(FAMILIES)
    schedules: int | None = None
    max_time_s: float | None = None
    required: Reach = "all"
    samples: Samples = "all"
    strict_time: bool = False
    seed: int = 0
    workers: int = 1
    histories: Path | None = None
    keep_share: float = 0.01
    sink: SinkHome = "embedded"


@dataclass(frozen=True, slots=True)
class End:
    """How the campaign ended. ``required_left``: placed positions that were not played."""

    reason: Ended
    detail: str = ""
    required_left: int = 0


@dataclass(slots=True)
class _Hand:
    """One worker as the campaign sees it."""

    pid: int
    pipe: Connection
    orders: int = 0


def check_adapters(
    targets: Sequence[str], folder: Path, sink: SinkHome = "embedded"
) -> tuple[Fitting, ...]:
    """Warm every target once and check its adapter. Raises ``TargetProblem``."""
    fittings = []
    for number, target in enumerate(targets):
        place = folder / f"fit{number}"
        place.mkdir()
        parent = WarmParent(target, place, place / "output.log")
        try:
            fittings.append(fit(parent, place, sink=sink))
        finally:
            parent.close()
    return tuple(fittings)


def placed_plans(fitting: Fitting, families: Sequence[str], seed: int) -> tuple[Plan, ...]:
    """Every placed position of a target once, in a seeded order (``layers.py``)."""
    subject = Subjects(fitting.target, fitting.greeting.declaration, fitting.survey)
    tried = [family(name) for name in families]
    plans = [p for each in tried if not lacks(each, fitting) for p in each.placed(subject)]
    return in_layers(plans, fitting.survey, seed)


def _is_cheap_kill(plan: Plan) -> bool:
    """A kill of a node at a failure point; killing a sink (FP7) starts processes of its own."""
    return plan.family == "crash" and "kill" in plan.params and plan.params[0] != "FP7"


def drawn_kills(placed: Sequence[Plan], *, leases: bool) -> tuple[Plan, ...]:
    """What sampled kills are drawn from: each plan once, and crash loops so often that they are
    ``LOOP_SHARE`` of all. Under leases they stay as few as they are, for they wait for each."""
    kills = [plan for plan in placed if _is_cheap_kill(plan)]
    loops = [plan for plan in kills if plan.params[0] == LOOP]
    if not loops or leases:
        return tuple(kills)
    single = len(kills) - len(loops)
    more = round(single * LOOP_SHARE / (1 - LOOP_SHARE) / len(loops)) - 1
    return (*kills, *loops * max(0, more))


def sampled_plans(placed: Sequence[Plan], seed: int) -> Iterator[Plan]:
    """Samples of the placed positions under ever new seeds, without end."""
    chance = random.Random(f"samples {seed}")  # reproducible, no secret
    while placed:
        plan = chance.choice(placed)
        tried = family(plan.family)
        if isinstance(tried, Widening):
            plan = tried.sampled(plan, chance)
        yield replace(plan, seed=chance.getrandbits(32))


class Campaign:
    """One run over fitted targets. ``references``: indices of the suite's own ledgers."""

    def __init__(
        self,
        request: Request,
        fittings: tuple[Fitting, ...],
        folder: Path,
        references: frozenset[int] = frozenset(),
    ) -> None:
        self._request = request
        self._fittings = fittings
        self._bench = Bench(fittings, references, folder, request.histories, sink=request.sink)
        self._placed = [placed_plans(f, request.families, request.seed) for f in fittings]
        self._hands: list[_Hand] = []
        first = [first_layer(p, f.survey) for p, f in zip(self._placed, fittings, strict=True)]
        required = first if request.required == "places" else self._placed
        self._required = {p.id for plans in required for p in plans[: request.schedules]}
        self._began_s = time.monotonic()
        self._ended: End | None = None

    @property
    def planned(self) -> dict[str, int]:
        """Schedules per family, as far as they can be counted before: the placed ones."""
        counts: dict[str, int] = {}
        for plans in self._placed:
            for plan in plans:
                counts[plan.family] = counts.get(plan.family, 0) + 1
        return counts

    @property
    def required_left(self) -> int:
        """Placed positions that were not played yet."""
        return len(self._required)

    def run(self, on_result: Callable[[ScheduleResult], None]) -> End:
        """Play everything; ``on_result`` gets each result as it comes."""
        orders = self._orders()
        try:
            for number in range(self._request.workers):
                self._hands.append(self._hire(number))
            for hand in self._hands:
                self._give(hand, orders)
                self._give(hand, orders)
            while busy := [hand for hand in self._hands if hand.orders]:
                for pipe in wait([hand.pipe for hand in busy], timeout=1.0):
                    hand = next(hand for hand in busy if hand.pipe is pipe)
                    self._hear(hand, orders, on_result)
                    if self._ended is not None:
                        return self._ended
        finally:
            self._dismiss()
        reason: Ended = "max_time" if self._time_is_up() else "finished"
        return End(reason, required_left=len(self._required))

    # plans -----------------------------------------------------------------------------------

    def _orders(self) -> Iterator[Order]:
        """Targets take turns, a chunk each, until every one has had its number."""
        streams = deque((number, self._plans(number)) for number in range(len(self._fittings)))
        chance = random.Random(f"kept {self._request.seed}")
        while streams and not (self._time_is_up() and self._may_stop()):
            number, stream = streams.popleft()
            chunk = _chunk(stream)
            if not chunk:
                continue
            streams.append((number, stream))
            keep = frozenset(p.id for p in chunk if chance.random() < self._request.keep_share)
            yield Order(number, chunk, keep, self._until_s(chunk))

    def _plans(self, number: int) -> Iterator[Plan]:
        """The placed ones, then samples: to the number, or to the time, or no further."""
        placed, limit = self._placed[number], self._request.schedules
        if limit is None and self._request.max_time_s is None:
            return iter(placed)
        drawn_from = placed
        if self._request.samples == "kills":
            leases = self._fittings[number].greeting.declaration.facts.lapse != "none"
            kills = drawn_kills(placed, leases=leases)
            survey = self._fittings[number].survey
            placed, drawn_from = first_layer(placed, survey), kills or placed
        return islice(chain(placed, sampled_plans(drawn_from, self._request.seed)), limit)

    def _may_stop(self) -> bool:
        """A slow machine takes longer for the required set, rather than leave it unfinished; a
        time that the user gave is kept."""
        unfinished = self._required and not self._request.strict_time
        late_s = time.monotonic() - self._began_s
        return not unfinished or late_s > PATIENCE * (self._request.max_time_s or 0.0)

    def _until_s(self, chunk: tuple[Plan, ...]) -> float:
        """Samples end with the time; what is required is played once it was given."""
        limit_s = self._request.max_time_s
        if limit_s is None or any(plan.id in self._required for plan in chunk):
            return math.inf
        return self._began_s + limit_s

    def _time_is_up(self) -> bool:
        limit_s = self._request.max_time_s
        return limit_s is not None and time.monotonic() - self._began_s > limit_s

    # workers ---------------------------------------------------------------------------------

    def _hire(self, number: int) -> _Hand:
        ours, theirs = Pipe()
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                ours.close()
                for hand in self._hands:
                    hand.pipe.close()
                run_worker(number, self._bench, theirs)
                code = 0
            finally:
                os._exit(code)
        theirs.close()
        return _Hand(pid, ours)

    def _give(self, hand: _Hand, orders: Iterator[Order]) -> None:
        order = next(orders, None)
        if order is not None:
            hand.orders += 1
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                hand.pipe.send(order)  # one that died is heard of at the end of its pipe

    def _hear(
        self, hand: _Hand, orders: Iterator[Order], on_result: Callable[[ScheduleResult], None]
    ) -> None:
        try:
            said = hand.pipe.recv()
        except (EOFError, OSError):
            how = _death(hand.pid)
            self._hands.remove(hand)
            self._ended = End(
                "suite_failed",
                f"a worker process died ({how}); the results before it are kept. If the machine "
                "ran out of memory, run with a smaller -n",
                len(self._required),
            )
            return
        if isinstance(said, ScheduleResult):
            self._required.discard(said.id)
            on_result(said)
        elif isinstance(said, Broke):
            reason: Ended = "preflight" if said.of_target else "suite_failed"
            self._ended = End(reason, said.text, len(self._required))
        else:
            # a search that convicts answers by the id of the shrunk schedule
            self._required.difference_update(plan.id for plan in said.plans)
            hand.orders -= 1
            self._give(hand, orders)

    def _dismiss(self) -> None:
        """End all workers: by the closed pipe, and by a kill if that is not enough."""
        for hand in self._hands:
            hand.pipe.close()
        until = time.monotonic() + DISMISS_S
        try:
            while self._hands and time.monotonic() < until:
                self._hands = [hand for hand in self._hands if not _ended(hand.pid)]
                time.sleep(0.01)
        finally:  # and at once where the user presses Ctrl-C again
            for hand in self._hands:
                os.kill(hand.pid, signal.SIGKILL)
                os.waitpid(hand.pid, 0)
            self._hands.clear()


def _chunk(stream: Iterator[Plan]) -> tuple[Plan, ...]:
    """The next plans, as many as may be played without looking at the clock."""
    taken: list[Plan] = []
    weight = 0
    while weight < CHUNK and (plan := next(stream, None)) is not None:
        taken.append(plan)
        weight += CHUNK if plan.params[0] == "search" else 1
    return tuple(taken)


def _ended(pid: int) -> bool:
    return os.waitpid(pid, os.WNOHANG) != (0, 0)


def _death(pid: int) -> str:
    """Reap a worker whose pipe broke, and say how it ended."""
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
