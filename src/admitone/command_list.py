"""``admitone list``: what there is, one line each, or as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Final

from .scenarios.checks import CHECKS
from .scenarios.facts import FAILURE_POINTS
from .scenarios.families import FAMILIES, family
from .scenarios.requirements import covered_by, requirements
from .targets.registry import BUILTIN

Row = Mapping[str, object]


def show_list(options: argparse.Namespace) -> int:
    """Print one kind of things."""
    rows = KINDS[options.kind]()
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        print(f"{row['name']!s:<{width}}  {row['line']}")
    return 0


def _targets() -> list[Row]:
    return [
        {"name": f"builtin:{name}", "kind": entry.kind, "line": f"{entry.kind}: {entry.line}"}
        for name, entry in BUILTIN.items()
    ]


def _families() -> list[Row]:
    found: list[Row] = []
    for name in FAMILIES:
        each = family(name)
        found.append(
            {
                "name": name,
                "line": each.tries,
                "points": list(each.points),
                "needs": list(each.needs),
                "claims": list(each.claims),
                "rows": list(each.rows),
            }
        )
    return found


def _checks() -> list[Row]:
    return [
        {
            "name": check.code,
            "line": f"{check.title} ({check.claim or 'core'})",
            "title": check.title,
            "claim": check.claim,
            "source": check.section,
            "meaning": check.meaning,
        }
        for check in CHECKS.values()
    ]


def _points() -> list[Row]:
    placed = {name: [f for f in FAMILIES if name in family(f).points] for name in FAILURE_POINTS}
    return [
        {
            "name": name,
            "title": title,
            "families": placed[name],
            "line": f"{title} ({', '.join(placed[name]) or 'not placed yet'})",
        }
        for name, title in FAILURE_POINTS.items()
    ]


def _requirements() -> list[Row]:
    found: list[Row] = []
    for row in requirements():
        families = covered_by(row.id)
        by = ", ".join(families) or "no family yet"
        found.append(
            {
                "name": row.id,
                **asdict(row),
                "families": list(families),
                "line": f"{row.requirement} ({by})",
            }
        )
    return found


KINDS: Final[dict[str, Callable[[], list[Row]]]] = {
    "targets": _targets,
    "families": _families,
    "checks": _checks,
    "points": _points,
    "requirements": _requirements,
}
