"""A correct ledger that runs the effect itself, under a random key kept before it is sent.

``Gate`` is the library, the rest its adapter. What the library promises:

    A grant lets through as many runs as its budget says.
    After revoke() returned the gate lets nothing new through.
    A grant is good up to and including its last second.
    A run that the other side definitely did not apply is taken back.
    resume() runs to its end whatever was let through and has no receipt.
    It looks for it in the store itself.
    What was answered survives a killed process and a power cut.

No run is refused for being asked twice: whoever asks again, also while another process is at it,
sends the same arguments under the same key, so a sink that knows keys applies them once.

Taking a run back needs more care. "Not applied" is said of one request, and another under the
same key may still be on its way: of a killed process, of one that got no answer, or of one that
asked at the same time. So each request is counted in ``unanswered`` before it is sent, and a run
is taken back only if the refused request was the only one left.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from .. import contract as c
from .. import identity as ids

SCHEMA: Final = """
PRAGMA journal_mode = WAL;
CREATE TABLE grants (
    id TEXT PRIMARY KEY, decision TEXT NOT NULL UNIQUE, action TEXT NOT NULL, executor TEXT,
    tool TEXT NOT NULL, args TEXT NOT NULL, budget INTEGER NOT NULL, last_s REAL,
    revoked INTEGER NOT NULL DEFAULT 0, asked INTEGER NOT NULL DEFAULT 0);
CREATE TABLE runs (
    grant_id TEXT NOT NULL REFERENCES grants, attempt TEXT NOT NULL, key TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'done', 'taken back')),
    unanswered INTEGER NOT NULL DEFAULT 0, receipt TEXT, PRIMARY KEY (grant_id, attempt));
