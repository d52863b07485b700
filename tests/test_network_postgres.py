"""COMMIT through the proxy: lost, or done and not told, and psycopg cannot tell which.

Each is counted by a second connection that does not pass the proxy, after the server has dropped
the session of the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import psycopg
import pytest

from admitone.chaos.network.faults import (
    BOTH_LOST,
    NULL,
    REPLY_LOST,
    REQUEST_LOST,
    RESET,
    RESET_AFTER,
    Fault,
    cut,
    late,
)
from admitone.chaos.network.link import Link
from admitone.chaos.network.toxiproxy import Toxiproxy
from admitone.chaos.servers.postgres import PostgresServer
from tests.front_door import until
from tests.postgres_world import connected

ANSWER_BYTES = 18
"""CommandComplete (12) and ReadyForQuery (6)."""

LOST = (REQUEST_LOST, BOTH_LOST, RESET)
DONE = (REPLY_LOST, RESET_AFTER, *(cut(n) for n in range(1, ANSWER_BYTES)))

_clients = (f"client-{number}" for number in count())


@pytest.fixture
def link(postgres: PostgresServer, toxiproxy: Toxiproxy) -> Iterator[Link]:
    link = toxiproxy.proxy("postgres", postgres.host, postgres.port)
    yield link
    link.close()


@pytest.fixture
def table(postgres: PostgresServer, fresh_schema: str) -> str:
    name = f"{fresh_schema}.t"
    with connected(postgres) as connection:
        connection.execute(f"CREATE TABLE {name} (n int)".encode())
    return name


class Writer:
    """A client behind the proxy that stands before the COMMIT of one row."""

    def __init__(self, postgres: PostgresServer, link: Link, table: str) -> None:
        self._postgres = postgres
        self._table = table
        self._name = next(_clients)
        self.connection = psycopg.connect(postgres.address(self._name, (link.host, link.port)))
        self.connection.execute(f"INSERT INTO {table} VALUES (1)".encode())

    def rows(self) -> int:
        """How many rows others see."""
        with connected(self._postgres) as other:
            [found] = other.execute(f"SELECT count(*) FROM {self._table}".encode()).fetchall()
        return int(found[0])

    def rows_at_the_end(self) -> int:
        """The same, when the session is gone."""
        self.connection.close()
        until(lambda: not self._postgres.sessions(self._name), "the end of the session")
        return self.rows()


def failed(connection: psycopg.Connection[Any]) -> psycopg.OperationalError:
    with pytest.raises(psycopg.OperationalError) as raised:
        connection.commit()
    return raised.value


@pytest.mark.parametrize("fault", [*LOST, *DONE], ids=lambda fault: fault.token)
def test_an_ambiguous_commit(
    postgres: PostgresServer, link: Link, table: str, fault: Fault
) -> None:
    link.arm(fault)
    writer = Writer(postgres, link, table)
    link.fault(fault)
    error = failed(writer.connection)
    assert type(error) is psycopg.OperationalError
    assert error.sqlstate is None
    link.heal()
    assert writer.rows_at_the_end() == (1 if fault in DONE else 0)
    again = Writer(postgres, link, table)
    again.connection.commit()
    assert again.rows_at_the_end() == (2 if fault in DONE else 1)


def test_nothing_tells_a_lost_commit_from_a_done_one(
    postgres: PostgresServer, link: Link, table: str
) -> None:
    said = set()
    for fault in (REQUEST_LOST, BOTH_LOST, REPLY_LOST, cut(1), cut(12), cut(17)):
        writer = Writer(postgres, link, table)
        link.fault(fault)
        said.add(str(failed(writer.connection)))
        link.heal()
        writer.connection.close()
    assert len(said) == 1, said


@pytest.mark.parametrize("fault", [NULL, cut(ANSWER_BYTES)], ids=lambda fault: fault.token)
def test_a_commit_that_is_acknowledged(
    postgres: PostgresServer, link: Link, table: str, fault: Fault
) -> None:
    writer = Writer(postgres, link, table)
    link.fault(fault)
    writer.connection.commit()
    assert writer.rows_at_the_end() == 1


def test_a_late_commit_happens_after_its_client_was_told_of_a_failure(
    postgres: PostgresServer, link: Link, table: str
) -> None:
    writer = Writer(postgres, link, table)
    link.fault(late(500))
    failed(writer.connection)
    assert writer.rows() == 0
    link.heal()
    assert writer.rows_at_the_end() == 1
