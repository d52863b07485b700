"""The other side of ``guilty.py``: every correct ledger, in many schedules of ten seeds.

    PYTHONPATH=src python -m tests.campaigns.innocent --seeds 10 --schedules 2000 [TARGET ...]

A run plays every placed position and then samples of all families, as ``admitone run TARGET --seed
S --schedules N`` does. No schedule may accuse a ledger, and none may fail to be judged. A line for
each target tells what its runs came to, and the most memory that the harness took: the campaign
with its workers, and the target's processes with their warm parents, each page counted once.
The exit code is 1 if a ledger was accused or a schedule could not be judged.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from admitone.targets.registry import BUILTIN
from tests.front_door import command, environment, journal_in

DEADLINE_S = 3_600.0
"""For one run, seconds."""

LOOK_S = 2.0
"""How often memory is looked at, seconds."""


@dataclass(slots=True)
class Record:
    """What the runs of one target came to."""

    runs: int = 0
    kills: int = 0
    took_s: float = 0.0
    memory_mb: float = 0.0
    codes: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)

    @property
    def wrong(self) -> bool:
        """Whether anything but a pass, or a position that was not exercised, came out."""
        return bool(set(self.verdicts) - {"passed", "not_exercised"})


def tried(target: str, seed: int, schedules: int, record: Record) -> None:
    """One run, added to the record."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        wanted = ["run", target, "--seed", str(seed), "--schedules", str(schedules)]
        began_s = time.monotonic()
        with (folder / "output").open("w") as output:
            running = subprocess.Popen(
                command(*wanted), cwd=folder, env=environment(), stdout=output, stderr=output
            )
            while running.poll() is None:
                record.memory_mb = max(record.memory_mb, memory_mb(running.pid))
                if time.monotonic() > began_s + DEADLINE_S:
                    running.terminate()
                    raise SystemExit(f"{target}: seed {seed} took longer than {DEADLINE_S:g} s")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    running.wait(LOOK_S)
        if running.returncode not in (0, 1, 3):
            raise SystemExit(
                f"{target}: exit {running.returncode}\n{(folder / 'output').read_text()}"
            )
        results = journal_in(folder).results
    record.runs += 1
    record.took_s += time.monotonic() - began_s
    record.kills += sum(result.kills for result in results)
    record.verdicts.update(result.verdict for result in results)
    for result in results:
        for code in sorted({finding.code for finding in result.findings}):
            record.codes[code] += 1
            sys.stdout.write(f"{target}: {code} in {result.id}\n")
        if result.verdict not in ("passed", "not_exercised", "violation"):
            sys.stdout.write(f"{target}: {result.verdict} in {result.id}: {result.reason[:300]}\n")


def memory_mb(pid: int) -> float:
    """The proportional memory of a process and all below it, MB."""
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        top = psutil.Process(pid)
        for process in (top, *top.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += process.memory_full_info().pss
    return total / 1e6


def main() -> int:
    """Run all, tell, and say whether it is as it must be."""
    ours = {name: entry for name, entry in BUILTIN.items() if entry.kind != "broken"}
    correct = [name for name, entry in ours.items() if not entry.needs]  # others when named
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("targets", nargs="*", default=correct, metavar="TARGET")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--schedules", type=int, default=2_000)
    options = parser.parse_args()
    failed = False
    for target in options.targets:
        record = Record()
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            tried(target, seed, options.schedules, record)
        failed |= record.wrong
        verdicts = ", ".join(f"{count} {name}" for name, count in record.verdicts.most_common())
        accused = ", ".join(f"{code} x{count}" for code, count in record.codes.most_common())
        sys.stdout.write(
            f"{target}: {record.verdicts.total()} schedules in {record.runs} seeds, "
            f"{record.kills} kills, {record.took_s:.0f} s, at most {record.memory_mb:.0f} MB; "
            f"{verdicts}; accused: {accused or 'never'}\n"
        )
        sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
