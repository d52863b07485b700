"""PostgreSQL as tests use it: one server for each worker of the test run, a schema for each test.

The fixtures are known to every test (``conftest.py`` imports them, so that there is one server and
not one for each file). Where the machine has no PostgreSQL they fail, and say what installs one:
nothing is skipped in silence.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from admitone.chaos.runfolder import RunFolder
from admitone.chaos.servers.image import Image
from admitone.chaos.servers.postgres import PostgresServer

if TYPE_CHECKING:
    import psycopg


@pytest.fixture(scope="session")
def server_folder() -> Iterator[Path]:
    """A folder for servers, on the fastest storage there is; gone afterwards."""
    with RunFolder() as folder:
        yield folder.path


@pytest.fixture(scope="session")
def postgres_image(server_folder: Path) -> Image:
    """An image of this worker's own."""
    return Image.kept_in(server_folder / "images")


@pytest.fixture(scope="session")
def postgres(server_folder: Path, postgres_image: Image) -> Iterator[PostgresServer]:
    """A server that all tests of this worker share: leave it serving, as you found it."""
    with PostgresServer.start(server_folder / "postgres", postgres_image) as server:
        yield server


@pytest.fixture
def fresh_schema(postgres: PostgresServer) -> Iterator[str]:
    """An empty schema of the shared server; dropped afterwards."""
    schema = f"test_{secrets.token_hex(6)}"
    with connected(postgres) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
    try:
        yield schema
    finally:
        postgres.await_serving()
        with connected(postgres) as connection:
            connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())


def connected(server: PostgresServer, client: str = "test") -> psycopg.Connection[Any]:
    """A session of the client's, in autocommit; a context manager that closes it."""
    import psycopg

    return psycopg.connect(server.address(client), autocommit=True)
