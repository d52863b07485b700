"""A correct ledger in one JSON file: flock, write aside, fsync, rename, fsync of the folder.

``TicketFile`` is the library, the rest its adapter. What the library promises:

    A ticket has as many numbered coupons as its budget says, and each is taken once.
    A coupon is taken for one attempt and under one random key, and keeps both for ever.
    taken() lists every coupon that is taken and not used up.
    It needs no hint: it lists the coupons of every ticket.
    What was answered survives a killed process and a power cut.

The whole file is read and written in every operation: fit for thousands of tickets, not millions.
A ticket is used by its number and its holder. The call is not presented again: the coupon says
what is to be sent. Refusals come without a reason.

The file is replaced and never changed in place, so whoever opens it, without any lock, reads the
book as one rename left it. An operation that changes the book takes effect at its rename; one
that changes nothing read the book under the lock, while no rename could happen. So the moment of
opening is a moment in that order, and ``inspect`` is linearizable without waiting for anybody.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal

from .. import contract as c
from .. import identity as ids

WAIT_S: Final = 5.0
PAUSE_S: Final = 0.002
EMPTY: Final = '{"tickets": {}, "decisions": {}}'
STATES: Final[dict[str, Literal["issued", "prepared", "committed"]]] = {
    "free": "issued",
    "taken": "prepared",
    "used up": "committed",
}


class NoTicket(ValueError):
    """What was asked for cannot be written on a ticket; nothing happened."""


class Locked(Exception):
    """Somebody else holds the lock; nothing was read."""


class TicketFile:
    """The library. ``genuine`` verifies the receipts with which coupons are used up."""

    def __init__(self, path: Path, wait_s: float, genuine: Callable[[c.Receipt], bool]) -> None:
        self._path, self._wait_s, self._genuine = path, wait_s, genuine

    @contextmanager
    def _book(self) -> Iterator[Any]:
        """The book, alone: what is changed in it is durable when the block has ended."""
        lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._wait_for(lock)
            before = self._path.read_text()
            book = json.loads(before)
            yield book
            after = json.dumps(book)
            if after != before:
                self._replace(after)
            # For all that is not refused, also where nothing changed: who renamed before us may
            # have died before this line, and what we answer must not rest on a rename that a
            # power cut takes back.
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        finally:
            os.close(lock)  # the kernel does the same for a killed process

    def _wait_for(self, lock: int) -> None:
        deadline = time.monotonic() + self._wait_s
        while True:
            try:
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Locked(f"for {self._wait_s} s") from None
                time.sleep(PAUSE_S)

    def _replace(self, text: str) -> None:
        aside = self._path.with_suffix(".new")  # ours: only the holder of the lock writes it
        with aside.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self._path)

    def open_ticket(self, decision: str, action: str, call: c.Call, holder: str, b: object) -> str:
        """The number of the ticket for this decision: a new one, or the one that it has."""
        plain = asdict(call)
        if type(b) is not int or not 1 <= b <= 1000:
            raise NoTicket("a ticket has 1 to 1000 coupons")
        if json.loads(json.dumps(plain, allow_nan=False, default=repr)) != plain:
            raise NoTicket("this call cannot be written as JSON")
        with self._book() as book:
            number: str = book["decisions"].setdefault(decision, secrets.token_hex(16))
            coupons = [{"name": f"coupon-{i}", "state": "free"} for i in range(1, b + 1)]
            ticket = {"action": action, "call": plain, "holder": holder, "coupons": coupons}
            kept = book["tickets"].setdefault(number, ticket)
            if kept["action"] != action or len(kept["coupons"]) != b:
                raise NoTicket("this decision has another ticket")
        return number

    def take(self, number: str, holder: str, attempt: str) -> tuple[Any, c.Call] | None:
        """The attempt's coupon, which may be used up, and the call to send. None: refused."""
        with self._book() as book:
            ticket = book["tickets"].get(number)
            if ticket is None or ticket["holder"] != holder:
                return None
            coupons = ticket["coupons"]
            coupon = next((x for x in coupons if x.get("attempt") == attempt), None)
            if coupon is None:
                coupon = next((x for x in coupons if x["state"] == "free"), None)
                if coupon is None:
                    return None
                coupon |= {"state": "taken", "attempt": attempt, "key": secrets.token_hex(16)}
        return coupon, c.Call(**ticket["call"])

    def use_up(self, number: str, name: str, receipt: c.Receipt) -> bool | None:
        """True: done now. False: was done before, with this receipt. None: refused."""
        paid = asdict(receipt)
        with self._book() as book:
            ticket = book["tickets"].get(number, {"coupons": ()})
            coupon = next((x for x in ticket["coupons"] if x["name"] == name), {"state": "free"})
            if coupon["state"] == "used up" and coupon["receipt"] == paid:
                return False
            if coupon["state"] != "taken" or receipt.key != coupon["key"]:
                return None
            sent = ids.effect_digest(ticket["call"]["tool"], ticket["call"]["args"])
            if receipt.digest != sent or not self._genuine(receipt):
                return None
            coupon |= {"state": "used up", "receipt": paid}
        return True

    def taken(self) -> list[tuple[str, Any, c.Call]]:
        """Number of the ticket, coupon and call for every coupon whose effect may be missing."""
        with self._book() as book:
            tickets = book["tickets"].items()
        return [
            (number, coupon, c.Call(**ticket["call"]))
            for number, ticket in tickets
            for coupon in ticket["coupons"]
            if coupon["state"] == "taken"
        ]


