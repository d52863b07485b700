"""A sink in another process, spoken to over HTTP, with the methods of ``Sink``.

Each request has a connection of its own, because that makes one thing provable: when
``connect`` fails, no byte of the request has left. Only then, and when the sink itself says that
the message was none of its protocol, is the outcome ``NotApplied``. On a kept connection a
failure to send would prove nothing. Everything else that goes wrong is ``EffectUnknown``.
"""

from __future__ import annotations

import http.client
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from ..targets.replies import EffectUnknown, NotApplied
from .payload import read_key, read_payload
from .protocol import Answer, Application, How, Log, Received
from .wire import (
    EffectMessage,
    LookupMessage,
    Malformed,
    from_json,
    read_json,
    read_log,
    write_effect,
    write_lookup,
)

_REQUEST_HOWS: Final[frozenset[How]] = frozenset({"applied", "repeated", "refused"})
_LOOKUP_HOWS: Final[frozenset[How]] = frozenset({"found", "absent", "cannot_tell"})


class HttpSink:
    """A client of ``server.py``. Thread-safe: nothing is kept between calls.

    ``timeout_s`` bounds each wait for the network. ``host`` and ``port`` are those of ``url``.
    """

    def __init__(self, url: str, *, timeout_s: float = 5.0) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"not the address of a sink: {url}")
        self.url = url
        self.host = parts.hostname
        self.port = parts.port or 80
        self._timeout_s = timeout_s

    def request(
        self, key: str | None, tool: str, args: object, *, node: str = "", call: int | None = None
    ) -> Answer:
        """Ask for an effect. Raises ``NotApplied`` or ``EffectUnknown``.

        A request that every sink refuses as unfit is refused here: not all of it could travel.
        """
        payload = read_payload(key, tool, args)
        if payload.problem:
            return Answer(0, "refused", label=payload.label, problem=payload.problem)
        headers = {"Content-Type": "application/json"}
        in_header = payload.key is not None and _fits_header(payload.key)
        if in_header and payload.key is not None:
            headers["Idempotency-Key"] = payload.key
        message = EffectMessage(tool, args, None if in_header else payload.key, node, call)
        status, body = self._exchange("POST", "/effects", write_effect(message), headers)
        if answer := _answer(body, _REQUEST_HOWS):
            return answer
        problem = _problem(body)
        if problem and HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise NotApplied(f"the sink did not take the message: {problem}")
        raise EffectUnknown(problem or f"no answer of a sink came back (status {status})")

    def lookup(self, key: str, *, node: str = "", call: int | None = None) -> Answer:
        """Ask what stands applied under a key. Raises ``EffectUnknown`` without an answer."""
        safe_key, problem = read_key(key)
        if safe_key is None:
            return Answer(0, "absent", problem=problem)
        try:
            query = write_lookup(LookupMessage(safe_key, node, call))
            _, body = self._exchange("GET", f"/effects?{query}")
        except NotApplied as failure:
            raise EffectUnknown(str(failure)) from None
        if answer := _answer(body, _LOOKUP_HOWS):
            return answer
        raise EffectUnknown(_problem(body) or "no answer of a sink came back")

    def log(self) -> Log:
        """Requests and applications, read at one instant. Raises ``EffectUnknown``."""
        try:
            _, body = self._exchange("GET", "/log")
            return read_log(body)
        except (NotApplied, Malformed) as failure:
            raise EffectUnknown(f"the log cannot be read: {failure}") from None

    def reset(self) -> None:
        """Have the sink forget everything; only one that was started for it does. Raises
        ``NotApplied`` or ``EffectUnknown`` unless it did."""
        status, body = self._exchange("POST", "/reset", b"")
        if status != HTTPStatus.OK:
            raise EffectUnknown(_problem(body) or f"no sink was emptied (status {status})")

    def requests(self) -> tuple[Received, ...]:
        """Every request as it came, lookups too."""
        return self.log().requests

    def applications(self, label: str | None = None) -> tuple[Application, ...]:
        """Every application, or those under one label."""
        found = self.log().applications
        return found if label is None else tuple(one for one in found if one.label == label)

    def close(self) -> None:
        """Nothing is held open."""

    def _exchange(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self._timeout_s)
        try:
            connection.connect()
        except OSError as failure:
            raise NotApplied(f"no connection to the sink, nothing was sent: {failure}") from None
        try:
            connection.request(method, path, body, {**(headers or {}), "Connection": "close"})
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as failure:
            raise EffectUnknown(
                f"the sink did not answer: {type(failure).__name__} {failure}".rstrip()
            ) from None
        finally:
            connection.close()


def _answer(body: bytes, hows: frozenset[How]) -> Answer | None:
    try:
        answer = from_json(Answer, read_json(body))
    except Malformed:
        return None
    return answer if answer.how in hows else None


def _problem(body: bytes) -> str:
    try:
        found = read_json(body)
    except Malformed:
        return ""
    problem = found.get("problem") if isinstance(found, dict) and len(found) == 1 else None
    return problem if isinstance(problem, str) else ""


def _fits_header(key: str) -> bool:
    return key.isascii() and key.isprintable() and key == key.strip()
