"""A correct ledger of bitmaps, whose repeated revocation answers what the first one did.

``Passes`` is the library, the rest its adapter. What the library promises:

    A pass has one hole for each unit of its budget, and each hole is punched for one attempt.
    No hole is punched after void() returned.
    void() tells how many holes it closed and for how many it was too late, every time the same.
    A pass is good until its end, and not at its end.
    punched() lists every hole that is punched and not clipped.
    It lists the holes of all passes.
    Clipping a hole again with the same receipt is fine.
    What was answered survives a killed process and a power cut.

A pass is one row with three masks, bit j - 1 for hole j: ``punched``, ``clipped`` (a part of the
first) and ``closed`` (no bit in common with it). Each change is one UPDATE, which finds the row as
it was read or changes nothing, so the masks move together. void() answers from ``closed`` and never
from what it changes: asked again after a lost reply, it says the same.

The database is in its default journal mode. Each transaction begins with a write (``touched``, of
any row), so that its COMMIT syncs what the answer rests on, also where nothing else changes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from .. import contract as c
from .. import identity as ids

SCHEMA: Final = """
CREATE TABLE pass (
    name TEXT PRIMARY KEY, stub TEXT NOT NULL, tool TEXT NOT NULL, digest TEXT NOT NULL,
    holes INTEGER NOT NULL, ends_s REAL, void INTEGER NOT NULL DEFAULT 0,
    punched TEXT NOT NULL DEFAULT '0', clipped TEXT NOT NULL DEFAULT '0',
    closed TEXT NOT NULL DEFAULT '0', touched INTEGER NOT NULL DEFAULT 0);
CREATE TABLE hole (
    name TEXT NOT NULL, attempt TEXT NOT NULL, j INTEGER NOT NULL, receipt TEXT,
    PRIMARY KEY (name, attempt), UNIQUE (name, j));
"""
VIEW: Final = """
SELECT pass.holes, punched, clipped, closed, void, tool,
(SELECT json_group_object(j, attempt) FROM hole WHERE hole.name = pass.name)
FROM pass WHERE pass.name = ?
"""
WAIT_S: Final = 5.0
MOST_HOLES: Final = 1000
T = TypeVar("T")


class Void(Exception):
    """The library says no, with a code; nothing happened."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A row of ``pass``; masks are numbers of any length, and texts in the table."""

    name: str
    stub: str
    tool: str
    digest: str
    holes: int
    ends_s: float | None
    void: int
    punched: int
    clipped: int
    closed: int

    @property
    def free(self) -> int:
        """The mask of what can still be punched."""
        return (1 << self.holes) - 1 & ~self.punched & ~self.closed


@dataclass(frozen=True, slots=True)
class Hole:
    """Hole ``j`` of a pass, as it was punched for an attempt."""

    name: str
    j: int
    key: str
    attempt: str


