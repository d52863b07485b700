"""How a sink's values travel over HTTP: plain JSON by field name, arguments as tagged JSON.

Both directions are strict. A sink may be reached through proxies that cut, double or invent, and
a client must never take half an answer for a whole one.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from typing import Any, Final, TypeVar, get_args, get_type_hints
from urllib.parse import parse_qs, urlencode

from ..targets.terms import Receipt
from ..targets.values import ValueProblem, decode, encode
from .protocol import HOWS, Answer, Application, Log, Received

MAX_BODY: Final = 8 * 1024 * 1024
"""Longest request body, bytes. Arguments within the sink's own limits always fit: 12 for each
character of text (JSON writes an emoji as two escapes) and 350 for each item (an integer of 1024
bits, tagged) make 6.7 MB."""

Value = TypeVar("Value", Answer, Received, Application)


class Malformed(ValueError):
    """This is no message of the sink's protocol. The text is one sentence, safe to show."""


@dataclass(frozen=True, slots=True)
class EffectMessage:
    """The body of ``POST /effects``. ``key`` is for keys that no header can carry."""

    tool: str
    args: object
    key: str | None = None
    node: str = ""
    call: int | None = None


@dataclass(frozen=True, slots=True)
class LookupMessage:
    """The query of ``GET /effects``."""

    key: str
    node: str = ""
    call: int | None = None


def write_effect(message: EffectMessage) -> bytes:
    """The body for an effect request whose arguments are fit to travel."""
    body: dict[str, object] = {"tool": message.tool, "args": encode(message.args)}
    if message.key is not None:
        body["key"] = message.key
    if message.node:
        body["node"] = message.node
    if message.call is not None:
        body["call"] = message.call
    return json.dumps(body).encode()


def read_effect(body: bytes) -> EffectMessage:
    """The inverse, for a body that anyone may have written."""
    message = read_json(body)
    if not isinstance(message, dict) or not {"tool", "args"} <= message.keys():
        raise Malformed('the body must be an object with "tool" and "args"')
    if message.keys() - {"tool", "args", "key", "node", "call"}:
        raise Malformed("the body has a member that means nothing here")
    tool, key, node = message["tool"], message.get("key"), message.get("node", "")
    if not (isinstance(tool, str) and isinstance(key, str | None)):
        raise Malformed('"tool" and "key" must be texts')
    try:
        args = decode(message["args"])
    except (ValueProblem, RecursionError):
        raise Malformed('"args" is no tagged JSON') from None
    return EffectMessage(tool, args, key, *_origin(node, message.get("call")))


def write_lookup(message: LookupMessage) -> str:
    """The query, percent-encoded."""
    query: dict[str, str | int] = {"key": message.key}
    if message.node:
        query["node"] = message.node
    if message.call is not None:
        query["call"] = message.call
    return urlencode(query)


def read_lookup(query: str) -> LookupMessage:
    """The inverse, for a query that anyone may have written."""
    try:
        found = parse_qs(query, keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:
        raise Malformed("the query must be key=…, percent-encoded") from None
    if "key" not in found or found.keys() - {"key", "node", "call"}:
        raise Malformed("the query must have a key, and may have node and call")
    if any(len(values) > 1 for values in found.values()):
        raise Malformed("the query has a member twice")
    call = found.get("call", [""])[0]
    if call and not (call.isascii() and call.isdigit() and len(call) < 17):
        raise Malformed('"call" must be a number from 0')
    node = found.get("node", [""])[0]
    return LookupMessage(found["key"][0], *_origin(node, int(call) if call else None))


def _origin(node: object, call: object) -> tuple[str, int | None]:
    """Node and call, which only go to the log."""
    if not (isinstance(node, str) and len(node) <= 256 and node.isprintable()):
        raise Malformed('"node" must be a short printable text')
    if call is None:
        return node, None
    if isinstance(call, bool) or not (isinstance(call, int) and 0 <= call < 2**53):
        raise Malformed('"call" must be a number from 0')
    return node, call


def read_json(body: bytes) -> Any:
    """JSON as RFC 7493 has it: UTF-8, no NaN, no member twice."""
    try:
        return json.loads(body.decode(), object_pairs_hook=_distinct, parse_constant=_no_constant)
    except Malformed:
        raise
    except RecursionError:
        raise Malformed("the body is nested too deeply") from None
    except ValueError:
        raise Malformed("the body is no JSON in UTF-8") from None


def to_json(value: Answer | Received | Application) -> dict[str, object]:
    """An answer or a line of the log as a JSON object."""
    return {
        field.name: encode(item)
        if isinstance(item := getattr(value, field.name), Receipt)
        else item
        for field in fields(value)
    }


def from_json(cls: type[Value], found: object) -> Value:
    """The inverse. Raises ``Malformed`` unless every field is there and of its type."""
    if not isinstance(found, dict):
        raise Malformed(f"no {cls.__name__}")
    values: dict[str, Any] = {}
    for name, allowed in _FIELD_TYPES[cls].items():
        item = found.get(name, MISSING)
        if Receipt in allowed and isinstance(item, dict):
            item = _receipt(item)
        if type(item) not in allowed:
            raise Malformed(f"{name} of {cls.__name__} is missing or of the wrong type")
        values[name] = item
    if cls is Answer and values["how"] not in HOWS:
        raise Malformed("an answer that no sink gives")
    return cls(**values)


def write_log(log: Log) -> bytes:
    """JSON lines, each ``{"log": "request" | "application", …}``, closed by an end line."""
    return b"".join(_log_lines(log))


def read_log(body: bytes) -> Log:
    """The inverse. A log without its end line was cut, and is refused."""
    requests: list[Received] = []
    applications: list[Application] = []
    lines = [read_json(line) for line in body.splitlines()]
    end = lines.pop() if lines else None
    for line in lines:
        kind = line.get("log") if isinstance(line, dict) else None
        if kind == "request":
            requests.append(from_json(Received, line))
        elif kind == "application":
            applications.append(from_json(Application, line))
        else:
            raise Malformed("a line of the log is neither request nor application")
    if end != {"log": "end", "lines": len(lines)}:
        raise Malformed("the log has no end")
    return Log(tuple(requests), tuple(applications))


def _log_lines(log: Log) -> Iterator[bytes]:
    for request in log.requests:
        yield json.dumps({"log": "request", **to_json(request)}).encode() + b"\n"
    for application in log.applications:
        yield json.dumps({"log": "application", **to_json(application)}).encode() + b"\n"
    lines = len(log.requests) + len(log.applications)
    yield json.dumps({"log": "end", "lines": lines}).encode() + b"\n"


def _receipt(found: dict[str, object]) -> Receipt:
    try:
        receipt = decode(found)  # type: ignore[arg-type]  # came out of JSON
    except (ValueProblem, RecursionError):
        raise Malformed("no receipt") from None
    if not isinstance(receipt, Receipt):
        raise Malformed("no receipt")
    return receipt


def _field_types(cls: type) -> dict[str, tuple[type, ...]]:
    """Per field the exact classes that its value may have."""
    return {name: tuple(_classes(hint)) for name, hint in get_type_hints(cls).items()}


def _classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, types.UnionType):
        for part in get_args(hint):
            yield from _classes(part)
    elif isinstance(hint, type):
        yield hint
    else:  # a Literal of texts
        yield str


_FIELD_TYPES: Final = {cls: _field_types(cls) for cls in (Answer, Received, Application)}


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Malformed("an object has a member twice")
    return found


def _no_constant(name: str) -> None:
    raise Malformed(f"{name} is no JSON")
