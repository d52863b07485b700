"""The end block: what a person reads when the run is over.

It opens with what was *not* exercised, because that is what a green line hides, and ends with
what can be pasted: seed, files, exit code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from ..scenarios.history import History
from ..scenarios.results import SEVERITY, Finding, ScheduleResult, Verdict
from ..scenarios.summary import ClaimRow, PointRow, RunTally, StopReason
from ..scenarios.tallies import FindingGroup, GroupKey
from .lanes import conclusion, lanes
from .terminal import BOLD, GREEN, RED, YELLOW, is_terminal, paint, size, wants_color
from .text import clean, fit, put, wrapped
from .writer import Silent

MOST_DIAGRAMS: Final = 10
_MOST_LISTED: Final = 20
_FIRST: Final = " (first: "
_WIDEST: Final = 120
_FILED: Final = 100  # columns where nobody's window says otherwise
_WORDS: Final[dict[Verdict, str]] = {
    "not_claimed": "not claimed",
    "not_applicable": "not applicable",
    "not_exercised": "not exercised",
    "could_not_run": "could not run",
    "harness_error": "harness error",
}
_STOPPED: Final[dict[StopReason, str]] = {
    "max_time": "at the end of its time",
    "max_failures": "after enough violations",
    "interrupted": "by an interruption",
    "suite_failed": "by a failure of the suite",
    "preflight": "by the adapter check",
}


class Closing(Silent):
    """Draws each group's first history as it comes, and prints the block at the end."""

    name = "closing"

    def __init__(
        self, stream: TextIO, files: Sequence[str] = (), *, width: int | None = None
    ) -> None:
        self._stream = stream
        self._files = files
        seen = min(size(stream)[0], _WIDEST) if is_terminal(stream) else _FILED
        self._width = width or seen
        self._diagrams: dict[GroupKey, str] = {}

    def finding(self, result: ScheduleResult, finding: Finding, history: History) -> None:
        """Keep the diagram, not the history: memory stays flat."""
        key = FindingGroup(result.target, result.family, result.verdict, finding, result.id).key
        if key not in self._diagrams and len(self._diagrams) < MOST_DIAGRAMS:
            self._diagrams[key] = lanes(history, finding, self._width)

    def end(self, tally: RunTally) -> None:
        """Print it, with the files that were really written."""
        color = wants_color(self._stream)
        there = [name for name in self._files if Path(name).exists()]
        block = closing(tally, self._diagrams, there, width=self._width, color=color)
        put(self._stream, block + "\n")


def closing(
    tally: RunTally,
    diagrams: Mapping[GroupKey, str],
    files: Sequence[str] = (),
    *,
    width: int = 100,
    color: bool = False,
) -> str:
    """The whole block as text."""
    sections = [
        _not_exercised(tally, width),
        _targets(tally, width),
        _claims(tally, width),
        _points(tally.points(), width),
        _findings(tally, diagrams, width),
        _last(tally, files, width, color),
    ]
    return "\n\n".join(
        "\n".join([paint(section[0], BOLD, color), *section[1:]]) for section in sections if section
    )


def _not_exercised(tally: RunTally, width: int) -> list[str]:
    gaps = [f"required {gap.kind} {gap.name}{_on(gap.target)}: {gap.why}" for gap in tally.gaps()]
    claims = [
        f"claim {row.name}{_on(name)}: {row.why}"
        for name, row in tally.unmet_claims()
        if row.state == "not exercised"
    ]
    troubles = [
        f"{trouble.count} × {_WORDS.get(trouble.verdict, trouble.verdict)}, {trouble.family}"
        f"{_on(trouble.target)}: {trouble.reason}{_FIRST}{trouble.first})"
        for trouble in tally.troubles()
    ]
    races = tally.races()
    apart = races.started - races.overlapped
    raced = [f"{apart} of {races.started} races: their calls never overlapped"] if apart else []
    left = [f"{tally.unlisted_troubles} more"] if tally.unlisted_troubles else []
    lacking = [
        f"family {name} cannot run on this machine: {why}"
        for name, why in sorted(tally.facts.left_out.items())
    ]
    unfit = _unfit_families(tally)
    lines = gaps + lacking + unfit + _idle_points(tally) + claims + troubles + raced + left
    if not lines:
        return ["NOT exercised: nothing that was asked for"]
    return ["NOT exercised", *_listed(lines, width)]


