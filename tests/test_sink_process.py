"""The sink as a process of its own: as fresh, as truthful, and the same history as embedded."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from admitone.chaos.events import Harm, Note, SinkApplied
from admitone.chaos.parent import TargetProblem
from admitone.idempotent_sink.client import HttpSink
from admitone.idempotent_sink.process import SinkProcess, SinkProcessProblem
from admitone.idempotent_sink.protocol import SINK_KINDS
from admitone.idempotent_sink.server import SinkServer
from admitone.idempotent_sink.sink import Sink
from admitone.scenarios.campaign import placed_plans
from admitone.scenarios.canonical import canonical_digest
from admitone.scenarios.conductor import Conductor
from admitone.scenarios.families import replays
from admitone.scenarios.plan import Plan
from admitone.scenarios.preflight import fit
from admitone.scenarios.sinks import SINK_HOMES, SinkHome, Sinks
from admitone.targets.replies import EffectUnknown, NotApplied
from tests.front_door import environment, until
from tests.harness_world import warmed

KEY = b"r" * 32
ARGS: dict[str, object] = {"amount": 5, "memo": "ao:0123456789abcdef"}


# --- one server


def answers(client: HttpSink) -> bool:
    try:
        client.request("k", "pay", ARGS)
    except (NotApplied, EffectUnknown):
        return False
    return True


@pytest.fixture
def own(scratch: Path) -> Iterator[SinkProcess]:
    sink = SinkProcess(scratch / "own", "idempotent", KEY)
    yield sink
    sink.close()


def test_an_emptied_server_answers_as_a_new_sink(own: SinkProcess, scratch: Path) -> None:
    first = own.request("k", "pay", ARGS)
    assert own.request("k", "pay", ARGS).how == "repeated"
    own.reset()
    assert (own.requests(), own.applications()) == ((), ())
    assert own.lookup("k").how == "absent"
    own.reset()
    assert own.request("k", "pay", ARGS) == first
    new = Sink(scratch / "new", "idempotent", KEY)
    assert new.request("k", "pay", ARGS) == first
    new.close()


def test_a_server_that_was_not_started_for_it_forgets_nothing(scratch: Path) -> None:
    sink = Sink(scratch / "kept")
    with SinkServer(sink) as server:
        client = HttpSink(server.url, timeout_s=60)
        client.request("k", "pay", ARGS)
        with pytest.raises(EffectUnknown, match="nothing here"):
            client.reset()
        assert client.lookup("k").how == "found"
    sink.close()


def test_it_ends_with_the_one_who_started_it(scratch: Path) -> None:
    """However that one ends: the other end of its standard input closes."""
    started = (
        "import os, pathlib, sys; from admitone.idempotent_sink.process import SinkProcess as S; "
        "sink = S(pathlib.Path('own'), 'control', b'key'); print(sink.url, flush=True); "
        "os.kill(os.getpid(), 9)"
    )
    starter = subprocess.run(
        [sys.executable, "-c", started],
        cwd=scratch,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert starter.returncode == -signal.SIGKILL
    url = starter.stdout.strip()
    client = HttpSink(url, timeout_s=60)
    until(lambda: not answers(client), "the end of the server")


FORKS: dict[str, tuple[str, str, str]] = {
    "what it returns": ("return 7", "7", ""),
    "what it raises": ("raise ValueError('no such store')", "70", "ValueError: no such store"),
    "its end by a signal": ("os.kill(os.getpid(), 9)", "-9", ""),
    "nothing that its parent has open": (
        "return len(os.listdir('/proc/self/fd')) - 1",  # the listing itself is one
        "3",
        "",
    ),
    "its name": ("return open('/proc/self/comm').read() != 'admitone-sink\\n'", "0", ""),
}


@pytest.mark.parametrize("name", FORKS)
def test_a_fork_is_a_child_of_its_own(scratch: Path, name: str) -> None:
    body, code, said = FORKS[name]
    program = (
        "import os\n"
        "from admitone.idempotent_sink.fork import Forked\n"
        f"def main():\n    {body}\n"
        "opened = [os.open('/dev/null', os.O_RDONLY) for _ in range(9)]\n"
        "child = Forked('admitone-sink', main, 2)\n"
        "print(child.wait(), flush=True)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=scratch,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, code)
    assert said in ran.stderr
    assert bool(said) == bool(ran.stderr)


def test_one_that_cannot_start_says_why(scratch: Path) -> None:
    (scratch / "file").write_text("no database, and long enough to be seen as none" * 100)
    with pytest.raises(SinkProcessProblem, match="file cannot be used as a store"):
        SinkProcess(scratch / "file", "idempotent", KEY)


def test_a_sink_that_died_between_schedules_is_replaced(scratch: Path) -> None:
    sinks = Sinks("process", scratch, KEY)
    first = sinks.fresh("idempotent")
    assert sinks.fresh("idempotent") is first
    assert isinstance(first, SinkProcess)
    os.kill(first.pid, signal.SIGKILL)
    second = sinks.fresh("idempotent")
    assert second is not first
    assert second.request("k", "pay", ARGS).application == 1
    sinks.close()
    assert isinstance(second, SinkProcess)
    assert not second.alive


# --- whole schedules

Homes = dict[SinkHome, Conductor]


@contextmanager
def conducted(target: str, folder: Path) -> Iterator[tuple[Homes, tuple[Plan, ...]]]:
    """A conductor of one target for each home of the sink, and the target's placed plans."""
    with warmed(target, folder) as parent:
        fitting = fit(parent, folder)
        homes: Homes = {}
        for home in SINK_HOMES:
            (folder / home).mkdir()
            homes[home] = Conductor(parent, fitting, folder / home, reference=False, sink=home)
        try:
            placed = placed_plans(fitting, ("crash", "consumers"), 7)
            yield homes, tuple(plan for plan in placed if replays(plan))
        finally:
            for conductor in homes.values():
                conductor.close()


