"""The published wire: the committed schema is the generated one, and real nodes speak it."""

from __future__ import annotations

import copy
import json
import random
import socket
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from admitone.chaos import parent as parent_module
from admitone.chaos.events import Point
from admitone.chaos.handle import NodeHandle
from admitone.scenarios.calls import Arm, Subject, Twist
from admitone.scenarios.stage import Stage
from admitone.targets import wire
from admitone.targets.contract import OPERATIONS
from admitone.targets.values import encode
from admitone.targets.wire_schema import as_text, wire_schema
from tests.harness_world import DEADLINE_S, one_client, opened, staged, warmed

COMMITTED = Path(__file__).parent.parent / "targets" / "schemas" / "wire-v1.json"

Message = dict[str, Any]


@cache
def validator(definition: str | None = None) -> Draft202012Validator:
    schema = wire_schema()
    if definition is not None:
        schema.pop("oneOf")
        schema["$ref"] = f"#/$defs/{definition}"
    return Draft202012Validator(schema)


class Tap:
    """The harness's end of a node's socket, overheard."""

    def __init__(self, sock: socket.socket, heard: bytearray, said: bytearray) -> None:
        self._sock, self._heard, self._said = sock, heard, said
        self.fileno, self.close, self.setsockopt = sock.fileno, sock.close, sock.setsockopt

    def sendall(self, data: bytes) -> None:
        self._said += data
        self._sock.sendall(data)

    def recv(self, size: int) -> bytes:
        data = self._sock.recv(size)
        self._heard += data
        return data


