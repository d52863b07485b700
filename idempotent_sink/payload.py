"""What the sink reads out of a request: its digest and label, or the reason to refuse it.

The digest compares two payloads under one key and is used for nothing else. Whatever is wrong
with a request becomes a ``problem``: a definite refusal, never an exception.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ..targets.identity import effect_digest
from ..targets.values import encode
from .labels import is_unicode, survey

MAX_NAME: Final = 1024
"""Longest key and longest name of a tool, in characters."""


@dataclass(frozen=True, slots=True)
class Payload:
    """One request as read. With a ``problem``, only what could be read safely is filled."""

    key: str | None
    tool: str
    args_json: str | None = None
    digest: str | None = None
    label: str | None = None
    problem: str = ""


def read_payload(key: object, tool: object, args: object) -> Payload:
    """Read an effect request. Never raises."""
    found = survey(args)
    safe_key, key_problem = read_key(key)
    safe_tool, tool_problem = _read_name("tool", tool)
    if problem := key_problem or tool_problem or found.problem:
        return Payload(safe_key, safe_tool, label=found.label, problem=problem)
    try:
        if not isinstance(args, Mapping):
            problem = "the arguments are no mapping of names to values"
            return Payload(safe_key, safe_tool, label=found.label, problem=problem)
        text = json.dumps(encode(args), separators=(",", ":"))
        digest = effect_digest(safe_tool, args)
    except Exception as unfit:  # whatever the survey let through that has no canonical form
        problem = f"the arguments have no canonical form: {type(unfit).__name__}"
        return Payload(safe_key, safe_tool, label=found.label, problem=problem)
    return Payload(safe_key, safe_tool, text, digest, found.label)


def read_key(key: object) -> tuple[str | None, str]:
    """The key, or None and the problem; no key at all is no problem."""
    if key is None:
        return None, ""
    name, problem = _read_name("key", key)
    return (None, problem) if problem else (name, "")


def _read_name(what: str, name: object) -> tuple[str, str]:
    if type(name) is not str:
        return "", f"the {what} is no text"
    if not 0 < len(name) <= MAX_NAME:
        return "", f"the {what} must have 1 to {MAX_NAME} characters"
    if not is_unicode(name):
        return "", f"the {what} has a lone surrogate"
    return name, ""
