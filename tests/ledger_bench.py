"""One deployed store of a ledger, its clients in this process, and programs that use it too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from admitone.targets.contract import Identity
from tests.ledger_world import CONTEXT, Client, World

ROOT = Path(__file__).parent.parent


class Bench:
    """One deployed store, and clients of it that are closed in the end."""

    def __init__(self, target: Any, workspace: Path) -> None:
        self.target = target
        self.workspace = workspace
        self.store = target.deploy(workspace).store
        self._opened = ExitStack()

    def client(self, name: str = CONTEXT.executor) -> Client:
        """A client that connects under this name."""
        world = World.below(self.workspace)
        world.identity = Identity(name, b"")
        client = Client(self.target, self.store, world)
        for held in ("gate", "seats", "db"):  # a library that keeps a connection, or the connection
            library = getattr(client.ledger, held, None)
            if library is not None:
                self._opened.callback(library.close)
        return client

    def close(self) -> None:
        self._opened.close()

    def program(self, what: str, last: str) -> subprocess.Popen[str]:
        """A process of ``tests/ledger_programs.py`` on this store."""
        target = type(self.target)
        named = f"{target.__module__}:{target.__name__}"
        path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        arguments = [what, named, json.dumps(self.store), str(self.workspace), last]
        return subprocess.Popen(
            [sys.executable, "-m", "tests.ledger_programs", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
        )


def benched(cls: type, folder: Path) -> Iterator[Bench]:
    """For fixtures to yield from: the bench of a target, closed after the test."""
    made = Bench(cls(), folder)
    yield made
    made.close()
