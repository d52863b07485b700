"""A correct ledger of leased seats: whoever holds one too long may be relieved, under the same key.

``Seats`` is the library, the rest its adapter. What the library promises:

    A booking has as many seats as its budget says, and each keeps its key for ever.
    A seat whose lease has ended passes to whoever asks next, with its key, and is never free again.
    Whoever was relieved can no longer extend the lease.
    Nobody is seated after cancel() returned.
    cancel() tells how many seats were free until then, and how many were not.
    Nobody is seated at the closing time or after it.
    occupied() lists every seat that is taken and not paid, whoever has it.
    It reads the bookings of everybody.
    Paying a seat again with the same receipt is fine.
    What was answered survives a killed process and a power cut.

The lease orders who sends, and the key makes it harmless when two do: a sink that knows keys
applies a seat's effect once. So a seat is paid by whoever has the receipt, relieved or not, while
extending the lease is for the newest occupant alone: every change of occupant raises the seat's
*fence*, and a request with an older one is refused. A relieved attempt gets no other seat; once the
seat is paid it is told so.

Each operation begins with a write. It takes the write lock before anything is read, and its COMMIT
syncs what a writer left that was killed before its own sync.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .. import contract as c
from .. import identity as ids
from ..values import decode

SCHEMA: Final = """
PRAGMA journal_mode = WAL;
CREATE TABLE bookings (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, terms TEXT NOT NULL, bound TEXT NOT NULL,
    payload TEXT NOT NULL, closes_s REAL, cancelled INTEGER NOT NULL DEFAULT 0);
CREATE TABLE seats (
    booking INTEGER NOT NULL REFERENCES bookings, seat INTEGER NOT NULL, key TEXT NOT NULL UNIQUE,
    fence INTEGER NOT NULL DEFAULT 0, occupant TEXT, until_s REAL, receipt TEXT,
    PRIMARY KEY (booking, seat));
CREATE TABLE seated (
    booking INTEGER NOT NULL, attempt TEXT NOT NULL, seat INTEGER NOT NULL,
    PRIMARY KEY (booking, attempt));
CREATE TABLE visits (n INTEGER NOT NULL);
INSERT INTO visits VALUES (0);
"""
SEAT: Final = """
UPDATE seats SET occupant = ?, fence = fence + 1, until_s = ?
WHERE booking = ? AND seat = ? AND receipt IS NULL
"""
VIEW: Final = """
SELECT seat, occupant, receipt, key, cancelled FROM bookings JOIN seats ON booking = number
WHERE name = ? ORDER BY seat
"""
WAIT_S: Final = 5.0
MOST_SEATS: Final = 1000


class NoSeat(Exception):
    """Why somebody is not seated; nothing happened."""


@dataclass(frozen=True, slots=True)
class Place:
    """A seat in somebody's hand."""

    booking: str
    seat: int
    key: str
    fence: int
    occupant: str


