"""The contract: what a ledger's adapter looks like, and the world that it is given.

A minimal adapter is a class with ``deploy``, ``open`` and ``inspect``, and a ledger object with
the operations that the library has::

    class MyTarget:
        def deploy(self, workspace): ...      # make the store once; return Deployment(store)
        def open(self, store, env): ...       # one client of it; return a Ledger
        def inspect(self, store, approval):   # read-only, by a connection of its own

No inheritance is needed: the protocols below are for the type checker. Name it to the suite as
``py:package.module:MyTarget``.

Three rules for adapters. **Never retry**: one operation is one call to the library. **Never
invent**: what the ledger does not give is None. **Never remember**: only what ``open`` made
outlives a call; everything else travels in ``credential`` and ``handle``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from .declaration import Boundary, Claim, Declaration, Facts
from .replies import (
    Busy,
    Done,
    EffectUnknown,
    Grant,
    NotApplied,
    NotGranted,
    Recovered,
    Refused,
    Replayed,
    Reply,
    Revoked,
    Unknown,
)
from .terms import (
    Admission,
    Approval,
    AuditView,
    Authorization,
    Budget,
    Call,
    Confirmation,
    Context,
    Counts,
    Deployment,
    Identity,
    Json,
    Receipt,
    Server,
    SlotState,
    SlotView,
    TargetName,
    Trust,
    Validity,
    View,
    postgres_server,
)

OPERATIONS = (
    "propose",
    "issue",
    "prepare",
    "commit",
    "release",
    "renew",
    "revoke",
    "recover",
    "delegate",
    "close",
    "audit",
    "execute",
)
"""Every operation a ledger may have, by the name of its method."""


class Env(Protocol):
    """The node's world, given to ``open``. Everything here may be used from any thread.

    ``workspace``   this store's folder: keep every file below it.
    ``identity``    who this client is, with its key.
    ``trust``       keys that verify confirmations and receipts.
    ``lease_s``     for the library's lease or lock lifetime knob, seconds.
    ``patience_s``  for its time-outs: no call should wait longer than this, seconds.
    ``sink_url``    where the sink listens over HTTP, if it is a process of its own, else None.
    """

    @property
    def workspace(self) -> Path: ...
    @property
    def identity(self) -> Identity: ...
    @property
    def trust(self) -> Trust: ...
    @property
    def lease_s(self) -> float: ...
    @property
    def patience_s(self) -> float: ...
    @property
    def sink_url(self) -> str | None: ...

    def now(self) -> float:
        """The clock of this node, seconds since the epoch; use it wherever the library lets you."""
        ...

    def at(self, point: str) -> None:
        """Mark a stop of the adapter's own, for stores that no probe can see into.

        ``at("before-write")`` and ``at("after-write")`` stand for the two sides of one durable
        write; any other name (a-z, 0-9, ".", "-", "_") is a stop of that name.
        """
        ...

    def effect(self, tool: str, args: Mapping[str, object], key: str | None = None) -> Receipt:
        """Ask the sink to apply the effect. *Guarded* ledgers call this from their callback, with
        the arguments that the ledger handed to the callback.

        Raises ``NotApplied`` (definite) or ``EffectUnknown``; let both pass through the library.
        """
        ...

    async def effect_async(
        self, tool: str, args: Mapping[str, object], key: str | None = None
    ) -> Receipt:
        """The same for ``async def`` ledgers: does not block the node's event loop."""
        ...

    def lookup(self, key: str) -> Receipt | None:
        """Ask the sink whether an effect with this key stands applied. None: not up to now.

        Raises ``EffectUnknown`` where the sink cannot tell (the control sink never can).
        """
        ...


class Ledger(Protocol):
    """What one client holds. An adapter has those of these methods that its library has.

    Any of them may be ``async def``: a node keeps one event loop running for its whole life.
    Exceptions that the adapter does not understand pass through; ``Target.classify`` names them.
    """


