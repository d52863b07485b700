"""Whose effect it is that a thread of the library's own sent.

A worker thread of one process may carry out what a client in another one asked for: a queue of jobs
is made for that. The node can only say which call it had open itself. Here all processes are seen,
and where the effect may be that of another client's call, it is nobody's: unknown excuses.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Sequence

from ..chaos.channel import Message
from ..chaos.handle import Heard, NodeHandle, Said
from ..idempotent_sink.labels import find_label
from ..targets.replies import Busy, Unknown
from .calls import Answer, Pending
from .desk import Letter


def hear_first(
    node: NodeHandle,
    idle: Sequence[NodeHandle],
    wait_s: float,
    serve: Callable[[NodeHandle, Message], None],
) -> Heard:
    """The next message of this node. What threads of idle nodes ask meanwhile is served: they may
    be at work for its call. The late answer of a call that was given up is nobody's."""
    until = time.monotonic() + wait_s
    open_ears = {other.fileno(): other for other in idle}
    while open_ears and node.alive and not node.has_line:
        ears = select.poll()
        for number in (node.fileno(), *open_ears):
            ears.register(number, select.POLLIN)
        ready = [number for number, _ in ears.poll(max(0.0, until - time.monotonic()) * 1000)]
        if not ready or node.fileno() in ready:
            break
        for number in ready:
            heard = open_ears[number].hear(0.0)
            if not isinstance(heard, Said):
                del open_ears[number]
            elif "effect" in heard.message or "lookup" in heard.message:
                serve(open_ears[number], heard.message)
    return node.hear(max(0.0, until - time.monotonic()))


def disown(pending: Pending, letter: Letter, message: Message, calls: Iterable[Pending]) -> None:
    """Take the call from an effect that may have been sent for somebody else's."""
    if pending.op != "execute":
        return
    if message.get("guessed") is True and _is_anothers(pending, letter, calls):
        letter.call = letter.request = None
        pending.doubtful += 1
    elif message.get("call") == pending.call:
        pending.sent += 1


def believed(pending: Pending, answer: Answer, effects: int) -> Answer:
    """What an answer is worth where nobody can tell whether its call sent an effect at all."""
    doubted = pending.doubtful and not effects and answer.outcome in ("granted", "replayed")
    refused = pending.doubtful and answer.outcome == "refused"
    if not (doubted or refused) or isinstance(answer.value, Unknown | Busy):
        return answer
    why = "an effect was sent by a thread of the library's, for this call or another client's"
    return Answer("unknown", Unknown(why))


def _is_anothers(pending: Pending, letter: Letter, calls: Iterable[Pending]) -> bool:
    mine, label = pending.subject, find_label(letter.args)
    if label is not None and label != mine.label:
        return True  # it is at work for one client while another one of its own process waits
    for other in calls:
        about = other.subject
        if other.op != "execute" or other.node is pending.node or about.label != mine.label:
            continue
        if about.attempt == mine.attempt:
            continue  # the same request: whichever call it is counted for
        if other.answer is None:
            return True
        if other.answer.outcome == "unknown" and not (other.sent or other.doubtful):
            other.sent += 1  # it was left behind when its client died: once it may be this one
            return True
    return False
