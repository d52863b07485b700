"""What survives SIGKILL: both halves or neither in the atomic sink, and the gap in the other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from admitone.idempotent_sink.client import HttpSink
from admitone.idempotent_sink.protocol import SINK_KINDS, SinkKind
from admitone.idempotent_sink.server import RECEIPT_KEY_VARIABLE
from admitone.idempotent_sink.sink import Sink
from admitone.targets.identity import receipt_is_genuine
from admitone.targets.replies import EffectUnknown, NotApplied

ROOT = Path(__file__).parent.parent
ARGS: dict[str, object] = {"memo": "ao:0123456789abcdef"}

STAND = """
import sys
from pathlib import Path
from admitone.idempotent_sink.sink import Sink

def stand(answer):
    print(answer.application, answer.how, flush=True)
    sys.stdin.read()

path, kind, where = sys.argv[1:]
sink = Sink(Path(path), kind, gap=stand if where == "gap" else None)
stand(sink.request("k", "pay", {"memo": "ao:0123456789abcdef"}))
"""
"""Ask for one effect, then say so and stand: in the gap, or with the answer in hand."""

RUN = """
import sys
from pathlib import Path
from admitone.idempotent_sink.sink import Sink

sink = Sink(Path(sys.argv[1]), sys.argv[2])
for n in range(1_000_000):
    sink.request(f"k{n}", "pay", {"n": n})
    print(n, flush=True)
