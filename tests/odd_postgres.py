"""Ledgers on PostgreSQL that are like none of those that ship, for tests of families."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg

from admitone.targets import contract as c
from admitone.targets.correct.plain_postgres import PlainPostgresLedger, PlainPostgresTarget

LOG = "CREATE TABLE {schema}.log (number int PRIMARY KEY, ticket text NOT NULL)"
NOTE = "INSERT INTO log SELECT 1 + coalesce(max(number), 0), %s FROM log"


class _ForgetsWhatFailed(PlainPostgresLedger):
    """MC2b: an error of the log is nobody's business, and aborts the transaction all the same;
    its COMMIT raises nothing, and the server answers ROLLBACK."""

    def prepare(self, authorization: c.Authorization, *rest: Any) -> c.Admission | c.Refused:
        self.db.execute("BEGIN")
        admission = super().prepare(authorization, *rest)
        with suppress(psycopg.Error):
            self.db.execute(NOTE, (authorization.record,))
        self.db.execute("COMMIT")
        return admission


class ForgetsWhatFailed(PlainPostgresTarget):
    """Numbers of the log are made by reading the last one, so two authorizations may collide."""

    def fresh(self, store: c.Json, n: int) -> c.Json:
        fresh = super().fresh(store, n)
        assert isinstance(fresh, dict)
        with psycopg.connect(str(fresh["postgres"]), autocommit=True) as db:
            db.execute(LOG.format(schema=fresh["schema"]).encode())
        return fresh

    def open(self, store: c.Json, env: c.Env) -> PlainPostgresLedger:
        return _ForgetsWhatFailed(super().open(store, env).db)


class _LeavesItOpen(PlainPostgresLedger):
    """What psycopg does where nobody says COMMIT: whoever is refused stays in a transaction."""

    def prepare(self, *asked: Any) -> c.Admission | c.Refused:
        admission = super().prepare(*asked)
        if isinstance(admission, c.Admission):
            self.db.commit()
        return admission

    def issue(self, *asked: Any) -> c.Authorization | c.Refused:
        issued = super().issue(*asked)
        self.db.commit()
        return issued

    def commit(self, *asked: Any) -> c.Done:
        done = super().commit(*asked)
        self.db.commit()
        return done


class LeavesItOpen(PlainPostgresTarget):
    """Correct, if not tidy: nothing is locked but its tables, and those only against a DROP."""

    def open(self, store: c.Json, env: c.Env) -> PlainPostgresLedger:
        made = super().open(store, env).db
        made.autocommit = False
        return _LeavesItOpen(made)
