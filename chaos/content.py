"""What code a target is: a digest of the files that it had the interpreter load.

A version says what somebody wrote down; the digest says what ran. It covers the modules that were
loaded for the target, its libraries too, and not the standard library or the suite itself.
"""

from __future__ import annotations

import hashlib
import sys
import sysconfig
from pathlib import Path
from typing import Final

DIGITS: Final = 12
"""How much of the digest is shown, hexadecimal digits."""

_STANDARD: Final = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
_INSTALLED: Final = tuple(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))
_SUITE: Final = __name__.partition(".")[0]
_TARGETS: Final = f"{_SUITE}.targets."


def content_hash(before: frozenset[str]) -> str:
    """The digest over every module that was loaded since ``before``; empty if there is no file."""
    found = {
        name: Path(file)
        for name, module in sorted(sys.modules.items())
        if name not in before
        and not (name.startswith(f"{_SUITE}.") and not name.startswith(_TARGETS))
        and (file := getattr(module, "__file__", None)) is not None
    }
    digest = hashlib.sha256()
    counted = 0
    for name, path in found.items():
        if _is_standard(path):
            continue
        try:
            content = path.read_bytes()
        except OSError:
            continue  # a module out of an archive, or one that is gone by now
        digest.update(f"{name}\n{len(content)}\n".encode())
        digest.update(content)
        counted += 1
    return digest.hexdigest()[:DIGITS] if counted else ""


def _is_standard(path: Path) -> bool:
    installed = any(path.is_relative_to(folder) for folder in _INSTALLED)
    return not installed and any(path.is_relative_to(folder) for folder in _STANDARD)