class Passes:
    """The library. It connects in each operation, so threads and forks need no care."""

    def __init__(self, path: Path, wait_s: float, now: Callable[[], float], trust: c.Trust) -> None:
        self._uri = path.absolute().as_uri() + "?mode=rw"
        self._wait_s, self._now, self._trust = wait_s, now, trust

    def _alone(self, do: Callable[[sqlite3.Connection], T]) -> T:
        """Do it in one transaction, which is rolled back (by closing) if it raises."""
        with closing(
            sqlite3.connect(self._uri, timeout=self._wait_s, isolation_level=None, uri=True)
        ) as db:
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("BEGIN IMMEDIATE")
            db.execute("UPDATE pass SET touched = touched + 1 WHERE rowid = 1")
            answer = do(db)
            db.execute("COMMIT")
        return answer

    def print_pass(
        self, call: c.Call, context: c.Context, said: c.Confirmation, ends_s: float | None
    ) -> None:
        """Make the pass of a confirmation; there is one, however often it is asked for."""
        action = ids.action_identity(call)
        shown = said.principal == call.principal and said.action == action
        if not shown or not ids.confirmation_is_genuine(self._trust.confirmation_key, said):
            raise Void("bad_credential")
        holes = said.budget
        if type(holes) is not int or not 1 <= holes <= MOST_HOLES:
            raise Void("invalid")
        digest, stub = ids.effect_digest(call.tool, call.args), _stub(call, context)

        def work(db: sqlite3.Connection) -> None:
            fields = (said.event, stub, call.tool, digest, holes, ends_s)
            db.execute(
                "INSERT OR IGNORE INTO pass (name, stub, tool, digest, holes, ends_s)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                fields,
            )
            kept = _read(db, said.event)
            if (kept.digest, kept.holes) != (digest, holes) or _action(kept.stub) != action:
                raise Void("duplicate")

        self._alone(work)

    def punch(self, name: str, call: c.Call, context: c.Context, attempt: str) -> Hole | c.Receipt:
        """The attempt's hole, punched now or before, or its receipt if it is clipped."""
        stub = _stub(call, context)

        def work(db: sqlite3.Connection) -> Hole | c.Receipt:
            found = _read(db, name)
            if stub != found.stub:
                raise Void("wrong_action")
            query = "SELECT j, receipt FROM hole WHERE name = ? AND attempt = ?"
            mine = db.execute(query, (name, attempt)).fetchone()
            if mine is not None and mine[1] is not None:
                return c.Receipt(**json.loads(mine[1]))
            j = mine[0] if mine is not None else self._new_hole(db, found, attempt)
            return Hole(name, j, ids.sink_key(name, str(j), found.tool), attempt)

        return self._alone(work)

    def _new_hole(self, db: sqlite3.Connection, found: Pass, attempt: str) -> int:
        if found.void:
            raise Void("revoked")
        if found.ends_s is not None and self._now() >= found.ends_s:
            raise Void("expired")
        if not found.free:
            raise Void("exhausted")
        bit = found.free & -found.free  # the lowest
        j = bit.bit_length()
        db.execute("INSERT INTO hole VALUES (?, ?, ?, NULL)", (found.name, attempt, j))
        _write(db, found, punched=found.punched | bit)
        return j

    def clip(self, name: str, j: int, receipt: c.Receipt) -> None:
        """The effect of this hole stands."""
        text = json.dumps(asdict(receipt))

        def work(db: sqlite3.Connection) -> None:
            found, bit = _read(db, name), 1 << j - 1
            if not found.punched & bit:
                raise Void("not_prepared")
            genuine = ids.receipt_is_genuine(self._trust.receipt_key, receipt)
            if not genuine or receipt.digest != found.digest:
                raise Void("receipt_mismatch")
            if receipt.key != ids.sink_key(name, str(j), found.tool):
                raise Void("wrong_key")
            kept = db.execute(
                "UPDATE hole SET receipt = ? WHERE name = ? AND j = ? AND coalesce(receipt, ?) = ?",
                (text, name, j, text, text),
            )
            if kept.rowcount != 1:
                raise Void("receipt_mismatch")
            _write(db, found, clipped=found.clipped | bit)

        self._alone(work)

    def void(self, name: str) -> tuple[int, int]:
        """How many holes were closed by the first of these calls, and how many were not."""

        def work(db: sqlite3.Connection) -> tuple[int, int]:
            found = _read(db, name)
            closed = found.closed | found.free
            _write(db, found, closed=closed, void=1)
            return closed.bit_count(), found.holes - closed.bit_count()

        return self._alone(work)

    def punched(self) -> list[Hole]:
        """Every hole whose effect may be missing."""

        def work(db: sqlite3.Connection) -> list[Hole]:
            rows = db.execute(
                "SELECT name, j, attempt, tool FROM hole JOIN pass USING (name)"
                " WHERE receipt IS NULL ORDER BY name, j"
            ).fetchall()
            return [Hole(n, j, ids.sink_key(n, str(j), tool), a) for n, j, a, tool in rows]

        return self._alone(work)


def _read(db: sqlite3.Connection, name: str) -> Pass:
    query = (
        "SELECT name, stub, tool, digest, holes, ends_s, void, punched, clipped, closed"
        " FROM pass WHERE name = ?"
    )
    row = db.execute(query, (name,)).fetchone()
    if row is None:
        raise Void("unknown_record")
    return Pass(*row[:7], *(int(mask) for mask in row[7:]))


def _write(db: sqlite3.Connection, found: Pass, **changed: int) -> None:
    """Change masks of a pass, if they are what was read."""
    before = {"punched": found.punched, "clipped": found.clipped, "closed": found.closed}
    after = {**before, "void": found.void, **changed}
    done = db.execute(
        "UPDATE pass SET punched = ?, clipped = ?, closed = ?, void = ? WHERE name = ?"
        " AND punched = ? AND clipped = ? AND closed = ?",
        (
            *(str(after[mask]) for mask in before),
            after["void"],
            found.name,
            *(str(mask) for mask in before.values()),
        ),
    )
    assert done.rowcount == 1, "nobody else writes in this transaction"


def _stub(call: c.Call, context: c.Context) -> str:
    return json.dumps([ids.action_identity(call), asdict(context)])


def _action(stub: str) -> str:
    return str(json.loads(stub)[0])


