"""How an operation says no: raised inside it, so that its transaction rolls back, then answered.

The reply is the value; the exception is only the way out. Each refusal carries its advice, so that
a client never has to guess from prose whether asking again can help.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from ..replies import Busy, NotGranted, Refused

P = ParamSpec("P")
R = TypeVar("R")

_ADVICE: Final[dict[str, str]] = {
    "exhausted": "ask the user for a new confirmation",
    "revoked": "ask the user for a new confirmation",
    "expired": "ask the user for a new confirmation",
    "invalid": "correct the value that is named",
    "widened": "ask for no more than the parent or the confirmation gives",
    "wrong_principal": "present it as the executor, session and task that it names",
    "wrong_action": "send the approved call unchanged, or have the new one confirmed",
    "wrong_epoch": "have the call confirmed under the current epochs",
    "bad_credential": "present the credential as it was issued",
    "wrong_key": "send the effect under the admitted key",
    "receipt_mismatch": "look the effect up at the sink by its key",
    "not_prepared": "prepare first",
    "unknown_record": "issue first",
    "ambiguous_call": "send arguments that have one canonical form",
    "duplicate": "use what the first request opened",
}


class Denied(Exception):
    """Leaves an operation with a reply that is no grant; nothing has been written."""

    def __init__(self, reply: NotGranted) -> None:
        super().__init__(reply)
        self.reply = reply


def refused(code: str, detail: str = "") -> Denied:
    """A definite refusal: the same request never succeeds later, and ``next`` says what may."""
    return Denied(Refused(code, retryable=False, next=_ADVICE[code], detail=detail))


def lost_race() -> Denied:
    """A conditional update met another state than was read: nothing written, worth asking again."""
    return Denied(Busy("contention"))


def answering(operation: Callable[P, R]) -> Callable[P, R | NotGranted]:
    """Turn a ``Denied`` that leaves the operation into its answer."""

    @wraps(operation)
    def answer(*args: P.args, **kwargs: P.kwargs) -> R | NotGranted:
        try:
            return operation(*args, **kwargs)
        except Denied as denial:
            return denial.reply

    return answer