"""
ADMIT: Final = """
INSERT INTO runs (grant_id, attempt, key) SELECT id, ?, ? FROM grants
WHERE id = ? AND NOT revoked AND (last_s IS NULL OR last_s >= ?)
AND budget > (SELECT count(*) FROM runs WHERE grant_id = id AND state <> 'taken back')
ON CONFLICT (grant_id, attempt) DO UPDATE SET state = 'running'
"""
VIEW: Final = """
SELECT budget, revoked, count(*) FILTER (WHERE state = 'running'),
count(*) FILTER (WHERE state = 'done')
FROM grants LEFT JOIN runs ON grant_id = id WHERE decision = ? GROUP BY id
"""
WAIT_S: Final = 5.0
BINDS: Final = ("principal", "tool", "tool_version", "args", "resource", "executor",
                "budget", "confirmation")  # fmt: skip

Send = Callable[[str, Mapping[str, object], str], c.Receipt]
"""How the library reaches the world outside: tool, arguments, key."""


class Shut(PermissionError):
    """The gate lets nothing through, and says why; nothing happened."""


class Gate:
    """The library: one connection, which threads share behind a lock that no effect holds."""

    def __init__(self, path: Path, wait_s: float, now: Callable[[], float], send: Send) -> None:
        self._wait_s, self._now, self._send = wait_s, now, send
        self._lock = threading.Lock()
        self._db = sqlite3.connect(
            path, timeout=wait_s, isolation_level="IMMEDIATE", check_same_thread=False
        )
        self._db.execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        """Give the connection back."""
        self._db.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, which begins at the first writing statement (sqlite3's own way)."""
        if not self._lock.acquire(timeout=self._wait_s):
            raise sqlite3.OperationalError("the connection is locked by another thread")
        try:
            with self._db:
                yield self._db
        finally:
            self._lock.release()

    def grant(
        self, decision: str, call: c.Call, executor: str, budget: object, last_s: float | None
    ) -> str:
        """The id of the grant that this decision opened, now or before."""
        args = json.dumps(call.args, allow_nan=False, default=repr)
        if type(budget) is not int or not 0 < budget < 2**31 or json.loads(args) != call.args:
            raise Shut("invalid")
        action, new = ids.action_identity(call), secrets.token_hex(16)
        with self._writing() as db:
            db.execute(
                "INSERT INTO grants (id, decision, action, executor, tool, args, budget, last_s)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (decision) DO UPDATE SET asked = asked + 1",
                (new, decision, action, executor, call.tool, args, budget, last_s),
            )
            query = "SELECT id, action, budget FROM grants WHERE decision = ?"
            kept: str
            kept, *terms = db.execute(query, (decision,)).fetchone()
            if terms != [action, budget]:
                raise Shut("duplicate")
        return kept

    def revoke(self, grant: str) -> None:
        """Let nothing new through. What is running may end."""
        with self._writing() as db:
            known = db.execute("UPDATE grants SET revoked = 1 WHERE id = ?", (grant,)).rowcount
        if not known:
            raise Shut("unknown_record")

    def run(self, grant: str, call: c.Call, executor: str, attempt: str) -> tuple[bool, c.Receipt]:
        """Whether the effect was asked for now (or had its receipt before), and the receipt."""
        bound = (ids.action_identity(call), executor)
        with self._writing() as db:
            let = self._let_through(db, grant, bound, attempt)
        return (False, let) if isinstance(let, c.Receipt) else (True, self._ask(*let))

    def _let_through(
        self, db: sqlite3.Connection, grant: str, bound: tuple[str, str], attempt: str
    ) -> c.Receipt | tuple[str, str, str]:
        """Tool, arguments and key of what may be sent, or the receipt of what was sent before."""
        # A write comes first: it takes the lock, and only then is anything read.
        db.execute("UPDATE grants SET asked = asked + 1 WHERE id = ?", (grant,))
        query = "SELECT action, executor, revoked, last_s < ?, tool, args FROM grants WHERE id = ?"
        now = self._now()
        row = db.execute(query, (now, grant)).fetchone()
        if row is None:
            raise Shut("unknown_record")
        if row[:2] != bound:
            raise Shut("wrong_principal" if row[0] == bound[0] else "wrong_action")
        query = "SELECT state, key, receipt FROM runs WHERE grant_id = ? AND attempt = ?"
        found = db.execute(query, (grant, attempt)).fetchone()
        if found is not None and found[0] == "done":
            return c.Receipt(**json.loads(found[2]))
        if found is None or found[0] == "taken back":
            new = (attempt, secrets.token_hex(16), grant, now)
            if db.execute(ADMIT, new).rowcount != 1:
                raise Shut("revoked" if row[2] else "expired" if row[3] else "exhausted")
            found = db.execute(query, (grant, attempt)).fetchone()
        db.execute("UPDATE runs SET unanswered = unanswered + 1 WHERE key = ?", (found[1],))
        return row[4], row[5], found[1]

    def resume(self) -> list[tuple[str, str, str]]:
        """End all that is running, of whomever: grant, attempt and key of those that ended."""
        query = "SELECT grant_id, attempt, key, tool, args FROM runs JOIN grants ON grant_id = id"
        with self._writing() as db:
            running = db.execute(query + " WHERE state = 'running'").fetchall()
        ended = []
        for grant, attempt, key, tool, args in running:
            with self._writing() as db:
                count = "UPDATE runs SET unanswered = unanswered + 1 WHERE key = ?"
                if not db.execute(count + " AND state = 'running'", (key,)).rowcount:
                    continue  # it ended meanwhile
            with suppress(c.NotApplied, c.EffectUnknown):  # the next resume() finds it again
                self._ask(tool, args, key)
                ended.append((grant, attempt, key))
        return ended

    def _ask(self, tool: str, args: str, key: str) -> c.Receipt:
        try:
            receipt = self._send(tool, json.loads(args), key)
        except c.NotApplied as refused:
            with self._writing() as db:
                db.execute(
                    "UPDATE runs SET unanswered = unanswered - 1,"
                    " state = iif(unanswered = 1, 'taken back', state)"
                    " WHERE key = ? AND state = 'running'",
                    (key,),
                )
                query = "SELECT state FROM runs WHERE key = ?"
                alone = db.execute(query, (key,)).fetchone() == ("taken back",)
            if alone:
                raise
            raise c.EffectUnknown("another request under this key may stand applied") from refused
        with self._writing() as db:
            self._done(db, receipt, key)
        return receipt

    def _done(self, db: sqlite3.Connection, receipt: c.Receipt, key: str) -> None:
        done = "UPDATE runs SET state = 'done', receipt = coalesce(receipt, ?) WHERE key = ?"
        db.execute(done, (json.dumps(asdict(receipt)), key))


