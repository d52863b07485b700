"""As whom a PostgreSQL server runs: it refuses to be root.

Not root: as who we are. Root: in a user namespace, where the same root goes by another number, so
that folders that only root can enter still work. Where namespaces are closed (some containers): as
an unprivileged user that exists. No user is ever created.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..runfolder import base_folder
from . import ServerProblem

UNPRIVILEGED = ("postgres", "nobody")
_NAMESPACE = ("unshare", "--user", "--map-user=65534", "--map-group=65534")


@dataclass(frozen=True, slots=True)
class Owner:
    """``prefix`` goes before a command, and hands over to it by exec; ``user`` and ``group`` are
    what the process is started as (None: as who we are)."""

    prefix: tuple[str, ...] = ()
    user: int | None = None
    group: int | None = None
    name: str = "this user"

    def place(self, folder: Path) -> Path:
        """An empty folder for the server: ``folder``, or another where this owner cannot enter
        that. Whoever made the server removes it."""
        if self.user is None or self.group is None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return folder
        made = Path(tempfile.mkdtemp(prefix="admitone-server-", dir=base_folder()))
        os.chown(made, self.user, self.group)
        return made

    def give(self, folder: Path) -> None:
        """Make all that is in the folder this owner's."""
        if self.user is None or self.group is None:
            return
        for path in (folder, *folder.rglob("*")):
            os.chown(path, self.user, self.group, follow_symlinks=False)


@lru_cache(maxsize=8)
def owner_for(program: Path) -> Owner:
    """As whom this program can be run here, by a try. Raises ``ServerProblem`` if as nobody."""
    if os.geteuid() != 0:
        return Owner()
    candidates = [in_a_namespace(), *(unprivileged(name) for name in UNPRIVILEGED)]
    for owner in candidates:
        if owner is not None and _can_run(owner, program):
            return owner
    raise ServerProblem(
        f"PostgreSQL refuses to run as root, and {program} could be run neither by root in a user "
        f"namespace ({' '.join(_NAMESPACE)} …) nor as another user ({', '.join(UNPRIVILEGED)}). "
        "Run the suite as another user than root, or open user namespaces "
        "(sysctl user.max_user_namespaces)."
    )


def in_a_namespace() -> Owner | None:
    """Root under another number, where the machine has the program that makes it so."""
    if shutil.which(_NAMESPACE[0]) is None:
        return None
    return Owner(_NAMESPACE, name="root in a user namespace")


def unprivileged(name: str) -> Owner | None:
    """The user of this name, where the machine has one that is not root."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Owner((), entry.pw_uid, entry.pw_gid, name) if entry.pw_uid else None


def _can_run(owner: Owner, program: Path) -> bool:
    """By a try: a folder above may be closed to it (root's home), a library too."""
    try:
        tried = subprocess.run(
            [*owner.prefix, str(program), "--version"],
            capture_output=True,
            check=False,
            cwd="/",
            user=owner.user,
            group=owner.group,
            extra_groups=None if owner.user is None else [],
        )
    except OSError:  # not even the start of it: without a prefix nobody says so by a code
        return False
    return tried.returncode == 0