class SplitLedger(Protocol):
    """The operations of a ledger with separate Prepare and Commit, in full.

    Each answers its grant or a ``Replayed``, ``Refused``, ``Busy`` or ``Unknown``.
    """

    def propose(
        self,
        call: Call,
        confirmation: Confirmation,
        budget: Budget,
        context: Context,
        validity: Validity,
    ) -> Authorization | NotGranted:
        """Optional. Asked for, not decided yet: using it must answer ``needs_confirmation``."""
        ...

    def issue(
        self,
        call: Call,
        confirmation: Confirmation,
        budget: Budget,
        context: Context,
        validity: Validity,
    ) -> Authorization | NotGranted:
        """Decided. The same (sigma, e_u) never opens a second record: answer the first again."""
        ...

    def prepare(
        self, authorization: Authorization, call: Call, context: Context, attempt: str
    ) -> Admission | NotGranted:
        """Admit one use, linearizably. ``context`` is that of whoever presents it now, ``call``
        what will be sent. ``attempt`` is the client's idempotency token for one request: where
        the ledger knows such a thing, the same attempt gets the same admission or a refusal."""
        ...

    def commit(self, admission: Admission, receipt: Receipt) -> Done | NotGranted:
        """The effect stands, with this receipt. Anyone who has ``admission.handle`` may say so."""
        ...

    def release(self, admission: Admission, evidence: str) -> Done | NotGranted:
        """Optional. After a definite non-effect only, by the holder only: frees the unit."""
        ...

    def renew(self, admission: Admission) -> Done | NotGranted:
        """Optional. A holder's heartbeat."""
        ...

    def revoke(self, authorization: Authorization) -> Revoked | NotGranted:
        """Stop every unit not yet admitted. It never stops the recovery of admitted ones."""
        ...

    def recover(self, known: Sequence[Authorization]) -> Recovered | NotGranted:
        """Find prepared units, of anybody, expired and revoked ones too, and say which must be
        sent again under the same key and which were settled. ``known`` helps a ledger that
        cannot list its records."""
        ...

    def delegate(
        self, authorization: Authorization, context: Context, budget: Budget
    ) -> Authorization | NotGranted:
        """Make a narrower child; the parent's budget is reserved in the same transaction."""
        ...

    def close(self, authorization: Authorization) -> Done | NotGranted:
        """A child gives back what it did not use."""
        ...

    def audit(self) -> AuditView | NotGranted:
        """The head, length and health of the audit chain."""
        ...


class GuardedLedger(Protocol):
    """A ledger that runs the effect itself, through ``env.effect``, instead of prepare and commit.

    It may have ``issue``, ``revoke``, ``recover`` and the rest like any other.
    """

    def execute(
        self, authorization: Authorization, call: Call, context: Context, attempt: str
    ) -> object:
        """Admit, run the effect, record it. Anything that is no ``NotGranted`` counts as done;
        the node itself sees whether ``env.effect`` was entered (Ran) or not (Replayed)."""
        ...


class Target(Protocol):
    """A system under test. Only these three methods are required.

    Optional attributes: ``name`` (``TargetName``), ``declaration`` (``Declaration``).
    Optional methods, see ``FullTarget``: ``warm``, ``classify``, ``fresh``, ``discard``, ``work``,
    ``effects``.
    """

    def deploy(self, workspace: Path) -> Deployment:
        """Make an empty store below ``workspace``; run once, in a node. The folder is then copied
        for every use, so it must not contain its own path."""
        ...

    def open(self, store: Json, env: Env) -> object:
        """One client: called in a node after the fork. Make connections, threads and loops here.
        Paths in ``store`` are relative to ``env.workspace``. May be ``async def``."""
        ...

    def inspect(self, store: Json, approval: Approval) -> View | None:
        """Read what the ledger durably holds for this approval: read-only, by a connection of
        its own, never through ``open``. It is run with the workspace as working directory.
        None: this approval cannot be found without more (then no reading was made)."""
        ...


class FullTarget(Target, Protocol):
    """Everything a target may have."""

    name: TargetName
    declaration: Declaration

    def warm(self) -> None:
        """Imports, nothing else: no thread, no open store. Run before the first fork."""
        ...

    def classify(self, exc: BaseException) -> Refused | Busy | Unknown | None:
        """What an exception of the library means. None: not understood, which fails the run."""
        ...

    def fresh(self, store: Json, n: int) -> Json:
        """For stores that cannot be copied as files: store number ``n``, empty, in the same server
        (a schema, a prefix, a tenant). Called once for every schedule, in a node of its own that
        is never hurt, when the servers run; ``n`` never comes twice in one server."""
        ...

    def discard(self, store: Json) -> None:
        """Remove a store that ``fresh`` made, as far as it is there. Without it the stores stay
        in the server, which is no matter where the suite throws that away."""
        ...

    def work(self, store: Json, env: Env) -> None:
        """One pass of a sweeper, relay or reaper. What ``execute`` leaves to it is open until a
        pass sends it; a pass is made after such a call, and after each recovery."""
        ...

    def effects(self, store: Json) -> Sequence[Receipt]:
        """Only for a ledger that contains the effect itself."""
        ...


__all__ = [
    "OPERATIONS",
    "Admission",
    "Approval",
    "AuditView",
    "Authorization",
    "Boundary",
    "Budget",
    "Busy",
    "Call",
    "Claim",
    "Confirmation",
    "Context",
    "Counts",
    "Declaration",
    "Deployment",
    "Done",
    "EffectUnknown",
    "Env",
    "Facts",
    "FullTarget",
    "Grant",
    "GuardedLedger",
    "Identity",
    "Json",
    "Ledger",
    "NotApplied",
    "NotGranted",
    "Receipt",
    "Recovered",
    "Refused",
    "Replayed",
    "Reply",
    "Revoked",
    "Server",
    "SlotState",
    "SlotView",
    "SplitLedger",
    "Target",
    "TargetName",
    "Trust",
    "Unknown",
    "Validity",
    "View",
    "postgres_server",
]
