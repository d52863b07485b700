"""A correct ledger of another make: append-only events, folded at each call, versions compared.

    Each record is a stream of events; what holds is what they come to, in their order.
    A decision is made without a lock, and written if nobody wrote to the stream since; else it is
    made anew.
    A child has units of its own. What it did not use is its parent's when it is closed.

``py:tests.event_ledger:EventTarget``; ``event_bugs`` has what can go wrong in it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from admitone.targets import contract as c
from admitone.targets import identity as ids
from admitone.targets.declaration import Bound

SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE event (stream TEXT, version INTEGER, body TEXT NOT NULL,
  PRIMARY KEY (stream, version));
"""
WORDS: dict[str, c.SlotState] = {"free": "issued", "out": "prepared", "done": "committed"}
BOUND: tuple[Bound, ...] = ("executor", "session", "task", "policy_epoch", "schema_epoch")


class No(Exception):
    """A refusal, by its code; nothing happened."""


class Overtaken(Exception):
    """Somebody wrote to the stream since it was read."""


@dataclass
class Unit:
    """One unit of a record: whose it is, and who uses it."""

    owner: str
    state: str = "free"
    attempt: str = ""
    user: str = ""
    receipt: Any = None


@dataclass
class Fold:
    """What the events of one stream come to."""

    version: int = 0
    opened: Any = None
    contexts: dict[str, Any] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    units: dict[str, Unit] = field(default_factory=dict)

    def apply(self, version: int, event: Any) -> None:
        """One more event."""
        self.version, kind = max(self.version, version), event["kind"]
        if kind == "opened":
            self.opened = event
            self.contexts[""] = event["context"]
            self.units = {f"u{n}": Unit("") for n in range(1, event["budget"] + 1)}
        elif kind == "child":
            self.contexts[event["node"]], self.parents[event["node"]] = (
                event["context"],
                event["of"],
            )
            for name in event["units"]:
                self.units[name].owner = event["node"]
        elif kind == "closed":
            self.closed |= set(event["nodes"])
            for name in event["units"]:
                self.units[name].owner = event["to"]
        else:
            unit = self.units[event["unit"]]
            unit.state = {"taken": "out", "given back": "free", "done": "done"}[kind]
            unit.attempt = "" if kind == "given back" else event["attempt"]
            unit.user, unit.receipt = event["node"], event.get("receipt")

    def free(self, *nodes: str) -> list[str]:
        """The units that these have, and nobody uses."""
        return [n for n, u in self.units.items() if u.owner in nodes and u.state == "free"]

    def family(self, node: str) -> list[str]:
        """A node and its descendants."""
        found = [node]
        for each in found:
            found += [child for child, of in self.parents.items() if of == each]
        return found


Decision = Callable[[Fold], tuple[Any, Any]]
"""From what holds: the answer, and the event to write, or None."""


