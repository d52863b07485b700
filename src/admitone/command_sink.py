"""``admitone serve-sink``: the idempotent sink, or the control sink, as a server."""

from __future__ import annotations

import argparse
import json
import sqlite3

from .cli import UsageProblem
from .idempotent_sink.server import serve
from .idempotent_sink.store import StoreProblem


def serve_sink(options: argparse.Namespace) -> int:
    """Serve until interrupted; the first line of output is JSON with the url."""
    if options.host not in ("127.0.0.1", "::1", "localhost"):
        raise UsageProblem(
            f"--host {options.host}: the sink has no authentication, so it listens on loopback only"
        )
    try:
        serve(
            options.store,
            options.kind,
            options.host,
            options.port,
            lambda url: print(json.dumps({"url": url}), flush=True),
        )
    except (OSError, OverflowError, sqlite3.Error, StoreProblem) as problem:
        raise UsageProblem(f"serve-sink: {problem}; check --store and --port") from None
    except KeyboardInterrupt:
        pass
    return 0
