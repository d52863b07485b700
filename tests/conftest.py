"""What every test may use, and what every test must leave: nothing.

Tests run side by side in several processes, on a machine that may be busy: no fixed ports, no
sleeps for synchronisation, no clock in a verdict.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

from tests.postgres_world import (  # noqa: F401  # fixtures
    fresh_schema,
    postgres,
    postgres_image,
    server_folder,
)
from tests.toxiproxy_world import echo, toxiproxy  # noqa: F401  # fixtures

MEMORY = Path("/dev/shm")
ROOM_BYTES = 256 * 1024 * 1024
GRACE_S = 2.0
MARK = "ADMITONE_TEST_PROCESS"

# Under nohup, or behind a shell's "&", an interrupt is ignored, by all that is started here, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run and machine, however slow: a test is no search for new bugs.
settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """An empty folder on the fastest storage there is (its syncs cost nothing); gone afterwards."""
    if not (MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_BYTES):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="admitone-test-", dir=MEMORY))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session", autouse=True)
def _nothing_left_running() -> Iterator[None]:
    """Fail the run where a test left a process behind, and end that process.

    Descendants are found by parentage, and by a mark in their environment: whoever outlives a
    killed parent belongs to nobody, and only the mark tells where it came from.
    """
    os.environ[MARK] = mark = str(os.getpid())
    yield
    del os.environ[MARK]
    left = {process.pid: process for process in _descendants(mark) if not _ends_with_us(process)}
    _, alive = psutil.wait_procs(left.values(), timeout=GRACE_S)
    names = [_described(process) for process in alive]
    for process in alive:
        process.kill()
    psutil.wait_procs(alive, timeout=GRACE_S)
    assert not names, "processes were left running: " + "; ".join(names)


def _descendants(mark: str) -> Iterator[psutil.Process]:
    yield from psutil.Process().children(recursive=True)
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark:
                yield process
        except (psutil.Error, OSError):  # gone meanwhile, or not ours to look at
            continue


def _ends_with_us(process: psutil.Process) -> bool:
    """Python's own helper of ``multiprocessing``: it leaves when the pipe to us closes."""
    return "multiprocessing.resource_tracker" in _described(process)


def _described(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {' '.join(process.cmdline())[:120]}"
    except psutil.Error:
        return str(process.pid)