def _unfit_families(tally: RunTally) -> list[str]:
    """Families that a target lacks something for, those of the same reason on one line."""
    where: dict[tuple[str, str], list[str]] = {}
    for target in tally.targets.values():
        for name in tally.facts.required.families:
            if why := target.facts.not_applicable.get(name):
                where.setdefault((name, why), []).append(target.facts.name)
    return [
        f"family {name}: not applicable to {', '.join(targets)} ({why})"
        for (name, why), targets in where.items()
    ]


def _idle_points(tally: RunTally) -> list[str]:
    """Points that never fired, those of the same targets on one line."""
    required = {(gap.name, gap.target) for gap in tally.gaps() if gap.kind == "point"}
    where: dict[str, list[str]] = {}
    for row in tally.points():
        idle = [name for name in row.missing if (row.name, name) not in required]
        if idle:
            where.setdefault(f"never fired on {', '.join(idle)}", []).append(row.name)
        elif row.state == "not applicable":
            excused = {t.facts.not_applicable.get(row.name, "") for t in tally.targets.values()}
            why = "; ".join(sorted(excused - {""})) or "no target can have them"
            where.setdefault(f"not applicable ({why})", []).append(row.name)
    return [f"points {', '.join(names)}: {said}" for said, names in where.items()]


def _targets(tally: RunTally, width: int) -> list[str]:
    lines = ["Targets"]
    for name in sorted(tally.targets):
        target = tally.targets[name]
        hashed = target.facts.content_hash
        facts = [clean(target.facts.version, 40) or "no version"]
        facts.append(f"content {clean(hashed, 20)}" if hashed else "content not hashed")
        facts.append(f"relies on the sink's idempotency: {target.relies_on_sink}")
        verdict = tally.verdict(name).replace("_", " ").upper()
        lines += _item(f"{clean(name, 60)} {', '.join(facts)}", width)
        lines += [f"    {verdict}: {counted(target.verdicts)}"]
    return lines