class GuardedLedger:
    """One client: the ledger calls ``env.effect``, so there is no prepare and no commit."""

    def __init__(self, gate: Gate, confirmation_key: bytes) -> None:
        self.gate = gate
        self._confirmation_key = confirmation_key

    def issue(
        self,
        call: c.Call,
        confirmation: c.Confirmation,
        budget: c.Budget,
        context: c.Context,
        validity: c.Validity,
    ) -> c.Authorization | c.Refused:
        """The library trusts its user to have checked the confirmation."""
        genuine = ids.confirmation_is_genuine(self._confirmation_key, confirmation)
        shown = ids.confirm(self._confirmation_key, confirmation.event, call, budget)
        if not genuine or confirmation != shown:
            return c.Refused("bad_credential")
        end_s = validity.expires_s
        return c.Authorization(
            self.gate.grant(confirmation.event, call, context.executor, budget, end_s), budget
        )

    def execute(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Done | c.Replayed:
        """``NotApplied`` and ``EffectUnknown`` pass through: the node knows what they mean."""
        fresh, receipt = self.gate.run(authorization.record, call, context.executor, attempt)
        return c.Done(receipt) if fresh else c.Replayed(receipt)

    def revoke(self, authorization: c.Authorization) -> c.Revoked:
        """The library does not say how many it stopped."""
        self.gate.revoke(authorization.record)
        return c.Revoked()

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        """The library sends again by itself: nothing is left to resume."""
        ended = self.gate.resume()
        return c.Recovered(settled=tuple(c.Admission(g, key=k, attempt=a) for g, a, k in ended))


class GuardedTarget:
    """The adapter. Each claim is a promise of the library, quoted."""

    library: type[Gate] = Gate
    name = c.TargetName("gate", "library", "1")
    declaration = c.Declaration(
        c.Facts(
            key="stored",
            attempt_identity=True,
            binds=BINDS,
            after_not_applied="free",
            recovery="resend",
            expiry="inclusive",
            clock="injected",
            waits_s=4 * WAIT_S,  # before and after the effect, for the other thread and the store
        ),
        {
            "multi_budget": "A grant lets through as many runs as its budget says.",
            "revoke": "After revoke() returned the gate lets nothing new through.",
            "expiry": "A grant is good up to and including its last second.",
            "release": "A run that the other side definitely did not apply is taken back.",
            "recover": "resume() runs to its end whatever was let through and has no receipt.",
            "finds_unfinished": "It looks for it in the store itself.",
            "durable_process": "What was answered survives a killed process and a power cut.",
            "durable_power": "What was answered survives a killed process and a power cut.",
        },
    )

    def deploy(self, workspace: Path) -> c.Deployment:
        """WAL is a property of the file; closing it leaves one file to copy."""
        with closing(sqlite3.connect(workspace / "gate.db")) as db:
            db.executescript(SCHEMA)
        return c.Deployment("gate.db")

    def open(self, store: c.Json, env: c.Env) -> GuardedLedger:
        """Connects here, in the node, after the fork."""
        wait_s = min(WAIT_S, env.patience_s / 4)
        gate = self.library(env.workspace / str(store), wait_s, env.now, env.effect)
        return GuardedLedger(gate, env.trust.confirmation_key)

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        """One SELECT, so one instant; in WAL mode readers wait for nobody, nor does anyone for
        them."""
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            row = db.execute(VIEW, (approval.confirmation.event,)).fetchone()
        if row is None:
            return c.View(known=False, linearizable=True)
        budget, revoked, running, done = row
        rest = {"revoked" if revoked else "issued": budget - running - done}
        counts = c.Counts(prepared=running, committed=done, **rest)
        return c.View(True, counts=counts, linearizable=True, revoked=bool(revoked))

    def classify(self, exc: BaseException) -> c.Refused | c.Busy | c.Unknown | None:
        """Busy after the effect is corrected by the node, which saw the effect."""
        if isinstance(exc, Shut):
            return c.Refused(str(exc))
        if isinstance(exc, sqlite3.OperationalError) and "locked" in str(exc):
            return c.Busy("contention", detail=str(exc))
        if isinstance(exc, sqlite3.OperationalError) and "disk" in str(exc):
            return c.Unknown(str(exc))
        if isinstance(exc, ValueError | RecursionError):  # before anything is written
            return c.Refused("invalid", detail=str(exc))
        return None
