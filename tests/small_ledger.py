"""A small complete ledger, with the operations that no shipped one has. It promises:

    A record has as many slots as its budget.
    propose() asks; nothing can be used before issue() decides.
    A slot is held for a lease; then another attempt may take it over, under its key.
    release() frees a slot whose effect was definitely not applied.
    revoke() names the slots that it stopped, and those that are held.
    recover() lists every slot that is held, and work() ends those that the sink knows.
    A commit can be repeated, and what was answered survives a killed process.

An attempt belongs to one slot for ever: after a take-over it may take the slot back, never get a
second one. A slot that was handed out twice (asked for again, taken over, given to recovery) may
have two requests on their way, so it is not released on the word of one.

``SmallAsyncTarget`` is the same ledger behind ``async def``, and runs the effect itself.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from admitone.targets import contract as c
from admitone.targets import identity as ids

WAIT_S = 5.0


class No(Exception):
    """A refusal, by its code; nothing happened."""


@contextmanager
def records(path: Path, wait_s: float, only: str | None = None) -> Iterator[dict[str, Any]]:
    """Records by id, alone in the store; what is changed is durable when the block has ended."""
    with closing(sqlite3.connect(path, timeout=wait_s, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        query = "SELECT id, body FROM record WHERE id = :only OR :only IS NULL"
        before = dict(db.execute(query, {"only": only}).fetchall())
        found = {name: json.loads(body) for name, body in before.items()}
        yield found
        for name, record in found.items():
            if before.get(name) != (body := json.dumps(record)):
                db.execute("INSERT OR REPLACE INTO record VALUES (?, ?)", (name, body))
        db.execute("COMMIT")  # not reached after an exception: closing rolls back


class SmallLedger:
    """One client. A record's id is the event that confirmed it, a slot's key is derived."""

    def __init__(self, path: Path, env: c.Env) -> None:
        self._env = env
        self._records = partial(records, path, min(WAIT_S, env.patience_s / 2))

    def propose(self, *asked: Any) -> c.Authorization:
        """Ask. What is decided stays so."""
        return self._open(*asked, decided=False)

    def issue(self, *asked: Any) -> c.Authorization:
        """Decide, asked before or not."""
        return self._open(*asked, decided=True)

    def _open(
        self,
        call: c.Call,
        said: c.Confirmation,
        b: c.Budget,
        by: c.Context,
        validity: c.Validity,
        *,
        decided: bool,
    ) -> c.Authorization:
        action, plain, trust = ids.action_identity(call), asdict(call), self._env.trust
        if type(b) is not int or not 1 <= b <= 1000:
            raise No("invalid")
        if json.loads(json.dumps(plain, default=repr)) != plain:
            raise No("ambiguous_call")
        genuine = ids.confirmation_is_genuine(trust.confirmation_key, said)
        if not genuine or said != ids.confirm(trust.confirmation_key, said.event, call, b):
            raise No("bad_credential")
        slots = [{"name": f"s{n}", "state": "issued", "attempts": []} for n in range(1, b + 1)]
        new = {"action": action, "call": plain, "executor": by.executor, "slots": slots}
        with self._records(said.event) as found:
            record = found.setdefault(said.event, new | {"decided": decided})
            if record["action"] != action or len(record["slots"]) != b:
                raise No("duplicate")
            record["decided"] |= decided
        return c.Authorization(said.event, b)

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Busy:
        """The attempt's own slot, else a free one, else one whose lease has ended."""
        action, name = ids.action_identity(call), authorization.record
        with self._records(name) as found:
            record = _of(found, name)
            if not record["decided"]:
                raise No("needs_confirmation")
            if (action, context.executor) != (record["action"], record["executor"]):
                raise No("wrong_principal" if action == record["action"] else "wrong_action")
            now, slots = self._env.now(), record["slots"]
            own = [slot for slot in slots if attempt in slot["attempts"]]
            free = [slot for slot in slots if slot["state"] == "issued"]
            lapsed = [s for s in slots if s["state"] == "prepared" and s["until_s"] <= now]
            slot = next(iter(own or free or lapsed), None)
            if slot is None:
                raise No("revoked" if record.get("revoked") else "exhausted")
            if slot["state"] == "committed":
                return c.Replayed(c.Receipt(**slot["receipt"]))
            if slot["attempts"][-1:] != [attempt]:
                if slot["state"] == "prepared" and slot not in lapsed:
                    return c.Busy("in_flight")  # taken over from this attempt, and held
                slot["attempts"].append(attempt)
                slot["token"] = secrets.token_hex(8)
            slot["state"], slot["until_s"] = "prepared", now + self._env.lease_s
            slot["handed_out"] = slot.get("handed_out", 0) + 1
        return _admission(name, record, slot)

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done:
        """Whoever comes with the receipt of this slot's effect is right."""
        genuine = ids.receipt_is_genuine(self._env.trust.receipt_key, receipt)
        with self._records(admission.record) as found:
            record = _of(found, admission.record)
            slot = _slot(record, admission)
            digest = ids.effect_digest(record["call"]["tool"], record["call"]["args"])
            if slot["state"] not in {"prepared", "committed"}:
                raise No("not_prepared")
            right = (_admission(admission.record, record, slot).key, digest)
            if not genuine or (receipt.key, receipt.digest) != right:
                raise No("receipt_mismatch")
            slot |= {"state": "committed", "receipt": slot.get("receipt", asdict(receipt))}
        return c.Done(receipt)

    def renew(self, admission: c.Admission) -> c.Done:
        """Only the holder: a token is of one tenure."""
        with self._records(admission.record) as found:
            slot = _slot(_of(found, admission.record), admission, held=True)
            slot["until_s"] = self._env.now() + self._env.lease_s
        return c.Done()

    def release(self, admission: c.Admission, evidence: str) -> c.Done:
        """The holder's word is not enough where the sink knows better."""
        with suppress(c.EffectUnknown):
            if not evidence or "unknown" in evidence or self._env.lookup(admission.key or ""):
                raise No("in_doubt")
        with self._records(admission.record) as found:
            record = _of(found, admission.record)
            slot = _slot(record, admission, held=True)
            if slot["handed_out"] > 1:
                raise No("in_doubt")
            slot |= {"attempts": [], "handed_out": 0}
            slot["state"] = "revoked" if record.get("revoked") else "issued"
        return c.Done()

    def revoke(self, authorization: c.Authorization) -> c.Revoked:
        """Slots by name. A proposal can be revoked too."""
        with self._records(authorization.record) as found:
            record = _of(found, authorization.record)
            stopped = [slot for slot in record["slots"] if slot["state"] == "issued"]
            held = tuple(s["name"] for s in record["slots"] if s["state"] == "prepared")
            record["revoked"] = True
            for slot in stopped:
                slot["state"] = "revoked"
        return c.Revoked(tuple(slot["name"] for slot in stopped), held)

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        """All that is held, whatever its lease: handed out once more."""
        return c.Recovered(self._held(hand_out=1))

    def _held(self, hand_out: int = 0) -> tuple[c.Admission, ...]:
        held = []
        with self._records() as found:
            for name, record in found.items():
                for slot in record["slots"]:
                    if slot["state"] == "prepared":
                        slot["handed_out"] += hand_out
                        held.append(_admission(name, record, slot))
        return tuple(held)

    def sweep(self) -> None:
        """Commit what is held and stands applied. What is not is for whoever takes it over."""
        for admission in self._held():
            with suppress(c.EffectUnknown, No):  # the sink cannot tell, or it is settled meanwhile
                if receipt := self._env.lookup(str(admission.key)):
                    self.commit(admission, receipt)


