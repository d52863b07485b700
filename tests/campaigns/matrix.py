"""The matrix: every ledger that ships beside every check, as a page.

    PYTHONPATH=src python -m tests.campaigns.matrix [--seed 0] [--most 700] [TARGET ...]

Each ledger is put through its required set of the profile ``ci``, or its first ``--most`` plans, by
``admitone run`` on every core. A cell of docs/reference/matrix.md is the number of schedules in
which the check found something. The exit code is 1 where a broken ledger was convicted by no code
of its ``convicted_by``, a code of its ``never_by`` fired, a correct ledger was accused, or a
schedule could not be judged.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from admitone import __version__
from admitone.chaos.runfolder import RunFolder
from admitone.scenarios.campaign import check_adapters, placed_plans
from admitone.scenarios.checks import CHECKS
from admitone.scenarios.families import FAMILIES
from admitone.targets.registry import BUILTIN
from admitone.targets.resolve import resolve
from tests.front_door import command, environment, journal_in

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "matrix.md"
DEADLINE_S = 1_800.0

NO_LEDGER = {
    "AO601": "judges the sink of a recorded history: in a run the sink is the suite's own",
    "AO602": "judges the sink of a recorded history: in a run the sink is the suite's own",
}
"""The checks that no ledger can set off, and why."""


@dataclass(slots=True)
class Row:
    """What one ledger came to. ``shown``: the first schedule of each code."""

    name: str
    placed: int
    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]
    played: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    shown: dict[str, str] = field(default_factory=dict)

    @property
    def wrong(self) -> list[str]:
        """What must not be, a line each."""
        lines = [f"{code}, which must not fire: `{self.shown[code]}`" for code in self._false]
        if self.wanted and not self.codes.keys() & set(self.wanted):
            lines.append(f"not convicted by {', '.join(self.wanted)}")
        if self.verdicts["harness_error"]:
            lines.append(
                f"{self.verdicts['harness_error']} schedules could not be judged, first "
                f"`{self.shown['harness_error']}`"
            )
        return lines

    @property
    def _false(self) -> list[str]:
        false = self.unwanted if self.wanted else sorted(self.codes)
        return [code for code in false if self.codes[code]]

    def cell(self, code: str) -> str:
        """How often a code was found, marked by what was expected of it."""
        count = self.codes[code]
        if code in self.wanted:
            return f"**{count}**"
        if code in self.unwanted:
            return f"{count} !" if count else "never"
        return str(count or "")


def played(name: str, seed: int, most: int) -> Row:
    """One run of the required set, or of its beginning."""
    target = f"builtin:{name}"
    with RunFolder() as folder:
        [fitting] = check_adapters([target], folder.path)
    placed = len(placed_plans(fitting, tuple(FAMILIES), seed))
    guilty: Any = resolve(target) if BUILTIN[name].kind == "broken" else None
    wanted, unwanted = (guilty.convicted_by, guilty.never_by) if guilty else ((), ())
    row = Row(name, placed, tuple(wanted), tuple(unwanted))
    asked = ("--profile", "ci", "--seed", str(seed), "--schedules", str(min(placed, most)))
    with tempfile.TemporaryDirectory() as place:
        ran = subprocess.run(
            command("run", target, *asked),
            cwd=place,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        if ran.returncode not in (0, 1, 3):
            raise SystemExit(f"{target}: exit {ran.returncode}\n{ran.stderr}")
        for result in journal_in(Path(place)).results:
            row.played += 1
            row.verdicts[result.verdict] += 1
            row.shown.setdefault(result.verdict, result.id)
            for code in {finding.code for finding in result.findings}:
                row.codes[code] += 1
                row.shown.setdefault(code, result.id)
    return row


def page(rows: Sequence[Row], asked: str) -> Iterator[str]:
    """The page, line by line."""
    columns = [c for c in CHECKS if any(c in (*r.wanted, *r.unwanted, *r.codes) for r in rows)]
    yield from ("# Ledgers and checks", "")
    yield f"<!-- Written by `{asked}`. -->"
    yield ""
    yield f"`{asked}`, admitone {__version__}, {datetime.now(UTC).date().isoformat()}."
    yield ""
    yield "A cell is the number of schedules in which the check found something, with one seed."
    yield "Each ledger played the required set of the profile `ci`, or its beginning: *played* says"
    yield "how much, and every place comes once before any comes again. **Bold**: a code that must"
    yield "convict this broken ledger; one of them is enough. `never`: a code that must stay silent"
    yield "on it, and did; `!` marks one that did not. Other numbers are further consequences of"
    yield "the same bug. A correct ledger has an empty row."
    yield ""
    yield f"| ledger | played | {' | '.join(columns)} |"
    yield f"| -- | -- |{' --: |' * len(columns)}"
    for row in rows:
        cells = " | ".join(row.cell(code) for code in columns)
        yield f"| `{row.name}` | {row.played} of {row.placed} | {cells} |"
    wrong = [f"- `{row.name}`: {line}" for row in rows for line in row.wrong]
    yield from ("", "## What should not be", "", *(wrong or ["Nothing."]))
    silent = [code for code in CHECKS if not any(row.codes[code] for row in rows)]
    yield from ("", "## Checks that no ledger here set off", "")
    yield from [f"- {code}{_why(code)}" for code in silent] or ["None."]
    yield from (
        "",
        "Their proofs are the hand-written histories of the tests. What each code means:",
    )
    yield "[checks](checks.md)."
    yield from ("", "## One schedule for each conviction", "")
    yield "`admitone replay` repeats it; a free race (`consumers:stress.…`) may not come again."
    yield from ("", "| ledger | code | first schedule |", "| -- | -- | -- |")
    for row in rows:
        for code in sorted(set(row.wanted) & row.codes.keys()):
            yield f"| `{row.name}` | {code} | `{row.shown[code]}` |"


def _why(code: str) -> str:
    """The reason why no ledger can set a check off, where there is one."""
    return f": {NO_LEDGER[code]}" if code in NO_LEDGER else ""


def main() -> int:
    """Run all, tell as it goes on, write the page, and say whether it is as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("targets", nargs="*", default=list(BUILTIN), metavar="TARGET")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=700)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    asked = "python -m tests.campaigns.matrix"
    asked += f" --seed {options.seed} --most {options.most}"
    if options.targets != list(BUILTIN):
        asked += f" {' '.join(options.targets)}"
    rows: list[Row] = []
    for name in options.targets:
        rows.append(row := played(name, options.seed, options.most))
        codes = ", ".join(f"{code} x{count}" for code, count in sorted(row.codes.items()))
        verdicts = ", ".join(f"{count} {name}" for name, count in row.verdicts.most_common())
        lines = [f"{name}: {codes or 'no code'}; {verdicts}", *row.wrong]
        sys.stdout.write("\n  WRONG ".join(lines) + "\n")
        sys.stdout.flush()
        options.page.write_text("".join(f"{line}\n" for line in page(rows, asked)), "utf-8")
    return int(any(row.wrong for row in rows))


if __name__ == "__main__":
    sys.exit(main())
