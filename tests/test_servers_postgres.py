"""PostgreSQL of the suite's own: started, asked, hurt, restarted, and gone without a trace."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from admitone.chaos.servers import RunningServer, ServerProblem
from admitone.chaos.servers.image import Image
from admitone.chaos.servers.launch import LOG_LIMIT_BYTES
from admitone.chaos.servers.ports import free_port
from admitone.chaos.servers.postgres import PostgresServer
from admitone.chaos.servers.segments import postmaster_of
from admitone.chaos.servers.tree import is_dead, look, members, pauses
from tests.postgres_world import connected

SEGMENTS = Path("/proc/sysvipc/shm")
DEADLINE_S = 30.0


@pytest.fixture
def own(server_folder: Path, postgres_image: Image) -> Iterator[PostgresServer]:
    """A server of the test's own, which it may leave in any state."""
    with PostgresServer.start(server_folder / "own", postgres_image) as server:
        yield server


def until(reached: Callable[[], bool]) -> None:
    for _ in pauses(DEADLINE_S):
        if reached():
            return
    raise AssertionError("not reached in time")


def segment_ids() -> set[int]:
    return {int(line.split()[1]) for line in SEGMENTS.read_text().splitlines()[1:]}


def rows(server: PostgresServer, table: str) -> list[int]:
    with connected(server) as session:
        query = f"SELECT n FROM {table} ORDER BY n".encode()
        return [row[0] for row in session.execute(query).fetchall()]


def test_it_is_a_running_server(postgres: PostgresServer) -> None:
    server: RunningServer = postgres
    assert server.ours
    assert server.endpoint == "postgres"


def test_its_address_is_a_url_that_names_the_client(postgres: PostgresServer) -> None:
    straight = conninfo_to_dict(postgres.address("node 1"))
    assert straight["application_name"] == "node 1"
    assert (straight["host"], straight["port"]) == ("127.0.0.1", str(postgres.port))
    assert (straight["sslmode"], straight["gssencmode"]) == ("disable", "disable")
    detour = conninfo_to_dict(postgres.address("node 1", ("127.0.0.2", 99)))
    assert (detour["host"], detour["port"]) == ("127.0.0.2", "99")
    assert detour["dbname"] == straight["dbname"] == "admitone"


@pytest.mark.parametrize("client", ["", "x" * 64, "é", "a\nb"])
def test_a_name_that_the_server_would_change_is_refused(
    postgres: PostgresServer, client: str
) -> None:
    with pytest.raises(ServerProblem, match="cannot name a session"):
        postgres.address(client)


def test_it_serves_by_its_socket_too(postgres: PostgresServer) -> None:
    host = str(postgres.folder)
    with psycopg.connect(
        host=host, port=postgres.port, user="admitone", dbname="admitone"
    ) as session:
        assert session.execute("SELECT 1").fetchall() == [(1,)]


def test_its_settings_are_a_plain_servers(postgres: PostgresServer) -> None:
    with connected(postgres) as session:
        told = dict(
            session.execute(
                "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', "
                "'synchronous_commit', 'full_page_writes', 'default_transaction_isolation', "
                "'dynamic_shared_memory_type', 'server_encoding', 'max_connections', "
                "'max_prepared_transactions')"
            ).fetchall()
        )
    assert told == {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "default_transaction_isolation": "read committed",
        "dynamic_shared_memory_type": "mmap",
        "server_encoding": "UTF8",
        "max_connections": "100",
        "max_prepared_transactions": "100",
    }


def test_a_clients_sessions_are_known_by_its_name(postgres: PostgresServer) -> None:
    assert postgres.sessions("ann") == ()
    with connected(postgres, "ann") as first, connected(postgres, "ann") as second:
        pids = sorted([first.info.backend_pid, second.info.backend_pid])
        with connected(postgres, "bob"):
            assert list(postgres.sessions("ann")) == pids
    until(lambda: not postgres.sessions("ann"))  # they leave a moment after their client


def test_who_waits_for_anothers_lock_is_blocked(
    postgres: PostgresServer, fresh_schema: str
) -> None:
    lock = f"LOCK TABLE {fresh_schema}.t".encode()
    with connected(postgres, "holder") as holder, connected(postgres, "waiter") as waiter:
        holder.execute(f"CREATE TABLE {fresh_schema}.t (n int)".encode())
        holder.execute("BEGIN")
        holder.execute(lock)
        assert not postgres.is_blocked("waiter")
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(waiter.execute, b"BEGIN; " + lock + b"; COMMIT")
            until(lambda: postgres.is_blocked("waiter"))
            assert not postgres.is_blocked("holder")
            holder.execute("COMMIT")
            waiting.result(DEADLINE_S)
        assert not postgres.is_blocked("waiter")


def test_who_leaves_a_transaction_open_is_inside(postgres: PostgresServer) -> None:
    with connected(postgres, "ann") as ann:
        assert not postgres.is_inside("ann")
        ann.execute("BEGIN")
        until(lambda: postgres.is_inside("ann"))
        with pytest.raises(psycopg.Error):
            ann.execute("SELECT 1/0")
        until(lambda: postgres.is_inside("ann"))
        assert not postgres.is_inside("bob")
        ann.execute("ROLLBACK")
        until(lambda: not postgres.is_inside("ann"))


