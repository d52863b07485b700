"""Whatever becomes of the harness, nothing of a server is left; whoever runs it, it runs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil
import pytest

from admitone.chaos.servers import ServerProblem, owner
from admitone.chaos.servers.image import Image
from admitone.chaos.servers.owner import Owner, owner_for, unprivileged
from admitone.chaos.servers.postgres import PostgresServer
from admitone.chaos.servers.segments import postmaster_of
from admitone.chaos.servers.tree import is_dead, kill_tree, members, pauses
from tests.postgres_world import connected

DEADLINE_S: Final = 30.0
AS_ROOT: Final = os.geteuid() == 0
OTHER_USER: Final = ("unshare", "--user", "--map-user=65534", "--map-group=65534")

SERVE = """
import sys
from pathlib import Path
from admitone.chaos.servers.postgres import PostgresServer
from admitone.chaos.servers.process import ProcessServer
from admitone.targets.terms import Server

folder, kept = map(Path, sys.argv[1:3])
if len(sys.argv) > 3:
    server = ProcessServer.start(Server(tuple(sys.argv[3:]), "x"), folder)
else:
    server = PostgresServer.start(folder, kept)
print(server.pid, flush=True)
sys.stdin.read()
server.close()
"""

LISTEN = """
import socket
door = socket.create_server(("127.0.0.1", {port}))
while True:
    door.accept()
"""


def until(reached: Callable[[], bool], what: str) -> None:
    for _ in pauses(DEADLINE_S):
        if reached():
            return
    raise AssertionError(f"not within {DEADLINE_S:g} s: {what}")


@contextmanager
def harness(*arguments: object, prefix: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    """A process that starts a server and waits for the end of its input."""
    with subprocess.Popen(
        [*prefix, sys.executable, "-c", SERVE, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> int:
    """The number of the server's process, when it serves."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.stderr and process.stderr.read()
    return int(line)


