"""Readings: a node looks at what the ledger durably holds, under a deadline.

A reading that blocks was not made, and is never a violation; one that breaks is somebody's fault
and is said.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ..chaos.handle import NodeHandle, Said, Silent
from ..targets.terms import Approval, View
from ..targets.values import ValueProblem, decode, encode
from .calls import Setting
from .replies import malformed_view

READ_DEADLINE_S = 5.0
"""A reading that blocks longer was not made."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of it. ``problem``: why there is no view; ``harm``: what the target did wrong."""

    view: View | None = None
    problem: str = ""
    harm: str = ""
    detail: str = ""


def read(node: NodeHandle, number: int, setting: Setting, approval: Approval) -> Reading:
    """Ask a node for one reading; ``number`` is the id of the request."""
    node.say(
        {
            "do": "inspect",
            "id": number,
            "workspace": str(setting.workspace),
            "store": setting.store_for(node.name),
            "approval": encode(approval),
        }
    )
    limit_s = min(READ_DEADLINE_S, setting.deadline_s)
    until = time.monotonic() + limit_s
    heard = node.hear(limit_s)
    while isinstance(heard, Said) and heard.message.get("reply") != number:
        # late answers of calls that were given up
        left_s = until - time.monotonic()
        heard = node.hear(left_s) if left_s > 0 else Silent(limit_s)
    if isinstance(heard, Silent):
        return Reading(problem=f"not made within {limit_s:g} s")
    if not isinstance(heard, Said):
        return Reading(problem="not made", harm=f"inspect ended its node: {heard}")
    return _read_from(heard.message)


def _read_from(message: dict[str, Any]) -> Reading:
    if "unclassified" in message:
        shown = str(message["unclassified"])[:300]
        return Reading(
            problem=shown, harm=f"inspect raised {shown}", detail=str(message.get("raised"))
        )
    view: Any
    try:
        view = decode(message.get("value"))
    except (ValueProblem, RecursionError) as bad:
        view = bad
    if wrong := malformed_view(view):
        return Reading(problem="no view", harm=wrong)
    return Reading(view)
