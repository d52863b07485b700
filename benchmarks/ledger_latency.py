"""Issue, Prepare, Commit on the reference ledger: latency and throughput, beside raw ``sqlite3``.

An operation here is one whole use: three transactions with synced commits. Each worker process has
a connection of its own to one shared store; no faults, no probes, no harness between.

    python benchmarks/ledger_latency.py [--uses 400] [--disk FOLDER]
"""

from __future__ import annotations

import argparse
import multiprocessing
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from by_hand.ledger_sqlite3 import Ledger as RawLedger
from tables import footing, heading, table

from admitone.targets import identity
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.caplease.warmup import WarmEnv
from admitone.targets.replies import Busy
from admitone.targets.terms import Admission, Authorization, Call, Context, Validity

CONTEXT = Context("executor", "session", "task")
Use = Callable[[int], None]


def reference_uses(folder: Path, store: Any, worker: int) -> Use:
    """One use of the reference ledger after another."""
    env = WarmEnv(folder, patience_s=30.0)
    ledger: Any = CapLeaseSqlite().open(store, env)

    def use(number: int) -> None:
        call = Call("transfer", {"to": "acct", "amount": number}, "user", "account")
        event = f"{worker}-{number}"
        confirmation = identity.confirm(env.trust.confirmation_key, event, call, 1)
        granted = patiently(
            lambda: ledger.issue(call, confirmation, 1, CONTEXT, Validity(0.0)), Authorization
        )
        admission = patiently(lambda: ledger.prepare(granted, call, CONTEXT, "a"), Admission)
        digest = identity.effect_digest(call.tool, dict(call.args))
        receipt = identity.sign_receipt(
            env.trust.receipt_key, admission.key, call.tool, digest, number
        )
        patiently(lambda: ledger.commit(admission, receipt), object)

    return use


def patiently(ask: Callable[[], Any], kind: type) -> Any:
    """Ask again while the write lock is another's: SQLite gives it to nobody in turn."""
    classify = CapLeaseSqlite().classify
    while True:
        try:
            reply = ask()
        except sqlite3.OperationalError as problem:
            reply = classify(problem)
            if reply is None:
                raise
        if not isinstance(reply, Busy):
            assert isinstance(reply, kind), reply
            return reply


def raw_uses(folder: Path, _store: Any, worker: int) -> Use:
    """The same of the hand-written ledger, with the digest that an adapter would make."""
    ledger = RawLedger(str(folder / "raw"), lambda _: None)

    def use(number: int) -> None:
        nu = ledger.issue(f"sigma {number}", f"{worker}-{number}", 1)
        admission = ledger.prepare(nu, "a")
        assert admission is not None
        ledger.commit(nu, admission[0], "receipt")

    return use


def work(
    make: Callable[[Path, Any, int], Use],
    folder: Path,
    store: Any,
    worker: int,
    number: int,
    start: Any,
    took: Any,
) -> None:
    """A worker process: some uses to get warm, the barrier, then the timed ones."""
    use = make(folder, store, worker)
    for n in range(20):
        use(-1 - n)
    start.wait(600)
    times = []
    for n in range(number):
        began = time.perf_counter()
        use(n)
        times.append(time.perf_counter() - began)
    took.put(times)


def measured(
    make: Callable[[Path, Any, int], Use], base: str, workers: int, number: int
) -> tuple[list[float], float]:
    """Latencies in seconds, and uses a second over all workers."""
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = Path(name)
        store: Any = CapLeaseSqlite().deploy(folder).store
        context = multiprocessing.get_context("fork")
        start, took = context.Barrier(workers + 1), context.Queue()
        processes = [
            context.Process(target=work, args=(make, folder, store, n, number, start, took))
            for n in range(workers)
        ]
        for process in processes:
            process.start()
        start.wait(600)
        began = time.perf_counter()
        times = [value for _ in processes for value in took.get(timeout=600)]
        elapsed = time.perf_counter() - began
        for process in processes:
            process.join()
    return times, len(times) / elapsed


def main() -> None:
    """Measure each place and number of workers, raw and reference one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uses", type=int, default=400, help="uses of each worker")
    parser.add_argument("--disk", default=tempfile.gettempdir(), help="a folder on a disk")
    options = parser.parse_args()
    heading("Issue-Prepare-Commit: one use, three synced transactions")
    CapLeaseSqlite().warm()
    rows = []
    for place, base in (("memory", "/dev/shm"), ("disk", options.disk)):
        for workers in (1, 8):
            number = options.uses if workers == 1 else options.uses // 4
            raw_times, raw_rate = measured(raw_uses, base, workers, number)
            times, rate = measured(reference_uses, base, workers, number)
            for name, some, per_s in (
                ("raw sqlite3", raw_times, raw_rate),
                ("caplease-sqlite", times, rate),
            ):
                rows.append(
                    [
                        f"{name}, {place}, {workers}",
                        f"{statistics.fmean(some) * 1e3:.2f}",
                        f"{statistics.quantiles(some, n=20)[-1] * 1e3:.2f}",
                        f"{per_s:.0f}",
                        f"{3 * per_s:.0f}",
                        f"{raw_rate / per_s:.2f}",
                    ]
                )
    table(
        ["ledger, place, workers", "mean ms", "p95 ms", "uses/s", "calls/s", "raw is faster by"],
        rows,
    )
    footing()


if __name__ == "__main__":
    main()
