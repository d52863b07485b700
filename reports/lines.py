"""The journal's lines as values: facts and results to JSON objects, and back with care.

A journal may come from another machine, so reading it checks every field; writing it keeps each
schedule's line below 2 kB by clipping texts, never by losing an id, a verdict, a code or a digest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, Literal, cast

from ..scenarios.results import SEVERITY, Finding, PointUse, ScheduleResult
from ..scenarios.summary import Required, RunFacts, TargetFacts
from .text import shorten

LINE_LIMIT: Final = 2000
"""Longest line of one schedule, bytes: thousands of them must still be read in one go."""

FOREVER_S: Final = 1e9
"""Longer than any run, seconds."""

_EMPTY: Final[dict[str, object]] = {f.name: f.default for f in fields(ScheduleResult)}
Relies = Literal["yes", "no", "not exercised"]
_RELIES: Final[dict[str, Relies]] = {"yes": "yes", "no": "no", "not exercised": "not exercised"}
_TEXTS: Final = ("title", "label", "inequality", "expected", "seen", "remedy")


class LineProblem(ValueError):
    """A line is JSON, and yet no line of a journal."""


def packed(value: object) -> str:
    """One line of JSON: ASCII only, so that no terminal acts on what a target said."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=False)


def result_fields(result: ScheduleResult) -> dict[str, object]:
    """A result as JSON without its defaults, clipped until it fits ``LINE_LIMIT``."""
    for text, findings, entries in ((400, 50, 200), (160, 8, 60), (80, 3, 24), (30, 1, 8)):
        value = _clipped(result, text, findings, entries)
        if len(packed(value)) <= LINE_LIMIT - 200:  # the line has a frame too
            return value
    return {
        "schedule": shorten(result.id, 200),
        "target": shorten(result.target, 60),
        "family": shorten(result.family, 60),
        "verdict": result.verdict,
        "digest": result.digest[:64],
        "reason": "this result was too large for the journal",
    }


