"""A correct ledger that only counts: no slots, no sink keys, one SQLite row per approval.

``UseCounter`` is the library, the rest its adapter. What the library promises:

    An approval can be used as often as its budget says, and no more.
    No use is admitted after revoke() returned.
    revoke() tells how many uses it stopped.
    No use is admitted at or after the time of expiry.
    unfinished() lists every admitted use that was not finished.
    It needs no hint: it finds the uses of all users.
    Finishing a use again with the same receipt is accepted.
    A use that definitely had no effect can be given back by its holder.
    What was answered survives a killed process and a power cut.

Who gives a use back says that its one request was turned down. The library cannot see whether there
were others, so a use that was handed out twice (to a retry, or by unfinished()) stays taken.

Each operation is one transaction on a connection of its own: threads and forks need no care.
Each grant follows a write, even where nothing changes (the ``asked`` columns): what another
process committed and was killed before syncing must be synced before an answer rests on it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

from .. import contract as c
from .. import identity as ids

SCHEMA = """
CREATE TABLE approval (
    event TEXT PRIMARY KEY, action TEXT, context TEXT, payload TEXT, budget INTEGER NOT NULL,
    expires_s REAL, used INTEGER NOT NULL DEFAULT 0, revoked INTEGER NOT NULL DEFAULT 0,
    asked INTEGER NOT NULL DEFAULT 1);
CREATE TABLE use (
    event TEXT NOT NULL, attempt TEXT NOT NULL, receipt TEXT, asked INTEGER NOT NULL DEFAULT 1,
    returned TEXT,  -- the evidence with which it was given back; the attempt is spent then
    PRIMARY KEY (event, attempt), UNIQUE (event, receipt));  -- a receipt pays for one use