class Seats:
    """The library: one connection. ``term_s`` is how long a lease runs on the clock ``now``."""

    OFFER = (  # a free seat if there is one, else the one whose lease ended first
        "SELECT seat FROM seats WHERE booking = ? AND receipt IS NULL"
        " AND (occupant IS NULL OR until_s <= ?)"
        " ORDER BY occupant IS NOT NULL, until_s, seat LIMIT 1"
    )

    def __init__(
        self, path: Path, wait_s: float, term_s: float, now: Callable[[], float], trust: c.Trust
    ) -> None:
        self._term_s, self._now, self._trust = term_s, now, trust
        self._db = sqlite3.connect(
            path, timeout=wait_s, isolation_level=None, check_same_thread=False
        )
        self._db.execute("PRAGMA synchronous = FULL")
        self._one_at_a_time = threading.Lock()

    def close(self) -> None:
        """Give the connection back."""
        self._db.close()

    @contextmanager
    def _visit(self) -> Iterator[sqlite3.Connection]:
        with self._one_at_a_time:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.execute("UPDATE visits SET n = n + 1")
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def book(self, call: c.Call, context: c.Context, said: c.Confirmation, closes_s: Any) -> None:
        """Open the booking of this confirmation, unless it is open."""
        bound, payload = _bound(call, context), ids.effect_digest(call.tool, call.args)
        if not ids.confirmation_is_genuine(self._trust.confirmation_key, said):
            raise NoSeat("bad_credential")
        if (said.principal, said.action) != (call.principal, ids.action_identity(call)):
            raise NoSeat("wrong_action")
        seats = said.budget
        if type(seats) is not int or not 0 < seats <= MOST_SEATS:
            raise NoSeat("invalid")
        terms = ids.digest([said.action, seats])
        new = (said.event, terms, bound, payload, closes_s)
        with self._visit() as db:
            made = db.execute(
                "INSERT INTO bookings (name, terms, bound, payload, closes_s)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING",
                new,
            )
            if made.rowcount:
                rows = [(made.lastrowid, n, secrets.token_hex(16)) for n in range(1, seats + 1)]
                db.executemany("INSERT INTO seats (booking, seat, key) VALUES (?, ?, ?)", rows)
            query = "SELECT terms FROM bookings WHERE name = ?"
            if db.execute(query, (said.event,)).fetchone() != (terms,):
                raise NoSeat("duplicate")

    def sit(self, name: str, call: c.Call, context: c.Context, attempt: str) -> Place | str:
        """A seat under a running lease, or the receipt if the attempt's seat is paid."""
        with self._visit() as db:
            query = "SELECT number, bound, cancelled, closes_s FROM bookings WHERE name = ?"
            row = db.execute(query, (name,)).fetchone()
            if row is None:
                raise NoSeat("unknown_record")
            booking, bound, cancelled, closes_s = row
            if bound != _bound(call, context):
                raise NoSeat("wrong_action")
            now = self._now()
            seat = self._seat_of(booking, attempt)
            if seat is None:
                if cancelled:
                    raise NoSeat("revoked")
                if closes_s is not None and now >= closes_s:
                    raise NoSeat("expired")
                seat = self._take(booking, attempt, now)
            query = "SELECT key, fence, occupant, receipt FROM seats WHERE booking = ? AND seat = ?"
            key, fence, occupant, receipt = db.execute(query, (booking, seat)).fetchone()
            if receipt is not None:
                return str(receipt)
            if occupant != attempt:
                raise NoSeat("held")  # it was relieved, and whoever did that is at work
            longer = "UPDATE seats SET until_s = ? WHERE booking = ? AND seat = ?"
            db.execute(longer, (now + self._term_s, booking, seat))
        return Place(name, seat, key, fence, attempt)

    def _seat_of(self, booking: int, attempt: str) -> int | None:
        query = "SELECT seat FROM seated WHERE booking = ? AND attempt = ?"
        row = self._db.execute(query, (booking, attempt)).fetchone()
        return None if row is None else int(row[0])

    def _take(self, booking: int, attempt: str, now: float) -> int:
        row = self._db.execute(self.OFFER, (booking, now)).fetchone()
        if row is None:
            raise NoSeat("exhausted")
        taken = self._db.execute(SEAT, (attempt, now + self._term_s, booking, row[0]))
        assert taken.rowcount == 1, "it was free in this transaction"
        self._db.execute("INSERT INTO seated VALUES (?, ?, ?)", (booking, attempt, row[0]))
        return int(row[0])

    def extend(self, place: Place) -> None:
        """Let the lease run on from now: for its newest occupant, also when it has just ended."""
        with self._visit() as db:
            extended = db.execute(
                "UPDATE seats SET until_s = ? WHERE seat = ? AND fence = ? AND receipt IS NULL"
                " AND booking = (SELECT number FROM bookings WHERE name = ?)",
                (self._now() + self._term_s, place.seat, place.fence, place.booking),
            )
            if extended.rowcount != 1:
                raise NoSeat("stale")

    def pay(self, place: Place, receipt: c.Receipt) -> None:
        """The effect of this seat stands, whoever sent it."""
        paid = ids.canonical_bytes(receipt).decode()
        with self._visit() as db:
            query = (
                "SELECT number, seats.key, fence, payload, receipt FROM bookings"
                " JOIN seats ON booking = number WHERE name = ? AND seat = ?"
            )
            row = db.execute(query, (place.booking, place.seat)).fetchone()
            if row is None or not 0 < place.fence <= row[2]:
                raise NoSeat("not_prepared")
            genuine = ids.receipt_is_genuine(self._trust.receipt_key, receipt)
            if not genuine or receipt.digest != row[3]:
                raise NoSeat("receipt_mismatch")
            if receipt.key != row[1]:
                raise NoSeat("wrong_key")
            if row[4] not in (None, paid):
                raise NoSeat("receipt_mismatch")
            done = "UPDATE seats SET receipt = ? WHERE booking = ? AND seat = ?"
            db.execute(done, (paid, row[0], place.seat))

    def cancel(self, name: str) -> tuple[int, int]:
        """Seat nobody any more. How many seats were free, and how many were not, at that time."""
        with self._visit() as db:
            query = (
                "SELECT number, cancelled, count(*) - count(occupant), count(occupant)"
                " FROM bookings JOIN seats ON booking = number WHERE name = ? GROUP BY number"
            )
            row = db.execute(query, (name,)).fetchone()
            if row is None:
                raise NoSeat("unknown_record")
            db.execute("UPDATE bookings SET cancelled = 1 WHERE number = ?", row[:1])
        return (0 if row[1] else row[2]), row[3]

    def occupied(self) -> list[Place]:
        """Seats that are taken and not paid; their leases run on as they did."""
        with self._visit() as db:
            return [
                Place(*row)
                for row in db.execute(
                    "SELECT name, seat, key, fence, occupant FROM seats JOIN bookings"
                    " ON booking = number WHERE occupant IS NOT NULL AND receipt IS NULL"
                )
            ]


