"""Build shim: the five code folders live at the repository root and are linked into src/admitone.

Where a checkout lost its links (a zip download, Windows) each is a small text file there: then the
folders themselves are mapped. Everything else about the build is in pyproject.toml.
"""

from __future__ import annotations

from pathlib import Path

from setuptools import find_packages, setup

PARTS = ("targets", "idempotent_sink", "chaos", "scenarios", "reports")
root = Path(__file__).parent

package_dir = {"": "src"}
packages = find_packages("src")
if not all((root / "src" / "admitone" / part).is_dir() for part in PARTS):
    for part in PARTS:
        package_dir[f"admitone.{part}"] = part
        packages += [f"admitone.{part}", *(f"admitone.{part}.{s}" for s in find_packages(part))]

setup(package_dir=package_dir, packages=packages)
