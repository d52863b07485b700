"""Several open calls at once: heard as their nodes speak, because one may wait for another.

The harness has one thread. Hearing one call out before the next would deadlock two callers of
which the first holds a lock while it waits for the sink, and the second waits for that lock.
"""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .calls import Pending

if TYPE_CHECKING:
    from .stage import Stage

TURN_MS = 10
"""Longest wait before the deadline is looked at again."""


def settle(stage: Stage, open_calls: Sequence[Pending]) -> None:
    """Run every call to its answer. One that stands at its stop is let go on; one that has no
    answer by the stage's deadline fell silent."""
    until = time.monotonic() + stage.setting.deadline_s
    ready = select.poll()
    nodes = {pending.node for pending in open_calls if pending.node.alive}
    by_descriptor = {node.fileno(): node for node in nodes}
    for descriptor in by_descriptor:
        ready.register(descriptor, select.POLLIN)
    while still := [pending for pending in open_calls if pending.answer is None]:
        for pending in still:
            if pending.ask is not None:
                stage.go(pending, patience_s=0.0)
            elif time.monotonic() > until:
                stage.fell_silent(pending)
            elif pending.node.has_line or not pending.node.alive:
                stage.drive(pending, 0.0)
        if any(pending.answer is None and pending.node.has_line for pending in still):
            continue
        for descriptor, _ in ready.poll(TURN_MS):
            node = by_descriptor[descriptor]
            waiting = [p for p in still if p.node is node and p.answer is None]
            if waiting:
                stage.drive(waiting[0], 0.0)
            if not waiting or not node.alive:
                ready.unregister(descriptor)  # nobody here waits for it, or it will not speak again