@pytest.mark.parametrize(
    ("target", "number"),
    [
        ("caplease-sqlite", 4),
        ("correct/guarded", 3),
        ("correct/counter", 2),
        ("correct/json-flock", 2),
        ("broken/MP1", 2),
        ("broken/ME1", 2),
        ("broken/MP6", 2),
        ("broken/MP1-lease-lock", 1),
    ],
)
def test_equal_plans_leave_equal_histories_wherever_the_sink_is(
    scratch: Path, target: str, number: int
) -> None:
    """Placed schedules are deterministic, and no key of an earlier play is known to the next."""
    applied = 0
    with conducted(target, scratch) as (homes, placed):
        chance = random.Random("sample")
        alike = [plan for plan in placed if replays(plan) and plan.params[0] != "FP7"]
        of_kind = {kind: [plan for plan in alike if plan.sink == kind] for kind in SINK_KINDS}
        for plan in [plan for kind in SINK_KINDS for plan in chance.sample(of_kind[kind], number)]:
            plays = [
                homes[home].play(plan, virgin=True)
                for home in ("embedded", "embedded", "process", "process")
            ]
            embedded, process = plays[0], plays[2]
            assert len({canonical_digest(play.history) for play in plays}) == 1, plan.id
            assert len({play.result.verdict for play in plays}) == 1, plan.id
            assert process.result.verdict in ("passed", "violation"), process.result.reason
            topics = [
                [note.topic for note in play.history.events(Note)] for play in (embedded, process)
            ]
            assert ["sink" in told for told in topics] == [False, True]
            applied += sum(1 for _ in process.history.events(SinkApplied))
    assert applied >= number


def test_a_sink_that_is_lost_is_the_fault_of_the_harness(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever it dies; what the ledger did is then not judged, though it looks guilty."""
    real = SinkProcess.request, SinkProcess.requests

    def dying(which: int) -> Any:
        def call(sink: SinkProcess, *args: Any, **named: Any) -> Any:
            os.kill(sink.pid, signal.SIGKILL)
            return real[which](sink, *args, **named)

        return call

    with conducted("correct/counter", scratch) as (homes, placed):
        plan = next(plan for plan in placed if plan.params[0] == "FP10")
        for which, name in enumerate(("request", "requests")):
            with monkeypatch.context() as patch:
                patch.setattr(SinkProcess, name, dying(which))
                lost = homes["process"].play(plan)
            assert (lost.result.verdict, lost.result.findings) == ("harness_error", ())
            assert lost.result.reason.startswith("harness: the suite's own sink is lost: ")
            harms = list(lost.history.events(Harm))
            assert [harm.fault for harm in harms] == ["harness"]
            assert homes["process"].play(plan).result.verdict == "passed"


def test_what_went_past_the_desk_is_not_judged(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that speaks to the url by itself applies effects that the history lacks."""
    with conducted("correct/counter", scratch) as (homes, placed):
        conductor, real = homes["process"], Conductor._clear

        def sent(self: Conductor, scene: Any) -> None:
            HttpSink(scene.stage.setting.sink_url).request("own", "pay", ARGS)
            real(self, scene)

        with monkeypatch.context() as patch:
            patch.setattr(Conductor, "_clear", sent)
            played = conductor.play(placed[0])
        assert played.result.verdict == "harness_error"
        assert "1 request(s) went to the sink's url past env.effect" in played.result.reason
        assert conductor.play(placed[0]).result.verdict == "passed"


READS_THE_LOG = """
from urllib.request import urlopen
from admitone.targets.correct.counter import CounterTarget

class Reader(CounterTarget):
    def open(self, store, env):
        with urlopen(f"{env.sink_url}/log") as log:
            assert log.status == 200
        return super().open(store, env)
"""


def test_a_ledger_in_a_node_can_reach_the_url(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scratch)
    (scratch / "reader.py").write_text(READS_THE_LOG)
    with warmed("py:reader:Reader", scratch) as parent:
        for home in SINK_HOMES:
            (scratch / home).mkdir()
        assert fit(parent, scratch / "process", sink="process").survey.operations
        with pytest.raises(TargetProblem, match="unknown url type: 'None/log'"):
            fit(parent, scratch / "embedded")
