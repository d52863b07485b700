"""The sink behind the proxy: what its client may say of each fault, and what really happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from admitone.chaos.network.faults import (
    BOTH_LOST,
    DOWN,
    LATE,
    NULL,
    REPLY_LOST,
    REQUEST_LOST,
    RESET,
    RESET_AFTER,
    SILENCE,
    Fault,
    cut,
)
from admitone.chaos.network.link import Link
from admitone.chaos.network.toxiproxy import Toxiproxy
from admitone.idempotent_sink.client import HttpSink
from admitone.idempotent_sink.server import SinkServer
from admitone.idempotent_sink.sink import Sink
from admitone.targets.replies import EffectUnknown, NotApplied
from tests.front_door import until

ARGS: dict[str, object] = {"amount": 5, "memo": "ao:0123456789abcdef"}
PATIENCE_S = 60.0
GIVING_UP_S = 0.3


@pytest.fixture
def sink(scratch: Path) -> Iterator[Sink]:
    sink = Sink(scratch / "sink", receipt_key=b"r" * 32)
    yield sink
    sink.close()


@pytest.fixture
def link(sink: Sink, toxiproxy: Toxiproxy) -> Iterator[Link]:
    with SinkServer(sink) as server:
        host, port = server.server_address[:2]
        link = toxiproxy.proxy("sink", str(host), int(port))
        yield link
        link.close()


def client(link: Link, timeout_s: float = PATIENCE_S) -> HttpSink:
    return HttpSink(f"http://{link.host}:{link.port}", timeout_s=timeout_s)


def resent(link: Link, sink: Sink) -> str:
    """How the sink takes the same request once more, after the healing."""
    link.heal()
    how = client(link).request("k", "pay", ARGS).how
    assert len(sink.applications()) == 1
    return how


def test_the_control_applies(link: Link, sink: Sink) -> None:
    link.fault(NULL)
    assert client(link).request("k", "pay", ARGS).how == "applied"
    assert resent(link, sink) == "repeated"


@pytest.mark.parametrize(
    ("fault", "applied"),
    [
        (REQUEST_LOST, 0),
        (BOTH_LOST, 0),
        (RESET, 0),
        (REPLY_LOST, 1),
        (RESET_AFTER, 1),
        (cut(1), 1),
        (cut(60), 1),
    ],
    ids=lambda value: value.token if isinstance(value, Fault) else "",
)
def test_a_client_cannot_know(link: Link, sink: Sink, fault: Fault, applied: int) -> None:
    """The same answer of the client's whether it happened or not; then one application in all."""
    link.fault(fault)
    with pytest.raises(EffectUnknown):
        client(link).request("k", "pay", ARGS)
    assert len(sink.applications()) == applied
    assert resent(link, sink) == ("repeated" if applied else "applied")


def test_where_nobody_listens_a_client_knows(link: Link, sink: Sink) -> None:
    link.fault(DOWN)
    with pytest.raises(NotApplied):
        client(link).request("k", "pay", ARGS)
    assert resent(link, sink) == "applied"


def test_a_late_request_is_applied_after_its_client_gave_up(link: Link, sink: Sink) -> None:
    link.fault(LATE)
    with pytest.raises(EffectUnknown, match="timed out"):
        client(link, GIVING_UP_S).request("k", "pay", ARGS)
    assert sink.applications() == ()
    assert resent(link, sink) in ("applied", "repeated")  # either of the two may be the first
    until(lambda: len(sink.requests()) == 2, "the late request")
    assert len(sink.applications()) == 1


def test_silence_loses_the_request_for_good(link: Link, sink: Sink) -> None:
    link.fault(SILENCE)
    with pytest.raises(EffectUnknown, match="timed out"):
        client(link, GIVING_UP_S).request("k", "pay", ARGS)
    assert resent(link, sink) == "applied"
    assert len(sink.requests()) == 1
