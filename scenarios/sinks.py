"""The sinks of one worker: made when first asked for, and an empty world for every schedule.

*Embedded*, a sink is an object of the worker; as a *process* it is a server that ledgers in any
language can reach. Both write the same history for the same plan. A server that died is replaced
here; the schedule during which it died is the harness's own fault (``Stage.blind``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, get_args

from ..idempotent_sink.process import SinkProcess
from ..idempotent_sink.protocol import SinkKind
from ..idempotent_sink.sink import Sink
from ..targets.replies import EffectUnknown, NotApplied

SinkHome = Literal["embedded", "process"]
SINK_HOMES: Final[tuple[SinkHome, ...]] = get_args(SinkHome)


def open_sink(home: SinkHome, path: Path, kind: SinkKind, receipt_key: bytes) -> Sink | SinkProcess:
    """A sink over its own store. Raises ``SinkProcessProblem`` if a server does not start."""
    if home == "process":
        return SinkProcess(path, kind, receipt_key)
    return Sink(path, kind, receipt_key)


def sink_url(sink: object) -> str | None:
    """Where a ledger reaches it, if it is a process of its own."""
    return sink.url if isinstance(sink, SinkProcess) else None


class Sinks:
    """See the module. Stores are kept in ``folder``."""

    def __init__(self, home: SinkHome, folder: Path, receipt_key: bytes) -> None:
        self._home = home
        self._folder = folder
        self._receipt_key = receipt_key
        self._open: dict[SinkKind, Sink | SinkProcess] = {}
        self._made = 0

    def fresh(self, kind: SinkKind) -> Sink | SinkProcess:
        """The sink of this kind, with nothing in it."""
        sink = self._open.get(kind)
        if sink is not None and _emptied(sink):
            return sink
        if sink is not None:
            sink.close()
        path = self._folder / f"{kind}{self._made}.sink"
        while path.exists():  # what others left there is no empty world
            self._made += 1
            path = self._folder / f"{kind}{self._made}.sink"
        sink = self._open[kind] = open_sink(self._home, path, kind, self._receipt_key)
        return sink

    def close(self) -> None:
        """End them all."""
        for sink in self._open.values():
            sink.close()
        self._open.clear()


def _emptied(sink: Sink | SinkProcess) -> bool:
    """Whether it forgot everything. A server that is gone did not."""
    try:
        sink.reset()
    except (NotApplied, EffectUnknown):
        return False
    return True
