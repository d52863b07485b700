"""Every way in which a ledger on SQLAlchemy makes a write durable, and the points of each.

``python -m tests.probe_alchemy_forms FOLDER`` tries them, see ``probe_trial``. The driver is
``sqlite3`` as it was before the probes: for them it is one that no driver probe sees into.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from admitone.chaos.probes import sight
from tests.probe_trial import BEGIN, STATEMENT, WRITING, Form, Notes, answer

if TYPE_CHECKING:
    from sqlalchemy import Engine

INSERT: Final = "INSERT INTO uses VALUES (1)"
COMMITTED: Final = [*BEGIN, *STATEMENT, *WRITING]
stock_connect: Final = sqlite3.connect


def engine_on(folder: Path, covered: bool = False) -> Engine:
    """An engine over the stock driver, or over the probed one (``covered``)."""
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    connect = sqlite3.connect if covered else stock_connect
    return create_engine(
        "sqlite://", creator=lambda: connect(folder / "ledger.db"), poolclass=NullPool
    )


def begun(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(INSERT)


def committed(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql(INSERT)
        connection.commit()


def by_text(engine: Engine) -> None:
    """The ledger sends COMMIT itself; what SQLAlchemy sends after it has nothing to write."""
    with engine.begin() as connection:
        connection.exec_driver_sql(INSERT)
        connection.exec_driver_sql("COMMIT")


def in_session(engine: Engine) -> None:
    from sqlalchemy import text
    from sqlalchemy.orm import Session

    with Session(engine) as session, session.begin():
        session.execute(text("INSERT INTO uses VALUES (:n)"), {"n": 1})


def many(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO uses VALUES (?)", [(1,), (2,)])


def ddl(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE more (n)")


def nested(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(INSERT)
        with connection.begin_nested():
            connection.exec_driver_sql(INSERT)


def autocommit(engine: Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(INSERT)


def read_only(engine: Engine) -> None:
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT * FROM uses").all() == []


def refused(engine: Engine) -> None:
    with engine.begin() as connection:
        assert connection.exec_driver_sql("UPDATE uses SET n = 2 WHERE n = 9").rowcount == 0


def rolled_back(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql(INSERT)
        connection.rollback()


def left(engine: Engine) -> None:
    """The pool rolls back what the ledger forgot to commit."""
    with engine.connect() as connection:
        connection.exec_driver_sql(INSERT)


def failed(engine: Engine) -> None:
    from sqlalchemy.exc import OperationalError

    with engine.connect() as connection:
        try:
            connection.exec_driver_sql("INSERT INTO nowhere VALUES (1)")
        except OperationalError:
            connection.rollback()


@dataclass(frozen=True, slots=True)
class EngineForm:
    """``rows``: how many it leaves; none of them before its write, all after it."""

    run: Callable[[Engine], None]
    points: list[str]
    rows: int = 1


FORMS: Final = {
    "begin()": EngineForm(begun, COMMITTED),
    "commit()": EngineForm(committed, COMMITTED),
    "COMMIT text": EngineForm(by_text, [*COMMITTED, *STATEMENT]),
    "session": EngineForm(in_session, COMMITTED),
    "executemany": EngineForm(many, COMMITTED, rows=2),
    "DDL": EngineForm(ddl, COMMITTED, rows=0),
    "nested": EngineForm(nested, [*BEGIN, *STATEMENT * 4, *WRITING], rows=2),
    "AUTOCOMMIT": EngineForm(autocommit, WRITING),
}
QUIET: Final = {
    "read only": EngineForm(read_only, [*BEGIN, *STATEMENT * 2], rows=0),
    "refused": EngineForm(refused, [*BEGIN, *STATEMENT * 2], rows=0),
    "rolled back": EngineForm(rolled_back, [*BEGIN, *STATEMENT * 2], rows=0),
    "left": EngineForm(left, [*BEGIN, *STATEMENT * 2], rows=0),
    "failed": EngineForm(failed, [*BEGIN, *STATEMENT * 2], rows=0),
}


def work(form: EngineForm, folder: Path) -> None:
    """Make a store, then let the form work on it, watched."""
    setup = stock_connect(folder / "ledger.db")
    setup.execute("CREATE TABLE uses (n)")
    setup.close()
    engine = engine_on(folder)
    with engine.connect():
        pass  # the dialect looks around on its first connection
    with sight.watched():
        form.run(engine)


def rows(folder: Path) -> int:
    """How many rows are durable."""
    reader = stock_connect(folder / "ledger.db")
    [(count,)] = reader.execute("SELECT count(*) FROM uses")
    reader.close()
    return int(count)


if __name__ == "__main__":
    sight.install(Notes())
    assert "sqlalchemy" not in sys.modules, "the probe must not import what it looks for"
    import sqlalchemy.engine  # noqa: F401  # as the target does in warm()

    forms: dict[str, Form] = {
        name: (partial(work, form), rows) for name, form in (FORMS | QUIET).items()
    }
    answer(forms)
