"""What every benchmark prints around its figures: the machine, the command, and a small table."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy


def heading(title: str) -> None:
    """Where and how the figures below were made."""
    versions = f"SQLite {sqlite3.sqlite_version}, SQLAlchemy {sqlalchemy.__version__}"
    print(f"{title}  ({datetime.now(UTC):%Y-%m-%d})")
    print(f"  {len(os.sched_getaffinity(0))} cores, {_cpu()}; load {_load()}")
    print(f"  Python {platform.python_version()}, {versions}")
    print(f"  python {' '.join([str(Path(sys.argv[0])), *sys.argv[1:]])}")
    print()


def footing() -> None:
    """The load again: what ran beside the benchmark."""
    print(f"\n  load at the end: {_load()}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns of text; all but the first are aligned to the right."""
    lines = [list(head), *[list(row) for row in rows]]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    for line in lines:
        first, *others = (
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  " + "  ".join([first, *others]).rstrip())


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Median, and the smallest and largest value."""
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def paired(values: Sequence[float], others: Sequence[float]) -> str:
    """The median of the ratios of neighbours in time, and their range."""
    ratios = [a / b for a, b in zip(values, others, strict=True)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())