class RevokeRepeatLedger:
    """One client. The hole's number is its slot."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes

    def issue(
        self,
        call: c.Call,
        confirmation: c.Confirmation,
        budget: c.Budget,
        context: c.Context,
        validity: c.Validity,
    ) -> c.Authorization | c.Refused:
        """The pass is named after the event that confirmed it."""
        if type(budget) is not type(confirmation.budget) or budget != confirmation.budget:
            return c.Refused("bad_credential", detail="another budget was confirmed")
        self._passes.print_pass(call, context, confirmation, validity.expires_s)
        return c.Authorization(confirmation.event, budget)

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed:
        """A clipped hole is no new admission."""
        found = self._passes.punch(authorization.record, call, context, attempt)
        return c.Replayed(found) if isinstance(found, c.Receipt) else _admission(found)

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done | c.Refused:
        """Anybody may bring the receipt."""
        if not (admission.slot or "").isdecimal():
            return c.Refused("not_prepared")
        self._passes.clip(admission.record, int(admission.slot or 0), receipt)
        return c.Done(receipt)

    def revoke(self, authorization: c.Authorization) -> c.Revoked:
        """The same answer each time: this is what the first call stopped."""
        return c.Revoked(*self._passes.void(authorization.record))

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        """To be sent again under the same keys."""
        return c.Recovered(resume=tuple(_admission(hole) for hole in self._passes.punched()))


def _admission(hole: Hole) -> c.Admission:
    return c.Admission(hole.name, str(hole.j), hole.key, attempt=hole.attempt)


class RevokeRepeatTarget:
    """The adapter. Each claim is a promise of the library, quoted."""

    name = c.TargetName("passes", "library", "1")
    declaration = c.Declaration(
        c.Facts(
            keyed_by="confirmation",
            key="derived",
            attempt_identity=True,
            slot_identity=True,
            binds=("principal", "tool", "tool_version", "args", "resource", "executor", "session",
                   "task", "policy_epoch", "schema_epoch", "budget", "confirmation"),
            recovery="resend",
            clock="injected",
            waits_s=2 * WAIT_S,
        ),
        {
            "multi_budget": (
                "A pass has one hole for each unit of its budget, and each hole is punched for "
                "one attempt."
            ),
            "revoke": "No hole is punched after void() returned.",
            "revoke_counts": (
                "void() tells how many holes it closed and for how many it was too late, every "
                "time the same."
            ),
            "expiry": "A pass is good until its end, and not at its end.",
            "recover": "punched() lists every hole that is punched and not clipped.",
            "finds_unfinished": "It lists the holes of all passes.",
            "repeat_commit": "Clipping a hole again with the same receipt is fine.",
            "durable_process": "What was answered survives a killed process and a power cut.",
            "durable_power": "What was answered survives a killed process and a power cut.",
        },
    )  # fmt: skip

    def deploy(self, workspace: Path) -> c.Deployment:
        """Empty tables."""
        with closing(sqlite3.connect(workspace / "passes.db")) as db:
            db.executescript(SCHEMA)
        return c.Deployment("passes.db")

    def open(self, store: c.Json, env: c.Env) -> RevokeRepeatLedger:
        """Nothing is opened before it is used."""
        path, wait_s = env.workspace / str(store), min(WAIT_S, env.patience_s / 2)
        return RevokeRepeatLedger(Passes(path, wait_s, env.now, env.trust))

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        """One SELECT. ``mode=rw``, for the journal of a process that was killed inside COMMIT."""
        name = approval.confirmation.event
        uri = Path(str(store)).absolute().as_uri() + "?mode=rw"
        with closing(sqlite3.connect(uri, uri=True)) as db:
            db.execute("PRAGMA query_only = ON")
            row = db.execute(VIEW, (name,)).fetchone()
        if row is None:
            return c.View(known=False, linearizable=True)
        holes, *masks, void, tool, attempts = row
        punched, clipped, closed = (int(mask) for mask in masks)
        by_hole: dict[str, str] = json.loads(attempts)
        slots = []
        for j in range(1, holes + 1):
            state, word = _state(1 << j - 1, punched, clipped, closed)
            key = ids.sink_key(name, str(j), tool)
            slots.append(c.SlotView(str(j), state, word, by_hole.get(str(j)), key))
        return c.View(True, tuple(slots), linearizable=True, revoked=bool(void))

    def classify(self, exc: BaseException) -> c.Refused | c.Busy | c.Unknown | None:
        """SQLite: BUSY did nothing, even at COMMIT; after a failed write nobody can tell."""
        if isinstance(exc, Void):
            return c.Refused(str(exc))
        if isinstance(exc, ValueError | RecursionError):  # of canonical forms, before any write
            return c.Refused("invalid", detail=str(exc))
        if isinstance(exc, sqlite3.OperationalError) and "locked" in str(exc):
            return c.Busy("contention", detail=str(exc))
        if isinstance(exc, sqlite3.OperationalError) and "disk" in str(exc):
            return c.Unknown(str(exc))
        return None


def _state(bit: int, punched: int, clipped: int, closed: int) -> tuple[Any, str]:
    if clipped & bit:
        return "committed", "clipped"
    if punched & bit:
        return "prepared", "punched"
    return ("revoked", "closed") if closed & bit else ("issued", "whole")
