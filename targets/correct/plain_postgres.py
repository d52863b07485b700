"""The plainest ledger that is correct, on PostgreSQL: each operation one autocommitted statement.

What makes it another kind than the reference: no transaction can be left half done, a statement
that waits for a row commits by itself when it gets it (also when its client has died meanwhile),
and a lost answer leaves a unit that nobody will ever finish. Like ``plain`` it binds nobody, knows
no attempts and recovers nothing, and says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from .. import contract as c

if TYPE_CHECKING:
    import psycopg

SCHEMA: Final = """
CREATE SCHEMA {schema};
CREATE TABLE {schema}.ticket (name text PRIMARY KEY, uses int NOT NULL, taken int NOT NULL);
CREATE TABLE {schema}.use (number serial PRIMARY KEY, ticket text NOT NULL, done bool NOT NULL);
"""
GRANT: Final = "INSERT INTO ticket VALUES (%s, %s, 0) ON CONFLICT DO NOTHING"
TAKE: Final = """
WITH took AS (
    UPDATE ticket SET taken = taken + 1 WHERE name = %s AND taken < uses RETURNING name
)
INSERT INTO use (ticket, done) SELECT name, false FROM took RETURNING number
"""
DONE: Final = "UPDATE use SET done = true WHERE number = %s"
LOOK: Final = """
SELECT uses - taken, count(number), count(number) FILTER (WHERE done)
FROM ticket LEFT JOIN use ON ticket = name WHERE name = %s GROUP BY name, uses, taken
"""
_AGAIN: Final = ("40001", "40P01", "55P03")
"""Rolled back by the server, or not locked in time: nothing happened."""


class PlainPostgresLedger:
    """One client."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.db = connection

    def issue(
        self,
        call: c.Call,
        confirmation: c.Confirmation,
        budget: c.Budget,
        context: c.Context,
        validity: c.Validity,
    ) -> c.Authorization | c.Refused:
        if type(budget) is not int or not 0 < budget < 2**31:
            return c.Refused("invalid")
        self.db.execute(GRANT, (confirmation.event, budget))
        return c.Authorization(record=confirmation.event, budget=budget)

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Refused:
        row = self.db.execute(TAKE, (authorization.record,)).fetchone()
        if row is None:
            return c.Refused("exhausted")
        return c.Admission(record=authorization.record, handle=row[0])

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done:
        self.db.execute(DONE, (admission.handle,))
        return c.Done()


class PlainPostgresTarget:
    """The target ``builtin:correct/plain-postgres``."""

    name = c.TargetName("admitone", "correct/plain-postgres", "1")
    declaration = c.Declaration(
        c.Facts(keyed_by="confirmation", reach="network", waits_s=2.0),
        {"multi_budget": "A ticket can be taken as often as it says."},
    )

    def warm(self) -> None:
        import psycopg  # noqa: F401  # before the fork

    def deploy(self, workspace: Path) -> c.Deployment:
        store: dict[str, c.Json] = {"postgres": "", "schema": "plain"}
        return c.Deployment(store, servers=(c.postgres_server("postgres"),))

    def fresh(self, store: c.Json, n: int) -> c.Json:
        schema = f"plain_{n}"
        with _connected(store) as db:
            db.execute(SCHEMA.format(schema=schema).encode())
        return {**_texts(store), "schema": schema}

    def discard(self, store: c.Json) -> None:
        with _connected(store) as db:
            db.execute(f"DROP SCHEMA IF EXISTS {_texts(store)['schema']} CASCADE".encode())

    def open(self, store: c.Json, env: c.Env) -> PlainPostgresLedger:
        wait_ms = max(1, round(1000 * env.patience_s))
        schema = _texts(store)["schema"]
        return PlainPostgresLedger(
            _connected(store, f"-csearch_path={schema} -clock_timeout={wait_ms}")
        )

    def inspect(self, store: c.Json, approval: c.Approval) -> c.View:
        options = f"-csearch_path={_texts(store)['schema']} -cdefault_transaction_read_only=on"
        with _connected(store, options) as db:
            row = db.execute(LOOK, (approval.confirmation.event,)).fetchone()
        if row is None:
            return c.View(known=False, linearizable=True)
        left, used, done = row
        counts = c.Counts(issued=left, prepared=used - done, committed=done)
        return c.View(known=True, counts=counts, linearizable=True)

    def classify(self, exc: BaseException) -> c.Busy | c.Unknown | None:
        import psycopg

        if not isinstance(exc, psycopg.OperationalError):
            return None
        return c.Busy("contention") if exc.sqlstate in _AGAIN else c.Unknown(str(exc))


def _connected(store: c.Json, options: str = "") -> psycopg.Connection:
    import psycopg

    return psycopg.connect(_texts(store)["postgres"], autocommit=True, options=options)


def _texts(store: c.Json) -> dict[str, str]:
    return cast("dict[str, str]", store)
