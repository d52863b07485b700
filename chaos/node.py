"""A node: one process that hosts one client of the ledger and does what the harness asks.

It is a fork of the warm parent (``zygote.py``) and speaks JSON lines (``channel.py``). Requests:
``deploy``, ``fresh``, ``discard``, ``open``, ``call`` (one operation), ``inspect``, ``work`` and
``leave``. Each is answered by one reply line with the request's id; in between a call may report
points, ask the sink, and stand still. Nothing here judges anything.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
import time
import traceback
from collections.abc import Awaitable
from pathlib import Path
from types import GeneratorType
from typing import Any

from ..targets.contract import OPERATIONS
from ..targets.replies import (
    Busy,
    EffectUnknown,
    NotApplied,
    NotGranted,
    Refused,
    Replayed,
    Unknown,
)
from ..targets.values import ValueProblem, decode, encode
from .channel import Channel, Message
from .content import content_hash
from .stops import CURRENT, OpenCall, Stops
from .world import Surroundings, World

LONGEST_START_NS = 200_000_000
"""Longest time that a call waits for its starting instant."""

SPIN_NS = 300_000
"""The last part of that wait, which is not slept."""

DETAIL_LIMIT = 2000
"""Longest exception text that travels, characters."""


class CannotTravel(Exception):
    """What the ledger answered is no JSON: nothing that its ``classify`` should explain."""


LOADED_BEFORE: frozenset[str] = frozenset()
"""The modules that were there before the target was: set by the warm parent, once."""


class Node:
    """The main loop of a node process, and the ledger that it has open."""

    def __init__(self, channel: Channel, stops: Stops, target: Any) -> None:
        self._channel = channel
        self._stops = stops
        self._target = target
        self._ledger: Any = None
        self._world: World | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._plain: set[type] = set()

    def serve(self) -> None:
        """Answer requests until told to leave. A call with a ``lane`` gets a thread of its own."""
        while True:
            request = self._channel.next_request()
            if request["do"] == "leave":
                return
            if request.get("lane") is None:
                self._answer(request)
            else:
                threading.Thread(target=self._answer, args=(request,), daemon=True).start()

    def _answer(self, request: Message) -> None:
        call = OpenCall(
            request["id"],
            request["op"] if request["do"] == "call" else request["do"],
            {(k, s, n): name for name, k, s, n in request.get("arm", ())},
            request.get("trace", False),
        )
        CURRENT.set(call)
        self._stops.opened(call)
        try:
            reply = self._do(request)
        except BaseException as raised:  # whatever it is, the harness must hear of it
            reply = self._raised(raised, call)
        self._stops.point("reply", "before")
        self._stops.closed(call)
        reply["reply"] = call.id
        reply["entered"] = call.entered
        reply["not_applied"] = call.not_applied
        reply["wrote"] = call.wrote
        if call.wishes:
            reply["fired"] = any(wish.fired for wish in call.wishes)
        if call.began_ns is not None:
            reply["ran_ns"] = [call.began_ns, time.monotonic_ns()]
        CURRENT.set(None)
        self._channel.send(reply)

    def _do(self, request: Message) -> Message:
        match request["do"]:
            case "call":
                if "start_ns" in request:
                    _begin_at(request["start_ns"])
                return self._call(request["op"], [decode(item) for item in request["args"]])
            case "open":
                return self._open(request)
            case "inspect":
                os.chdir(request["workspace"])
                view = self._settle(
                    self._target.inspect(request["store"], decode(request["approval"]))
                )
                return {"value": _travelling(view)}
            case "deploy":
                os.chdir(request["workspace"])
                value = _travelling(self._settle(self._target.deploy(Path.cwd())))
                return {"value": value, "content": content_hash(LOADED_BEFORE)}
            case "fresh":
                fresh = self._target.fresh(request["store"], request["n"])
                return {"value": _travelling(self._settle(fresh))}
            case "discard":
                self._settle(self._target.discard(request["store"]))
                return {"value": None}
            case "work":
                self._settle(self._target.work(request["store"], self._world))
                return {"value": None}
            case other:
                raise ValueProblem(f"no node can do {other!r}")

    def _open(self, request: Message) -> Message:
        self._ledger = None
        os.chdir(request["workspace"])
        self._world = World(
            self._channel,
            self._stops,
            Surroundings(
                Path(request["workspace"]),
                decode(request["identity"]),
                decode(request["trust"]),
                request["skew_s"],
                request["lease_s"],
                request["patience_s"],
                request["sink_url"],
            ),
        )
        self._ledger = self._settle(self._target.open(request["store"], self._world))
        return {
            "value": [name for name in OPERATIONS if callable(getattr(self._ledger, name, None))]
        }

    def _call(self, op: str, args: list[Any]) -> Message:
        if op == "effect":
            assert self._world is not None
            return {"value": encode(self._world.effect(*args))}
        value = self._settle(getattr(self._ledger, op)(*args))
        if op == "execute" and not isinstance(value, NotGranted):
            return {"value": _unsure(CURRENT.get())}  # anything else that it answers counts as done
        return {"value": _travelling(value)}

    def _settle(self, value: Any) -> Any:
        """Wait for an ``async def``: on the one loop that runs as long as the node does."""
        kind = type(value)
        if kind in self._plain:
            return value
        if not inspect.isawaitable(value):
            if kind is not GeneratorType:  # of all others the type alone decides
                self._plain.add(kind)
            return value
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, daemon=True).start()
        return asyncio.run_coroutine_threadsafe(_awaited(value), self._loop).result()

    def _raised(self, raised: BaseException, call: OpenCall) -> Message:
        """What an exception means: the target says so, or the world's own did pass through."""
        shown = "".join(traceback.format_exception_only(raised)).strip()[:DETAIL_LIMIT]
        verdict: object = None
        classify = getattr(self._target, "classify", None)
        named = call.op in ("open", "work") or call.op in OPERATIONS
        if classify is not None and named and not isinstance(raised, CannotTravel):
            try:
                verdict = classify(raised)
            except BaseException as worse:
                shown = f"{shown}; and classify() raised {type(worse).__name__}"
                raised = worse
        if call.op == "open" and not isinstance(verdict, Busy):
            verdict = None  # a ledger that does not open has refused nothing
        if verdict is None:
            verdict = _of_the_world(raised, shown)
        if isinstance(verdict, Refused | Busy | Unknown | Replayed):
            try:
                return {"value": _travelling(verdict), "raised": shown}
            except CannotTravel as worse:
                raised = worse
        return {"unclassified": shown, "raised": _where(raised)}


