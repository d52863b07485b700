"""A ledger in twenty lines: a ticket is granted once and can be taken as often as it says."""

import sqlite3

SCHEMA = """
CREATE TABLE ticket (name TEXT PRIMARY KEY, uses INTEGER NOT NULL, taken INTEGER NOT NULL);
CREATE TABLE use (number INTEGER PRIMARY KEY, ticket TEXT NOT NULL, done INTEGER NOT NULL);
"""


class Tickets:
    def __init__(self, path, wait_s):
        self.db = sqlite3.connect(path, timeout=wait_s)

    def grant(self, name, uses):
        with self.db:
            self.db.execute("INSERT OR IGNORE INTO ticket VALUES (?, ?, 0)", (name, uses))

    def take(self, name):
        """The number of this use, or None when the ticket is used up."""
        with self.db:
            query = "SELECT taken < uses FROM ticket WHERE name = ?"
            if not self.db.execute(query, (name,)).fetchone()[0]:
                return None
            self.db.execute("UPDATE ticket SET taken = taken + 1 WHERE name = ?", (name,))
            return self.db.execute("INSERT INTO use VALUES (NULL, ?, 0)", (name,)).lastrowid

    def done(self, number):
        with self.db:
            self.db.execute("UPDATE use SET done = 1 WHERE number = ?", (number,))
