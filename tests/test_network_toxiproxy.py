"""The proxy's process: its own port, no other owner's Toxiproxy, and nothing left of it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil
import pytest
from toxiproxy.api import APIConsumer

from admitone.chaos.network.faults import REPLY_LOST, REQUEST_LOST
from admitone.chaos.network.programs import TOXIPROXY
from admitone.chaos.network.toxiproxy import Toxiproxy
from admitone.chaos.servers import ServerProblem
from tests.front_door import environment, until
from tests.test_network_faults import connect
from tests.toxiproxy_world import EchoServer, Saw, ask

STARTS = """
import time
from admitone.chaos.network.toxiproxy import Toxiproxy
server = Toxiproxy()
print(server.pid, server._guard.pid, flush=True)
time.sleep(600)
"""


def is_alive(process: psutil.Process) -> bool:
    """A zombie is not: it waits for nothing but its parent, or for whoever took it over."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until_gone(*processes: psutil.Process) -> None:
    until(lambda: not any(map(is_alive, processes)), "the end of the proxy's processes")


def test_nothing_is_left_after_closing() -> None:
    with Toxiproxy() as server:
        processes = [psutil.Process(server.pid), psutil.Process(server._guard.pid)]
        assert server.alive
    wait_until_gone(*processes)
    assert not server.alive
    server.close()


def test_nothing_is_left_when_we_are_killed() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", STARTS], env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    processes = [psutil.Process(int(pid)) for pid in owner.stdout.readline().split()]
    owner.kill()
    owner.wait()
    owner.stdout.close()
    wait_until_gone(*processes)


def test_it_outlives_the_thread_that_started_it(echo: EchoServer) -> None:
    made: list[Toxiproxy] = []
    thread = threading.Thread(target=lambda: made.append(Toxiproxy()))
    thread.start()
    thread.join()
    with made[0] as server, connect(server.proxy("echo", echo.host, echo.port)) as client:
        assert ask(client, b"hello\n").end == "answer"
        assert server.alive


def test_a_dead_server_is_said(echo: EchoServer) -> None:
    with Toxiproxy() as server:
        link = server.proxy("echo", echo.host, echo.port)
        psutil.Process(server.pid).kill()
        until(lambda: not server.alive, "the end of the proxy")
        with pytest.raises(ServerProblem, match="has ended"):
            server.proxy("echo", echo.host, echo.port)
        with pytest.raises(ServerProblem, match="did not do"):
            link.fault(REQUEST_LOST)


def test_a_program_that_is_no_toxiproxy_is_said() -> None:
    with pytest.raises(ServerProblem, match="did not open its control port"):
        Toxiproxy(Path("/bin/false"))
    with pytest.raises(ServerProblem, match="not found"):
        Toxiproxy(Path("/no/such/toxiproxy-server"))


def test_it_says_the_version_that_is_pinned(toxiproxy: Toxiproxy) -> None:
    if toxiproxy.program == TOXIPROXY.built:
        assert toxiproxy.version == TOXIPROXY.version == "2.12.0"
    assert toxiproxy.version.startswith("2.")


# --- the Toxiproxy of somebody else


class Foreign(BaseHTTPRequestHandler):
    """The control port of another owner: it counts who comes by."""

    visits: list[str]

    def do_GET(self) -> None:
        self.visits.append(self.path)
        self.send_error(500)

    do_POST = do_DELETE = do_PATCH = do_GET  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is asked of a control port that is not ours: Toxiproxy's own one where it is free, and
    the one that toxiproxy-python is set to in any case."""
    monkeypatch.setattr(Foreign, "visits", [], raising=False)
    try:
        server = HTTPServer(("127.0.0.1", 8474), Foreign)
    except OSError:  # somebody's is there
        server = HTTPServer(("127.0.0.1", 0), Foreign)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    monkeypatch.setattr(APIConsumer, "host", "127.0.0.1")
    monkeypatch.setattr(APIConsumer, "port", server.server_port)
    yield Foreign.visits
    assert (APIConsumer.host, APIConsumer.port) == ("127.0.0.1", server.server_port)
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_toxiproxy_of_another_owner_is_never_touched(
    foreign: list[str], echo: EchoServer
) -> None:
    with Toxiproxy() as server, Toxiproxy() as second:
        assert server.port != second.port
        for one in (server, second):
            link = one.proxy("echo", echo.host, echo.port)
            link.fault(REQUEST_LOST)
            link.heal()
            link.close()
        link = server.proxy("echo", echo.host, echo.port)
        psutil.Process(server.pid).kill()
        until(lambda: not server.alive, "the end of the proxy")
        with pytest.raises(ServerProblem):
            link.fault(REQUEST_LOST)
    assert foreign == []


def test_a_proxy_that_the_environment_names_is_not_used(
    toxiproxy: Toxiproxy, echo: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    link = toxiproxy.proxy("echo", echo.host, echo.port)
    with connect(link) as client:
        assert ask(client, b"hello\n").end == "answer"
    link.close()


# --- links


def test_a_link_leads_to_another_server_under_the_same_address(
    toxiproxy: Toxiproxy, echo: EchoServer
) -> None:
    link = toxiproxy.proxy("echo", echo.host, echo.port)
    address = (link.host, link.port)
    with EchoServer() as second, connect(link) as old:
        assert ask(old, b"one\n").end == "answer"
        link.retarget(echo.host, echo.port)  # the same: nothing happens
        assert ask(old, b"two\n").end == "answer"
        link.retarget(second.host, second.port)
        assert old.recv(1) == b""
        assert (link.host, link.port) == address
        with connect(link) as new:
            assert ask(new, b"three\n").end == "answer"
        assert second.heard[0].received == b"three\n"
        assert [heard.received for heard in echo.heard] == [b"one\ntwo\n"]
    link.close()


def test_a_fault_stays_over_a_change_of_servers(toxiproxy: Toxiproxy, echo: EchoServer) -> None:
    link = toxiproxy.proxy("echo", echo.host, echo.port)
    with EchoServer() as second:
        link.fault(REPLY_LOST)
        link.retarget(second.host, second.port)
        with connect(link) as client:
            assert ask(client, b"hello\n") == Saw(b"", "closed")
        assert second.wait_for(0, lambda heard: heard.ended != "").received == b"hello\n"
    link.close()


def test_a_closed_link_is_gone(toxiproxy: Toxiproxy, echo: EchoServer) -> None:
    link = toxiproxy.proxy("echo", echo.host, echo.port)
    with connect(link) as client:
        assert ask(client, b"hello\n").end == "answer"
        link.close()
        assert client.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        connect(link)
    link.close()


def test_a_server_that_is_away_closes_new_connections(toxiproxy: Toxiproxy) -> None:
    with EchoServer() as server:
        link = toxiproxy.proxy("echo", server.host, server.port)
    with connect(link) as client:
        assert ask(client, b"hello\n").end in ("closed", "reset")
    link.close()


def test_a_link_leads_to_an_address_of_either_kind(toxiproxy: Toxiproxy) -> None:
    with EchoServer("::1") as server:
        link = toxiproxy.proxy("echo", server.host, server.port)
        with connect(link) as client:
            assert ask(client, b"hello\n").end == "answer"
        link.close()
    with pytest.raises(ServerProblem, match="unix socket /run/postgresql"):
        toxiproxy.proxy("echo", "/run/postgresql", 5432)
