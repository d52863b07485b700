"""The ``env`` of a node: its clock, its identity, and its way to the sink.

The sink is never inside a node: an effect is a question to the harness, which logs it, holds it,
loses it or applies it, and answers. What happens to the question while the node is killed is
therefore decided and seen outside the ledger's process.
"""

from __future__ import annotations

import asyncio
import contextvars
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..targets.replies import EffectUnknown, NotApplied
from ..targets.terms import Identity, Receipt, Trust
from ..targets.values import ValueProblem, decode, encode
from .channel import Channel
from .probes.sight import Side
from .stops import Stops

WRITE_MARKS: Final[dict[str, Side]] = {"before-write": "before", "after-write": "after"}
"""Marks by which an adapter shows a durable write that no probe can see."""

_POINT_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,39}\Z")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the harness says of a node's world when it asks to open a ledger."""

    workspace: Path
    identity: Identity
    trust: Trust
    skew_s: float
    lease_s: float
    patience_s: float
    sink_url: str | None


class World:
    """``Env`` of the contract, as a node lives in it."""

    def __init__(self, channel: Channel, stops: Stops, around: Surroundings) -> None:
        self._channel = channel
        self._stops = stops
        self._around = around

    @property
    def workspace(self) -> Path:
        """This store's folder."""
        return self._around.workspace

    @property
    def identity(self) -> Identity:
        """Who this node's client is."""
        return self._around.identity

    @property
    def trust(self) -> Trust:
        """Keys that verify confirmations and receipts."""
        return self._around.trust

    @property
    def lease_s(self) -> float:
        """For the library's lease knob, seconds."""
        return self._around.lease_s

    @property
    def patience_s(self) -> float:
        """No call should wait longer than this, seconds."""
        return self._around.patience_s

    @property
    def sink_url(self) -> str | None:
        """Where the sink listens, if it is a process of its own."""
        return self._around.sink_url

    def now(self) -> float:
        """This node's clock: the machine's, plus the skew that the schedule gave the node."""
        return time.time() + self._around.skew_s

    def at(self, point: str) -> None:
        """A stop of the adapter's own; "before-write" and "after-write" mark a durable write."""
        if not _POINT_NAME.match(point):
            raise ValueError(f"env.at: {point!r} is no name of a point (a-z, 0-9, '.', '-', '_')")
        if point in WRITE_MARKS:
            self._stops.point("write", WRITE_MARKS[point], "marked by the adapter")
        else:
            self._stops.point(point, "before")

    def effect(self, tool: str, args: Mapping[str, object], key: str | None = None) -> Receipt:
        """Ask the sink to apply the effect; see ``Env.effect``."""
        travelling = _travelling(args)
        call = self._stops.entered()
        self._stops.point("effect", "before", tool)
        question: dict[str, Any] = {
            "effect": {"tool": tool, "args": travelling, "key": key},
            "call": None if call is None else call.id,
        }
        if call is not None and not self._stops.certain():
            question["guessed"] = True
        answer = self._channel.ask(question)
        if "not_applied" in answer:
            if call is not None:
                call.not_applied += 1
            raise NotApplied(str(answer["not_applied"]))
        if "unknown" in answer:
            raise EffectUnknown(str(answer["unknown"]))
        self._stops.point("effect", "after", tool)
        receipt: Receipt = decode(answer["receipt"])
        return receipt

    async def effect_async(
        self, tool: str, args: Mapping[str, object], key: str | None = None
    ) -> Receipt:
        """The same without blocking the event loop."""
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, context.run, self.effect, tool, args, key)

    def lookup(self, key: str) -> Receipt | None:
        """Ask the sink what stands applied under the key; see ``Env.lookup``."""
        call = self._stops.current()
        answer = self._channel.ask({"lookup": key, "call": None if call is None else call.id})
        if "unknown" in answer:
            raise EffectUnknown(str(answer["unknown"]))
        receipt: Receipt | None = decode(answer.get("receipt"))
        return receipt


def _travelling(args: object) -> object:
    """Arguments as the wire carries them. A ledger may hand anything to its callback."""
    try:
        return encode(args)
    except (ValueProblem, RecursionError) as problem:
        raise NotApplied(f"the arguments cannot travel to the sink: {problem}") from None