def _of(found: dict[str, Any], name: str) -> Any:
    if name not in found:
        raise No("unknown_record")
    return found[name]


def _slot(record: Any, admission: c.Admission, *, held: bool = False) -> Any:
    slot = next((s for s in record["slots"] if s["name"] == admission.slot), None)
    if slot is None or (held and slot["state"] != "prepared"):
        raise No("not_prepared")
    if held and slot["token"] != admission.handle:
        raise No("held")
    return slot


def _admission(name: str, record: Any, slot: Any) -> c.Admission:
    call, attempt = c.Call(**record["call"]), slot["attempts"][-1]
    key = ids.sink_key(name, slot["name"], call.tool)
    return c.Admission(name, slot["name"], key, slot["token"], call, attempt)


class SmallAsyncLedger:
    """The same behind ``async def``; runs the effect itself."""

    def __init__(self, ledger: SmallLedger, env: c.Env) -> None:
        self._ledger, self._env = ledger, env

    async def propose(self, *asked: Any) -> c.Authorization:
        return await asyncio.to_thread(self._ledger.propose, *asked)

    async def issue(self, *asked: Any) -> c.Authorization:
        return await asyncio.to_thread(self._ledger.issue, *asked)

    async def revoke(self, authorization: c.Authorization) -> c.Revoked:
        return await asyncio.to_thread(self._ledger.revoke, authorization)

    async def execute(self, *asked: Any) -> object:
        """``asked`` is what ``prepare`` takes."""
        admission = await asyncio.to_thread(self._ledger.prepare, *asked)
        return await self._run(admission) if isinstance(admission, c.Admission) else admission

    async def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        """Sends again by itself; what stays without an answer is found again next time."""
        settled = []
        for admission in (await asyncio.to_thread(self._ledger.recover, known)).resume:
            with suppress(c.NotApplied, c.EffectUnknown):
                await self._run(admission)
                settled.append(admission)
        return c.Recovered(settled=tuple(settled))

    async def _run(self, admission: c.Admission) -> c.Done:
        call = admission.call
        assert call is not None
        try:
            receipt = await self._env.effect_async(call.tool, call.args, admission.key)
        except c.NotApplied as refused:
            try:
                await asyncio.to_thread(self._ledger.release, admission, str(refused))
            except No as kept:
                raise c.EffectUnknown("another request may be on its way") from kept
            raise
        return await asyncio.to_thread(self._ledger.commit, admission, receipt)


