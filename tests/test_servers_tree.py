"""Process trees are killed whole, free ports are free, and guardians end what was left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from admitone.chaos.servers.guard import Guard
from admitone.chaos.servers.ports import free_port, is_free
from admitone.chaos.servers.tree import DEADLINE_S, is_dead, kill_tree, look, members, pauses

GRANDCHILD = """
import subprocess, sys
deeper = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
deep = subprocess.Popen(deeper, stdin=subprocess.PIPE, start_new_session=True)
deep.wait()
"""
HANGS_IN_A_SPAWN = """
import os, sys
print(flush=True)
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[
    (os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)])
"""
FORKS_ON = """
import os, time
until = time.monotonic() + 20
os.write(1, b"\\n")
while time.monotonic() < until:
    if os.fork():
        os._exit(0)
os.write(1, b"survived")
"""
LEAVES_AN_ORPHAN = """
import subprocess, sys
left = "import sys; print(flush=True); sys.stdin.read()"
middle = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {left!r}])"
subprocess.run([sys.executable, "-c", middle])
sys.stdin.read()
"""


@contextmanager
def running(text: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program, when it (or who it started) has printed a line."""
    with subprocess.Popen(
        [sys.executable, "-c", text, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.stdout.close()


def until(reached: Callable[[], bool]) -> None:
    for _ in pauses(DEADLINE_S):
        if reached():
            return
    raise AssertionError("not reached in time")


def test_it_is_killed_with_those_that_left_its_session() -> None:
    with running(GRANDCHILD) as process:
        tree = [found.pid for found in members(process.pid)]
        assert tree[0] == process.pid
        assert len(tree) == 2
        assert kill_tree(process.pid)
        assert [pid for pid in tree if not is_dead(pid)] == []
    assert process.returncode == -signal.SIGKILL


def test_it_is_killed_with_those_that_lost_their_parent() -> None:
    with running(LEAVES_AN_ORPHAN) as process:
        orphans = [found for found in members(process.pid) if found.parent != os.getpid()]
        assert [orphan.parent == process.pid for orphan in orphans] == [False]
        assert kill_tree(process.pid)
        assert is_dead(orphans[0].pid)


def test_one_that_waits_for_a_child_before_its_exec_is_killed_too(scratch: Path) -> None:
    """It can never be seen stopped, once its child is."""
    os.mkfifo(scratch / "fifo")
    with running(HANGS_IN_A_SPAWN, str(scratch / "fifo")) as process:
        until(lambda: len(members(process.pid)) == 2)
        begun = time.monotonic()
        tree = [found.pid for found in members(process.pid)]
        assert kill_tree(process.pid)
        assert [pid for pid in tree if not is_dead(pid)] == []
        assert time.monotonic() - begun < DEADLINE_S / 2


def test_one_that_is_another_process_at_every_look_is_killed_too() -> None:
    with running(FORKS_ON) as process:
        assert process.stdout is not None
        assert kill_tree(process.pid)
        assert process.stdout.read() == b"", "the end of the pipe is the end of them all"


def test_others_are_left_alone() -> None:
    with running("print(flush=True); input()") as one, running("print(flush=True); input()") as two:
        assert kill_tree(one.pid)
        assert not is_dead(two.pid)
        assert kill_tree(two.pid)
        assert kill_tree(two.pid), "of a dead tree nothing is left to kill"


def test_a_name_with_brackets_is_read() -> None:
    with running(
        "open('/proc/self/comm', 'w').write(') Z (1 2'); print(flush=True); input()"
    ) as process:
        found = look(process.pid)
        assert found is not None
        assert (found.parent, found.session) == (os.getpid(), process.pid)
        assert not is_dead(process.pid)
        process.kill()


def test_a_free_port_is_free_and_none_that_clients_get() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = {free_port() for _ in range(20)}
    assert len(ports) > 1
    assert all(is_free(port) for port in ports)
    assert lowest < 11_000 or all(port < lowest for port in ports)


def test_a_port_in_use_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        assert not is_free(door.getsockname()[1])


def test_a_guardian_ends_what_was_left_and_removes_the_folder(scratch: Path) -> None:
    folder = scratch / "guarded"
    (folder / "deep").mkdir(parents=True)
    with running("print(flush=True); input()") as process:
        guard = Guard(folder)
        guard.started(process.pid)
        guard.close()
        assert is_dead(process.pid)
    assert not folder.exists()


def test_a_guardian_ends_nothing_that_it_was_told_has_ended(scratch: Path) -> None:
    with running("print(flush=True); input()") as process:
        guard = Guard(scratch / "guarded")
        guard.started(process.pid)
        guard.started(0)
        guard.close()
        assert not is_dead(process.pid)
        process.kill()
