"""Ledgers over ``correct/at-most-once`` that are wrong where their disk fails, for tests alone.

``py:tests.log_ledgers:NAME``. The one that ships is ``broken/log-best-effort``.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from admitone.targets.correct.at_most_once import AtMostOnceTarget, OnceLog, Turn, fold


class Unsynced(OnceLog):
    """An error of the sync is passed over; one of the write is not."""

    @contextmanager
    def _turn(self) -> Iterator[Turn]:
        file = os.open(self._path, os.O_RDWR)
        try:
            self._wait_for(file)
            yield self.turn_class(file)
            with suppress(OSError):
                os.fsync(file)
        finally:
            os.close(file)


class SyncsIfItCan(AtMostOnceTarget):
    log_class = Unsynced


class Lines(Turn):
    """Written through a buffer, which a full disk cuts where it likes, and read as if every line
    were whole. No kill tears one: it is one write."""

    def __init__(self, file: int) -> None:
        log = os.pread(file, os.fstat(file).st_size, 0)
        self._file = file
        self.orders = fold(log.splitlines(keepends=True))

    def append(self, *event: object) -> None:
        text = json.dumps(event).encode() + b"\n"
        with os.fdopen(os.dup(self._file), "ab") as log:
            log.write(b"%08x " % zlib.crc32(text) + text)
            log.flush()


class WholeLines(OnceLog):
    turn_class = Lines


class TornByAFullDisk(AtMostOnceTarget):
    log_class = WholeLines