def test_a_killed_session_makes_the_server_end_all_and_recover(own: PostgresServer) -> None:
    assert not own.kill_session("ann")
    with connected(own, "ann") as ann, connected(own, "bob") as bob:
        ann.execute("CREATE TABLE kept (n int)")
        ann.execute("INSERT INTO kept VALUES (1)")
        bob.execute("BEGIN")
        bob.execute("INSERT INTO kept VALUES (2)")
        postmaster = own.pid
        assert own.kill_session("ann")
        assert is_dead(ann.info.backend_pid)
        own.await_serving(DEADLINE_S)
        for session in (ann, bob):
            with pytest.raises(psycopg.OperationalError):
                session.execute("SELECT 1")
    assert own.pid == postmaster
    assert own.sessions("ann") == own.sessions("bob") == ()
    assert rows(own, "kept") == [1]


def test_after_a_killed_session_serving_means_that_it_has_recovered(own: PostgresServer) -> None:
    """What answers for a moment more, before the server saw the death, does not serve."""
    for _ in range(10):
        with connected(own, "ann"):
            assert own.kill_session("ann")
        own.await_serving(DEADLINE_S)
        with connected(own, "bob") as bob:
            own.await_serving(DEADLINE_S)
            assert bob.execute("SELECT 1").fetchall() == [(1,)]


def test_a_killed_server_comes_back_with_what_it_acknowledged(own: PostgresServer) -> None:
    port, address = own.port, own.address("ann")
    with connected(own, "ann") as ann:
        ann.execute("CREATE TABLE kept (n int)")
        for n in range(20):
            ann.execute("INSERT INTO kept VALUES (%s)", (n,))
        ann.execute("BEGIN")
        ann.execute("INSERT INTO kept VALUES (99)")
        tree = [process.pid for process in members(own.pid)]
        assert ann.info.backend_pid in tree
        assert len(tree) > 3
        own.kill()
        assert [pid for pid in tree if not is_dead(pid)] == []
        with pytest.raises(psycopg.OperationalError):
            ann.execute("SELECT 1")
    assert own.pid == 0
    assert own.sessions("ann") == ()
    assert not own.is_blocked("ann")
    assert not own.is_inside("ann")
    own.restart()
    assert (own.port, own.address("ann")) == (port, address)
    assert rows(own, "kept") == list(range(20))


def test_what_is_down_is_not_asked_and_what_runs_is_not_started(own: PostgresServer) -> None:
    with pytest.raises(ServerProblem, match="kill it before"):
        own.restart()
    own.kill()
    own.kill()
    with pytest.raises(ServerProblem, match="start it again"):
        own.await_serving(1)
    own.restart()
    own.await_serving(DEADLINE_S)


def test_a_port_taken_while_it_was_down_is_said(own: PostgresServer) -> None:
    own.kill()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind((own.host, own.port))
        other.listen()
        with pytest.raises(ServerProblem, match=f"another program took its port {own.port}"):
            own.restart()
    own.restart()
    assert own.sessions("ann") == ()


def test_at_the_first_start_a_taken_port_is_no_matter(
    monkeypatch: pytest.MonkeyPatch, server_folder: Path, postgres_image: Image
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        offered = [taken, taken]
        monkeypatch.setattr(
            "admitone.chaos.servers.postgres.free_port",
            lambda: offered.pop() if offered else free_port(),
        )
        with PostgresServer.start(server_folder / "second", postgres_image) as server:
            assert server.port != taken
            assert offered == []
            assert rows_of_one(server) == [(1,)]


def rows_of_one(server: PostgresServer) -> list[tuple[int]]:
    with connected(server) as session:
        return [(int(row[0]),) for row in session.execute("SELECT 1").fetchall()]


def test_a_server_that_ended_by_itself_is_told_with_its_last_words(own: PostgresServer) -> None:
    os.kill(own.pid, 2)  # a fast shutdown, as if by somebody else
    until(lambda: is_dead(own.pid))
    with pytest.raises(ServerProblem, match=r"(?s)ended by itself.*database system is shut down"):
        own.sessions("ann")
    own.kill()
    own.restart()
    assert rows_of_one(own) == [(1,)]


def test_nothing_is_left_after_close(server_folder: Path, postgres_image: Image) -> None:
    with PostgresServer.start(server_folder / "gone", postgres_image) as server:
        tree = [process.pid for process in members(server.pid)]
        left = postmaster_of(server.folder / "data")
        assert left is not None
        assert left.segment is not None
        assert left.segment[1] in segment_ids()
        guardian = {p.pid for p in map(look, children()) if p is not None} - {server.pid}
    assert [pid for pid in tree if not is_dead(pid)] == []
    assert left.segment[1] not in segment_ids()
    assert not server.folder.exists()
    assert guardian - set(children()), "its guardian is still there"
    server.close()


def test_a_killed_server_that_is_closed_leaves_no_shared_memory(own: PostgresServer) -> None:
    left = postmaster_of(own.folder / "data")
    assert left is not None
    assert left.segment is not None
    own.kill()
    assert left.segment[1] in segment_ids(), "the kill left none: nothing is tested here"
    own.close()
    assert left.segment[1] not in segment_ids()


def children() -> list[int]:
    return [process.pid for process in members(os.getpid()) if process.parent == os.getpid()]


def test_a_long_folder_does_without_a_socket(server_folder: Path, postgres_image: Image) -> None:
    folder = server_folder / ("long" * 25)
    with PostgresServer.start(folder, postgres_image) as server:
        assert rows_of_one(server) == [(1,)]
        assert list(folder.glob(".s.*")) == []


def test_its_log_stays_bounded(own: PostgresServer) -> None:
    log = own.folder / "server.log"
    with log.open("ab") as file:
        file.write(b"x" * (LOG_LIMIT_BYTES + 1))
    own.sessions("ann")
    assert log.stat().st_size < LOG_LIMIT_BYTES
    own.kill()
    own.restart()
    assert b"ready to accept connections" in log.read_bytes()
