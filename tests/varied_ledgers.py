"""Correct ledgers whose facts none of those that ship has, for tests of what is not accused.

One small library of tickets, with a knob for each fact: who keeps the record until the first use,
what becomes of a unit whose holder stops, what a second context or a second approval is told, how
long anything is remembered.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from admitone.targets import contract as c
from admitone.targets import identity as ids

SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE ticket (name TEXT PRIMARY KEY, uses INTEGER NOT NULL, action TEXT NOT NULL,
    context TEXT NOT NULL, closed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE use (number INTEGER PRIMARY KEY, ticket TEXT NOT NULL, attempt TEXT NOT NULL,
    until_s REAL NOT NULL, state TEXT NOT NULL DEFAULT 'out', receipt TEXT,
    UNIQUE (ticket, attempt));
CREATE TABLE visit (n INTEGER NOT NULL);
INSERT INTO visit VALUES (0);
"""
PLAIN = c.Facts(
    keyed_by="confirmation", key="derived", attempt_identity=True, slot_identity=False, waits_s=4.0
)
BUDGET = {"multi_budget": "A ticket can be taken as often as it says."}
RECOVER = {
    "recover": "open_uses() lists every use that is out, whoever has it.",
    "finds_unfinished": "It looks for them in the store itself.",
}


class Tickets:
    """One client of the library."""

    def __init__(self, target: Varied, path: Path, env: c.Env) -> None:
        self.facts, self.env = target.declaration.facts, env
        self.db = sqlite3.connect(path, timeout=env.patience_s, isolation_level=None)

    @contextmanager
    def _visit(self) -> Iterator[sqlite3.Connection]:
        """The write lock is taken before anything is read."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            self.db.execute("UPDATE visit SET n = n + 1")
            yield self.db
            self.db.execute("COMMIT")
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise

    def _new(self, db: sqlite3.Connection, said: c.Confirmation, context: c.Context) -> Any:
        """None, or why this confirmation opens nothing."""
        text = json.dumps(asdict(context), sort_keys=True)
        row = db.execute(
            "SELECT uses, action, context, closed FROM ticket WHERE name = ?", (said.event,)
        ).fetchone()
        if row is not None:
            if row[:2] != (said.budget, said.action):
                return c.Refused("duplicate")
            if self.facts.context_update == "refuse" and row[2] != text:
                return c.Refused("duplicate")
            return c.Refused("exhausted") if row[3] else None
        if self.facts.reapproval == "refuse":
            query = (
                "SELECT 1 FROM ticket JOIN use ON ticket = name"
                " WHERE action = ? AND state IN ('out', 'unclear')"
            )
            if db.execute(query, (said.action,)).fetchone():
                return c.Refused("in_doubt")
        insert = "INSERT INTO ticket (name, uses, action, context) VALUES (?, ?, ?, ?)"
        db.execute(insert, (said.event, said.budget, said.action, text))
        return None

    def issue(
        self,
        call: c.Call,
        said: c.Confirmation,
        budget: c.Budget,
        context: c.Context,
        validity: c.Validity,
    ) -> Any:
        if type(said.budget) is not int or not 0 < said.budget < 2**31:
            return c.Refused("invalid")
        key = self.env.trust.confirmation_key
        if not ids.confirmation_is_genuine(key, said) or said.budget != budget:
            return c.Refused("bad_credential")
        if said.action != ids.action_identity(call):
            return c.Refused("wrong_action")
        credential = {**asdict(said), "context": asdict(context)}
        if self.facts.issues == "stored":
            with self._visit() as db:
                if (refused := self._new(db, said, context)) is not None:
                    return refused
        return c.Authorization(said.event, budget, credential)

    def _lapsed(self, db: sqlite3.Connection, name: str) -> None:
        """Uses whose holder was away for too long."""
        if self.facts.lapse == "in_doubt":
            late = "UPDATE use SET state = 'unclear' WHERE ticket = ? AND state = 'out'"
            db.execute(late + " AND until_s <= ?", (name, self.env.now()))

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> Any:
        name = authorization.record
        with self._visit() as db:
            if self.facts.issues == "held":
                refused = self._shown(db, authorization.credential, call)
                if refused is not None:
                    return refused
            elif self.facts.issues == "none":
                db.execute(
                    "INSERT OR IGNORE INTO ticket (name, uses, action, context)"
                    " VALUES (?, 1, ?, '')",
                    (name, ids.action_identity(call)),
                )
            query = "SELECT uses, action, closed FROM ticket WHERE name = ?"
            row = db.execute(query, (name,)).fetchone()
            if row is None:
                return c.Refused("unknown_record")
            if row[1] != ids.action_identity(call):
                return c.Refused("wrong_action")
            self._lapsed(db, name)
            mine = "SELECT number, state, receipt FROM use WHERE ticket = ? AND attempt = ?"
            found = db.execute(mine, (name, attempt)).fetchone()
            if found is not None and found[1] == "done":
                return c.Replayed(c.Receipt(**json.loads(found[2])))
            if found is not None and found[1] == "unclear":
                return c.Refused("in_doubt")
            if found is None:
                taken = "SELECT count(*) FROM use WHERE ticket = ?"
                if db.execute(taken, (name,)).fetchone()[0] >= row[0] or row[2]:
                    return c.Refused("exhausted")
                until_s = self.env.now() + self.env.lease_s
                new = "INSERT INTO use (ticket, attempt, until_s) VALUES (?, ?, ?)"
                number = db.execute(new, (name, attempt, until_s)).lastrowid
            else:
                number = found[0]
        return self._admission(name, attempt, number)

    def _admission(self, name: str, attempt: str, number: int | None) -> c.Admission:
        return c.Admission(name, key=f"{name}/{attempt}", handle=number, attempt=attempt)

    def _shown(self, db: sqlite3.Connection, credential: Any, call: c.Call) -> Any:
        """The token that its client holds: the confirmation itself."""
        if not isinstance(credential, dict):
            return c.Refused("bad_credential")
        context = c.Context(**credential["context"])
        said = c.Confirmation(**{k: v for k, v in credential.items() if k != "context"})
        if not ids.confirmation_is_genuine(self.env.trust.confirmation_key, said):
            return c.Refused("bad_credential")
        return self._new(db, said, context)

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> Any:
        with self._visit() as db:
            return self._done(db, admission.handle, admission.key, receipt)

    def _done(
        self, db: sqlite3.Connection, number: Any, key: str | None, receipt: c.Receipt
    ) -> Any:
        if not ids.receipt_is_genuine(self.env.trust.receipt_key, receipt) or receipt.key != key:
            return c.Refused("receipt_mismatch")
        done = "UPDATE use SET state = 'done', receipt = ? WHERE number = ? AND state <> 'done'"
        db.execute(done, (json.dumps(asdict(receipt)), number))
        if not db.execute("SELECT 1 FROM use WHERE number = ?", (number,)).fetchone():
            return c.Refused("not_prepared")
        if self.facts.retention_s is not None:
            self._forget(db, number)
        return c.Done(receipt)

    def _forget(self, db: sqlite3.Connection, number: Any) -> None:
        """Of a ticket that is used up only its name is kept."""
        [name] = db.execute("SELECT ticket FROM use WHERE number = ?", (number,)).fetchone()
        used = "SELECT count(*) FROM use WHERE ticket = ? AND state = 'done'"
        uses = "SELECT uses FROM ticket WHERE name = ?"
        if db.execute(used, (name,)).fetchone() == db.execute(uses, (name,)).fetchone():
            db.execute("UPDATE ticket SET closed = 1 WHERE name = ?", (name,))
            db.execute("DELETE FROM use WHERE ticket = ?", (name,))

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        query = "SELECT ticket, attempt, number FROM use WHERE state = 'out' ORDER BY number"
        with self._visit() as db:
            for [name] in db.execute("SELECT name FROM ticket").fetchall():
                self._lapsed(db, name)
            out = [self._admission(*row) for row in db.execute(query).fetchall()]
        if self.facts.recovery != "lookup":
            return c.Recovered(resume=tuple(out))
        resume, settled = [], []
        for admission in out:
            try:
                receipt = self.env.lookup(str(admission.key))
            except c.EffectUnknown:
                receipt = None
            if receipt is None:
                resume.append(admission)
                continue
            with self._visit() as db:
                self._done(db, admission.handle, admission.key, receipt)
            settled.append(admission)
        return c.Recovered(tuple(resume), tuple(settled))


class Varied:
    """The adapter. Each subclass is one fact that differs. ``without``: operations it lacks."""

    name = c.TargetName("tickets", "varied", "1")
    declaration = c.Declaration(replace(PLAIN, recovery="resend"), {**BUDGET, **RECOVER})
    without: tuple[str, ...] = ()
    ledger_class: type[Tickets] = Tickets

    def deploy(self, workspace: Path) -> c.Deployment:
        with closing(sqlite3.connect(workspace / "tickets.db")) as db:
            db.executescript(SCHEMA)
        return c.Deployment("tickets.db")

    def open(self, store: c.Json, env: c.Env) -> Any:
        tickets = self.ledger_class(self, env.workspace / str(store), env)
        for name in self.without:
            setattr(tickets, name, None)
        return tickets

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        query = (
            "SELECT uses, closed, count(*) FILTER (WHERE state = 'out'),"
            " count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'unclear')"
            " FROM ticket LEFT JOIN use ON ticket = name WHERE name = ? GROUP BY name"
        )
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            row = db.execute(query, (approval.confirmation.event,)).fetchone()
        if row is None or row[1]:
            return c.View(known=False, linearizable=True)
        uses, _, out, done, unclear = row
        counts = c.Counts(uses - out - done - unclear, out, done, in_doubt=unclear)
        return c.View(True, counts=counts, linearizable=True)

    def classify(self, exc: BaseException) -> c.Busy | c.Unknown | None:
        if isinstance(exc, sqlite3.OperationalError):
            return c.Busy("contention") if "locked" in str(exc) else c.Unknown(str(exc))
        return None


def _with(claims: dict[str, str], **facts: Any) -> c.Declaration:
    return c.Declaration(replace(PLAIN, **facts), claims)


class LostUnlessFinished(Varied):
    """Nobody else gets a unit whose holder stopped."""

    declaration = _with(BUDGET, lapse="refuse")
    without = ("recover",)


class InDoubtAtLast(Varied):
    """A holder that is away for too long leaves its unit in doubt, for a person to settle."""

    declaration = _with(
        {**BUDGET, **RECOVER}, lapse="in_doubt", manual_state="unclear", recovery="manual"
    )


class Held(Varied):
    """The client holds a token; the store knows nothing of it before the first use."""

    declaration = _with({**BUDGET, **RECOVER}, issues="held", recovery="resend")


class NoIssue(Varied):
    """There is no issue step: the first use makes the record, whatever its name."""

    declaration = _with(RECOVER, issues="none", recovery="resend")
    without = ("issue",)


class LooksUp(Varied):
    """Recovery asks the sink what became of each unit."""

    declaration = _with({**BUDGET, **RECOVER}, recovery="lookup")


class OneContext(Varied):
    """A confirmation is not opened again under another context."""

    declaration = _with({**BUDGET, **RECOVER}, recovery="resend", context_update="refuse")


class OneApproval(Varied):
    """The same call is not approved anew while a unit of it is unresolved."""

    declaration = _with({**BUDGET, **RECOVER}, recovery="resend", reapproval="refuse")


class Forgets(Varied):
    """Of what is used up only the name is kept."""

    declaration = _with({**BUDGET, **RECOVER}, recovery="resend", retention_s=0.0)


class DoubtingTickets(Tickets):
    """It knows no better, the first time, than that it may have been done."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._asked: set[str] = set()

    def _doubted(self, op: str, answer: Any) -> Any:
        if op in self._asked or isinstance(answer, c.Refused):
            return answer
        self._asked.add(op)
        return c.Unknown("the answer of the store got lost")

    def issue(self, *asked: Any) -> Any:
        return self._doubted("issue", super().issue(*asked))

    def prepare(self, *asked: Any) -> Any:
        return self._doubted("prepare", super().prepare(*asked))

    def commit(self, *asked: Any) -> Any:
        return self._doubted("commit", super().commit(*asked))


class Doubts(Varied):
    """The first answer of each kind that a client gets is that nobody knows."""

    ledger_class = DoubtingTickets


EACH = (
    LostUnlessFinished, InDoubtAtLast, Held, NoIssue, LooksUp, OneContext, OneApproval, Forgets,
)  # fmt: skip
