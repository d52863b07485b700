"""The sinks of one worker: whoever had the folder before, a fresh one is empty."""

from __future__ import annotations

from pathlib import Path

import pytest

from admitone.idempotent_sink.protocol import SINK_KINDS, SinkKind
from admitone.idempotent_sink.sink import Sink
from admitone.scenarios.sinks import Sinks


@pytest.mark.parametrize("kind", SINK_KINDS)
def test_a_fresh_sink_is_empty_where_another_worker_left_its_own(
    kind: SinkKind, scratch: Path
) -> None:
    for _ in range(3):
        sinks = Sinks("embedded", scratch, b"k" * 32)
        try:
            for _ in range(2):
                sink = sinks.fresh(kind)
                assert isinstance(sink, Sink)
                assert sink.application_count() == 0
                assert sink.request("k", "pay", {"n": 1}).how == "applied"
        finally:
            sinks.close()
