"""Starting a server's process so that it can never be left behind, and its log never grows.

The process first waits at a gate: the guardian learns its number before the program begins, and
where the harness dies in between, the gate stays shut. Then the program takes the same process
over, so that its number is the server's own.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .guard import Guard
from .owner import Owner

LOG_LIMIT_BYTES = 1 << 20
_GATE = ("/bin/sh", "-c", 'read -r go && from=$1 && shift && exec "$@" <"$from"', "sh")


class Log:
    """What a server prints: a file that is emptied when it has grown too long."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begun = 0

    def begin(self) -> None:
        """A process starts now: what was printed before is no longer asked for."""
        self.trim()
        self._begun = self._size()

    def trim(self) -> None:
        """Empty it if it is too long; the server goes on writing at its new end."""
        if self._size() > LOG_LIMIT_BYTES:
            os.truncate(self.path, 0)
            self._begun = 0

    def printed(self) -> str:
        """What was printed since the process began, as far as it is kept."""
        if not self.path.exists():
            return ""
        return self.path.read_bytes()[self._begun :].decode("utf-8", "replace")

    def tail(self) -> str:
        """The last lines of it, for the text of a problem."""
        lines = [line.strip() for line in self.printed().splitlines() if line.strip()]
        return "\n".join(line[:300] for line in lines[-6:]) or "nothing"

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0


def launch(
    command: Sequence[str],
    guard: Guard,
    log: Log,
    folder: Path,
    *,
    owner: Owner | None = None,
    environment: Mapping[str, str] | None = None,
    entered: Path = Path("/dev/null"),
) -> subprocess.Popen[bytes]:
    """Start the command in ``folder``, under the guard's eye. ``Popen.pid`` is the program's.
    ``entered`` is the file that it reads as its standard input."""
    owner = owner or Owner()
    log.begin()
    with log.path.open("ab") as output:
        process = subprocess.Popen(
            [*_GATE, str(entered), *owner.prefix, *command],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the harness alone
            user=owner.user,
            group=owner.group,
            extra_groups=None if owner.user is None else [],
        )
    assert process.stdin is not None
    try:
        guard.started(process.pid)
        process.stdin.write(b"go\n")
        process.stdin.close()
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process


def plain_environment() -> dict[str, str]:
    """Our environment without what would redirect PostgreSQL's programs (PGDATA, PGPORT, …)."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**kept, "LC_ALL": "C", "LANG": "C", "TZ": "UTC"}
