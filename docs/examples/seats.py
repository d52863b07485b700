"""The same ledger on PostgreSQL: a seat is granted once and can be taken as often as it says."""

import psycopg

SCHEMA = """
CREATE TABLE seat (name text PRIMARY KEY, uses int NOT NULL, taken int NOT NULL);
CREATE TABLE use (number serial PRIMARY KEY, seat text NOT NULL, done bool NOT NULL);
"""


class Seats:
    def __init__(self, address, schema, wait_s):
        options = f"-csearch_path={schema} -clock_timeout={round(1000 * wait_s)}"
        self.db = psycopg.connect(address, options=options)

    def grant(self, name, uses):
        with self.db.transaction():
            insert = "INSERT INTO seat VALUES (%s, %s, 0) ON CONFLICT DO NOTHING"
            self.db.execute(insert, (name, uses))

    def take(self, name):
        """The number of this use, or None when the seat is used up."""
        with self.db.transaction():
            query = "SELECT taken < uses FROM seat WHERE name = %s"
            if not self.db.execute(query, (name,)).fetchone()[0]:
                return None
            self.db.execute("UPDATE seat SET taken = taken + 1 WHERE name = %s", (name,))
            use = "INSERT INTO use VALUES (DEFAULT, %s, false) RETURNING number"
            return self.db.execute(use, (name,)).fetchone()[0]

    def done(self, number):
        with self.db.transaction():
            self.db.execute("UPDATE use SET done = true WHERE number = %s", (number,))