"""
VIEW = """
SELECT budget, used, revoked, (SELECT count(receipt) FROM use WHERE event = approval.event)
FROM approval WHERE event = ?
"""
WAIT_S = 5.0  # for other clients' locks: once at BEGIN, once at COMMIT
BINDS: Final = ("principal", "tool", "tool_version", "args", "resource", "executor", "session",
                "task", "policy_epoch", "schema_epoch", "budget", "confirmation")  # fmt: skip


class Denied(Exception):
    """The library says no, with a code; nothing happened."""


class UseCounter:
    """The library, as ``user`` has it. ``now`` is its clock; ``keys`` verify what others sign."""

    TAKE = (
        "UPDATE approval SET used = used + 1 WHERE event = ? AND used < budget"
        " AND revoked = 0 AND (expires_s IS NULL OR ? < expires_s)"
    )

    def __init__(
        self, path: Path, now: Callable[[], float], wait_s: float, keys: c.Trust, user: str
    ) -> None:
        self._uri = path.absolute().as_uri() + "?mode=rw"
        self._now, self._wait_s, self._keys, self._user = now, wait_s, keys, user

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(
            sqlite3.connect(self._uri, timeout=self._wait_s, isolation_level=None, uri=True)
        ) as db:
            db.execute("PRAGMA synchronous=EXTRA")  # with a DELETE journal FULL may lose a commit
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")  # not reached after an exception: closing rolls back

    def approve(
        self, call: c.Call, context: c.Context, said: c.Confirmation, expires_s: float | None
    ) -> None:
        """Open the approval of this decision, or find it again, whatever became of it."""
        action, payload = ids.action_identity(call), ids.effect_digest(call.tool, call.args)
        genuine = ids.confirmation_is_genuine(self._keys.confirmation_key, said)
        if not genuine or (said.principal, said.action) != (call.principal, action):
            raise Denied("bad_credential")
        if type(said.budget) is not int or not 1 <= said.budget <= 1_000_000:
            raise Denied("invalid")
        with self._transaction() as db:
            db.execute(
                "INSERT INTO approval (event, action, context, payload, budget, expires_s)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (event) DO UPDATE SET asked = asked + 1",
                (said.event, action, _text(context), payload, said.budget, expires_s),
            )
            query = "SELECT action, budget FROM approval WHERE event = ?"
            if db.execute(query, (said.event,)).fetchone() != (action, said.budget):
                raise Denied("duplicate")

    def use(self, event: str, call: c.Call, context: c.Context, attempt: str) -> str | None:
        """Admit one use. Answers its receipt if the same attempt was finished before."""
        bound, key = (ids.action_identity(call), _text(context)), (event, attempt)
        with self._transaction() as db:
            query = "SELECT action, context, revoked, used < budget FROM approval WHERE event = ?"
            row = db.execute(query, (event,)).fetchone()
            if row is None:
                raise Denied("unknown_record")
            if row[:2] != bound:
                raise Denied("wrong_action" if row[0] != bound[0] else "bad_credential")
            again = "UPDATE use SET asked = asked + 1 WHERE event = ? AND attempt = ?"
            if db.execute(again, key).rowcount == 0:
                if not self._take(db, event):
                    raise Denied("revoked" if row[2] else "expired" if row[3] else "exhausted")
                db.execute("INSERT INTO use (event, attempt) VALUES (?, ?)", key)
            query = "SELECT receipt, returned FROM use WHERE event = ? AND attempt = ?"
            receipt: str | None
            receipt, returned = db.execute(query, key).fetchone()
            if returned is not None:
                raise Denied("stale")
        return receipt

    def _take(self, db: sqlite3.Connection, event: str) -> bool:
        return db.execute(self.TAKE, (event, self._now())).rowcount == 1

    def finish(self, event: str, attempt: str, receipt: c.Receipt) -> None:
        """Record that the effect of this use stands applied."""
        text, genuine = _text(receipt), ids.receipt_is_genuine(self._keys.receipt_key, receipt)
        with self._transaction() as db:
            query = (
                "SELECT payload FROM approval JOIN use USING (event)"
                " WHERE event = ? AND attempt = ? AND returned IS NULL"
            )
            row = db.execute(query, (event, attempt)).fetchone()
            if row is None:
                raise Denied("not_prepared")
            kept = db.execute(
                "UPDATE OR IGNORE use SET receipt = ?, asked = asked + 1 WHERE event = ?"
                " AND attempt = ? AND coalesce(receipt, ?) = ?",
                (text, event, attempt, text, text),
            )
            if not genuine or receipt.digest != row[0] or kept.rowcount != 1:
                raise Denied("receipt_mismatch")

    def give_back(self, event: str, attempt: str, evidence: str) -> None:
        """Undo a use: its holder knows that it had no effect and never will."""
        with self._transaction() as db:
            query = (
                "SELECT context, receipt, use.asked FROM approval JOIN use USING (event)"
                " WHERE event = ? AND attempt = ? AND returned IS NULL"
            )
            row = db.execute(query, (event, attempt)).fetchone()
            if row is None:
                raise Denied("not_prepared")
            self._check_holder(row[0])
            self._check_without_effect(row[1], row[2])
            done = "UPDATE use SET returned = ? WHERE event = ? AND attempt = ?"
            db.execute(done, (evidence, event, attempt))
            db.execute("UPDATE approval SET used = used - 1 WHERE event = ?", (event,))

    def _check_holder(self, context: str) -> None:
        if json.loads(context)["executor"] != self._user:
            raise Denied("wrong_principal")

    def _check_without_effect(self, receipt: str | None, asked: int) -> None:
        if receipt is not None:
            raise Denied("not_prepared")
        if asked > 1:
            raise Denied("in_doubt")

    def revoke(self, event: str) -> int:
        """Stop all further uses; answers how many that were."""
        with self._transaction() as db:
            db.execute("UPDATE approval SET revoked = revoked + 1 WHERE event = ?", (event,))
            query = "SELECT (budget - used) * (revoked = 1) FROM approval WHERE event = ?"
            row = db.execute(query, (event,)).fetchone()
            if row is None:
                raise Denied("unknown_record")
        return int(row[0])

    def unfinished(self) -> list[tuple[str, str]]:
        """Event and attempt of every use that is admitted and not finished."""
        with self._transaction() as db:
            return db.execute(
                "UPDATE use SET asked = asked + 1 WHERE receipt IS NULL AND returned IS NULL"
                " RETURNING event, attempt"
            ).fetchall()


def _text(value: c.Context | c.Receipt) -> str:
    return json.dumps(asdict(value))


class CounterLedger:
    """One client. The library knows a use by its attempt, so no handle is needed."""

    def __init__(self, counter: UseCounter) -> None:
        self._counter = counter

    def issue(
        self,
        call: c.Call,
        confirmation: c.Confirmation,
        budget: c.Budget,
        context: c.Context,
        validity: c.Validity,
    ) -> c.Authorization | c.Refused:
        """The library takes the budget from the confirmation; its event is the record's name."""
        if type(budget) is not type(confirmation.budget) or budget != confirmation.budget:
            return c.Refused("bad_credential", detail="another budget was confirmed")
        self._counter.approve(call, context, confirmation, validity.expires_s)
        return c.Authorization(confirmation.event, budget)

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed:
        """A use that was finished before is no new admission."""
        receipt = self._counter.use(authorization.record, call, context, attempt)
        if receipt is not None:
            return c.Replayed(c.Receipt(**json.loads(receipt)))
        return c.Admission(authorization.record, attempt=attempt)

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done:
        """``record`` and ``attempt`` come back as ``prepare`` gave them."""
        self._counter.finish(admission.record, admission.attempt or "", receipt)
        return c.Done(receipt)

    def release(self, admission: c.Admission, evidence: str) -> c.Done:
        """The attempt is spent: asking for it again is refused."""
        self._counter.give_back(admission.record, admission.attempt or "", evidence)
        return c.Done()

    def revoke(self, authorization: c.Authorization) -> c.Revoked:
        """The library says how many it stopped, and not for how many it was too late."""
        return c.Revoked(stopped=self._counter.revoke(authorization.record))

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        """The library finds them by itself, and leaves the sending to its user."""
        unfinished = self._counter.unfinished()
        return c.Recovered(resume=tuple(c.Admission(e, attempt=a) for e, a in unfinished))