class SmallTarget:
    """The adapter: ``py:small_ledger:SmallTarget`` with this folder on the path."""

    name = c.TargetName("small", "library", "1")
    declaration = c.Declaration(
        c.Facts(
            keyed_by="confirmation",
            key="derived",
            attempt_identity=True,
            slot_identity=True,
            binds=("principal", "tool", "tool_version", "args", "resource", "executor", "budget"),
            lapse="takeover",
            after_not_applied="free",
            recovery="resend",
            clock="injected",
            waits_s=2 * WAIT_S,
        ),
        {
            "multi_budget": "A record has as many slots as its budget.",
            "revoke": "revoke() names the slots that it stopped",
            "revoke_counts": "revoke() names the slots that it stopped",
            "lease": "then another attempt may take it over, under its key.",
            "release": "release() frees a slot whose effect was definitely not applied.",
            "recover": "recover() lists every slot that is held",
            "finds_unfinished": "recover() lists every slot that is held",
            "repeat_commit": "A commit can be repeated",
            "durable_process": "what was answered survives a killed process.",
        },
    )

    def deploy(self, workspace: Path) -> c.Deployment:
        with closing(sqlite3.connect(workspace / "small.db")) as db:
            db.execute("CREATE TABLE record (id TEXT PRIMARY KEY, body TEXT NOT NULL)")
        return c.Deployment("small.db")

    def open(self, store: c.Json, env: c.Env) -> Any:
        return SmallLedger(env.workspace / str(store), env)

    def work(self, store: c.Json, env: c.Env) -> None:
        SmallLedger(env.workspace / str(store), env).sweep()

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        """One SELECT. A proposal is known, and has no slots yet."""
        with closing(sqlite3.connect(f"file:{store}?mode=rw", uri=True)) as db:
            db.execute("PRAGMA query_only=ON")
            query = "SELECT body FROM record WHERE id = ?"
            row = db.execute(query, (approval.confirmation.event,)).fetchone()
        if row is None:
            return c.View(known=False, linearizable=True)
        record = json.loads(row[0])
        slots = tuple(
            c.SlotView(s["name"], s["state"], s["state"], (s["attempts"] or [None])[-1])
            for s in (record["slots"] if record["decided"] else ())
        )
        return c.View(True, slots, linearizable=True, revoked="revoked" in record)

    def classify(self, exc: BaseException) -> c.Refused | c.Busy | None:
        if isinstance(exc, No):
            return c.Refused(str(exc))
        if isinstance(exc, sqlite3.OperationalError) and "locked" in str(exc):
            return c.Busy("contention")
        return None


class SmallAsyncTarget(SmallTarget):
    """The asynchronous one, whose ``open`` must be awaited too."""

    name = c.TargetName("small-async", "library", "1")

    async def open(self, store: c.Json, env: c.Env) -> Any:
        return SmallAsyncLedger(SmallLedger(env.workspace / str(store), env), env)
