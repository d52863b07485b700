"""A PostgreSQL of the user's: worked in, never hurt, its password never told. The user is played by
a server of ours."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy.engine import make_url

from admitone.chaos.servers import RunningServer, ServerProblem, user_postgres
from admitone.chaos.servers.postgres import PostgresServer
from admitone.chaos.servers.user_postgres import UserPostgres
from tests.postgres_world import connected

SECRET = "s3cr3t@/:%& ?"  # shall never be seen
QUOTED = "s3cr3t%40%2F%3A%25%26%20%3F"


@pytest.fixture
def dsn(postgres: PostgresServer) -> str:
    return (
        f"postgresql://admitone:{QUOTED}@127.0.0.1:{postgres.port}/admitone"
        "?application_name=mine&options=-c%20statement_timeout%3D9s"
    )


@pytest.fixture
def newcomer(postgres: PostgresServer) -> Iterator[str]:
    """A user of the server who has no rights but to connect."""
    name = f"newcomer_{secrets.token_hex(4)}"
    with connected(postgres) as session:
        session.execute(f"CREATE ROLE {name} LOGIN".encode())
        yield name
        session.execute(f"DROP OWNED BY {name}".encode())
        session.execute(f"DROP ROLE {name}".encode())


def refused(dsn: str) -> str:
    with pytest.raises(ServerProblem) as told:
        UserPostgres(dsn)
    assert "s3cr3t" not in str(told.value)
    assert "s3cr3t" not in repr(told.value.__cause__)
    return str(told.value)


@pytest.mark.parametrize("form", ["url", "words"])
def test_its_sessions_are_known_through_the_address(
    postgres: PostgresServer, dsn: str, form: str
) -> None:
    if form == "words":
        dsn = make_conninfo(**{name: str(value) for name, value in conninfo_to_dict(dsn).items()})
    with UserPostgres(dsn, "db") as server:
        running: RunningServer = server
        assert (running.ours, running.endpoint) == (False, "db")
        assert (running.host, running.port) == ("127.0.0.1", postgres.port)
        with psycopg.connect(running.address("ann")) as ann:
            assert running.sessions("ann") == (ann.info.backend_pid,)
            assert ann.execute("SHOW statement_timeout").fetchall() == [("9s",)]
            assert not running.is_blocked("ann")
            assert running.is_inside("ann")
        running.await_serving(10)


def test_its_address_keeps_all_but_the_name(dsn: str) -> None:
    with UserPostgres(dsn) as server:
        expected = {**conninfo_to_dict(dsn), "application_name": "ann"}
        assert conninfo_to_dict(server.address("ann")) == expected
        detour = conninfo_to_dict(server.address("ann", ("127.0.0.2", 99)))
        assert detour == {**expected, "hostaddr": "127.0.0.2", "port": "99"}
        url = make_url(server.address("ann"))
        assert (url.password, url.database, url.port) == (SECRET, "admitone", server.port)


def test_a_socket_is_reached_too(postgres: PostgresServer) -> None:
    with UserPostgres(
        f"host={postgres.folder} port={postgres.port} user=admitone dbname=admitone"
    ) as server:
        assert server.host == str(postgres.folder)
        with psycopg.connect(server.address("ann")):
            assert len(server.sessions("ann")) == 1
        detour = conninfo_to_dict(server.address("ann", ("127.0.0.1", postgres.port)))
        assert (detour["host"], detour["port"]) == ("127.0.0.1", str(postgres.port))


def test_it_is_never_hurt(postgres: PostgresServer, dsn: str) -> None:
    with UserPostgres(dsn) as server, psycopg.connect(server.address("ann")) as ann:
        for hurt in (server.kill, server.restart, lambda: server.kill_session("ann")):
            with pytest.raises(ServerProblem, match="is yours, and is never killed"):
                hurt()
        server.close()
        assert ann.execute("SELECT 1").fetchall() == [(1,)]
        assert server.sessions("ann") == (ann.info.backend_pid,)
    postgres.await_serving()


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://ann:s3cr3t@:pg:5432:99/db",
        "postgresql://ann:x@s3cr3t@h/db",
        "postgresql://ann:s3cr3t/x@h/db",
        "postgresql://ann:1/s3cr3t@h/db",
        "host=127.0.0.1 port=s3cr3t",
        "host=db password=s3cr3t bad",
        "postgresql://ann:s3cr3t@h/db?nonsense=1",
        "postgresql://ann:s3cr3t%zz@h/db",
        "s3cr3t",
    ],
)
def test_a_string_that_cannot_be_read_is_told_but_not_shown(dsn: str) -> None:
    assert "cannot be read" in refused(dsn)


def test_one_server_is_to_be_named() -> None:
    assert "names several servers" in refused("host=one,two password=s3cr3t")


def test_a_server_that_is_down_is_told_at_once() -> None:
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        text = refused(f"postgresql://ann:s3cr3t@127.0.0.1:{port}/db?gssencmode=disable")
    assert f"at 127.0.0.1, port {port} cannot be used" in text
    assert "refused" in text


def test_a_password_in_the_servers_answer_is_not_told(postgres: PostgresServer) -> None:
    """Whoever writes the password where the database belongs has it in the server's answer."""
    place = f"host=127.0.0.1 port={postgres.port} user=admitone"
    assert 'database "…" does not exist' in refused(f"{place} password=s3cr3t dbname=s3cr3t")


def test_an_unknown_database_is_told(postgres: PostgresServer) -> None:
    text = refused(f"postgresql://admitone:s3cr3t@127.0.0.1:{postgres.port}/nowhere")
    assert '"nowhere" does not exist' in text


def test_no_right_to_make_a_schema_is_told_with_the_command(
    postgres: PostgresServer, newcomer: str
) -> None:
    dsn = f"postgresql://{newcomer}:s3cr3t@127.0.0.1:{postgres.port}/admitone"
    text = refused(dsn)
    grant = f'GRANT CREATE ON DATABASE "admitone" TO "{newcomer}"'
    assert text.endswith(grant)
    with connected(postgres) as session:
        session.execute(grant.encode())
    with UserPostgres(dsn) as server:
        assert server.sessions("ann") == ()


def test_a_server_that_is_too_old_is_told(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_postgres, "OLDEST", 99)
    assert "99 or newer is needed" in refused(dsn)


def test_what_the_environment_says_is_heard(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", str(postgres.port))
    monkeypatch.setenv("PGUSER", "admitone")
    with UserPostgres("postgresql:///admitone") as server:
        assert (server.host, server.port) == ("127.0.0.1", postgres.port)
        with psycopg.connect(server.address("ann")):
            assert len(server.sessions("ann")) == 1
