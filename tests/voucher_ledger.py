"""A correct ledger of a make that none has which ships: vouchers that are cut, by arithmetic.

It runs the effect itself, and a voucher may be cut: a smaller one for somebody else, whose units
its parent no longer has. There are no slots that could change hands; what a voucher has is what it
was given, less what it used and gave away. What was not used returns when a child is closed, also
one that was revoked. The credential is the voucher's name, and the authority alone.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from admitone.targets import contract as c
from admitone.targets import identity as ids

SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE voucher (id TEXT PRIMARY KEY, root TEXT NOT NULL, parent TEXT, decision TEXT UNIQUE,
    action TEXT NOT NULL, tool TEXT NOT NULL, args TEXT NOT NULL, holder TEXT NOT NULL,
    units INTEGER NOT NULL, used INTEGER NOT NULL DEFAULT 0, given INTEGER NOT NULL DEFAULT 0,
    end_s REAL, state TEXT NOT NULL DEFAULT 'live');
CREATE TABLE payment (key TEXT PRIMARY KEY, voucher TEXT NOT NULL, root TEXT NOT NULL,
    attempt TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open', sent INTEGER NOT NULL DEFAULT 0,
    receipt TEXT, UNIQUE (voucher, attempt));
"""
VIEW = """
SELECT units, voucher.state = 'revoked',
count(*) FILTER (WHERE payment.state = 'open'), count(*) FILTER (WHERE payment.state = 'paid'),
count(*) FILTER (WHERE payment.state = 'failed'), (SELECT coalesce(sum(units - used - given), 0)
FROM voucher AS child WHERE child.root = voucher.id AND parent IS NOT NULL AND state = 'revoked')
FROM voucher LEFT JOIN payment ON payment.root = voucher.id WHERE decision = ? GROUP BY voucher.id
"""
WAIT_S = 5.0
BINDS: Final = ("principal", "tool", "tool_version", "args", "resource", "executor", "session",
                "task", "policy_epoch", "schema_epoch", "budget", "confirmation")  # fmt: skip


class No(Exception):
    """A refusal, by its code; nothing happened."""


