"""Warming up: every operation once, refusals and repeats too, on a store that is thrown away.

A node is a fork of the process that ran this, and lives for milliseconds. What is imported,
compiled and cached here is paid once and not in every one of them. Nothing stays open.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from .. import identity
from ..terms import (
    Admission,
    Approval,
    Authorization,
    Call,
    Context,
    Identity,
    Receipt,
    Trust,
    Validity,
)
from .store import compiled_for
from .target import CapLeaseSqlite

if TYPE_CHECKING:
    from sqlalchemy import Executable

    from ..contract import Env
    from ..replies import NotGranted
    from .ledger import CapLease
    from .realization import Realization
    from .store import Store

ROUNDS: Final = 3
"""CPython specialises what it has run some eight times; a round runs most things thrice."""

_CALL = Call("warm.up", {"label": "warm", "amount": 1}, principal="u", resource="r")
_CONTEXT = Context("e", "s", "t")


@dataclass(frozen=True, slots=True)
class WarmEnv:
    """The least world in which the ledger runs: no sink, no fault points."""

    workspace: Path
    identity: Identity = Identity("warm", b"")
    trust: Trust = Trust(b"confirmation", b"receipt")
    lease_s: float = 0.05
    patience_s: float = 1.0
    sink_url: str | None = None

    def now(self) -> float:
        return time.time()

    def at(self, point: str) -> None:
        """No stops here."""

    def effect(self, tool: str, args: Mapping[str, object], key: str | None = None) -> NoReturn:
        raise NotImplementedError

    async def effect_async(
        self, tool: str, args: Mapping[str, object], key: str | None = None
    ) -> NoReturn:
        raise NotImplementedError

    def lookup(self, key: str) -> NoReturn:
        raise NotImplementedError


class _Elsewhere(CapLeaseSqlite):
    """The ledger of another target, over SQLite."""

    def __init__(self, target: Realization) -> None:
        self._target = target

    def client(self, store: Store, key: str, env: Env) -> CapLease:
        return self._target.client(store, key, env)


def exercise_elsewhere(target: Realization) -> list[Executable]:
    """Run the ledger of a target whose own store needs a server; the statements that it sent."""
    exercise(_Elsewhere(target))
    return compiled_for("sqlite")


def exercise(target: CapLeaseSqlite) -> None:
    """Run the ledger through its paces in folders that are gone afterwards."""
    for _ in range(ROUNDS):
        _exercise(target)


def _exercise(target: CapLeaseSqlite) -> None:
    with tempfile.TemporaryDirectory(prefix="admitone-warm-") as folder:
        env = WarmEnv(Path(folder))
        deployment = target.deploy(env.workspace)
        ledger = target.open(deployment.store, env)
        try:
            approval = _use(ledger, env)
            _refusals(ledger, env)
            ledger.audit()
        finally:
            ledger.disconnect()
        # inspect names files relative to the workspace, which is not the working directory here
        assert isinstance(deployment.store, dict)
        database = str(env.workspace / str(deployment.store["database"]))
        target.inspect({**deployment.store, "database": database}, approval)


def _use(ledger: CapLease, env: WarmEnv) -> Approval:
    confirmation = identity.confirm(env.trust.confirmation_key, "use", _CALL, 8)
    validity = Validity(env.now(), env.now() + 3600)
    root = _granted(ledger.issue(_CALL, confirmation, 8, _CONTEXT, validity))
    ledger.issue(_CALL, confirmation, 8, _CONTEXT, validity)
    _run(ledger, env, root, _CONTEXT, "first")
    _run(ledger, env, root, _CONTEXT, "second")
    narrower = Context("e2", "s", "t/part")
    child = _granted(ledger.delegate(root, narrower, 2))
    ledger.delegate(root, narrower, 2)
    _run(ledger, env, child, narrower, "third")
    ledger.close(child)
    ledger.revoke(root)
    ledger.prepare(root, _CALL, _CONTEXT, "fourth")
    return Approval(_CALL, confirmation, 8, _CONTEXT, validity, root)


def _run(
    ledger: CapLease, env: WarmEnv, authorization: Authorization, context: Context, attempt: str
) -> None:
    """Prepare and Commit, each twice, with a recovery between them."""
    admission = ledger.prepare(authorization, _CALL, context, attempt)
    ledger.prepare(authorization, _CALL, context, attempt)
    if not isinstance(admission, Admission):
        return  # a broken ledger may have nothing left; it is warm enough
    ledger.recover(())
    receipt = _receipt(env, admission)
    ledger.commit(admission, receipt)
    ledger.commit(admission, receipt)
    ledger.prepare(authorization, _CALL, context, attempt)


def _refusals(ledger: CapLease, env: WarmEnv) -> None:
    confirmation = identity.confirm(env.trust.confirmation_key, "refused", _CALL, 1)
    ledger.issue(_CALL, confirmation, True, _CONTEXT, Validity(0.0))
    ledger.issue(_CALL, confirmation, 1, _CONTEXT, Validity(0.0, 1.0))
    root = _granted(ledger.issue(_CALL, confirmation, 1, _CONTEXT, Validity(0.0)))
    ledger.prepare(root, _CALL, Context("thief", "s", "t"), "theft")
    ledger.prepare(Authorization(root.record), _CALL, _CONTEXT, "forged")
    ledger.prepare(root, _CALL, _CONTEXT, "only")
    ledger.prepare(root, _CALL, _CONTEXT, "one too many")


def _receipt(env: WarmEnv, admission: Admission) -> Receipt:
    digest = identity.effect_digest(_CALL.tool, dict(_CALL.args))
    return identity.sign_receipt(env.trust.receipt_key, admission.key, _CALL.tool, digest, 1)


def _granted(reply: Authorization | NotGranted) -> Authorization:
    assert isinstance(reply, Authorization), reply
    return reply