class EventLedger:
    """One client."""

    order: ClassVar[str] = "version"

    def __init__(self, path: Path, env: c.Env) -> None:
        self._env = env
        self._db = sqlite3.connect(path, timeout=env.patience_s, isolation_level=None)

    def fold(self, stream: str) -> Fold:
        """One SELECT, without a lock."""
        query = f"SELECT version, body FROM event WHERE stream = ? ORDER BY {self.order}"
        found = Fold()
        for version, body in self._db.execute(query, (stream,)).fetchall():
            found.apply(version, json.loads(body))
        return found

    def decide(self, stream: str, decision: Decision) -> Any:
        """Decide, and write; again, if somebody was faster."""
        for _ in range(100):
            seen = self.fold(stream)
            answer, event = decision(seen)
            try:
                if event is not None:
                    self.append(stream, seen.version, event)
            except sqlite3.IntegrityError:
                continue
            return answer
        raise Overtaken

    def append(self, stream: str, seen: int, event: Any) -> None:
        """The next event; its number is taken if somebody wrote since."""
        row = (stream, seen + 1, json.dumps(event))
        self._db.execute("INSERT INTO event VALUES (?, ?, ?)", row)

    def issue(self, *asked: Any) -> c.Authorization:
        call, said, b, by, _ = asked
        key = self._env.trust.confirmation_key
        if type(b) is not int or not 1 <= b <= 1000:
            raise No("invalid")
        if said != ids.confirm(key, said.event, call, b):
            raise No("bad_credential")
        action, plain = ids.action_identity(call), asdict(call)
        if json.loads(json.dumps(plain, default=repr)) != plain:
            raise No("ambiguous_call")

        def decision(seen: Fold) -> tuple[Any, Any]:
            first = {"kind": "opened", "action": action, "budget": b, "call": plain}
            return None, None if seen.opened else {**first, "context": asdict(by)}

        self.decide(said.event, decision)
        return c.Authorization(said.event, b, "")

    def prepare(self, authorization: c.Authorization, *asked: Any) -> c.Admission | c.Replayed:
        call, context, attempt = asked
        stream, node = authorization.record, str(authorization.credential)

        def decision(seen: Fold) -> tuple[Any, Any]:
            bound = _context(seen, node)
            if ids.action_identity(call) != seen.opened["action"]:
                raise No("wrong_action")
            if any(getattr(context, name) != bound[name] for name in BOUND):
                raise No("wrong_principal")
            for name, unit in seen.units.items():
                if (unit.attempt, unit.user) == (attempt, node):
                    return (seen, name), None
            free = seen.free(node)
            if not free:
                raise No("exhausted")
            taken = {"kind": "taken", "unit": free[0], "attempt": attempt, "node": node}
            seen.units[free[0]].attempt = attempt
            return (seen, free[0]), taken

        seen, name = self.decide(stream, decision)
        if seen.units[name].state == "done":
            return c.Replayed(c.Receipt(**seen.units[name].receipt))
        return _admission(stream, seen, name)

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done:
        name, key = str(admission.slot), self._env.trust.receipt_key

        def decision(seen: Fold) -> tuple[Any, Any]:
            unit, call = seen.units[name], seen.opened["call"]
            digest = ids.effect_digest(call["tool"], call["args"])
            right = (_admission(admission.record, seen, name).key, digest)
            if not ids.receipt_is_genuine(key, receipt) or (receipt.key, receipt.digest) != right:
                raise No("receipt_mismatch")
            if unit.attempt != admission.attempt or unit.state == "free":
                raise No("not_prepared")
            done = {"kind": "done", "unit": name, "attempt": unit.attempt, "node": unit.user}
            if unit.state == "done":
                return unit.receipt, None
            return asdict(receipt), {**done, "receipt": asdict(receipt)}

        return c.Done(c.Receipt(**self.decide(admission.record, decision)))

    def release(self, admission: c.Admission, evidence: str) -> c.Done:
        name = str(admission.slot)

        def decision(seen: Fold) -> tuple[Any, Any]:
            unit = seen.units[name]
            holder = seen.contexts[unit.user]["executor"]
            if (unit.state, unit.attempt) != ("out", admission.attempt):
                raise No("not_prepared")
            if self._env.identity.name != holder:
                raise No("wrong_principal")
            return None, {"kind": "given back", "unit": name, "node": unit.user}

        self.decide(admission.record, decision)
        return c.Done()

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        streams = self._db.execute("SELECT DISTINCT stream FROM event").fetchall()
        folded = [(stream, self.fold(stream)) for (stream,) in streams]
        found = [(stream, f, n) for stream, f in folded for n in f.units if self.unfinished(f, n)]
        return c.Recovered(resume=tuple(_admission(*each) for each in found))

    def unfinished(self, seen: Fold, name: str) -> bool:
        """Whether the unit is to be taken up by recovery."""
        return seen.units[name].state == "out"

    def delegate(self, authorization: c.Authorization, context: c.Context, b: Any) -> Any:
        stream, node = authorization.record, str(authorization.credential)
        if type(b) is not int or not 1 <= b <= 1000:
            raise No("invalid")
        child = hashlib.sha256(f"{node}/{json.dumps(asdict(context))}".encode()).hexdigest()

        def decision(seen: Fold) -> tuple[Any, Any]:
            self.narrower(seen, node, asdict(context))
            if child in seen.contexts:
                raise No("duplicate")
            units = self.share(seen.free(node), b)
            if len(units) < b:
                raise No("exhausted")
            born = {"kind": "child", "node": child, "of": node, "units": units}
            return None, {**born, "context": asdict(context)}

        self.decide(stream, decision)
        return c.Authorization(stream, b, child)

    def share(self, free: list[str], b: int) -> list[str]:
        """The units that a child gets."""
        return free[-b:]

    def narrower(self, seen: Fold, node: str, asked: Any) -> None:
        """Raises ``No`` if a child of this node may not have this context."""
        above = _context(seen, node)
        for name in ("session", "task"):
            if asked[name] != above[name] and not asked[name].startswith(f"{above[name]}/"):
                raise No("widened")
        if any(asked[name] != above[name] for name in BOUND[3:]):
            raise No("widened")

    def close(self, authorization: c.Authorization) -> c.Done:
        node = str(authorization.credential)

        def decision(seen: Fold) -> tuple[Any, Any]:
            if node in seen.closed:
                return None, None
            family, to = seen.family(node), seen.parents[node]
            return None, {
                "kind": "closed", "nodes": family, "units": seen.free(*family), "to": to,
            }  # fmt: skip

        self.decide(authorization.record, decision)
        return c.Done()


