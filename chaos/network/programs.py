"""Where the programs of the suite's own are: named by the user, on the machine, or built before.

``admitone install`` builds them into the cache; nothing else does, for a test run must not begin
with a download.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from ..servers import ServerMissing

TOXIPROXY_VARIABLE: Final = "ADMITONE_TOXIPROXY"
CACHE_VARIABLE: Final = "ADMITONE_CACHE"
INSTALL_TOXIPROXY: Final = "admitone install toxiproxy"

_VERSION_DEADLINE_S: Final = 20.0
_OLDEST: Final = (2, 5)
_TOO_NEW: Final = (3, 0)
"""Which Toxiproxy a machine may bring along: from the one, before the other."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program that is built from a Go module of the suite's own.

    ``module`` is the folder of that module, ``package`` the program's in Go, ``pinned`` the Go
    module that holds it. ``variable``: what its builder has to set, so that it says its version.
    """

    name: str
    module: str
    package: str
    pinned: str
    variable: str = ""

    @property
    def version(self) -> str:
        """What go.mod pins."""
        found = re.search(
            rf"^\s*{re.escape(self.pinned)} v(\S+)", module_text(self.module, "go.mod"), re.M
        )
        assert found, f"go.mod of {self.module} does not pin {self.pinned}"
        return found[1]

    @property
    def oldest_go(self) -> tuple[int, int]:
        """The oldest Go that builds it, as go.mod says."""
        found = re.search(r"^go (\d+)\.(\d+)", module_text(self.module, "go.mod"), re.M)
        assert found, f"go.mod of {self.module} names no Go"
        return int(found[1]), int(found[2])

    @property
    def built(self) -> Path:
        """Where the build of exactly this version and these checksums is, or would be."""
        digest = hashlib.sha256(module_text(self.module, "go.sum").encode()).hexdigest()[:12]
        name = f"{self.name}-{self.version}-{platform.machine()}-{digest}"  # homes are shared
        return cache_folder() / "bin" / name


@dataclass(frozen=True, slots=True)
class Found:
    """A program on this machine, and how it came there."""

    path: Path
    how: str


TOXIPROXY: Final = Program(
    "toxiproxy-server",
    "toxiproxy",
    "github.com/Shopify/toxiproxy/v2/cmd/server",
    "github.com/Shopify/toxiproxy/v2",
    "github.com/Shopify/toxiproxy/v2.Version",
)
ETCD: Final = Program("etcd", "etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3")
ETCDCTL: Final = Program(
    "etcdctl", "etcd", "go.etcd.io/etcd/etcdctl/v3", "go.etcd.io/etcd/etcdctl/v3"
)


def module_text(module: str, name: str) -> str:
    """A file of one of the Go modules that are shipped beside this file."""
    return (files(__package__) / "go" / module / name).read_text("utf-8")


def cache_folder() -> Path:
    """Where built programs are kept between runs."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named)
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "admitone"
    return Path.home() / ".cache" / "admitone"


def find_toxiproxy() -> Found:
    """The one that is here. Raises ``ServerMissing``."""
    found = seek_toxiproxy()
    if isinstance(found, Found):
        return found
    raise ServerMissing(f"there is no Toxiproxy here{found}. Run: {INSTALL_TOXIPROXY}")


def seek_toxiproxy() -> Found | str:
    """The one that the user names, else a fitting one on the PATH, else the one built here, else
    why one that is here was not taken. Raises ``ServerMissing`` where the name leads nowhere."""
    if named := os.environ.get(TOXIPROXY_VARIABLE):
        found = shutil.which(named)
        if found and _fits(said := version_said(found), nameless=True):
            return Found(Path(found).absolute(), TOXIPROXY_VARIABLE)
        what = f"no Toxiproxy of version 2.5 to 2.x (it says {said!r})" if found else "no program"
        raise ServerMissing(
            f"{TOXIPROXY_VARIABLE} names {named}, which is {what}. Name a toxiproxy-server, "
            f"or unset it. Run: {INSTALL_TOXIPROXY}"
        )
    refused = ""
    if on_path := shutil.which("toxiproxy-server"):
        if _fits(version_said(on_path)):
            return Found(Path(on_path).absolute(), "on the PATH")
        refused = f" ({on_path} is none of version 2.5 to 2.x)"
    if os.access(TOXIPROXY.built, os.X_OK):
        return Found(TOXIPROXY.built, f"version {TOXIPROXY.version}, built here")
    return refused


def _fits(said: str, *, nameless: bool = False) -> bool:
    """Whether a program that says this of its version is a Toxiproxy that will do. ``nameless``:
    one whose builder gave it no number will do too."""
    numbers = re.search(r"\b(\d+)\.(\d+)", said)
    if numbers is None:
        return nameless and "toxiproxy" in said.lower()
    return _OLDEST <= (int(numbers[1]), int(numbers[2])) < _TOO_NEW


@lru_cache(maxsize=8)
def version_said(program: str) -> str:
    """What a Toxiproxy says of its version; empty if it says none."""
    try:
        done = subprocess.run(
            [program, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_VERSION_DEADLINE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[:200].decode("utf-8", "replace").strip() if done.returncode == 0 else ""