def _claims(tally: RunTally, width: int) -> list[str]:
    """One column a target; as many as the width has room for, then the next block of them."""
    names = sorted(tally.targets)
    each = max((width - 23) // 26, 1)
    lines = ["Claims (≤: 95 % upper bound on the failure rate over this run's schedules)"]
    for start in range(0, len(names), each):
        part = names[start : start + each]
        columns = [tally.claims(name) for name in part]
        lines.append(f"  {'':<19}" + " ".join(fit(clean(name, 25), 25) for name in part).rstrip())
        named = dict.fromkeys(row.name for column in columns for row in column)
        tables = [{row.name: row for row in column} for column in columns]
        unclaimed = [
            claim for claim in named if all(_unclaimed(table.get(claim)) for table in tables)
        ]
        for claim in named:
            if claim in unclaimed:
                continue
            cells = [_claim(table.get(claim, ClaimRow(claim, "not claimed"))) for table in tables]
            lines.append(
                f"  {fit(clean(claim, 40), 19)}" + " ".join(fit(c, 25) for c in cells).rstrip()
            )
        if unclaimed:
            lines += _item(f"not claimed: {', '.join(unclaimed)}", width)
    return lines if names else []


def _unclaimed(row: ClaimRow | None) -> bool:
    return row is None or (row.state == "not claimed" and not row.schedules)


def _claim(row: ClaimRow) -> str:
    if row.state == "refuted":
        return f"REFUTED {row.failures} of {row.schedules}"
    if row.state == "upheld" and row.upper_bound_95 is not None:
        return f"upheld {row.schedules} (≤ {100 * row.upper_bound_95:.2g} %)"
    if row.state == "not claimed" and row.schedules:
        return f"{row.schedules} broken in boundary"
    return row.state


def _points(rows: Iterable[PointRow], width: int) -> list[str]:
    lines = ["Failure points", f"  {'':<28}{'armed':>7}{'fired':>7}  how"]
    for row in rows:
        how = clean(row.how, 300) if row.fired else row.state
        text = (
            f"  {fit(f'{clean(row.name, 20)} {row.title}', 28)}{row.armed:>7}{row.fired:>7}  {how}"
        )
        lines.append(fit(text, width).rstrip())
    return lines


def _findings(tally: RunTally, diagrams: Mapping[GroupKey, str], width: int) -> list[str]:
    groups = tally.findings()
    if not groups:
        return []
    lines = ["Findings"]
    for number, group in enumerate(groups, 1):
        what = "" if group.verdict == "violation" else f" [{group.verdict.replace('_', ' ')}]"
        times = f"{group.count} × in {clean(group.family, 30)}, {clean(group.target, 60)}{what}"
        lines += ["", f" {number}. {times}"]
        if group.key in diagrams:
            lines += diagrams[group.key].splitlines()
        else:
            said = f"{clean(group.finding.code, 20)}  {clean(group.finding.title, 160)}"
            lines += wrapped(said, width, 2) + conclusion(group.finding, group.first, width)
    if tally.unlisted_findings:
        lines += ["", f" and {tally.unlisted_findings} findings of further kinds"]
    return lines


def _last(tally: RunTally, files: Sequence[str], width: int, color: bool) -> list[str]:
    facts = tally.facts
    outcome = tally.outcome.replace("_", " ")
    if tally.outcome == "passed" and tally.total().verdicts["not_claimed"]:
        outcome = "no violation outside documented boundaries"  # never "passed": it was not kept
    paints = {"passed": GREEN, "incomplete": YELLOW}
    total = tally.total()
    counts = {
        "schedule": total.schedules,
        "kill": total.kills,
        "dropped message": total.drops,
        "pause": total.pauses,
    }
    ran = ", ".join(_several(count, word) for word, count in counts.items())
    lines = [
        paint(f"{outcome}: {counted(total.verdicts)}", paints.get(tally.outcome, RED), color),
        f"  {ran} in {tally.duration_s:.1f} s",
    ]
    if stopped := _STOPPED.get(tally.stop_reason):
        detail = f": {tally.stop_detail.splitlines()[0]}" if tally.stop_detail else ""
        lines += _item(f"stopped {stopped}{detail}", width)
    for entry in tally.unmatched_baseline[:_MOST_LISTED]:
        lines += _item(f"baseline entry matches nothing: {entry}", width)
    if files:
        lines += _item(f"files: {'  '.join(files)}", width)
    command = f"  {clean(facts.command, 4000)}" if facts.command else ""  # to be pasted: not cut
    lines.append(
        f"  seed {facts.seed}, admitone {clean(facts.version, 20)}, {clean(facts.machine)}"
    )
    return [*lines, f"  again:{command}", f"exit {tally.exit_code}"]


def counted(verdicts: Counter[Verdict]) -> str:
    """``1 violations · 391 passed``, worst first."""
    said = [_several(verdicts[v], _WORDS.get(v, v), v) for v in SEVERITY if verdicts[v]]
    return " · ".join(said) or "nothing ran"


def _several(count: int, word: str, verdict: Verdict | None = None) -> str:
    """Things have a plural, states of things have none."""
    thing = verdict in (None, "violation", "harness_error")
    return f"{count} {word}{'s' if thing and count != 1 else ''}"


def _listed(lines: Sequence[str], width: int) -> list[str]:
    shown = [part for line in lines[:_MOST_LISTED] for part in _item(line, width)]
    left = len(lines) - _MOST_LISTED
    return shown + ([f"  … and {left} more, all in summary.json"] if left > 0 else [])


def _item(text: str, width: int) -> list[str]:
    """One line of the list. The id to repeat is never cut, nor is the advice, unless it is long."""
    what, mark, example = text.partition(_FIRST)
    lines = wrapped(text, width - 4, 3)
    if mark and any("…" in line for line in lines):
        lines = [*wrapped(what, width - 4, 6), *wrapped((mark + example).strip(), width - 4, 3)]
    first, *rest = lines
    return [f"  {first}", *(f"    {line}" for line in rest)]


def _on(target: str) -> str:
    return f" on {target}" if target else ""
