"""The adapter of a ledger on PostgreSQL: the suite starts the server, each store is a schema."""

import threading

import psycopg
from seats import SCHEMA, Seats

from admitone.targets import contract as c


class SeatsLedger:
    """One client. Each method is one call to the library, by a connection of the thread's own."""

    def __init__(self, connect):
        self.connect = connect
        self.own = threading.local()

    @property
    def seats(self):
        if not hasattr(self.own, "seats"):
            self.own.seats = self.connect()
        return self.own.seats

    def issue(self, call, confirmation, budget, context, validity):
        if type(budget) is not int or not 0 < budget < 2**31:
            return c.Refused("invalid")  # the server would round 1.5 up
        self.seats.grant(confirmation.event, budget)
        return c.Authorization(record=confirmation.event, budget=budget)

    def prepare(self, authorization, call, context, attempt):
        number = self.seats.take(authorization.record)
        if number is None:
            return c.Refused("exhausted")
        return c.Admission(record=authorization.record, handle=number)

    def commit(self, admission, receipt):
        self.seats.done(admission.handle)
        return c.Done()


class SeatsTarget:
    name = c.TargetName("seats", version="1")
    declaration = c.Declaration(
        c.Facts(keyed_by="confirmation", waits_s=2.0),
        {"multi_budget": "A seat can be taken as often as it says."},
    )

    def deploy(self, workspace):
        store = {"postgres": "", "schema": "seats"}
        return c.Deployment(store, servers=(c.postgres_server("postgres"),))

    def fresh(self, store, n):
        schema = f"seats_{n}"
        with psycopg.connect(store["postgres"]) as db:
            db.execute(f"CREATE SCHEMA {schema}; SET search_path = {schema}; {SCHEMA}")
        return {**store, "schema": schema}

    def discard(self, store):
        with psycopg.connect(store["postgres"]) as db:
            db.execute(f"DROP SCHEMA IF EXISTS {store['schema']} CASCADE")

    def open(self, store, env):
        return SeatsLedger(lambda: Seats(store["postgres"], store["schema"], env.patience_s))

    def inspect(self, store, approval):
        query = (
            "SELECT uses - taken, count(number), count(number) FILTER (WHERE done)"
            " FROM seat LEFT JOIN use ON seat = name WHERE name = %s GROUP BY name, uses, taken"
        )
        options = f"-csearch_path={store['schema']} -cdefault_transaction_read_only=on"
        with psycopg.connect(store["postgres"], options=options) as db:
            row = db.execute(query, (approval.confirmation.event,)).fetchone()
        if row is None:
            return c.View(known=False, linearizable=True)
        left, used, done = row
        counts = c.Counts(issued=left, prepared=used - done, committed=done)
        return c.View(known=True, counts=counts, linearizable=True)

    def classify(self, exc):
        if isinstance(exc, psycopg.OperationalError):
            locked = exc.sqlstate in ("40001", "40P01", "55P03")  # nothing happened: try again
            return c.Busy("contention") if locked else c.Unknown(str(exc))
        if isinstance(exc, psycopg.DataError | psycopg.errors.DatatypeMismatch):
            return c.Refused("invalid")  # no column holds a budget of 2**70, or of true
        return None
