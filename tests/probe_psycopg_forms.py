"""Every way in which a Python ledger makes a PostgreSQL write durable, and the points of each.

``python -m tests.probe_psycopg_forms FOLDER`` tries them, see ``probe_trial``; the address of the
server is in the folder's file ``address``. The driver is probed after the target imported it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from admitone.chaos.probes import sight
from tests import probe_trial
from tests.probe_trial import BEGIN, STATEMENT, WRITE, WRITING, Notes, answer

COMMITTED: Final = [*BEGIN, *STATEMENT, *WRITING]
TWO: Final = [*BEGIN, *STATEMENT * 2, *WRITING]


@dataclass(frozen=True, slots=True)
class Form:
    """``run`` works on a connection. ``rows``: how many it adds in all; ``first``: how many of
    them are durable after its first write."""

    run: Callable[[Any], object]
    points: list[str]
    autocommit: bool = False
    rows: int = 1
    first: int = 1
    is_async: bool = False


def forms() -> dict[str, Form]:
    """All of them. The target is imported here and not above: it binds names of the driver."""
    from tests import probe_psycopg_async
    from tests import probe_psycopg_target as target

    found = in_transactions(target) | alone(target) | pipelined(target) | by_cursors(target)
    return found | otherwise(target) | awaited(probe_psycopg_async) | by_sqlalchemy()


def in_transactions(target: Any) -> dict[str, Form]:
    """Every way to end a transaction."""
    text, insert = target.text, target.INSERT
    savepoints = text("BEGIN", insert, "SAVEPOINT a", insert, "RELEASE a", "COMMIT")
    two_phases = [*BEGIN, *STATEMENT, *WRITING, *WRITING]
    return {
        "commit()": Form(target.commit, COMMITTED),
        "with conn": Form(target.with_connection, COMMITTED),
        "transaction()": Form(target.transaction, COMMITTED),
        "transaction(), autocommit": Form(target.transaction, COMMITTED, True),
        "transaction(), nested": Form(
            target.nested, [*BEGIN, *STATEMENT * 4, *WRITING], rows=2, first=2
        ),
        "transaction() inside": Form(
            target.within, [*BEGIN, *STATEMENT * 4, *WRITING], rows=2, first=2
        ),
        "COMMIT text": Form(text(insert, "COMMIT"), COMMITTED),
        "BEGIN and COMMIT text": Form(text("BEGIN", insert, "COMMIT"), COMMITTED, True),
        "END text": Form(text("START TRANSACTION", insert, " end ;"), COMMITTED, True),
        "commented COMMIT": Form(
            text("begin", insert, "/* a /* b */ */ -- c\n commit"), COMMITTED, True
        ),
        "savepoints": Form(savepoints, [*BEGIN, *STATEMENT * 4, *WRITING], True, 2, 2),
        "COMMIT AND CHAIN": Form(target.chained, [*COMMITTED, *STATEMENT, *WRITING], True, rows=2),
        "two phases": Form(target.two_phases, two_phases, first=0),
        "two phases, text": Form(target.two_phases_by_text, two_phases, True, first=0),
        "DDL": Form(text("CREATE TABLE more (n int)", "COMMIT"), COMMITTED, rows=0, first=0),
        "SELECT INTO": Form(text("SELECT 1 INTO more", "COMMIT"), COMMITTED, rows=0, first=0),
        "a part of WITH": Form(
            text(f"WITH x AS ({insert} RETURNING n) SELECT n FROM x", "COMMIT"), COMMITTED
        ),
        "a part of WITH, after a lock": Form(
            text("LOCK TABLE uses", f"WITH x AS ({insert} RETURNING n) SELECT n FROM x", "COMMIT"),
            TWO,
        ),
        "a function": Form(text("SELECT put()", "COMMIT"), COMMITTED),
        "DO": Form(text(f"DO $$ BEGIN {insert}; END $$", "COMMIT"), COMMITTED),
        "CALL": Form(text("CALL puts()", "COMMIT"), COMMITTED),
        "a deferred constraint fails COMMIT": Form(
            target.deferred,
            [*BEGIN, *STATEMENT, "statement.before", "write.before", "statement.after", *COMMITTED],
        ),
    }


def alone(target: Any) -> dict[str, Form]:
    """Statements outside of any transaction."""
    text, insert = target.text, target.INSERT
    fails = ["statement.before", "write.before", "statement.after"]
    return {
        "autocommit": Form(target.insert, WRITING, True),
        "autocommit WITH": Form(
            text(f"WITH x AS ({insert} RETURNING n) SELECT n FROM x"), WRITING, True
        ),
        "autocommit function": Form(text("SELECT put()"), WRITING, True),
        "autocommit DDL": Form(text("CREATE TABLE more (n int)"), WRITING, True, 0, 0),
        "autocommit CALL": Form(text("CALL puts()"), WRITING, True),
        "autocommit CALL that commits": Form(text("CALL commits()"), WRITING, True),
        "autocommit DO that commits": Form(
            text(f"DO $$ BEGIN {insert}; COMMIT; END $$"), WRITING, True
        ),
        "autocommit index": Form(
            text("CREATE INDEX CONCURRENTLY i ON uses (n)"), WRITING, True, 0, 0
        ),
        "autocommit executemany": Form(target.many, [*STATEMENT * 2, *WRITE], True, 2, 2),
        "autocommit prepared": Form(target.prepared, WRITING * 2, True, 2, 1),
        "autocommit stream": Form(target.stream, WRITING, True, 2, 2),
        "autocommit stream left": Form(target.stream_left, WRITING, True, 2, 2),
        "autocommit COPY": Form(target.copied, WRITING, True, 2, 2),
        "autocommit COPY broken off": Form(target.copy_broken_off, [*STATEMENT, *WRITING], True),
        "autocommit, a deferred constraint": Form(target.deferred, [*fails, *WRITING], True),
        "script": Form(
            target.script,
            [*BEGIN, *STATEMENT * 2, *WRITING, *STATEMENT, *WRITE],
            True,
            2,
        ),
        "script alone": Form(target.script_alone, [*STATEMENT * 2, *WRITE], True, 2, 2),
        "script that fails": Form(target.script_fails, [*STATEMENT * 2, *WRITING], True),
    }


def pipelined(target: Any) -> dict[str, Form]:
    """Statements that are sent without waiting for their answers, and are seen to arrive."""
    return {
        "pipeline": Form(target.pipeline, TWO),
        "pipeline alone": Form(
            target.pipeline_alone, [*STATEMENT, *WRITE, *STATEMENT * 2, *WRITE], True, 2
        ),
        "pipeline alone, commit()": Form(
            target.pipeline_committed, [*STATEMENT, *WRITE, *STATEMENT], True
        ),
        "pipeline alone, then a block": Form(
            target.pipeline_before_transaction,
            [*STATEMENT, *WRITE, *BEGIN, *STATEMENT * 2],
            True,
        ),
        "pipeline, transaction()": Form(target.pipeline_transaction, COMMITTED, True),
        "pipeline, function": Form(target.pipeline_function, [*STATEMENT * 2, *WRITE], True),
        "executemany": Form(target.many, TWO, rows=2, first=2),
        "executemany, returning": Form(target.many_returning, TWO, rows=2, first=2),
    }


def by_cursors(target: Any) -> dict[str, Form]:
    """Cursors of all kinds."""
    return {
        "parameters": Form(target.parameters, COMMITTED),
        "prepared": Form(target.prepared, TWO, rows=2, first=2),
        "client cursor": Form(target.client_cursor, COMMITTED),
        "server cursor": Form(target.server_cursor, [*BEGIN, *STATEMENT * 4, *WRITING]),
        "stream": Form(target.stream, COMMITTED, rows=2, first=2),
        "stream left": Form(target.stream_left, COMMITTED, rows=2, first=2),
        "COPY": Form(target.copied, COMMITTED, rows=2, first=2),
        "COPY out": Form(target.copied_out, TWO),
        "composed": Form(target.composed, COMMITTED),
    }


def otherwise(target: Any) -> dict[str, Form]:
    """Connections made, and used, in other ways."""
    asked = [*BEGIN, *STATEMENT * 2]
    return {
        "a library's thread": Form(target.in_thread, COMMITTED),
        "own classes": Form(target.own_class, [*asked, *TWO]),
        "bound early": Form(target.bound_early, [*asked, *COMMITTED]),
    }


def quiet(target: Any) -> dict[str, Form]:
    """What makes nothing durable: no write."""
    text, insert = target.text, target.INSERT
    read, refused = [*BEGIN, *STATEMENT * 2], "UPDATE uses SET n = 2 WHERE n = 9"
    refused_with = f"WITH x AS ({refused} RETURNING n) SELECT n FROM x"
    back = text("SAVEPOINT a", insert, "ROLLBACK TO a", "RELEASE a", "COMMIT")
    form = partial(Form, rows=0)
    return {
        "read only": form(text("SELECT * FROM uses", "COMMIT"), read),
        "locked only": form(text("SELECT * FROM uses FOR UPDATE", "COMMIT"), read),
        "a function that reads": form(text("SELECT look()", "COMMIT"), read),
        "a reading WITH": form(
            text("WITH x AS (SELECT 'UPDATE' AS n) SELECT * FROM x", "COMMIT"), read
        ),
        "refused": form(text(refused, "COMMIT"), read),
        "refused WITH, after a lock": form(
            text("LOCK TABLE uses", refused_with, "COMMIT"), [*BEGIN, *STATEMENT * 3]
        ),
        "ROLLBACK": form(text(insert, "ROLLBACK"), read),
        "rollback()": form(target.rolled_back, read),
        "all taken back to a savepoint": form(back, [*BEGIN, *STATEMENT * 5]),
        "all taken back inside": form(target.nested_rolled_back, [*BEGIN, *STATEMENT * 5]),
        "COMMIT of an aborted one": form(target.aborted, [*BEGIN, *STATEMENT * 3]),
        "aborted in a pipeline": form(target.aborted_pipeline, [*BEGIN, *STATEMENT * 3]),
        "a temporary table": form(text("CREATE TEMP TABLE t (n int)", "COMMIT"), read),
        "alone: a read": form(text("SELECT 'f(', count(*) FROM uses"), STATEMENT, True),
        "alone: a lock": form(text("SELECT * FROM uses FOR UPDATE"), STATEMENT, True),
        "alone: a function that reads": form(text("SELECT look()"), STATEMENT, True),
        "alone: refused": form(text(refused), STATEMENT, True),
        "alone: refused WITH": form(text(refused_with), STATEMENT, True),
        "alone: a table that exists": form(
            text("CREATE TABLE IF NOT EXISTS uses (n int)"), STATEMENT, True
        ),
        "alone: a setting": form(text("SET lock_timeout = 1000"), STATEMENT, True),
        "alone: nothing": form(text(""), [], True),
        "alone: a script that reads": form(text("SELECT 1; SELECT look()"), STATEMENT * 2, True),
        "a pipeline that reads": form(target.pipeline_reads, STATEMENT * 2, True),
    }


def awaited(target: Any) -> dict[str, Form]:
    """The same on the asynchronous side."""
    form = partial(Form, is_async=True)
    return {
        "async commit()": form(target.commit, COMMITTED),
        "async with conn": form(target.with_connection, COMMITTED),
        "async transaction()": form(target.transaction, COMMITTED),
        "async executemany": form(target.many, TWO, rows=2, first=2),
        "async autocommit": form(target.insert, WRITING, True),
        "async stream": form(target.stream, COMMITTED, rows=2, first=2),
        "async autocommit stream": form(target.stream, WRITING, True, rows=2, first=2),
        "async COPY": form(target.copied, COMMITTED),
        "async autocommit COPY": form(target.copied, WRITING, True),
        "async server cursor": form(target.server_cursor, [*BEGIN, *STATEMENT * 4, *WRITING]),
        "async pipeline": form(target.pipeline, COMMITTED),
        "async autocommit pipeline": form(target.pipeline_alone, [*STATEMENT, *WRITE], True),
        "async script": form(target.script, COMMITTED, True),
    }


def by_sqlalchemy() -> dict[str, Form]:
    """Seen once, by the driver's probe; SQLAlchemy's own is silent over it."""
    return {
        "SQLAlchemy": Form(_engine, COMMITTED),
        "SQLAlchemy, AUTOCOMMIT": Form(_engine_autocommit, WRITING),
    }


def _made(connection: Any) -> Any:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import StaticPool

    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool
    )
    sight.watch(False)
    with engine.connect():
        pass  # the dialect looks around on its first connection
    sight.watch(True)
    return engine


def _engine(connection: Any) -> None:
    with _made(connection).begin() as used:
        used.exec_driver_sql("INSERT INTO uses VALUES (1)")


def _engine_autocommit(connection: Any) -> None:
    with _made(connection).connect().execution_options(isolation_level="AUTOCOMMIT") as used:
        used.exec_driver_sql("INSERT INTO uses VALUES (1)")


class Steward:
    """Makes all schemas at once and counts in them, by one connection that no trial touches."""

    def __init__(self, root: Path, trials: int) -> None:
        import psycopg

        from tests.probe_psycopg_target import SCHEMA

        self.address = (root / "address").read_text()
        self._connection = psycopg.connect(self.address, autocommit=True)
        names = (f"{n}{end}" for n in range(trials) for end in ("", "-before", "-after"))
        for name in names:
            schema = self.schema(root / name)
            made = f"CREATE SCHEMA {schema}; SET LOCAL search_path = {schema}; {SCHEMA}"
            self._connection.execute(made.encode())

    @staticmethod
    def schema(folder: Path) -> str:
        """The schema of a trial."""
        return "trial_" + folder.name.replace("-", "_")

    def rows(self, folder: Path) -> int:
        """How many rows are durable."""
        query = f"SELECT count(*) FROM {self.schema(folder)}.uses"
        [(count,)] = self._connection.execute(query.encode()).fetchall()
        return int(count)

    def work(self, form: Form, folder: Path) -> None:
        """Let the form work in its schema, watched."""
        import psycopg

        named: dict[str, Any] = {"options": f"-csearch_path={self.schema(folder)}"}
        named["autocommit"] = form.autocommit
        if form.is_async:
            asyncio.run(_work_async(form, self.address, named))
            return
        connection = psycopg.connect(self.address, **named)
        with sight.watched():
            form.run(connection)
        connection.close()


async def _work_async(form: Form, address: str, named: dict[str, Any]) -> None:
    import psycopg

    connection = await psycopg.AsyncConnection.connect(address, **named)
    with sight.watched():
        await form.run(connection)  # type: ignore[misc]  # of an async form
    await connection.close()


if __name__ == "__main__":
    sight.install(Notes())
    assert "psycopg" not in sys.modules, "the probe must not import what it looks for"
    assert "admitone.chaos.probes.psycopg_methods" not in sys.modules
    every = forms()
    steward = Steward(Path(sys.argv[1]), len(every))
    tried: dict[str, probe_trial.Form] = {
        name: (partial(steward.work, form), steward.rows) for name, form in every.items()
    }
    answer(tried)