class VoucherLedger:
    """One client of the ledger."""

    def __init__(self, path: Path, env: c.Env) -> None:
        self.env = env
        wait_s = min(WAIT_S, env.patience_s / 4)
        self.db = sqlite3.connect(path, timeout=wait_s, isolation_level=None)
        self.db.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def writing(self) -> Iterator[None]:
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.db.execute("COMMIT")
        finally:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")

    def get(self, name: object) -> Any:
        cursor = self.db.execute("SELECT * FROM voucher WHERE id = ?", (str(name),))
        row = cursor.fetchone()
        if row is None:
            raise No("unknown_record")
        return dict(zip([column[0] for column in cursor.description], row, strict=True))

    # vouchers -----------------------------------------------------------------------------------

    def issue(
        self,
        call: c.Call,
        said: c.Confirmation,
        b: c.Budget,
        by: c.Context,
        validity: c.Validity,
    ) -> c.Authorization:
        """The same decision finds its voucher again, whatever became of it."""
        units, action = whole(b), ids.action_identity(call)
        if said != ids.confirm(self.env.trust.confirmation_key, said.event, call, b):
            raise No("bad_credential")
        args = json.dumps(call.args, allow_nan=False)
        if json.loads(args) != call.args:
            raise No("invalid")
        with self.writing():
            query = "SELECT id, action, units FROM voucher WHERE decision = ?"
            row = self.db.execute(query, (said.event,)).fetchone()
            if row is None:
                end_s, row = validity.expires_s, (secrets.token_hex(12), action, units)
                like = {"action": action, "tool": call.tool, "args": args, "end_s": end_s}
                self.make(row[0], row[0], None, said.event, like, text(by), units)
            if row[1:] != (action, units):
                raise No("duplicate")
        return c.Authorization(row[0], b, row[0])

    def make(
        self,
        name: str,
        root: str,
        parent: str | None,
        decision: str | None,
        like: Mapping[str, Any],
        holder: str,
        units: int,
    ) -> None:
        same = tuple(like[column] for column in ("action", "tool", "args", "end_s"))
        self.db.execute(
            "INSERT INTO voucher (id, root, parent, decision, holder, units, action, tool, args,"
            " end_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (name, root, parent, decision, holder, units, *same),
        )

    def delegate(
        self, authorization: c.Authorization, context: c.Context, b: c.Budget
    ) -> c.Authorization:
        """A child; the one that lives already, if it was asked for before."""
        units = self.units_of(b)
        with self.writing():
            parent = self.get(authorization.credential)
            self.check_live(parent)
            self.check_within(parent, context)
            if units > parent["units"]:
                raise No("widened")
            row = self.find(parent, text(context))
            if row is None:
                self.reserve(parent, units)
                row = (secrets.token_hex(12), units)
                root = parent["root"]
                self.make(row[0], root, parent["id"], None, parent, text(context), units)
            elif row[1] == units:
                self.found_again(parent, units)
            else:
                raise No("duplicate")
        return c.Authorization(row[0], b, row[0])

    def find(self, parent: Any, holder: str) -> Any:
        query = "SELECT id, units FROM voucher WHERE parent = ? AND holder = ? AND state = 'live'"
        return self.db.execute(query, (parent["id"], holder)).fetchone()

    def units_of(self, b: c.Budget) -> Any:
        return whole(b)

    def found_again(self, parent: Any, units: int) -> None:
        """Its units were taken when it was made."""

    def check_within(self, parent: Any, context: c.Context) -> None:
        ours = json.loads(parent["holder"])
        for name in ("session", "task"):
            if not self.is_within(getattr(context, name), ours[name]):
                raise No("widened")
        if any(getattr(context, name) != ours[name] for name in ("policy_epoch", "schema_epoch")):
            raise No("wrong_epoch")

    def is_within(self, name: str, wider: str) -> bool:
        return name == wider or name.startswith(f"{wider}/")

    def reserve(self, parent: Any, units: int) -> None:
        give = "UPDATE voucher SET given = given + ? WHERE id = ? AND used + given + ? <= units"
        if self.db.execute(give, (units, parent["id"], units)).rowcount != 1:
            raise No("exhausted")

    def close(self, authorization: c.Authorization) -> c.Done:
        """What it did not use goes back, once."""
        with self.writing():
            child = self.get(authorization.credential)
            if child["parent"] is None:
                raise No("invalid")
            if child["state"] != "closed":
                self.fold(child)
        return c.Done()

    def fold(self, child: Any) -> None:
        """Its own children first: of what they had, it gets back what is left."""
        below = "SELECT id FROM voucher WHERE parent = ? AND state <> 'closed'"
        for (name,) in self.db.execute(below, (child["id"],)).fetchall():
            self.fold(self.get(name))
        child = self.get(child["id"])
        rest = child["units"] - child["used"] - child["given"]
        self.db.execute("UPDATE voucher SET state = 'closed' WHERE id = ?", (child["id"],))
        back = "UPDATE voucher SET given = given - ? WHERE id = ?"
        self.db.execute(back, (rest, child["parent"]))

    def revoke(self, authorization: c.Authorization) -> c.Revoked:
        """Ends it, and with it whatever was cut from it."""
        with self.writing():
            name = self.get(authorization.credential)["id"]
            end = "UPDATE voucher SET state = 'revoked' WHERE id = ? AND state = 'live'"
            self.db.execute(end, (name,))
        return c.Revoked()

    def check_live(self, voucher: Any) -> None:
        above = voucher
        while above["state"] == "live" and above["parent"] is not None:
            above = self.get(above["parent"])
        if above["state"] != "live":
            raise No("revoked")
        if voucher["end_s"] is not None and self.env.now() >= voucher["end_s"]:
            raise No("expired")

    # payments -----------------------------------------------------------------------------------

    def execute(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Done | c.Replayed:
        """Admit, send, and write down; the same attempt is the same payment."""
        with self.writing():
            voucher = self.get(authorization.credential)
            if ids.action_identity(call) != voucher["action"]:
                raise No("wrong_action")
            if not self.is_holder(context, json.loads(voucher["holder"])):
                raise No("wrong_principal")
            query = "SELECT key, state, receipt FROM payment WHERE voucher = ? AND attempt = ?"
            row = self.db.execute(query, (voucher["id"], attempt)).fetchone()
            if row is None:
                row = (self.admit(voucher, attempt), "open", None)
            if row[1] == "failed":
                raise No("stale")
            self.count(row[0])
        if row[1] == "paid":
            return c.Replayed(c.Receipt(**json.loads(row[2])))
        return c.Done(self.send(row[0], voucher["tool"], voucher["args"]))

    def is_holder(self, context: c.Context, holder: Any) -> bool:
        return text(context) == json.dumps(holder)

    def admit(self, voucher: Any, attempt: str) -> str:
        self.check_live(voucher)
        take = "UPDATE voucher SET used = used + 1 WHERE id = ? AND used + given < units"
        if self.db.execute(take, (voucher["id"],)).rowcount != 1:
            raise No("exhausted")
        key = secrets.token_hex(16)
        self.db.execute(
            "INSERT INTO payment (key, voucher, root, attempt) VALUES (?, ?, ?, ?)",
            (key, voucher["id"], voucher["root"], attempt),
        )
        return key

    def count(self, key: str) -> bool:
        again = "UPDATE payment SET sent = sent + 1 WHERE key = ? AND state = 'open'"
        return self.db.execute(again, (key,)).rowcount == 1

    def send(self, key: str, tool: str, args: str) -> c.Receipt:
        """What was not applied is over for good, if nothing else was sent under its key."""
        try:
            receipt = self.env.effect(tool, json.loads(args), self.sink_key(key))
        except c.NotApplied as refused:
            over = (
                "UPDATE payment SET state = 'failed' WHERE key = ? AND state = 'open' AND sent = 1"
            )
            with self.writing():
                alone = self.db.execute(over, (key,)).rowcount == 1
            if alone:
                raise
            raise c.EffectUnknown("another request may stand applied") from refused
        done = "UPDATE payment SET state = 'paid', receipt = coalesce(receipt, ?) WHERE key = ?"
        with self.writing():
            self.db.execute(done, (json.dumps(asdict(receipt)), self.ended(key)))
        return receipt

    def sink_key(self, key: str) -> str:
        return key

    def ended(self, key: str) -> str:
        return key

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        """End all that is open, of whomever; one that fails keeps nobody waiting."""
        query = (
            "SELECT key, payment.root, attempt, tool, args FROM payment JOIN voucher"
            " ON voucher.id = voucher WHERE payment.state = 'open'"
        )
        ended = []
        for key, root, attempt, tool, args in self.db.execute(query).fetchall():
            with self.writing():
                still = self.count(key)
            try:
                if still:
                    self.send(key, tool, args)
            except (c.NotApplied, c.EffectUnknown):
                continue
            ended.append(c.Admission(root, key=key, attempt=attempt))
        return c.Recovered(settled=tuple(ended))


def whole(b: c.Budget) -> int:
    if type(b) is not int or not 0 < b < 10_000:
        raise No("invalid")
    return b


def text(context: c.Context) -> str:
    return json.dumps(asdict(context))


class VoucherTarget:
    """``py:tests.voucher_ledger:VoucherTarget``."""

    ledger: type[VoucherLedger] = VoucherLedger
    name = c.TargetName("voucher", version="1")
    declaration = c.Declaration(
        c.Facts(
            key="stored",
            attempt_identity=True,
            binds=BINDS,
            recovery="resend",
            clock="injected",
            child_refund="on_close",
            waits_s=4 * WAIT_S,
        ),
        {
            "multi_budget": "What a voucher has is what it was given, less what it used.",
            "revoke": "Ends it, and with it whatever was cut from it.",
            "delegate": "A voucher may be cut: its parent no longer has those units.",
            "expiry": "At its end and after it nothing is paid anew.",
            "recover": "End all that is open, of whomever.",
            "durable_process": "What was answered is in the store.",
        },
    )

    def deploy(self, workspace: Path) -> c.Deployment:
        with closing(sqlite3.connect(workspace / "vouchers.db")) as db:
            db.executescript(SCHEMA)
        return c.Deployment("vouchers.db")

    def open(self, store: c.Json, env: c.Env) -> VoucherLedger:
        return self.ledger(env.workspace / str(store), env)

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            row = db.execute(VIEW, (approval.confirmation.event,)).fetchone()
        if row is None:
            return c.View(known=False, linearizable=True)
        units, revoked, opened, paid, failed, lost = row
        over = units - opened - paid if revoked else failed + lost
        counts = c.Counts(units - opened - paid - over, opened, paid, over)
        return c.View(True, counts=counts, linearizable=True, revoked=bool(revoked))

    def classify(self, exc: BaseException) -> c.Refused | c.Busy | c.Unknown | None:
        if isinstance(exc, No):
            return c.Refused(str(exc))
        if isinstance(exc, ValueError | RecursionError):
            return c.Refused("invalid", detail=str(exc))
        if isinstance(exc, sqlite3.OperationalError) and "locked" in str(exc):
            return c.Busy("contention", detail=str(exc))
        if isinstance(exc, sqlite3.OperationalError) and "disk" in str(exc):
            return c.Unknown(str(exc))
        return None
