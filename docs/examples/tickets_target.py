"""The adapter: how admitone makes a store of tickets, opens it, and looks at it."""

import sqlite3
from contextlib import closing

from tickets import SCHEMA, Tickets

from admitone.targets import contract as c


class TicketsLedger:
    """One client. Each method is one call to the library."""

    def __init__(self, tickets):
        self.tickets = tickets

    def issue(self, call, confirmation, budget, context, validity):
        if type(budget) is not int or not 0 < budget < 2**31:
            return c.Refused("invalid")  # the library would take 1.5, too
        self.tickets.grant(confirmation.event, budget)
        return c.Authorization(record=confirmation.event, budget=budget)

    def prepare(self, authorization, call, context, attempt):
        number = self.tickets.take(authorization.record)
        if number is None:
            return c.Refused("exhausted")
        return c.Admission(record=authorization.record, handle=number)

    def commit(self, admission, receipt):
        self.tickets.done(admission.handle)
        return c.Done()


class TicketsTarget:
    name = c.TargetName("tickets", version="1")
    declaration = c.Declaration(
        c.Facts(keyed_by="confirmation", waits_s=2.0),
        {"multi_budget": "A ticket can be taken as often as it says."},
    )

    def deploy(self, workspace):
        with closing(sqlite3.connect(workspace / "tickets.db")) as db:
            db.executescript(SCHEMA)
        return c.Deployment(store="tickets.db")

    def open(self, store, env):
        return TicketsLedger(Tickets(env.workspace / store, env.patience_s))

    def inspect(self, store, approval):
        query = (
            "SELECT uses - taken, count(number), coalesce(sum(done), 0)"
            " FROM ticket LEFT JOIN use ON ticket = name WHERE name = ? GROUP BY name"
        )
        with closing(sqlite3.connect(f"file:{store}?mode=rw", uri=True)) as db:
            db.execute("PRAGMA query_only=ON")
            if (row := db.execute(query, (approval.confirmation.event,)).fetchone()) is None:
                return c.View(known=False, linearizable=True)
        left, used, done = row
        counts = c.Counts(issued=left, prepared=used - done, committed=done)
        return c.View(known=True, counts=counts, linearizable=True)
