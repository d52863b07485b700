"""A world for the reference ledger and its broken variants: a clock that stands, and clients."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from admitone.targets import identity
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.caplease.target_postgres import CapLeasePostgres
from admitone.targets.contract import (
    Admission,
    Approval,
    AuditView,
    Authorization,
    Budget,
    Call,
    Confirmation,
    Context,
    Deployment,
    Identity,
    Receipt,
    Refused,
    Trust,
    Validity,
    View,
)

START_S = 1000.0
END_S = 2000.0
TRUST = Trust(b"confirmation key", b"receipt key")
CALL = Call("pay", {"to": "ann", "cents": 1200}, "user", "account-1")
CONTEXT = Context("agent", "session", "task")
CHILD = Context("helper", "session", "task/part")
VALIDITY = Validity(START_S, END_S)


@dataclass
class World:
    """``Env`` of the contract. ``during_now`` is what happens while the ledger reads its clock."""

    workspace: Path
    clock_s: float = START_S
    patience_s: float = 0.0
    lease_s: float = 0.05
    identity: Identity = Identity("agent", b"")
    trust: Trust = TRUST
    sink_url: str | None = None
    during_now: list[Callable[[], object]] = field(default_factory=list)

    def now(self) -> float:
        if self.during_now:
            self.during_now.pop()()
        return self.clock_s

    def at(self, point: str) -> None:
        pass

    def effect(self, tool: str, args: Mapping[str, object], key: str | None = None) -> NoReturn:
        raise NotImplementedError

    async def effect_async(
        self, tool: str, args: Mapping[str, object], key: str | None = None
    ) -> NoReturn:
        raise NotImplementedError

    def lookup(self, key: str) -> NoReturn:
        raise NotImplementedError


@dataclass
class Site:
    """One deployed store, and the clients that a test opens of it."""

    target: CapLeaseSqlite | CapLeasePostgres
    workspace: Path
    clients: list[CapLease] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.deployment: Deployment = self.target.deploy(self.workspace)

    @property
    def database(self) -> Path:
        return self.workspace / "ledger.sqlite3"

    def alter(self, sql: str) -> None:
        """Change the store behind the ledger's back."""
        with closing(sqlite3.connect(self.database, isolation_level=None)) as raw:
            raw.execute(sql)

    def client(self, **world: Any) -> tuple[CapLease, World]:
        env = World(self.workspace, **world)
        ledger = self.target.open(self.deployment.store, env)
        self.clients.append(ledger)
        return ledger, env

    def look(
        self, authorization: Authorization | None = None, confirmed: Confirmation | None = None
    ) -> View:
        """What ``inspect`` reads, run as the harness runs it: in the workspace."""
        before = Path.cwd()
        os.chdir(self.workspace)
        try:
            approval = Approval(CALL, confirmed or confirm(1), 1, CONTEXT, VALIDITY, authorization)
            return self.target.inspect(self.deployment.store, approval)
        finally:
            os.chdir(before)

    def words(self, authorization: Authorization) -> list[str]:
        """The states of the slots, in order, in the ledger's own words."""
        return [slot.word for slot in self.look(authorization).slots or ()]

    def shut(self) -> None:
        for client in self.clients:
            client.disconnect()


def confirm(budget: Budget, event: str = "event", call: Call = CALL) -> Confirmation:
    return identity.confirm(TRUST.confirmation_key, event, call, budget)


def issue(ledger: CapLease, units: int = 1, event: str = "event", **changes: Any) -> Any:
    """Issue with everything in order, but for the changes."""
    asked = {
        "call": CALL,
        "confirmation": confirm(units, event),
        "budget": units,
        "context": CONTEXT,
        "validity": VALIDITY,
        **changes,
    }
    return ledger.issue(**asked)


def issued(ledger: CapLease, budget: int = 1, event: str = "event") -> Authorization:
    granted = issue(ledger, budget, event)
    assert isinstance(granted, Authorization)
    return granted


def prepare(ledger: CapLease, authorization: Authorization, attempt: str, **changes: Any) -> Any:
    """Prepare with everything in order, but for the changes to call or context."""
    call = replace(CALL, **{k: v for k, v in changes.items() if hasattr(CALL, k)})
    context = replace(CONTEXT, **{k: v for k, v in changes.items() if hasattr(CONTEXT, k)})
    return ledger.prepare(authorization, call, context, attempt)


def prepared(ledger: CapLease, authorization: Authorization, attempt: str) -> Admission:
    admission = prepare(ledger, authorization, attempt)
    assert isinstance(admission, Admission), admission
    return admission


def receipt_for(admission: Admission, number: int = 1, **changes: Any) -> Receipt:
    """The receipt of an idempotent sink, signed, with fields changed before the signature."""
    signed = {
        "sink_key": admission.key,
        "tool": CALL.tool,
        "digest_": identity.effect_digest(CALL.tool, dict(CALL.args)),
        "number": number,
        **changes,
    }
    return identity.sign_receipt(TRUST.receipt_key, **signed)


def child_of(ledger: CapLease, parent: Authorization, budget: int = 1) -> Authorization:
    child = ledger.delegate(parent, CHILD, budget)
    assert isinstance(child, Authorization), child
    return child


def code(answer: object) -> str:
    """The code of a refusal, which must come with its advice."""
    assert isinstance(answer, Refused), answer
    assert answer.retryable is False
    assert answer.next
    return answer.code


def audited(ledger: CapLease) -> AuditView:
    view = ledger.audit()
    assert isinstance(view, AuditView)
    return view
