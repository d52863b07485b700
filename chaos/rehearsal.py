"""A rehearsal of a node in the warm parent, with an empty ledger and a scripted harness.

A node lives for milliseconds, so what its own code needs only once per process (compiled
patterns, caches of types, specialised bytecode) would be paid in every one of them. Here it is
paid before the fork: the node's real loop answers a script of requests that lie ready in a
socket. No target takes part, and nothing that was opened is left.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ..targets import identity
from ..targets.replies import Recovered, Refused
from ..targets.terms import (
    Admission,
    Approval,
    AuditView,
    Authorization,
    Call,
    Context,
    Identity,
    Receipt,
    SlotView,
    Trust,
    Validity,
    View,
)
from ..targets.values import encode
from . import node
from .channel import Channel, Message, line_of
from .probes import sight
from .stops import Stops

ROUNDS: Final = 10
"""CPython specialises a function after some eight calls of it."""

_CALL = Call("warm.up", {"label": "warm", "amount": 1}, principal="u", resource="r")
_CONTEXT = Context("e", "s", "t")
_ROOT = Authorization("record", 1, "credential")
_ADMISSION = Admission("record", "1", "key", {"slot": 1}, _CALL, "attempt")
_RECEIPT = Receipt("key", "warm.up", "digest", 1, "mac")
_APPROVAL = Approval(
    _CALL, identity.confirm(b"key", "event", _CALL, 1), 1, _CONTEXT, Validity(0.0, 1.0), _ROOT
)


class _Empty:
    """Target and ledger in one; every answer is a constant."""

    def open(self, store: object, env: object) -> _Empty:
        return self

    def inspect(self, store: object, approval: Approval) -> View:
        return View(known=True, slots=(SlotView("1", "prepared", "Prepared", "attempt", "key"),))

    def issue(self, *_: object) -> Authorization:
        return _ROOT

    def prepare(self, *_: object) -> Admission | Refused:
        sight.report("statement", "before", "SELECT 1")
        return _ADMISSION

    def commit(self, *_: object) -> Refused:
        return Refused("exhausted", detail="nothing left")

    def recover(self, *_: object) -> Recovered:
        return Recovered((_ADMISSION,))

    def audit(self) -> AuditView:
        return AuditView("head", 1, True, (("record", "1", "issue"),))


def rehearse(folder: Path) -> None:
    """Run the script through a node in this process."""
    here = Path.cwd()
    ours, theirs = socket.socketpair()
    script = b"".join(line_of(message) for message in _script(folder))
    sight.watch(True)
    try:
        for _ in range(ROUNDS):
            channel = Channel(theirs)
            stops = Stops(channel)
            sight.observe(stops)
            ours.sendall(script)
            node.run(channel, stops, _Empty())
            ours.recv(1 << 20)
    finally:
        sight.watch(False)
        ours.close()
        theirs.close()
        os.chdir(here)


def _script(folder: Path) -> Iterator[Message]:
    """A use from its first reading to its last, its answers among them."""
    place: Message = {"store": {}, "workspace": str(folder)}
    yield {"do": "inspect", "id": 1, **place, "approval": encode(_APPROVAL)}
    yield {
        "do": "open",
        "id": 2,
        **place,
        "identity": encode(Identity("e", b"key")),
        "trust": encode(Trust(b"confirmation", b"receipt")),
        "skew_s": 0.0,
        "lease_s": 0.05,
        "patience_s": 1.0,
        "sink_url": None,
    }
    yield _call(3, "issue", _CALL, _APPROVAL.confirmation, 1, _CONTEXT, Validity(0.0, 1.0))
    armed = _call(4, "prepare", _ROOT, _CALL, _CONTEXT, "attempt")
    yield {**armed, "arm": [["warm", "statement", "before", 1]]}
    yield {"answer": 1}
    yield _call(5, "effect", "warm.up", dict(_CALL.args), "key")
    yield {"answer": 2, "receipt": encode(_RECEIPT)}
    yield _call(6, "commit", _ADMISSION, _RECEIPT)
    yield _call(7, "recover", [_ROOT])
    yield _call(8, "audit")
    yield {"do": "leave"}


def _call(number: int, op: str, *args: Any) -> Message:
    return {"do": "call", "id": number, "op": op, "args": [encode(item) for item in args]}
