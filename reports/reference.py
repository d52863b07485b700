"""The reference pages of ``docs/reference/``, written from the code that they describe.

``python -m admitone.reports.reference DIR`` writes them; a test holds the committed pages against
this module, so a check or a failure point that changes takes its page along.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ..scenarios.checks import CHECKS, Check
from ..scenarios.facts import FAILURE_POINTS
from ..scenarios.families import FAMILIES, Family, family
from ..scenarios.placement import BESIDE, Place, Step, Survey, places, places_beside
from ..scenarios.profiles import PROFILES
from ..scenarios.requirements import requirements
from ..scenarios.scene import durable_by_then

HUNDREDS: Final[Mapping[str, str]] = {
    "AO1": "Budget",
    "AO2": "Identity",
    "AO3": "Recovery",
    "AO4": "Order",
    "AO5": "Delegation",
    "AO6": "Sink",
    "AO7": "Durability and audit",
    "AO8": "Liveness",
    "AO9": "The suite itself",
}

_GENERATED: Final = (
    "<!-- Generated from the code by `python -m admitone.reports.reference docs/reference`. -->"
)
_WRITE: Final = (Step("write", "before", 1, "COMMIT"), Step("write", "after", 1, "COMMIT"))
_EFFECT: Final = (Step("effect", "before", 1), Step("effect", "after", 1))
_LATER_WRITE: Final = (Step("write", "before", 2, "COMMIT"), Step("write", "after", 2, "COMMIT"))

SPLIT: Final = Survey(
    ("issue", "prepare", "commit", "recover"),
    {"issue": _WRITE, "prepare": _WRITE, "commit": _WRITE},
    resumes=True,
)
"""The plainest ledger with Prepare and Commit: one durable write in each operation."""

GUARDED: Final = Survey(
    ("issue", "execute", "recover"),
    {
        "issue": _WRITE,
        "execute": (*_WRITE, *_EFFECT, *_LATER_WRITE),
        "recover": (*_EFFECT, *_WRITE),
    },
)
"""The plainest ledger that runs the effect itself, between two durable writes."""


def pages() -> dict[str, str]:
    """File name to text, of every generated page."""
    return {
        "checks.md": _text(_checks()),
        "failure-points.md": _text(_failure_points()),
        "families.md": _text(_families()),
    }


def _checks() -> Iterator[str]:
    yield from ("# Checks", "", _GENERATED, "")
    yield "A check reads one history and says how often the history could have broken its rule, and"
    yield "where it did. `admitone explain CODE` prints the same. *Core* checks judge every ledger;"
    yield "the others judge only a target that makes the claim, or states the fact, named here."
    hundred = ""
    for check in CHECKS.values():
        if check.code[:3] != hundred:
            hundred = check.code[:3]
            yield from ("", f"## {hundred}xx {HUNDREDS[hundred]}")
        yield from _check(check)


def _check(check: Check) -> Iterator[str]:
    judged = "core" if check.claim is None else f"claim `{check.claim}`"
    yield from ("", f"### {check.code} {check.title}", "")
    yield f"Judged for: {judged}. Source: {check.section}."
    for head, text in (
        ("Meaning", check.meaning),
        ("Usual cause", check.cause),
        ("What to do", check.remedy),
    ):
        yield from ("", f"**{head}.** {' '.join(text.split())}")


def _failure_points() -> Iterator[str]:
    yield from ("# Failure points", "", _GENERATED, "")
    yield "Where a schedule of the family `crash` strikes: at a stop *before* or *after* a durable"
    yield "write (`COMMIT`, an autocommitted statement, `fsync`, the close of a written file, a"
    yield "name made, moved or removed), before a reply, or while the effect is on its way. With"
    yield "several durable writes the point is at each; shown here is one write an operation."
    yield "At each stop the process is killed, or its message is dropped; it is paused or held,"
    yield "while others ask, recover or withdraw, and goes on; or the durable write raises what its"
    yield "store can raise (busy; an error with the write lost, or kept). Of a plain file, a"
    yield "failed `fsync` loses the bytes that were added since the last one, as a network file"
    yield "system does, and keeps what was written over. On a full disk (topic `statement`)"
    yield "`os.write` writes nothing and a flush a half, until the call has ended. At FP7 the sink"
    yield "is killed, at FP11 and FP12 whoever recovers, once and twice, and (topic `loop`) five"
    yield "times, as a service that meets again and again what it died of."
    yield from ("", "| point | split ledger | guarded ledger | durable by then |")
    yield "| -- | -- | -- | -- |"
    split, guarded = places(SPLIT), places(GUARDED)
    for name, title in FAILURE_POINTS.items():
        where = _stops(name, split), _stops(name, guarded)
        yield f"| {name} {title} | {where[0]} | {where[1]} | {_durable(name)} |"
    yield from ("", "Beside the twelve, where the operation is claimed:", "")
    yield "| point | where |"
    yield "| -- | -- |"
    for op, names in BESIDE.items():
        survey = Survey((op,), {op: _WRITE})
        for name in names:
            yield f"| {name} | {_stops(name, places_beside(survey, op))} |"
    yield from ("", "A point that a ledger cannot have (no issue step, no commit step, no durable")
    yield "write in it) is `not applicable`, with the reason. A placed point that never fired makes"
    yield "the run incomplete (exit code 3)."


def _stops(name: str, found: Sequence[Place]) -> str:
    stops = [_stop(place) for place in found if place.name == name]
    return "; ".join(stops) or "not placed"


def _stop(place: Place) -> str:
    """One place in words: "issue, before its write"."""
    if place.who == "sink":
        return place.shown
    if place.transit is not None:
        return f"{'' if place.who == 'recoverer' else 'effect '}{place.shown}"
    assert place.point is not None
    kind = {"write": "the durable write", "reply": "the reply", "effect": "the effect is sent"}
    nth = f" {place.point.nth}" if place.point.kind == "write" and place.op == "execute" else ""
    op = "executor" if place.op == "effect" else place.op
    if place.who == "recoverer" and place.op != "recover":
        op = f"{place.op} by the recoverer"
    return f"{op}: {place.point.side} {kind[place.point.kind]}{nth}"


def _durable(name: str) -> str:
    known, prepared, committed = durable_by_then(name, 0)
    if not known:
        return "nothing"
    return "Prepared" if prepared else "Committed" if committed else "Issued"


def _families() -> Iterator[str]:
    yield from ("# Families", "", _GENERATED, "")
    yield "What is tried. `--family NAME` runs one of them, and can be given again for another. A"
    yield "target that lacks what a family needs is `not applicable` to it, and the report says so;"
    yield "a family that fits and of which nothing was played makes the run incomplete (exit 3)."
    yield from ("", "| family | what it tries | needs | topics |", "| -- | -- | -- | -- |")
    for name in FAMILIES:
        tried = family(name)
        topics = ", ".join(f"`{topic}`" for topic in tried.topics)
        yield f"| [{name}](#{name}) | {tried.tries} | {_needs(tried)} | {topics} |"
    yield from (
        "",
        "A topic is the first part of a plan, so of a schedule's id (`family:topic.…`), and",
    )
    yield "names an item of pytest. A topic for which a ledger has no place is not played on it."
    yield from ("", "## Profiles", "")
    yield "Each plays its required set first, then samples until its time is over. For what is"
    yield "required it takes up to four times that on a slow machine. A required set that is not"
    yield "finished then, or at the end of `--max-time`, makes the run incomplete."
    yield from ("", "| profile | required | sampled | until | most schedules of a target |")
    yield "| -- | -- | -- | -- | --: |"
    for profile in PROFILES.values():
        reach = (
            "every place once" if profile.required == "places" else "every variant of every place"
        )
        drawn = "kills" if profile.samples == "kills" else "everything"
        until = f"{profile.max_time_s:g} s"
        yield f"| `{profile.name}` | {reach} | {drawn} | {until} | {profile.schedules:,} |"
    known = {row.id: row.requirement for row in requirements()}
    for name in FAMILIES:
        yield from ("", f"## {name}", "", "Asserts:", "")
        for row in family(name).rows:
            yield f"- {row}: {known[row]}"


def _needs(tried: Family) -> str:
    """The operations and claims without which a target has nothing for a family."""
    needs = [f"operation `{name}`" for name in tried.needs]
    needs += [f"claim `{name}`" for name in tried.claims]
    return ", ".join(needs) or "nothing"


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    """Write every page there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference"))