def _context(seen: Fold, node: str) -> Any:
    if seen.opened is None or node not in seen.contexts or node in seen.closed:
        raise No("unknown_record")
    return seen.contexts[node]


def _admission(stream: str, seen: Fold, name: str) -> c.Admission:
    call = c.Call(**seen.opened["call"])
    key = ids.sink_key(stream, name, call.tool)
    return c.Admission(stream, name, key, call=call, attempt=seen.units[name].attempt)


class EventTarget:
    """The adapter."""

    ledger: ClassVar[type[EventLedger]] = EventLedger
    name = c.TargetName("events", "library", "1")
    declaration = c.Declaration(
        c.Facts(
            keyed_by="confirmation",
            key="derived",
            attempt_identity=True,
            slot_identity=True,
            binds=("principal", "tool", "tool_version", "args", "resource", *BOUND, "budget"),
            after_not_applied="free",
            recovery="resend",
            child_refund="on_close",
            waits_s=4.0,
        ),
        {
            "multi_budget": "what holds is what they come to, in their order.",
            "delegate": "A child has units of its own.",
            "recover": "what holds is what they come to, in their order.",
            "release": "what holds is what they come to, in their order.",
            "durable_process": "A decision is written.",
            "repeat_commit": "what holds is what they come to, in their order.",
        },
    )

    def deploy(self, workspace: Path) -> c.Deployment:
        with closing(sqlite3.connect(workspace / "events.db")) as db:
            db.executescript(SCHEMA)
        return c.Deployment("events.db")

    def open(self, store: c.Json, env: c.Env) -> EventLedger:
        return self.ledger(env.workspace / str(store), env)

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        query = "SELECT version, body FROM event WHERE stream = ? ORDER BY version"
        seen = Fold()
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            for version, body in db.execute(query, (approval.confirmation.event,)).fetchall():
                seen.apply(version, json.loads(body))
        slots = [c.SlotView(n, WORDS[u.state], u.state, u.attempt) for n, u in seen.units.items()]
        return c.View(seen.opened is not None, tuple(slots), linearizable=True)

    def classify(self, exc: BaseException) -> c.Refused | c.Busy | c.Unknown | None:
        if isinstance(exc, No):
            return c.Refused(str(exc))
        if isinstance(exc, Overtaken):
            return c.Busy("contention")
        if isinstance(exc, sqlite3.OperationalError):
            return c.Busy("contention") if "locked" in str(exc) else c.Unknown(str(exc))
        return None