def mentioning(folder: Path) -> list[int]:
    """Every process that has the folder in its command line: servers, guardians, initdb."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if str(folder) in " ".join(process.info["cmdline"] or ()) and not is_dead(process.pid)
    ]


def segment_exists(identifier: int) -> bool:
    table = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return any(int(line.split()[1]) == identifier for line in table)


def test_a_killed_harness_leaves_nothing(server_folder: Path, postgres_image: Image) -> None:
    folder = server_folder / "orphaned"
    with harness(folder, postgres_image.folder.parent) as process:
        tree = [found.pid for found in members(said(process))]
        left = postmaster_of(folder / "data")
        assert left is not None
        assert left.segment is not None
        assert segment_exists(left.segment[1])
        process.kill()
    until(lambda: all(map(is_dead, tree)), "its server is dead")
    until(lambda: not folder.exists(), "its folder is gone")
    until(lambda: not mentioning(folder), "its guardian is gone")
    assert not segment_exists(left.segment[1])


def test_a_harness_killed_while_its_server_is_stopped_leaves_nothing(
    server_folder: Path, postgres_image: Image
) -> None:
    """As it is in the middle of a kill."""
    folder = server_folder / "stopped"
    with harness(folder, postgres_image.folder.parent) as process:
        tree = [found.pid for found in members(said(process))]
        os.kill(tree[0], signal.SIGSTOP)
        process.kill()
    until(lambda: all(map(is_dead, tree)), "its server is dead")
    until(lambda: not folder.exists() and not mentioning(folder), "all is gone")


@pytest.mark.parametrize("killed", [False, True], ids=["running", "killed"])
def test_its_folder_may_be_removed_by_others_meanwhile(
    server_folder: Path, postgres_image: Image, killed: bool
) -> None:
    """A run that ends at once kills its workers, and then removes its own folder."""
    folder = server_folder / f"removed{killed}"
    with harness(folder, postgres_image.folder.parent) as process:
        pid = said(process)
        [guardian] = [it for it in mentioning(folder) if it not in {pid, process.pid}]
        left = postmaster_of(folder / "data")
        assert left is not None
        assert left.segment is not None
        os.kill(guardian, signal.SIGSTOP)
        assert not killed or kill_tree(pid)
        process.kill()
        shutil.rmtree(folder)
        assert segment_exists(left.segment[1])
        os.kill(guardian, signal.SIGCONT)
    until(lambda: is_dead(guardian), "its guardian is gone")
    assert is_dead(pid)
    assert not segment_exists(left.segment[1])


def making(kept: Path) -> tuple[int, list[Path]]:
    """One of the programs that initdb runs, stopped: its segment, and its files in /dev/shm."""
    for _ in pauses(DEADLINE_S):
        for data in kept.glob("*.making-*/data"):
            left = postmaster_of(data)
            if left is None or left.segment is None:
                continue
            with suppress(ProcessLookupError):
                os.kill(left.pid, signal.SIGSTOP)
            if files := files_of(left.pid):
                assert segment_exists(left.segment[1])
                return left.segment[1], files
            with suppress(ProcessLookupError):  # too early, or it ends just now: take the next
                os.kill(left.pid, signal.SIGCONT)
    raise AssertionError("initdb ran no program with shared memory")


def files_of(pid: int) -> list[Path]:
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return []
    return [
        Path(name) for name in set(re.findall(r"/dev/shm/PostgreSQL\.\d+$", maps, re.MULTILINE))
    ]


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT], ids=lambda it: it.name)
def test_a_harness_ended_while_it_makes_an_image_leaves_nothing(
    scratch: Path, stop: signal.Signals
) -> None:
    kept = scratch / "kept"
    with harness(scratch / "server", kept) as process:
        segment, files = making(kept)
        process.send_signal(stop)
        process.wait(DEADLINE_S)
    until(lambda: not mentioning(scratch), "all processes are gone")
    assert not segment_exists(segment)
    assert [file for file in files if file.exists()] == []
    assert list(kept.glob("*.making-*")) == []
    assert not (scratch / "server").exists()
    image = Image.kept_in(kept)
    with PostgresServer.start(scratch / "next", image) as server:
        assert works(server)


def test_a_killed_harness_leaves_no_other_server_either(scratch: Path) -> None:
    folder = scratch / "other"
    with harness(folder, scratch, sys.executable, "-c", LISTEN) as process:
        pid = said(process)
        assert not is_dead(pid)
        process.kill()
    until(lambda: is_dead(pid), "its server is dead")
    until(lambda: not folder.exists() and not mentioning(folder), "all is gone")


def test_a_harness_that_is_interrupted_leaves_nothing(
    server_folder: Path, postgres_image: Image
) -> None:
    folder = server_folder / "interrupted"
    with harness(folder, postgres_image.folder.parent) as process:
        tree = [found.pid for found in members(said(process))]
        process.send_signal(signal.SIGINT)
        process.wait(DEADLINE_S)
    until(lambda: all(map(is_dead, tree)) and not folder.exists(), "all is gone")


def works(server: PostgresServer) -> bool:
    with connected(server, "ann") as ann:
        ann.execute("CREATE TABLE t (n int)")
        ann.execute("INSERT INTO t VALUES (1)")
    server.kill()
    server.restart()
    with connected(server, "ann") as ann:
        return ann.execute("SELECT n FROM t").fetchall() == [(1,)] and server.kill_session("ann")


def test_another_user_than_root_runs_it_directly(scratch: Path) -> None:
    """A user namespace makes root another user, with all that it cannot do."""
    prefix = OTHER_USER if AS_ROOT else ()
    folder = scratch / "plain"
    with harness(folder, scratch / "kept", prefix=prefix) as process:
        pid = said(process)
        tree = [found.pid for found in members(pid)]
        assert Path(f"/proc/{pid}/exe").resolve().name == "postgres"
        process.kill()
    until(lambda: all(map(is_dead, tree)) and not folder.exists(), "all is gone")


@pytest.mark.skipif(not AS_ROOT, reason="only root can start it as another user")
@pytest.mark.parametrize("name", owner.UNPRIVILEGED)
def test_root_without_namespaces_runs_it_as_a_user_that_exists(
    scratch: Path, postgres_image: Image, name: str
) -> None:
    closed = scratch / "closed"
    closed.mkdir(mode=0o700)
    found = unprivileged(name)
    if found is None:
        pytest.skip(f"this machine has no user {name}")
    image = Image(closed / "image", postgres_image.installation, found)
    image.make()
    with PostgresServer.start(closed / "server", image) as server:
        place = server.folder
        assert psutil.Process(server.pid).uids().effective == found.user
        assert works(server)
    assert not place.exists()
    assert list(closed.iterdir()) == [image.folder]


@pytest.mark.skipif(not AS_ROOT, reason="only root has a choice")
def test_where_namespaces_are_closed_an_existing_user_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = Path(shutil.which("true") or "")
    assert owner_for.__wrapped__(program).prefix == OTHER_USER
    monkeypatch.setattr(owner, "_NAMESPACE", ("false",))
    taken = owner_for.__wrapped__(program)
    assert (taken.prefix, taken.name) == ((), taken.name)
    assert taken.name in owner.UNPRIVILEGED
    monkeypatch.setattr(owner, "UNPRIVILEGED", ("no-such-user",))
    with pytest.raises(ServerProblem, match="Run the suite as another user than root"):
        owner_for.__wrapped__(program)


@pytest.mark.skipif(not AS_ROOT, reason="only root has a choice")
def test_a_program_that_only_root_can_reach_is_said_to_be_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    program = Path(shutil.copy(shutil.which("true") or "", closed))
    monkeypatch.setattr(owner, "_NAMESPACE", ("false",))
    with pytest.raises(ServerProblem, match="could be run neither by root in a user namespace"):
        owner_for.__wrapped__(program)


@pytest.mark.skipif(AS_ROOT, reason="root is never simply itself")
def test_who_is_not_root_is_itself() -> None:
    assert owner_for.__wrapped__(Path("/nowhere")) == Owner()