def _bound(call: c.Call, context: c.Context) -> str:
    return ids.digest([ids.action_identity(call), context])


class LeaseLedger:
    """One client. The seat and its fence travel in the handle."""

    def __init__(self, seats: Seats) -> None:
        self.seats = seats

    def issue(
        self,
        call: c.Call,
        confirmation: c.Confirmation,
        budget: c.Budget,
        context: c.Context,
        validity: c.Validity,
    ) -> c.Authorization | c.Refused:
        """The library takes the number of seats from the confirmation."""
        if type(budget) is not type(confirmation.budget) or budget != confirmation.budget:
            return c.Refused("bad_credential", detail="another budget was confirmed")
        self.seats.book(call, context, confirmation, validity.expires_s)
        return c.Authorization(confirmation.event, budget)

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed:
        """Also for an attempt that has its seat: then its lease runs on."""
        found = self.seats.sit(authorization.record, call, context, attempt)
        if isinstance(found, str):
            return c.Replayed(decode(json.loads(found)))
        return _admission(found)

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done:
        """With an older fence too: what counts is the receipt."""
        self.seats.pay(_place(admission), receipt)
        return c.Done(receipt)

    def renew(self, admission: c.Admission) -> c.Done:
        """Refused to whoever was relieved."""
        self.seats.extend(_place(admission))
        return c.Done()

    def revoke(self, authorization: c.Authorization) -> c.Revoked:
        """Asked again, it stops nothing and says so."""
        stopped, too_late = self.seats.cancel(authorization.record)
        return c.Revoked(stopped, too_late)

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        """Whoever recovers sends under the seat's key; the occupant may do so at the same time."""
        return c.Recovered(resume=tuple(_admission(place) for place in self.seats.occupied()))


