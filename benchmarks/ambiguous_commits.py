"""COMMITs made ambiguous a second: a real PostgreSQL behind a real Toxiproxy, both started here.

Each is a transaction of one row whose COMMIT meets a fault; the fault is healed, the session's end
awaited, and a connection that does not pass the proxy looks whether the row is there.

    python benchmarks/ambiguous_commits.py [--commits 400]
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from itertools import cycle, islice

import psycopg
from tables import footing, heading, table

from admitone.chaos.network.faults import REPLY_LOST, REQUEST_LOST, Fault, cut
from admitone.chaos.network.link import Link
from admitone.chaos.network.toxiproxy import Toxiproxy
from admitone.chaos.runfolder import RunFolder
from admitone.chaos.servers.image import Image
from admitone.chaos.servers.postgres import PostgresServer

FAULTS = (REQUEST_LOST, REPLY_LOST, cut(1), REQUEST_LOST, cut(12), REQUEST_LOST, cut(17))
LOOK_S = 0.001


def ambiguous(
    server: PostgresServer, link: Link, fault: Fault, number: int, other: psycopg.Cursor[tuple[int]]
) -> str:
    """What became of one COMMIT."""
    name = f"client-{number}"
    with psycopg.connect(server.address(name, (link.host, link.port))) as client:
        client.execute("INSERT INTO t VALUES (%s)", (number,))
        link.fault(fault)
        try:
            client.commit()
        except psycopg.OperationalError:
            pass
        else:
            return "acknowledged"
        finally:
            link.heal()
    while server.sessions(name):
        time.sleep(LOOK_S)
    there = other.execute("SELECT count(*) FROM t WHERE n = %s", (number,)).fetchone()
    return "error, done" if there == (1,) else "error, not done"


def main() -> None:
    """Start both, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=400)
    options = parser.parse_args()
    heading("Ambiguous COMMITs through Toxiproxy, one client at a time")
    with RunFolder() as folder:
        image = Image.kept_in(folder.path / "images")
        with (
            PostgresServer.start(folder.path / "server", image) as server,
            Toxiproxy() as proxy,
            psycopg.connect(server.address("other"), autocommit=True) as connection,
        ):
            other = connection.cursor()
            other.execute("CREATE TABLE t (n int PRIMARY KEY)")
            link = proxy.proxy("postgres", server.host, server.port)
            counts: Counter[tuple[str, str]] = Counter()
            begun = time.perf_counter()
            for number, fault in enumerate(islice(cycle(FAULTS), options.commits)):
                outcome = ambiguous(server, link, fault, number, other)
                counts[fault.token, outcome] += 1
            took_s = time.perf_counter() - begun
    rows = [[token, outcome, str(count)] for (token, outcome), count in sorted(counts.items())]
    table(["fault", "COMMIT", "times"], rows)
    print(f"\n  {options.commits / took_s:.1f} a second")
    footing()


if __name__ == "__main__":
    main()
