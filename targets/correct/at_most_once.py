"""A correct ledger that never sends twice: what it cannot know, it leaves to people.

``OnceLog`` is the library, the rest its adapter. What the library promises:

    An order may be used as often as its budget says, and no more.
    A use is handed out once, to whoever asked first, and never a second time.
    After stop() returned no use is handed out.
    audit_open() marks every use without a receipt as unclear, where it counts as used.
    It goes through the whole log.
    A receipt settles a use, unclear or not, and may be brought again.
    What was answered survives a killed process and a power cut.

There is no sink key, because nothing is ever sent again by this ledger. Whoever asks again under
the same attempt is told that it is in doubt, until a receipt comes. A unit whose outcome nobody
reports stays "unclear": that is the price of at most once.

The log is one file that only grows, a line for each event, with a checksum in front. Writers take
turns by flock. A last line that is torn was never answered, and the next writer cuts it off. Every
operation that is not refused syncs the file before it answers, also if it wrote nothing: what it
read may come from a writer that was killed before its own sync. Readers need no lock, since whole
lines never change.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from .. import contract as c
from .. import identity as ids

WAIT_S: Final = 5.0
NAP_S: Final = 0.002
MOST_USES: Final = 1_000_000
UNCLEAR: Final = "unclear"


class No(Exception):
    """Refused, with a code; nothing was written."""


class Occupied(Exception):
    """Another writer has the log; nothing was read."""


@dataclass(slots=True)
class Order:
    """What the log says of one order. ``action``: what was confirmed, whoever presents it.
    ``uses``: attempt to "out", "unclear" or its receipt."""

    action: str
    bound: str
    payload: str
    budget: int
    stopped: bool = False
    uses: dict[str, Any] = field(default_factory=dict)

    def count(self, word: str) -> int:
        """How many uses are in this state."""
        return sum(state == word for state in self.uses.values())


def fold(lines: Iterable[bytes]) -> dict[str, Order]:
    """The orders, after everything that the log tells."""
    orders: dict[str, Order] = {}
    for line in lines:
        what, name, *rest = json.loads(line[9:])
        if what == "order":
            orders[name] = Order(*rest)
        elif what == "stop":
            orders[name].stopped = True
        else:  # "use": attempt, state
            orders[name].uses[rest[0]] = rest[1]
    return orders


def whole_lines(log: bytes) -> list[bytes]:
    """Its lines up to the first that is torn."""
    found = []
    for line in log.splitlines(keepends=True):
        if not line.endswith(b"\n") or line[:8] != _checksum(line[9:]):
            break
        found.append(line)
    return found


def _checksum(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)


class Turn:
    """The log in the hand of its one writer."""

    def __init__(self, file: int) -> None:
        self._file = file
        log = os.pread(file, os.fstat(file).st_size, 0)
        lines = whole_lines(log)
        self._end = sum(map(len, lines))
        if self._end < len(log):
            os.ftruncate(file, self._end)
        self.orders = fold(lines)

    def append(self, *event: object) -> None:
        """Write one event, in one piece."""
        text = json.dumps(event).encode() + b"\n"
        line = _checksum(text) + b" " + text
        written = os.pwrite(self._file, line, self._end)
        if written != len(line):
            raise OSError("the disk took a part of the line")
        self._end += written

    def order(self, name: str) -> Order:
        """The order, as it stood when the turn began."""
        found = self.orders.get(name)
        if found is None:
            raise No("unknown_record")
        return found


class OnceLog:
    """The library. ``genuine`` verifies receipts."""

    turn_class: type[Turn] = Turn

    def __init__(self, path: Path, wait_s: float, genuine: Callable[[c.Receipt], bool]) -> None:
        self._path, self._wait_s, self._genuine = path, wait_s, genuine

    @contextmanager
    def _turn(self) -> Iterator[Turn]:
        file = os.open(self._path, os.O_RDWR)
        try:
            self._wait_for(file)
            yield self.turn_class(file)
            os.fsync(file)
        finally:
            os.close(file)  # and with it goes the lock

    def _wait_for(self, file: int) -> None:
        until = time.monotonic() + self._wait_s
        while True:
            try:
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise Occupied from None
                time.sleep(NAP_S)

    def place(self, name: str, action: str, bound: str, payload: str, budget: object) -> None:
        """Open an order, or find it open."""
        if type(budget) is not int or not 0 < budget <= MOST_USES:
            raise No("invalid")
        with self._turn() as turn:
            known = turn.orders.get(name)
            if known is None:
                turn.append("order", name, action, bound, payload, budget)
            elif (known.action, known.budget) != (action, budget):
                raise No("duplicate")

    def hand_out(self, name: str, bound: str, attempt: str) -> c.Receipt | None:
        """One use, to this attempt. Its receipt, if it brought one before."""
        with self._turn() as turn:
            order = turn.order(name)
            if order.bound != bound:
                raise No("wrong_action")
            state = order.uses.get(attempt)
            if isinstance(state, dict):
                return c.Receipt(**state)
            if state is not None:
                raise No("in_doubt")
            if order.stopped:
                raise No("revoked")
            if len(order.uses) >= order.budget:
                raise No("exhausted")
            turn.append("use", name, attempt, "out")
        return None

    def settle(self, name: str, attempt: str, receipt: c.Receipt) -> None:
        """The effect stands, and this is its receipt. A receipt settles one use only."""
        paid, genuine = asdict(receipt), self._genuine(receipt)
        with self._turn() as turn:
            order = turn.order(name)
            if attempt not in order.uses:
                raise No("not_prepared")
            if not genuine or receipt.digest != order.payload:
                raise No("receipt_mismatch")
            state = order.uses[attempt]
            if state == paid:
                return
            if isinstance(state, dict) or paid in order.uses.values():
                raise No("receipt_mismatch")
            turn.append("use", name, attempt, paid)

    def stop(self, name: str) -> None:
        """Hand nothing more out."""
        with self._turn() as turn:
            if not turn.order(name).stopped:
                turn.append("stop", name)

    def audit_open(self) -> list[tuple[str, str]]:
        """Mark what is out and unsettled; order and attempt of each that was marked now."""
        with self._turn() as turn:
            marked = [
                (name, attempt)
                for name, order in turn.orders.items()
                for attempt, state in order.uses.items()
                if state == "out"
            ]
            for name, attempt in marked:
                turn.append("use", name, attempt, UNCLEAR)
        return marked


class AtMostOnceLedger:
    """One client. An order is named after the event that confirmed it."""

    def __init__(self, log: OnceLog, confirmation_key: bytes) -> None:
        self._log, self._confirmation_key = log, confirmation_key

    def issue(
        self,
        call: c.Call,
        confirmation: c.Confirmation,
        budget: c.Budget,
        context: c.Context,
        validity: c.Validity,
    ) -> c.Authorization | c.Refused:
        """The library leaves confirmations to its user. Another context finds the first order."""
        key = self._confirmation_key
        if not ids.confirmation_is_genuine(key, confirmation) or confirmation != ids.confirm(
            key, confirmation.event, call, budget
        ):
            return c.Refused("bad_credential")
        action, payload = ids.action_identity(call), ids.effect_digest(call.tool, call.args)
        self._log.place(confirmation.event, action, _bound(call, context), payload, budget)
        return c.Authorization(confirmation.event, budget)

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed:
        """A repeated attempt is refused, or answered with its receipt."""
        receipt = self._log.hand_out(authorization.record, _bound(call, context), attempt)
        if receipt is not None:
            return c.Replayed(receipt)
        return c.Admission(authorization.record, attempt=attempt)

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done:
        """Also when the use was given up meanwhile."""
        self._log.settle(admission.record, admission.attempt or "", receipt)
        return c.Done(receipt)

    def revoke(self, authorization: c.Authorization) -> c.Revoked:
        """The library does not say how many it stopped."""
        self._log.stop(authorization.record)
        return c.Revoked()

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        """Nothing is to be sent again: all that is found ends in the manual state."""
        marked = self._log.audit_open()
        return c.Recovered(settled=tuple(c.Admission(n, attempt=a) for n, a in marked))


def _bound(call: c.Call, context: c.Context) -> str:
    return ids.digest([ids.action_identity(call), asdict(context)])


class AtMostOnceTarget:
    """The adapter. Each claim is a promise of the library, quoted."""

    name = c.TargetName("once-log", "library", "1")
    log_class: type[OnceLog] = OnceLog
    declaration = c.Declaration(
        c.Facts(
            keyed_by="confirmation",
            attempt_identity=True,
            binds=("principal", "tool", "tool_version", "args", "resource", "executor", "session",
                   "task", "policy_epoch", "schema_epoch", "budget", "confirmation"),
            recovery="manual",
            manual_state=UNCLEAR,
            waits_s=WAIT_S,
        ),
        {
            "multi_budget": "An order may be used as often as its budget says, and no more.",
            "revoke": "After stop() returned no use is handed out.",
            "recover": (
                "audit_open() marks every use without a receipt as unclear, where it counts as "
                "used."
            ),
            "finds_unfinished": "It goes through the whole log.",
            "repeat_commit": "A receipt settles a use, unclear or not, and may be brought again.",
            "durable_process": "What was answered survives a killed process and a power cut.",
            "durable_power": "What was answered survives a killed process and a power cut.",
        },
    )  # fmt: skip

    def deploy(self, workspace: Path) -> c.Deployment:
        """An empty log."""
        (workspace / "once.log").touch()
        return c.Deployment("once.log")

    def open(self, store: c.Json, env: c.Env) -> AtMostOnceLedger:
        """No file stays open between operations."""

        def genuine(receipt: c.Receipt) -> bool:
            return ids.receipt_is_genuine(env.trust.receipt_key, receipt)

        log = self.log_class(env.workspace / str(store), min(WAIT_S, env.patience_s / 2), genuine)
        return AtMostOnceLedger(log, env.trust.confirmation_key)

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        """Without the lock: see the head of this file."""
        orders = fold(whole_lines(Path(str(store)).read_bytes()))
        order = orders.get(approval.confirmation.event)
        if order is None:
            return c.View(known=False, linearizable=True)
        out, unclear = order.count("out"), order.count(UNCLEAR)
        counts = c.Counts(
            prepared=out,
            in_doubt=unclear,
            committed=len(order.uses) - out - unclear,
            **{"revoked" if order.stopped else "issued": order.budget - len(order.uses)},
        )
        return c.View(True, counts=counts, linearizable=True, revoked=order.stopped)

    def classify(self, exc: BaseException) -> c.Refused | c.Busy | c.Unknown | None:
        """A log that cannot be read is no refusal: it stays unclassified, and fails the run."""
        if isinstance(exc, No):
            return c.Refused(str(exc))
        if isinstance(exc, Occupied):
            return c.Busy("contention")
        if isinstance(exc, OSError):
            return c.Unknown(str(exc))
        if isinstance(exc, ValueError | RecursionError):
            known = isinstance(exc, json.JSONDecodeError)
            return None if known else c.Refused("invalid", detail=str(exc))
        return None
