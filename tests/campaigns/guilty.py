"""The long form of the conviction test: every broken ledger, in ten seeds.

    PYTHONPATH=src python -m tests.campaigns.guilty --seeds 10 --schedules 200 [TARGET ...]
    PYTHONPATH=src python -m tests.campaigns.guilty --family stateful builtin:broken/MI3 ...

Each run must convict its target by a code of its ``convicted_by`` and by none of its ``never_by``.
A line for each target tells in how many seeds it did, at which schedule the first conviction came,
and every code that was seen. The exit code is 1 if a run failed at that.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from admitone.targets.registry import BUILTIN
from admitone.targets.resolve import resolve
from tests.front_door import admitone_in, journal_in


@dataclass(slots=True)
class Record:
    """What the runs of one target came to."""

    convicted: int = 0
    wronged: list[str] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)


def tried(target: str, seed: int, options: argparse.Namespace, record: Record) -> None:
    """One run, added to the record."""
    guilty: Any = resolve(target)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        wanted = ["--seed", str(seed), "--schedules", str(options.schedules)]
        wanted += [word for name in options.family for word in ("--family", name)]
        ran = admitone_in(folder, "run", target, *wanted)
        if ran.code not in (0, 1, 3):
            raise SystemExit(f"{target}: exit {ran.code}\n{ran.err}")
        results = journal_in(folder).results
    record.verdicts.update(result.verdict for result in results)
    found = Counter(finding.code for result in results for finding in result.findings)
    record.codes.update(found)
    record.convicted += bool(found.keys() & set(guilty.convicted_by))
    record.wronged += [f"{code} at seed {seed}" for code in guilty.never_by if code in found]
    numbers = (number for number, result in enumerate(results, 1) if result.findings)
    record.first += [first] if (first := next(numbers, 0)) else []


def main() -> int:
    """Run all, tell, and say whether it is as it must be."""
    broken = [name for name, entry in BUILTIN.items() if entry.kind == "broken"]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("targets", nargs="*", default=broken, metavar="TARGET")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--family", action="append", default=[], help="only this one; repeatable")
    options = parser.parse_args()
    failed = False
    for target in options.targets:
        record = Record()
        for seed in range(options.seeds):
            tried(target, seed, options, record)
        failed |= record.convicted < options.seeds or bool(record.wronged)
        codes = ", ".join(f"{code} x{count}" for code, count in record.codes.most_common())
        verdicts = ", ".join(f"{count} {name}" for name, count in record.verdicts.most_common())
        sys.stdout.write(
            f"{target}: convicted in {record.convicted} of {options.seeds} seeds, first at "
            f"{sorted(record.first)}; {codes or 'no code'}; {verdicts}; never_by: "
            f"{', '.join(record.wronged) or 'none'}\n"
        )
        sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