class JsonFlockLedger:
    """One client. The coupon's name is its slot, and the call comes from the ticket."""

    def __init__(self, file: TicketFile, confirmation_key: bytes) -> None:
        self._file, self._confirmation_key = file, confirmation_key

    def issue(
        self,
        call: c.Call,
        confirmation: c.Confirmation,
        budget: c.Budget,
        context: c.Context,
        validity: c.Validity,
    ) -> c.Authorization | c.Refused:
        """The library leaves the check of a confirmation to its user; tickets do not expire."""
        action = ids.action_identity(call)
        shown = (confirmation.principal, confirmation.action, ids.digest(confirmation.budget))
        if shown != (call.principal, action, ids.digest(budget)):
            return c.Refused(detail="something else was confirmed")
        if not ids.confirmation_is_genuine(self._confirmation_key, confirmation):
            return c.Refused(detail="not confirmed")
        holder = context.executor
        number = self._file.open_ticket(confirmation.event, action, call, holder, budget)
        return c.Authorization(number, budget)

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Refused:
        """``call`` is not looked at: the admission carries the one on the ticket."""
        found = self._file.take(authorization.record, context.executor, attempt)
        if found is None:
            return c.Refused()
        coupon, written = found
        if coupon["state"] == "used up":
            return c.Replayed(c.Receipt(**coupon["receipt"]))
        return _admission(authorization.record, coupon, written)

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done | c.Replayed | c.Refused:
        """Again with the same receipt: replayed, since nothing new happened."""
        fresh = self._file.use_up(admission.record, admission.slot or "", receipt)
        if fresh is None:
            return c.Refused()
        return c.Done(receipt) if fresh else c.Replayed(receipt)

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        """All that are taken, by whomever: to be sent again under their keys."""
        return c.Recovered(resume=tuple(_admission(*each) for each in self._file.taken()))


def _admission(number: str, coupon: Any, call: c.Call) -> c.Admission:
    return c.Admission(number, coupon["name"], coupon["key"], call=call, attempt=coupon["attempt"])


class JsonFlockTarget:
    """The adapter. Each claim is a promise of the library, quoted."""

    name = c.TargetName("ticket-file", "library", "1")
    file_class: type[TicketFile] = TicketFile
    declaration = c.Declaration(
        c.Facts(
            key="stored",
            attempt_identity=True,
            slot_identity=True,
            binds=("executor", "budget", "confirmation"),
            recovery="resend",
            waits_s=WAIT_S,
        ),
        {
            "multi_budget": (
                "A ticket has as many numbered coupons as its budget says, and each is taken once."
            ),
            "recover": "taken() lists every coupon that is taken and not used up.",
            "finds_unfinished": "It needs no hint: it lists the coupons of every ticket.",
            "durable_process": "What was answered survives a killed process and a power cut.",
            "durable_power": "What was answered survives a killed process and a power cut.",
        },
    )

    def deploy(self, workspace: Path) -> c.Deployment:
        """An empty book."""
        (workspace / "tickets.json").write_text(EMPTY)
        return c.Deployment("tickets.json")

    def open(self, store: c.Json, env: c.Env) -> JsonFlockLedger:
        """No file stays open between operations."""

        def genuine(receipt: c.Receipt) -> bool:
            return ids.receipt_is_genuine(env.trust.receipt_key, receipt)

        file = self.file_class(env.workspace / str(store), min(WAIT_S, env.patience_s / 2), genuine)
        return JsonFlockLedger(file, env.trust.confirmation_key)

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        """Without the lock: see the head of this file."""
        book = json.loads(Path(str(store)).read_text())
        number = book["decisions"].get(approval.confirmation.event)
        if number is None:
            return c.View(known=False, linearizable=True)
        slots = tuple(
            c.SlotView(x["name"], STATES[x["state"]], x["state"], x.get("attempt"), x.get("key"))
            for x in book["tickets"][number]["coupons"]
        )
        return c.View(True, slots, linearizable=True)

    def classify(self, exc: BaseException) -> c.Refused | c.Busy | c.Unknown | None:
        """A book that is no JSON is no refusal: it stays unclassified, and fails the run."""
        if isinstance(exc, Locked):
            return c.Busy("contention", detail=str(exc))
        if isinstance(exc, OSError):
            return c.Unknown(str(exc))
        if isinstance(exc, ValueError | RecursionError):
            return None if isinstance(exc, json.JSONDecodeError) else c.Refused(detail=str(exc))
        return None