class Wiretap:
    """Every line between the harness and its nodes, node by node and by direction."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._streams: list[tuple[bytearray, bytearray]] = []
        monkeypatch.setattr(parent_module, "NodeHandle", self._handle)

    def _handle(self, name: str, pid: int, sock: Any) -> NodeHandle:
        heard, said = bytearray(), bytearray()
        self._streams.append((heard, said))
        return NodeHandle(name, pid, Tap(sock, heard, said))  # type: ignore[arg-type]

    def from_nodes(self) -> list[Message]:
        return [m for heard, _ in self._streams for m in _messages(heard)]

    def from_harness(self) -> list[Message]:
        return [m for _, said in self._streams for m in _messages(said)]

    def replies(self) -> Iterator[tuple[str, Message]]:
        """Each reply, with the name of the request that it answers."""
        for heard, said in self._streams:
            asked = {m["id"]: str(m.get("op", m["do"])) for m in _messages(said) if "id" in m}
            for message in _messages(heard):
                if "reply" in message:
                    yield asked[message["reply"]], message


def _messages(stream: bytearray) -> list[Message]:
    return [json.loads(line) for line in bytes(stream).splitlines()]


def _undisturbed(stage: Stage) -> None:
    """Everything that a ledger can be asked, as far as this one has it."""
    stage.trace = True
    client = one_client(stage, budget=2)
    node = opened(stage, client)
    call = partial(stage.call, node, subject=Subject(client.label), executor=client.executor)
    asked = client.approval
    decision = [asked.call, asked.confirmation, asked.budget, asked.context, asked.validity]
    if "propose" in node.operations:
        call("propose", decision)
    client.issue(node)
    stage.inspect(node, client.known, client.label, "after_heal")
    use = client.new_use()
    if "execute" in node.operations:
        client.execute(node, use)
    else:
        answer = client.prepare(node, use).answer
        assert answer is not None
        for op, args in (("renew", [answer.value]), ("release", [answer.value, "none sent"])):
            if op in node.operations:
                call(op, args)
        client.finish(node, client.new_use())
    client.recover(node)
    assert client.authorization is not None
    for op in ("revoke", "close"):
        if op in node.operations:
            call(op, [client.authorization])
    client.audit(node, "final")
    client.prepare(node, client.new_use())
    node.say({"do": "work", "id": 1000, "store": stage.setting.store})
    node.hear(DEADLINE_S)
    node.say({"do": "leave"})
    assert node.wait_dead(DEADLINE_S)


def _disturbed(stage: Stage) -> None:
    """Stops that go on and that fail, effects that are refused and that nobody answers."""
    client = one_client(stage, seed=1)
    node = opened(stage, client)
    op = "execute" if "execute" in node.operations else "prepare"
    client.issue(node)
    busy = stage.call(
        node,
        op,
        [client.authorization, client.approval.call, client.approval.context, "a1"],
        Subject(client.label),
        client.executor,
        Twist(Arm("FP3", Point(op, "write", "before", 1))),
    )
    if busy.reached:
        stage.go(busy, "busy")
    send = partial(stage.call, node, "effect", subject=Subject(), executor=client.executor)
    stopped = send(
        ["pay", {"to": "ann"}, "k1"],
        twist=Twist(Arm("FP5", Point("effect", "effect", "before", 1))),
    )
    stage.go(stopped)
    send(["pay", {"to": "bob"}, "k1"])  # the sink refuses it
    lost = send(["pay", {"to": "cy"}, "k2"], twist=Twist(transit=("FP5", "lost")))
    assert lost.letter is not None
    stage.desk.forsake(lost.letter, "no answer")
    stage.drive(lost)


def _check(tap: Wiretap) -> None:
    for direction, messages in (("node", tap.from_nodes()), ("harness", tap.from_harness())):
        assert messages
        for message in messages:
            validator(f"from_{direction}").validate(message)
            validator().validate(message)
    for op, message in tap.replies():
        if "unclassified" not in message:
            validator(f"reply.{op}").validate(message)


def test_the_committed_schema_is_the_generated_one() -> None:
    Draft202012Validator.check_schema(wire_schema())
    assert COMMITTED.read_text() == as_text(), "write it anew, as wire_schema.py says"


def test_every_operation_has_its_messages() -> None:
    definitions = wire_schema()["$defs"]
    for op in wire.CALLS:
        assert f"message.call.{op}" in definitions
        assert f"reply.{op}" in definitions
    assert set(OPERATIONS) < set(wire.CALLS)


@pytest.mark.parametrize(
    "target",
    [
        "builtin:caplease-sqlite",
        "builtin:correct/counter",
        "builtin:correct/guarded",
        "py:tests.small_ledger:SmallTarget",
        "py:tests.small_ledger:SmallAsyncTarget",
    ],
)
def test_a_real_schedule_speaks_the_published_wire(
    target: str, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tap = Wiretap(monkeypatch)
    with warmed(target, scratch) as parent, staged(parent, scratch) as stage:
        _undisturbed(stage)
        _disturbed(stage)
    _check(tap)
    heard = {key for message in tap.from_nodes() for key in message}
    assert heard >= {"reply", "at", "trace", "effect"} | (
        {"lookup"} if target.endswith(":SmallTarget") else set()
    )
    said = {key for message in tap.from_harness() for key in message}
    assert said >= {"answer", "raise", "receipt", "not_applied", "unknown"}
    requests = {message["do"] for message in tap.from_harness() if "do" in message}
    assert requests == {"deploy", "open", "call", "inspect", "work", "leave"}


COUNTS = {"entered": 0, "not_applied": 0, "wrote": 0}
GOOD: dict[str, Message] = {
    "reply": {"reply": 1, "value": {"$": "Admission", "record": "r"}, **COUNTS},
    "denied": {"reply": 1, "value": {"$": "Refused", "code": "revoked", "detail": ""}, **COUNTS},
    "classified": {"reply": 1, "value": {"$": "Busy", "cause": "contention", "detail": ""},
                   "raised": "E: busy", **COUNTS},
    "unclassified": {"reply": 1, "unclassified": "E", "raised": "trace", **COUNTS},
    "at": {"at": ["write", "before", 1], "name": "FP3", "call": 2, "text": "COMMIT", "ask": 1},
    "trace": {"trace": ["statement", "after", 3], "call": 2, "text": "BEGIN"},
    "effect": {"effect": {"tool": "t", "args": {}, "key": None}, "call": None, "ask": 1},
    "lookup": {"lookup": "k", "call": 1, "ask": 2},
    "go": {"answer": 1},
    "raise": {"answer": 1, "raise": "busy"},
    "absent": {"answer": 1, "receipt": None},
    "not applied": {"answer": 1, "not_applied": "refused"},
    "unknown": {"answer": 1, "unknown": "lost"},
    "leave": {"do": "leave"},
    "work": {"do": "work", "id": 1, "store": {"path": "x"}},
    "release": {"do": "call", "id": 3, "op": "release",
                "args": [{"$": "Admission", "record": "r"}, "not sent"]},
    "odd budget": {"do": "call", "id": 3, "op": "delegate", "args": [
        {"$": "Authorization", "record": "r"},
        {"$": "Context", "executor": "e", "session": "s", "task": "t"},
        encode(float("nan"))]},
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_well_formed_message_is_accepted(name: str) -> None:
    validator().validate(GOOD[name])


def _spoiled(name: str, seed: int) -> tuple[str, Message]:
    """A good message with one thing wrong: a key lost, one too many, or a value of another kind."""
    rng = random.Random(f"{name} {seed}")
    message = copy.deepcopy(GOOD[name])
    key = rng.choice(sorted(message.keys() - {"store"}))  # where anything may stand
    how = ("lose", "add", "change")[seed]
    if how == "lose":
        del message[key]
    elif how == "add":
        message["surplus"] = 1
    else:
        message[key] = {"$": "Nonsense"}
    return f"{how} {key}", message


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", GOOD)
def test_a_malformed_message_is_rejected(name: str, seed: int) -> None:
    how, message = _spoiled(name, seed)
    if validator().is_valid(message):
        # an answer that lost its content is the answer to go on: the one thing that may be lost
        assert message == {"answer": 1}, how


@pytest.mark.parametrize(
    "message",
    [
        {"do": "call", "id": 1, "op": "steal", "args": []},
        {"do": "call", "id": 1, "op": "revoke", "args": []},
        {"do": "call", "id": 1, "op": "revoke", "args": [{"$": "Admission", "record": "r"}]},
        {"do": "call", "id": 1, "op": "audit", "args": [], "arm": [["FP1", "write", "amid", 1]]},
        {"reply": 1, "value": {"$": "View"}, **COUNTS},
        {"reply": 1, "value": 7, **COUNTS},
        {"reply": 1, "value": {"$": "Admission", "record": 7}, **COUNTS},
        {"reply": 1, "value": {"$": "Admission", "record": "r", "slot": 0}, **COUNTS},
        {"at": ["write", "before", 0], "name": "FP3", "call": 2, "text": "", "ask": 1},
        {"answer": 1, "raise": "everything"},
        {"answer": 1, "receipt": {"$": "Done"}},
        [],
        "reply",
        None,
    ],
)
def test_nonsense_is_rejected(message: object) -> None:
    assert not validator().is_valid(message)


def test_the_reply_of_another_operation_is_rejected() -> None:
    done = {"reply": 1, "value": {"$": "Done"}, **COUNTS}
    assert validator("from_node").is_valid(done)
    assert validator("reply.commit").is_valid(done)
    assert not validator("reply.prepare").is_valid(done)
