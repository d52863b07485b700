"""Nodes: what the harness says to them, and how they live and die."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from admitone.chaos.events import Killed
from admitone.chaos.handle import Garbage, Gone, NodeHandle, Said, Silent
from admitone.chaos.parent import TargetProblem, WarmParent
from tests.front_door import until
from tests.harness_world import DEADLINE_S, events, one_client, opened, staged, warmed

TARGET = "builtin:correct/counter"


@pytest.fixture
def parent(scratch: Path) -> Iterator[WarmParent]:
    with warmed(TARGET, scratch) as warm:
        yield warm


def await_death(pid: int) -> None:
    """Until the process has ended; it may be a zombie still."""
    descriptor = os.pidfd_open(pid)
    try:
        assert select.select([descriptor], [], [], DEADLINE_S)[0]
    finally:
        os.close(descriptor)


def test_the_greeting_says_who_is_tried(parent: WarmParent) -> None:
    assert parent.greeting.name.library == "use-counter"
    assert parent.greeting.declaration.claims_that("revoke")
    assert parent.greeting.optional == ()


def test_a_kill_is_over_when_the_process_is_dead(parent: WarmParent) -> None:
    node = parent.fork("n")
    node.kill()
    assert not node.alive
    assert psutil.Process(node.pid).status() == psutil.STATUS_ZOMBIE
    assert parent.reap(node.pid).signal == signal.SIGKILL
    assert not psutil.pid_exists(node.pid)


@pytest.mark.parametrize("busy", [True, False])
def test_a_process_is_asleep_when_all_its_threads_are(busy: bool) -> None:
    """Also while it has no turn: whatever else runs here keeps a busy one from its core."""
    turn = "while True: pass" if busy else "threading.Event().wait()"
    program = f"import threading\ndef work():\n  print('began', flush=True)\n  {turn}\n"
    program += "threading.Thread(target=work).start()\n"
    ours, theirs = socket.socketpair()
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"began\n"
        theirs.close()
        node = NodeHandle("n", process.pid, ours)
        if busy:
            assert not any(node.asleep() for _ in range(200))
        else:
            until(node.asleep, "its sleep")
        node.kill()
    assert not node.asleep()


def test_a_node_that_leaves_died_of_no_signal(parent: WarmParent) -> None:
    node = parent.fork("n")
    node.say({"do": "leave"})
    assert node.wait_dead(DEADLINE_S)
    ended = parent.reap(node.pid)
    assert (ended.signal, ended.left) == (0, 0)
    assert node.hear(DEADLINE_S) == Gone()


def test_a_node_that_died_by_itself_and_was_reaped_can_be_killed(parent: WarmParent) -> None:
    """Its number may be another's by then; the descriptor is still its own."""
    node = parent.fork("n")
    os.kill(node.pid, signal.SIGTERM)
    await_death(node.pid)
    other = parent.fork("other")  # the parent reaps whoever is dead
    assert not psutil.pid_exists(node.pid)
    node.kill()
    assert parent.reap(node.pid).signal == signal.SIGTERM
    other.kill()
    parent.reap(other.pid)


def test_a_paused_node_is_silent_and_goes_on(parent: WarmParent, scratch: Path) -> None:
    node = parent.fork("n")
    node.stop_clock(True)
    node.say({"do": "deploy", "id": 1, "workspace": str(scratch)})
    assert node.hear(0.05) == Silent(0.05)
    node.stop_clock(False)
    heard = node.hear(DEADLINE_S)
    assert isinstance(heard, Said)
    assert heard.message["reply"] == 1


def test_an_unknown_request_is_answered_and_the_node_lives(parent: WarmParent) -> None:
    node = parent.fork("n")
    for number in (1, 2):
        node.say({"do": "nonsense", "id": number})
        heard = node.hear(DEADLINE_S)
        assert isinstance(heard, Said)
        assert "no node can do 'nonsense'" in heard.message["unclassified"]


def test_a_node_that_does_not_read_is_given_up(parent: WarmParent) -> None:
    node = parent.fork("n")
    node.stop_clock(True)
    while not isinstance(heard := node.hear(0.0), Garbage):
        assert heard == Silent(0.0)
        node.say({"do": "leave", "filler": "x" * 100_000})
    assert heard.why == "it does not read what it is told"


def test_the_end_of_the_parent_is_the_end_of_its_nodes(scratch: Path) -> None:
    with warmed(TARGET, scratch) as parent:
        nodes = [parent.fork(f"n{number}") for number in range(3)]
        nodes[0].stop_clock(True)
    assert not any(node.alive for node in nodes)
    assert not any(psutil.pid_exists(node.pid) for node in nodes)


def test_a_parent_that_is_killed_takes_its_nodes_along(scratch: Path) -> None:
    with warmed(TARGET, scratch) as parent:
        node = parent.fork("n")
        os.kill(psutil.Process(node.pid).ppid(), signal.SIGKILL)
        assert node.wait_dead(DEADLINE_S)
        with pytest.raises(TargetProblem, match="SIGKILL"):
            parent.fork("another")
        with pytest.raises(TargetProblem, match="SIGKILL"):
            parent.reap(node.pid)


@pytest.mark.parametrize("target", ["SmallTarget", "SmallAsyncTarget"])
def test_a_ledger_is_served_whether_it_waits_or_not(target: str, scratch: Path) -> None:
    with (
        warmed(f"py:tests.small_ledger:{target}", scratch) as parent,
        staged(parent, scratch) as stage,
    ):
        client = one_client(stage, budget=2)
        node = opened(stage, client)
        client.issue(node)
        assert all(client.finish(node, client.new_use()).granted for _ in range(2))
        assert client.finish(node, client.new_use()).outcome == "refused"
        assert stage.desk.effects == 2
        assert not stage.harmed


def test_nodes_of_one_store_share_the_ledger_and_no_memory(
    parent: WarmParent, scratch: Path
) -> None:
    with staged(parent, scratch) as stage:
        client = one_client(stage)
        first, second = opened(stage, client), opened(stage, client)
        client.issue(first)
        assert client.finish(second, client.new_use()).granted
        assert client.finish(first, client.new_use()).outcome == "refused"
        stage.kill(first)
        stage.dismiss(second)
        assert [(k.node, k.signal) for k in events(stage, Killed)] == [("n1", 9), ("n2", 9)]


def test_a_store_that_is_opened_again_is_another_store(parent: WarmParent, scratch: Path) -> None:
    """What a veteran relies on."""
    with staged(parent, scratch) as stage:
        client = one_client(stage)
        node = opened(stage, client)
        client.issue(node)
        stage.open(node, client.executor)
        assert client.finish(node, client.new_use()).granted