def _unsure(call: OpenCall | None) -> object:
    """Unknown, where the effect was entered in a thread that may have worked for another call."""
    if call is None or call.entered or not call.perhaps:
        return None
    return encode(
        Unknown("an effect was sent by a thread of the library's, for this call or another")
    )


def _travelling(value: object) -> object:
    try:
        return encode(value)
    except (ValueProblem, RecursionError) as problem:
        raise CannotTravel(f"the answer cannot travel: {problem}") from problem


def _where(raised: BaseException) -> str:
    """The traceback without the frames of this file: it begins in the target. Bounded."""
    frame = start = raised.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == __file__:
            start = frame.tb_next
        frame = frame.tb_next
    text = "".join(traceback.format_exception(type(raised), raised, start))
    if len(text) <= DETAIL_LIMIT:
        return text
    return "…\n" + text[-DETAIL_LIMIT:].split("\n", 1)[-1]


def _begin_at(start_ns: int) -> None:
    """Begin at an instant of the monotonic clock, which all processes share: a barrier without a
    barrier. It spins at the end, because a sleep comes back too late, and not before, because
    callers that outnumber the cores would keep each other from it. Bounded by the harness."""
    until_ns = min(start_ns, time.monotonic_ns() + LONGEST_START_NS)
    time.sleep(max(0, until_ns - SPIN_NS - time.monotonic_ns()) / 1e9)
    while time.monotonic_ns() < until_ns:
        pass
    call = CURRENT.get()
    if call is not None:
        call.began_ns = time.monotonic_ns()


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _of_the_world(raised: BaseException, shown: str) -> Refused | Unknown | None:
    """``NotApplied`` and ``EffectUnknown`` that passed through the library, wrapped or not."""
    seen: BaseException | None = raised
    for _ in range(20):  # a chain may be a cycle
        if isinstance(seen, EffectUnknown):
            return Unknown(shown)
        if isinstance(seen, NotApplied):
            return Refused("unspecified", detail=shown)
        if seen is None:
            return None
        seen = seen.__cause__ or seen.__context__
    return None


def run(channel: Channel, stops: Stops, target: Any) -> None:
    """The life of a node, from the fork to the end of its process."""
    contextvars.copy_context().run(Node(channel, stops, target).serve)
