"""The forms of a durable write in PostgreSQL on psycopg's asynchronous side; see
``probe_psycopg_target``."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection

APg = AsyncConnection[Any]

INSERT = "INSERT INTO uses VALUES (1)"


async def commit(connection: APg) -> None:
    assert (await connection.execute(INSERT)).rowcount == 1
    await connection.commit()


async def with_connection(connection: APg) -> None:
    async with connection:
        await connection.execute(INSERT)


async def transaction(connection: APg) -> None:
    async with connection.transaction():
        await connection.execute(INSERT)


async def many(connection: APg) -> None:
    async with connection.cursor() as cursor:
        await cursor.executemany("INSERT INTO uses VALUES (%s)", [(1,), (2,)])
    await connection.commit()


async def insert(connection: APg) -> None:
    await connection.execute(INSERT)


async def stream(connection: APg) -> None:
    cursor = connection.cursor()
    rows = [row async for row in cursor.stream("INSERT INTO uses VALUES (1), (2) RETURNING n")]
    assert rows == [(1,), (2,)]
    await connection.commit()


async def copied(connection: APg) -> None:
    async with connection.cursor() as cursor, cursor.copy("COPY uses FROM STDIN") as copy:
        await copy.write_row((1,))
    await connection.commit()


async def server_cursor(connection: APg) -> None:
    await connection.execute(INSERT)
    async with connection.cursor("page") as cursor:
        await cursor.execute("SELECT n FROM uses")
        assert await cursor.fetchone() == (1,)
    await connection.commit()


async def pipeline(connection: APg) -> None:
    async with connection.pipeline():
        await connection.execute(INSERT)
        await connection.commit()


async def pipeline_alone(connection: APg) -> None:
    async with connection.pipeline():
        await connection.execute(INSERT)


async def script(connection: APg) -> None:
    await connection.execute("BEGIN; INSERT INTO uses VALUES (1); COMMIT")
