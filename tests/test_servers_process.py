"""Any other server by its command: ready by its word and its port, killed with all that it started,
back at the same port; and which kind a target's server is."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from admitone.chaos.servers import RunningServer, ServerMissing, ServerProblem, process
from admitone.chaos.servers.image import Image
from admitone.chaos.servers.ports import free_port
from admitone.chaos.servers.process import ProcessServer
from admitone.chaos.servers.start import start
from admitone.chaos.servers.tree import is_dead, members, pauses
from admitone.chaos.servers.user_postgres import UserPostgres
from admitone.targets.terms import Server, postgres_server

SERVE = """
import pathlib, socket, subprocess, sys
door = socket.create_server(("127.0.0.1", int(sys.argv[1])))
seen = pathlib.Path(sys.argv[2], "starts")
seen.open("a").write("x")
helper = [sys.executable, "-c", "import sys; sys.stdin.read()"]
apart = subprocess.Popen(helper, stdin=subprocess.PIPE, start_new_session=True)
print("ready after", seen.read_text(), flush=True)
while True:
    caller, _ = door.accept()
    caller.sendall(seen.read_bytes())
    caller.close()
"""

LEAVE = """
import socket, subprocess, sys
subprocess.Popen(["sleep", "1000"])
door = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    caller, _ = door.accept()
    if caller.recv(9):
        sys.exit(4)
"""


def program(text: str, ready: str | None = None) -> Server:
    return Server((sys.executable, "-c", text, "{port}", "{folder}"), "kv", ready)


@contextmanager
def serving(text: str, folder: Path, ready: str | None = None) -> Iterator[ProcessServer]:
    with ProcessServer.start(program(text, ready), folder / "server") as server:
        yield server


def heard(server: ProcessServer) -> bytes:
    with socket.create_connection((server.host, server.port), timeout=20) as caller:
        return caller.recv(100)


def test_it_serves_where_its_address_says(scratch: Path) -> None:
    with serving(SERVE, scratch, "ready after") as server:
        running: RunningServer = server
        assert running.ours
        assert running.endpoint == "kv"
        assert running.address("ann") == f"127.0.0.1:{server.port}"
        assert running.address("ann", ("127.0.0.9", 7)) == "127.0.0.9:7"
        assert heard(server) == b"x"
        assert running.sessions("ann") == ()
        assert not running.is_blocked("ann")
        assert not running.is_inside("ann")
        assert not running.kill_session("ann")
        running.await_serving(1)


def test_it_dies_with_all_that_it_started_and_comes_back_to_what_it_kept(scratch: Path) -> None:
    with serving(SERVE, scratch, "ready after") as server:
        port, tree = server.port, [found.pid for found in members(server.pid)]
        assert len(tree) == 2
        server.kill()
        assert [pid for pid in tree if not is_dead(pid)] == []
        with pytest.raises(ServerProblem, match="was killed and not started again"):
            server.await_serving(1)
        server.restart()
        assert server.port == port
        assert heard(server) == b"xx"
        with pytest.raises(ServerProblem, match="kill it before"):
            server.restart()
        tree = [found.pid for found in members(server.pid)]
    assert [pid for pid in tree if not is_dead(pid)] == []
    assert not (scratch / "server").exists()
    server.close()


def test_one_that_ends_by_itself_is_told_with_its_last_words(scratch: Path) -> None:
    text = "import sys; print('first'); sys.exit('no configuration found')"
    with (
        pytest.raises(ServerProblem, match=r"(?s)ended by itself \(code 1\).*no configuration"),
        serving(text, scratch),
    ):
        pass
    assert not (scratch / "server").exists()


def test_what_it_left_when_it_ended_by_itself_is_ended_too(scratch: Path) -> None:
    with serving(LEAVE, scratch) as server:
        [_, left] = [found.pid for found in members(server.pid)]
        with socket.create_connection((server.host, server.port)) as caller:
            caller.sendall(b"leave")
            caller.recv(1)
        for _ in pauses(20):
            if is_dead(server.pid):
                break
        assert not is_dead(left)
        with pytest.raises(ServerProblem, match=r"ended by itself \(code 4\)"):
            server.await_serving(1)
    assert is_dead(left)


def test_one_that_never_says_it_is_ready_is_told(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "START_S", 0.3)
    with (
        pytest.raises(ServerProblem, match=r"not ready within 0\.3 s .*a line with 'willing'"),
        serving(SERVE, scratch, "willing"),
    ):
        pass


def test_a_port_taken_while_it_was_down_is_said(scratch: Path) -> None:
    with serving(SERVE, scratch) as server:
        server.kill()
        with (
            socket.create_server((server.host, server.port)),
            pytest.raises(ServerProblem, match="another program took its port"),
        ):
            server.restart()
        server.restart()
        assert heard(server) == b"xx"


def test_at_the_first_start_a_taken_port_is_no_matter(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        offered = [other.getsockname()[1]]
        monkeypatch.setattr(process, "free_port", lambda: offered.pop() if offered else free_port())
        with serving(SERVE, scratch, "ready after") as server:
            assert server.port != other.getsockname()[1]
            assert heard(server) == b"x"


def test_a_program_that_is_not_there_is_told(scratch: Path) -> None:
    with pytest.raises(ServerMissing, match="no program 'no-such-etcd' was found"):
        ProcessServer.start(Server(("no-such-etcd",), "kv"), scratch / "server")
    assert not (scratch / "server").exists()


def test_the_registry_knows_the_kinds(scratch: Path, postgres_image: Image) -> None:
    kept = postgres_image.folder.parent
    plain = start(program(SERVE), scratch / "plain", kept)
    plain.close()
    assert isinstance(plain, ProcessServer)
    ours = start(postgres_server("db"), scratch / "ours", kept)
    try:
        assert (ours.ours, ours.endpoint) == (True, "db")
        theirs = start(postgres_server("db"), scratch / "theirs", kept, ours.address("ann"))
        assert isinstance(theirs, UserPostgres)
        assert (theirs.ours, theirs.endpoint, theirs.port) == (False, "db", ours.port)
        theirs.close()
    finally:
        ours.close()
    for argv in ((), ("admitone:oracle",)):
        with pytest.raises(ServerProblem):
            start(Server(argv, "x"), scratch / "none", kept)
    assert list(scratch.iterdir()) == []