"""
"""Ask for effects in a tight loop and acknowledge each."""


@contextmanager
def child(*argv: str) -> Iterator[subprocess.Popen[str]]:
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [sys.executable, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, RECEIPT_KEY_VARIABLE: "ab" * 32},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def sigkill(process: subprocess.Popen[str]) -> None:
    process.kill()
    assert process.wait() == -signal.SIGKILL


def killed_while_it_stood(path: Path, kind: SinkKind, where: str) -> None:
    with child("-c", STAND, str(path), kind, where) as process:
        assert line(process) == "1 applied\n"
        sigkill(process)


def test_killed_between_the_halves_the_atomic_sink_has_neither(scratch: Path) -> None:
    killed_while_it_stood(scratch / "store", "idempotent", "gap")
    sink = Sink(scratch / "store")
    assert (sink.requests(), sink.applications()) == ((), ())
    assert sink.lookup("k").how == "absent"
    assert [sink.request("k", "pay", ARGS).how for _ in "12"] == ["applied", "repeated"]
    sink.close()


def test_killed_with_the_answer_in_hand_the_atomic_sink_has_both(scratch: Path) -> None:
    killed_while_it_stood(scratch / "store", "idempotent", "answer")
    sink = Sink(scratch / "store")
    [effect] = sink.applications()
    assert effect.receipt is not None
    assert receipt_is_genuine(sink.receipt_key, effect.receipt)
    again = sink.request("k", "pay", ARGS)
    assert (again.how, again.receipt) == ("repeated", effect.receipt)
    assert sink.request("k", "pay", {**ARGS, "more": 1}).how == "refused"
    assert sink.application_count() == 1
    sink.close()


def test_killed_between_the_halves_the_control_sink_has_the_effect_alone(scratch: Path) -> None:
    killed_while_it_stood(scratch / "store", "control", "gap")
    sink = Sink(scratch / "store", "control")
    assert [done.receipt for done in sink.applications()] == [None]
    assert sink.request("k", "pay", ARGS).how == "applied"
    assert [done.receipt is None for done in sink.applications()] == [True, False]
    sink.close()


def test_whatever_was_acknowledged_survives_and_nothing_is_half(scratch: Path) -> None:
    with child("-c", RUN, str(scratch / "store"), "idempotent") as process:
        acknowledged = [int(line(process)) for _ in range(50)][-1] + 1
        sigkill(process)
        assert process.stdout is not None
        acknowledged += len([*process.stdout])
    sink = Sink(scratch / "store")
    effects = sink.applications()
    assert acknowledged <= len(effects) <= acknowledged + 1
    assert [effect.key for effect in effects] == [f"k{n}" for n in range(len(effects))]
    assert len(sink.requests()) == len(effects)
    for n, effect in enumerate(effects):
        again = sink.request(f"k{n}", "pay", {"n": n})
        assert (again.how, again.receipt) == ("repeated", effect.receipt)
    assert sink.application_count() == len(effects)
    sink.close()


def test_two_processes_share_one_store(scratch: Path) -> None:
    sink = Sink(scratch / "store")
    with child("-c", RUN, str(scratch / "store"), "idempotent") as process:
        line(process)
        answers = [sink.apply(sink.receive(f"k{n}", "pay", {"n": n})) for n in range(200)]
        for _ in range(200):
            line(process)
        sigkill(process)
    assert {answer.how for answer in answers} <= {"applied", "repeated"}
    keys = [effect.key for effect in sink.applications()]
    assert len(keys) == len(set(keys)) >= 200
    sink.close()


WRITE = """
import sqlite3, sys
sqlite3.connect(sys.argv[1], timeout=0).execute("BEGIN IMMEDIATE")
"""


def test_nobody_writes_between_the_look_for_a_key_and_its_application(scratch: Path) -> None:
    """Another sink that could apply in between would apply the same key."""
    intruder: list[str] = []

    def clock_ns() -> int:  # read there
        if held:
            done = subprocess.run(
                [sys.executable, "-c", WRITE, str(scratch / "store")],
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            intruder.append(done.stderr)
        return 0

    held = False
    sink = Sink(scratch / "store", clock_ns=clock_ns)
    packet = sink.receive("k", "pay", ARGS)
    held = True
    assert sink.apply(packet).how == "applied"
    assert ["database is locked" in said for said in intruder] == [True]
    sink.close()


# --- the server


@contextmanager
def server(
    store: Path, kind: SinkKind, *options: str
) -> Iterator[tuple[subprocess.Popen[str], HttpSink]]:
    """A server and a client of it. At the end of the block it leaves by itself."""
    module = ["-m", "admitone.idempotent_sink.server"]
    with child(*module, "--store", str(store), "--kind", kind, "--until-eof", *options) as process:
        assert process.stdin is not None
        ready = json.loads(line(process))
        assert ready["kind"] == kind
        yield process, HttpSink(ready["url"], timeout_s=60)
        process.stdin.close()
        assert process.wait() == 0


def test_the_server_leaves_when_stdin_closes_and_remembers(scratch: Path) -> None:
    with server(scratch / "store", "idempotent") as (_, client):
        first = client.request("k", "pay", ARGS)
        assert first.how == "applied"
        assert first.receipt is not None
        assert receipt_is_genuine(b"\xab" * 32, first.receipt)
    with pytest.raises(NotApplied):
        client.request("k", "pay", ARGS)
    with server(scratch / "store", "idempotent") as (_, client):
        again = client.request("k", "pay", ARGS)
        assert (again.how, again.receipt) == ("repeated", first.receipt)
        assert len(client.applications()) == 1


@contextmanager
def in_the_gap(process: subprocess.Popen[str], client: HttpSink) -> Iterator[None]:
    """One request stands in the gap; whatever happens to it, its outcome is unknown."""
    unknown: list[EffectUnknown] = []

    def ask() -> None:
        try:
            client.request("k", "pay", ARGS)
        except EffectUnknown as outcome:
            unknown.append(outcome)

    caller = threading.Thread(target=ask)
    caller.start()
    assert json.loads(line(process)) == {"at": "sink.gap", "request": 1, "application": 1}
    yield
    caller.join()
    assert len(unknown) == 1


@pytest.mark.parametrize("kind", SINK_KINDS)
def test_a_server_killed_in_the_gap(scratch: Path, kind: SinkKind) -> None:
    module = ["-m", "admitone.idempotent_sink.server"]
    options = ["--store", str(scratch / "store"), "--kind", kind, "--hold-gap"]
    with child(*module, *options) as process:
        client = HttpSink(json.loads(line(process))["url"], timeout_s=60)
        with in_the_gap(process, client):
            sigkill(process)
    sink = Sink(scratch / "store", kind)
    assert [done.receipt for done in sink.applications()] == [None] * (kind == "control")
    sink.close()


@pytest.mark.parametrize("kind", SINK_KINDS)
def test_a_server_left_in_the_gap_still_leaves(scratch: Path, kind: SinkKind) -> None:
    with (
        server(scratch / "store", kind, "--hold-gap") as (process, client),
        in_the_gap(process, client),
    ):
        assert process.stdin is not None
        process.stdin.close()
    sink = Sink(scratch / "store", kind)
    assert [done.receipt for done in sink.applications()] == [None] * (kind == "control")
    sink.close()


def test_a_server_that_cannot_start_says_why(scratch: Path) -> None:
    (scratch / "text").write_text("no database at all, whatever the name of the file may be")
    module = ["-m", "admitone.idempotent_sink.server"]
    with child(*module, "--store", str(scratch / "text")) as process:
        assert line(process) == ""
        assert process.wait() == 2
