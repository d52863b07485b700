"""PostgreSQL of the suite's own: started, asked, hurt, restarted, and gone without a trace."""

from __future__ import annotations

from admitone.chaos.servers.postgres import PostgresServer
from tests.postgres_world import connected


def test_a_clients_sessions_are_known_by_its_name(postgres: PostgresServer) -> None:
    assert postgres.sessions("ann") == ()
    with connected(postgres, "ann") as ann, connected(postgres, "bob"):
        assert postgres.sessions("ann") == (ann.info.backend_pid,)
    postgres.await_serving()


def test_schema(fresh_schema: str, postgres: PostgresServer) -> None:
    with connected(postgres) as c:
        c.execute(f"create table {fresh_schema}.t (a int)".encode())