def _clipped(result: ScheduleResult, text: int, findings: int, entries: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for name, default in _EMPTY.items():
        item = getattr(result, name)
        if item != default and item not in ((), {}, ""):
            value["schedule" if name == "id" else name] = item
    value["reason"] = shorten(result.reason, text)
    value["findings"] = [_finding_fields(f, text) for f in result.findings[:findings]]
    value["points"] = [
        [use.name, use.armed, use.fired, shorten(use.how, text)] for use in result.points[:entries]
    ]
    value["opportunities"] = dict(list(result.opportunities.items())[:entries])
    value["claims"] = list(result.claims[:entries])
    value["duration_s"] = round(result.duration_s, 6)
    left_out = len(result.findings) - findings
    if left_out > 0:
        value["findings_left_out"] = left_out
    return {name: item for name, item in value.items() if item not in ([], {}, "")}


def _finding_fields(finding: Finding, text: int) -> dict[str, object]:
    value: dict[str, object] = {"code": shorten(finding.code, 40)}
    value |= {name: shorten(getattr(finding, name), text) for name in _TEXTS}
    value["at"] = list(finding.at[:16])
    value["claim"] = None if finding.claim is None else shorten(finding.claim, 60)
    return value


def facts_fields(facts: RunFacts) -> dict[str, object]:
    """The facts of a run as JSON."""
    return {
        "seed": facts.seed,
        "profile": facts.profile,
        "version": facts.version,
        "command": facts.command,
        "machine": facts.machine,
        "started": facts.started,
        "targets": [
            {
                "name": target.name,
                "version": target.version,
                "content_hash": target.content_hash,
                "claims": dict(target.claims),
                "not_applicable": dict(target.not_applicable),
                "unseen": list(target.unseen),
            }
            for target in facts.targets
        ],
        "required": {
            "families": facts.required.families,
            "points": facts.required.points,
            "checks": facts.required.checks,
        },
        "planned": dict(facts.planned),
        "strict": facts.strict,
        "left_out": dict(facts.left_out),
    }


def result_from(value: Mapping[str, Any]) -> ScheduleResult:
    """The inverse of ``result_fields``. Raises ``LineProblem``."""
    verdict = _text(value, "verdict")
    if verdict not in SEVERITY:
        raise LineProblem(f"unknown verdict {shorten(verdict, 40)!r}")
    return ScheduleResult(
        id=_text(value, "schedule"),
        target=_text(value, "target"),
        family=_text(value, "family"),
        verdict=verdict,
        findings=tuple(map(_finding_from, _list(value, "findings"))),
        opportunities=_counts(value, "opportunities"),
        points=tuple(map(_point_from, _list(value, "points"))),
        claims=tuple(str(name) for name in _list(value, "claims")),
        kills=_count(value, "kills"),
        drops=_count(value, "drops"),
        pauses=_count(value, "pauses"),
        admits=_count(value, "admits"),
        effects=_count(value, "effects"),
        races_started=_count(value, "races_started"),
        races_overlapped=_count(value, "races_overlapped"),
        relies_on_sink=_relies(_text(value, "relies_on_sink", "not exercised")),
        reason=_text(value, "reason", ""),
        digest=_text(value, "digest", ""),
        duration_s=seconds_of(value, "duration_s"),
        history_kept=typed(value, "history_kept", (str, type(None)), None),
    )


def facts_from(value: Mapping[str, Any]) -> RunFacts:
    """The inverse of ``facts_fields``. Raises ``LineProblem``."""
    required = typed(value, "required", (dict,), {})
    return RunFacts(
        seed=_count(value, "seed"),
        profile=_text(value, "profile"),
        version=_text(value, "version"),
        command=_text(value, "command"),
        machine=_text(value, "machine"),
        started=_text(value, "started"),
        targets=tuple(map(_target_from, _list(value, "targets"))),
        required=Required(
            _names(required, "families"),
            _names(required, "points"),
            _names(required, "checks"),
        ),
        planned=_counts(value, "planned"),
        strict=typed(value, "strict", (bool,), False),
        left_out=_texts(value, "left_out"),
    )


def _relies(word: str) -> Relies:
    if word not in _RELIES:
        raise LineProblem(f"unknown relies_on_sink {shorten(word, 40)!r}")
    return _RELIES[word]


def _target_from(value: object) -> TargetFacts:
    item = _object(value, "target")
    return TargetFacts(
        _text(item, "name"),
        _text(item, "version", ""),
        _text(item, "content_hash", ""),
        typed(item, "claims", (dict,), {}),
        _texts(item, "not_applicable"),
        _names(item, "unseen"),
    )


def _finding_from(value: object) -> Finding:
    item = _object(value, "finding")
    return Finding(
        code=_text(item, "code"),
        **{name: _text(item, name, "") for name in _TEXTS},
        at=tuple(_list(item, "at")),
        claim=typed(item, "claim", (str, type(None)), None),
    )


def _point_from(value: object) -> PointUse:
    match value:
        case [str(name), int(armed), int(fired), str(how)]:
            return PointUse(name, armed, fired, how)
    raise LineProblem("a point must be [name, armed, fired, how]")


_MISSING: Final = object()


def typed(
    value: Mapping[str, Any], name: str, kinds: tuple[type, ...], default: object = _MISSING
) -> Any:
    """The field, of one of these kinds, or its default. Raises ``LineProblem``."""
    item = value.get(name, default)
    if item is _MISSING:
        raise LineProblem(f"{name} is missing")
    if not isinstance(item, kinds):
        raise LineProblem(f"{name} must be a {kinds[0].__name__}, not a {type(item).__name__}")
    return item


def _text(value: Mapping[str, Any], name: str, default: object = _MISSING) -> str:
    return cast(str, typed(value, name, (str,), default))


def _count(value: Mapping[str, Any], name: str) -> int:
    return cast(int, typed(value, name, (int,), 0))


def _list(value: Mapping[str, Any], name: str) -> list[Any]:
    return cast("list[Any]", typed(value, name, (list, tuple), ()))


def _names(value: Mapping[str, Any], name: str) -> tuple[str, ...]:
    names = tuple(_list(value, name))
    if not all(isinstance(item, str) for item in names):
        raise LineProblem(f"{name} must hold texts")
    return names


def _texts(value: Mapping[str, Any], name: str) -> dict[str, str]:
    texts = typed(value, name, (dict,), {})
    if not all(isinstance(text, str) for text in texts.values()):
        raise LineProblem(f"{name} must hold texts")
    return cast("dict[str, str]", texts)


def seconds_of(value: Mapping[str, Any], name: str) -> float:
    """A duration; 0 if it is missing. Raises ``LineProblem``."""
    seconds = typed(value, name, (int, float), 0.0)
    if not 0 <= seconds < FOREVER_S:
        raise LineProblem(f"{name} is no number of seconds")
    return float(seconds)


def _counts(value: Mapping[str, Any], name: str) -> dict[str, int]:
    counts = typed(value, name, (dict,), {})
    if not all(isinstance(count, int) for count in counts.values()):
        raise LineProblem(f"{name} must hold whole numbers")
    return cast("dict[str, int]", counts)


def _object(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise LineProblem(f"a {name} must be an object, not a {type(value).__name__}")
    return value