def _admission(place: Place) -> c.Admission:
    handle: c.Json = [place.seat, place.fence]
    return c.Admission(place.booking, str(place.seat), place.key, handle, attempt=place.occupant)


def _place(admission: c.Admission) -> Place:
    match admission.handle:
        case [int(seat), int(fence)]:
            return Place(admission.record, seat, admission.key or "", fence, "")
    raise NoSeat("not_prepared")


class LeaseTarget:
    """The adapter. Each claim is a promise of the library, quoted."""

    library: type[Seats] = Seats
    name = c.TargetName("seats", "library", "1")
    declaration = c.Declaration(
        c.Facts(
            keyed_by="confirmation",
            key="stored",
            attempt_identity=True,
            slot_identity=True,
            binds=("principal", "tool", "tool_version", "args", "resource", "executor", "session",
                   "task", "policy_epoch", "schema_epoch", "budget", "confirmation"),
            lapse="takeover",
            recovery="resend",
            clock="injected",
            waits_s=WAIT_S,
        ),
        {
            "multi_budget": (
                "A booking has as many seats as its budget says, and each keeps its key for ever."
            ),
            "lease": (
                "A seat whose lease has ended passes to whoever asks next, with its key, and is "
                "never free again."
            ),
            "revoke": "Nobody is seated after cancel() returned.",
            "revoke_counts": (
                "cancel() tells how many seats were free until then, and how many were not."
            ),
            "expiry": "Nobody is seated at the closing time or after it.",
            "recover": "occupied() lists every seat that is taken and not paid, whoever has it.",
            "finds_unfinished": "It reads the bookings of everybody.",
            "repeat_commit": "Paying a seat again with the same receipt is fine.",
            "durable_process": "What was answered survives a killed process and a power cut.",
            "durable_power": "What was answered survives a killed process and a power cut.",
        },
    )  # fmt: skip

    def deploy(self, workspace: Path) -> c.Deployment:
        """An empty house; the journal mode is a property of the file."""
        with closing(sqlite3.connect(workspace / "seats.db")) as db:
            db.executescript(SCHEMA)
        return c.Deployment("seats.db")

    def open(self, store: c.Json, env: c.Env) -> LeaseLedger:
        """The lease lasts as long as the world says."""
        path, wait_s = env.workspace / str(store), min(WAIT_S, env.patience_s / 2)
        return LeaseLedger(self.library(path, wait_s, env.lease_s, env.now, env.trust))

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        """One SELECT on a connection of its own, which in WAL mode waits for nobody."""
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            rows = db.execute(VIEW, (approval.confirmation.event,)).fetchall()
        slots = tuple(_slot(*row) for row in rows)
        cancelled = any(row[4] for row in rows)
        return c.View(bool(rows), slots, linearizable=True, revoked=cancelled)

    def classify(self, exc: BaseException) -> c.Refused | c.Busy | c.Unknown | None:
        """A lock is met at BEGIN only, before anything is written."""
        if isinstance(exc, NoSeat):
            return c.Refused(str(exc))
        if isinstance(exc, ValueError | RecursionError):  # of canonical forms, before any write
            return c.Refused("invalid", detail=str(exc))
        if isinstance(exc, sqlite3.OperationalError) and "locked" in str(exc):
            return c.Busy("contention", detail=str(exc))
        if isinstance(exc, sqlite3.OperationalError) and "disk" in str(exc):
            return c.Unknown(str(exc))
        return None


def _slot(
    seat: int, occupant: str | None, receipt: str | None, key: str, cancelled: int
) -> c.SlotView:
    state: c.SlotState
    if occupant is None:
        state, word = ("revoked", "cancelled") if cancelled else ("issued", "free")
    else:
        state, word = ("prepared", "taken") if receipt is None else ("committed", "paid")
    return c.SlotView(str(seat), state, word, occupant, key)
