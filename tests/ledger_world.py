"""A small world for tests of ledgers: an environment and a sink in files, for many processes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from admitone.targets import identity as ids
from admitone.targets.contract import (
    Admission,
    Approval,
    Authorization,
    Budget,
    Call,
    Context,
    EffectUnknown,
    Identity,
    NotApplied,
    Receipt,
    Refused,
    Trust,
    Unknown,
    Validity,
)

TRUST = Trust(b"confirmation key", b"receipt key")
CALL = Call("pay", {"to": "ann", "cents": 1200, "memo": "label"}, "user", "account-1")
CONTEXT = Context("agent", "session-1", "task-1")


@dataclass
class Sink:
    """Idempotent: an application is a file named by its key. ``moods`` are for the next requests:
    "not applied", "lost" (applied, but the answer is not heard) and "away" (neither).
    ``keys`` are those of all requests, in order."""

    folder: Path
    moods: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def effect(self, tool: str, args: Mapping[str, object], key: str | None = None) -> Receipt:
        self.keys.append(key)
        mood = self.moods.pop(0) if self.moods else ""
        if mood == "not applied":
            raise NotApplied(mood)
        if mood == "away":
            raise EffectUnknown(mood)
        assert key is not None
        self.folder.mkdir(exist_ok=True)
        (self.folder / key).touch()
        if mood == "lost":
            raise EffectUnknown(mood)
        number = int(hashlib.sha256(key.encode()).hexdigest()[:12], 16)
        return ids.sign_receipt(TRUST.receipt_key, key, tool, ids.effect_digest(tool, args), number)

    def lookup(self, key: str) -> Receipt | None:
        found = (self.folder / key).exists()
        return self.effect(CALL.tool, CALL.args, key) if found else None

    def applied(self) -> int:
        return len(list(self.folder.glob("*")))


@dataclass
class World:
    """``Env`` of the contract, with a clock that stands until it is set."""

    workspace: Path
    sink: Sink
    clock_s: float = 1000.0
    lease_s: float = 10.0
    patience_s: float = 20.0
    identity: Identity = Identity("agent", b"")
    trust: Trust = TRUST
    sink_url: str | None = None

    @classmethod
    def below(cls, workspace: Path) -> World:
        return cls(workspace, Sink(workspace / "applied"))

    def now(self) -> float:
        return self.clock_s

    def at(self, point: str) -> None:
        pass

    def effect(self, tool: str, args: Mapping[str, object], key: str | None = None) -> Receipt:
        return self.sink.effect(tool, args, key)

    async def effect_async(
        self, tool: str, args: Mapping[str, object], key: str | None = None
    ) -> Receipt:
        return self.sink.effect(tool, args, key)

    def lookup(self, key: str) -> Receipt | None:
        return self.sink.lookup(key)


@dataclass
class Client:
    """One client of a ledger: calls it as a node would, exceptions classified."""

    target: Any
    store: Any
    world: World

    def __post_init__(self) -> None:
        self.ledger = self.target.open(self.store, self.world)

    def ask(self, op: str, *args: object) -> Any:
        try:
            return getattr(self.ledger, op)(*args)
        except NotApplied as raised:
            return Refused(detail=str(raised))
        except EffectUnknown as raised:
            return Unknown(str(raised))
        except Exception as raised:
            verdict = self.target.classify(raised)
            if verdict is None:
                raise
            return verdict

    def issue(self, budget: Budget, event: str = "event", expires_s: float | None = None) -> Any:
        said = ids.confirm(TRUST.confirmation_key, event, CALL, budget)
        return self.ask("issue", CALL, said, budget, CONTEXT, Validity(1000.0, expires_s))

    def admit(
        self, auth: Authorization, attempt: str, call: Call = CALL, context: Context = CONTEXT
    ) -> Any:
        """Prepare, or execute where the ledger runs the effect itself."""
        op = "prepare" if hasattr(self.ledger, "prepare") else "execute"
        return self.ask(op, auth, call, context, attempt)

    def finish(self, admission: Admission) -> Any:
        """Send the effect of an admission, and commit it."""
        sent = admission.call or CALL
        receipt = self.world.effect(sent.tool, sent.args, key_of(admission))
        return self.ask("commit", admission, receipt)

    def use(self, auth: Authorization, attempt: str) -> Any:
        """One whole use."""
        answer = self.admit(auth, attempt)
        return self.finish(answer) if isinstance(answer, Admission) else answer

    def recover(self) -> Any:
        """Recovery, and the sending that it asks for."""
        found = self.ask("recover", ())
        for admission in found.resume:
            self.finish(admission)
        return found

    def look(self, event: str = "event") -> Any:
        """What ``inspect`` reads, as it is run: in the workspace."""
        said = ids.confirm(TRUST.confirmation_key, event, CALL, 1)
        before = Path.cwd()
        os.chdir(self.world.workspace)
        try:
            return self.target.inspect(
                self.store, Approval(CALL, said, 1, CONTEXT, Validity(1000.0))
            )
        finally:
            os.chdir(before)

    def states(self, event: str = "event") -> dict[str, int]:
        """How many units stand in which state, zeros left out."""
        view = self.look(event)
        names = ("issued", "prepared", "committed", "revoked", "in_doubt")
        if view.slots is not None:
            found = [slot.state for slot in view.slots]
            return {name: found.count(name) for name in names if name in found}
        return {name: n for name in names if (n := getattr(view.counts, name))}


def key_of(admission: Admission) -> str:
    """The ledger's key; without one the suite makes one per attempt."""
    return admission.key or f"made-for-{admission.attempt}-of-{admission.record}"