class CounterTarget:
    """The adapter. Each claim is a promise of the library, quoted."""

    library: type[UseCounter] = UseCounter
    name = c.TargetName("use-counter", "library", "1")
    declaration = c.Declaration(
        c.Facts(
            keyed_by="confirmation",
            attempt_identity=True,
            binds=BINDS,
            after_not_applied="free",
            recovery="resend",
            clock="injected",
            waits_s=2 * WAIT_S,
        ),
        {
            "multi_budget": "An approval can be used as often as its budget says, and no more.",
            "revoke": "No use is admitted after revoke() returned.",
            "revoke_counts": "revoke() tells how many uses it stopped.",
            "expiry": "No use is admitted at or after the time of expiry.",
            "recover": "unfinished() lists every admitted use that was not finished.",
            "finds_unfinished": "It needs no hint: it finds the uses of all users.",
            "release": "A use that definitely had no effect can be given back by its holder.",
            "repeat_commit": "Finishing a use again with the same receipt is accepted.",
            "durable_process": "What was answered survives a killed process and a power cut.",
            "durable_power": "What was answered survives a killed process and a power cut.",
        },
    )

    def deploy(self, workspace: Path) -> c.Deployment:
        """Make the empty tables; the journal mode DELETE is SQLite's default."""
        with closing(sqlite3.connect(workspace / "uses.db", isolation_level=None)) as db:
            db.executescript(SCHEMA)
        return c.Deployment("uses.db")

    def open(self, store: c.Json, env: c.Env) -> CounterLedger:
        """Nothing is opened yet: the library connects in each operation."""
        wait_s = min(WAIT_S, env.patience_s / 2)
        path, user = env.workspace / str(store), env.identity.name
        return CounterLedger(self.library(path, env.now, wait_s, env.trust, user))

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        """One SELECT, so one instant. Not ``mode=ro``: that cannot read past the journal that a
        process leaves when it is killed inside COMMIT, and would fail exactly then."""
        uri = Path(str(store)).absolute().as_uri() + "?mode=rw"
        with closing(sqlite3.connect(uri, uri=True)) as db:
            db.execute("PRAGMA query_only=ON")
            row = db.execute(VIEW, (approval.confirmation.event,)).fetchone()
        if row is None:
            return c.View(known=False, linearizable=True)
        budget, used, revoked, finished = row
        rest = {"revoked" if revoked else "issued": budget - used}
        counts = c.Counts(prepared=used - finished, committed=finished, **rest)
        return c.View(True, counts=counts, linearizable=True, revoked=bool(revoked))

    def classify(self, exc: BaseException) -> c.Refused | c.Busy | c.Unknown | None:
        """SQLite: BUSY did nothing, even at COMMIT; after a failed write nobody can tell."""
        if isinstance(exc, Denied):
            return c.Refused(str(exc))
        if isinstance(exc, ValueError | RecursionError):  # of canonical forms, before any write
            return c.Refused("invalid", detail=str(exc))
        if isinstance(exc, sqlite3.OperationalError) and "locked" in str(exc):
            return c.Busy("contention", detail=str(exc))
        if isinstance(exc, sqlite3.OperationalError) and "disk" in str(exc):
            return c.Unknown(str(exc))
        return None
