"""The image: an empty cluster made once by initdb, copied for every server.

It may be kept between runs, and is made by whichever process comes first while the others wait.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from . import ServerProblem
from .find import Installation, find_postgres
from .guard import DATA, Guard
from .launch import Log, launch, plain_environment
from .owner import Owner, owner_for
from .segments import remove_segment
from .tree import kill_tree

USER: Final = "admitone"
DATABASE: Final = "admitone"
_REVISION = 1
"""To be raised when an image is to be made otherwise than before."""

ROOM_MIB: Final = 40
"""What a cluster takes, and a little more."""

_DEADLINE_S = 120.0
_INITDB = (
    *("--no-sync", "--no-instructions", "--no-clean", "--username", USER, "--auth", "trust"),
    *("--encoding", "UTF8", "--locale", "C", "--wal-segsize", "1"),
)
_KEPT = "initdb: data directory"
"""What it says of --no-clean: what it leaves is removed here, when its memory was found by it."""

_SETTLE = f"ALTER DATABASE postgres RENAME TO {DATABASE};\n"


@dataclass(frozen=True, slots=True)
class Image:
    """A cluster that no server ever ran on, the programs that made it, and as whom they run."""

    folder: Path
    installation: Installation
    owner: Owner

    @staticmethod
    def kept_in(kept: Path, installation: Installation | None = None) -> Image:
        """The image in ``kept``, made if it is not there yet."""
        installation = installation or find_postgres()
        owner = owner_for(installation.program("postgres"))
        name = f"postgres-{installation.version}-{os.geteuid()}-{_REVISION}"
        image = Image(kept / name, installation, owner)
        if image.folder.is_dir():
            return image
        try:
            kept.mkdir(parents=True, exist_ok=True)
            with _locked(kept / f"{name}.lock"):
                if not image.folder.is_dir():
                    image.make()
        except OSError as problem:
            raise ServerProblem(_no_place("made", kept, str(problem))) from None
        return image

    def make(self) -> None:
        """Make it where it is not; nobody else may be at it."""
        for left in self._beside("making-*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        making = self.folder.with_name(f"{self.folder.name}.making-{secrets.token_hex(4)}")
        whole = making.with_name(f"{making.name}-whole")
        place = self.owner.place(making)
        guard = Guard(place)
        try:
            self._run(guard, place, ["initdb", *_INITDB, "--pgdata", str(place / DATA)])
            single = ["postgres", "--single", "-D", str(place / DATA), "template1"]
            self._run(guard, place, single, _SETTLE)
            shutil.move(place / DATA, whole)
            whole.rename(self.folder)  # whoever sees it sees all of it
        finally:
            remove_segment(place / DATA)
            shutil.rmtree(place, ignore_errors=True)
            guard.close()

    def copy_to(self, data: Path) -> None:
        """A cluster of its own for a server, in a folder that does not exist yet."""
        copied = subprocess.run(
            ["cp", "-a", "--reflink=auto", str(self.folder), str(data)],
            capture_output=True,
            text=True,
            check=False,
        )
        if copied.returncode != 0:
            problem = copied.stderr.strip().rpartition("\n")[2]
            raise ServerProblem(_no_place("copied", data.parent, problem))
        self.owner.give(data)

    def _beside(self, pattern: str) -> list[Path]:
        return list(self.folder.parent.glob(f"{self.folder.name}.{pattern}"))

    def _run(self, guard: Guard, place: Path, command: list[str], said: str = "") -> None:
        log = Log(place / "making.log")
        entered = place / "commands"
        entered.write_text(said)
        self.owner.give(entered)
        program = str(self.installation.program(command[0]))
        process = launch(
            [program, *command[1:]],
            guard,
            log,
            place,
            owner=self.owner,
            environment=plain_environment(),
            entered=entered,
        )
        try:
            code = process.wait(_DEADLINE_S)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.returncode is None:
                kill_tree(process.pid)
                process.wait()
            guard.started(0)
        if code != 0:
            told = [line for line in log.tail().splitlines() if not line.startswith(_KEPT)]
            problem = f"{program} failed ({code}): {' '.join(told)}"
            raise ServerProblem(_no_place("made", place, problem))


def _no_place(what: str, folder: Path, problem: str) -> str:
    free = shutil.disk_usage(folder).free >> 20 if folder.exists() else 0
    full = "o space left" in problem or free < ROOM_MIB
    todo = "Free some there, or set TMPDIR to another folder." if full else "Is it writable?"
    return (
        f"a PostgreSQL cluster could not be {what} in {folder} ({free} MiB free, "
        f"{ROOM_MIB} needed): {problem}. {todo}"
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
