"""The command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from . import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit code."""
    parser = argparse.ArgumentParser(prog="admitone", description=__doc__)
    parser.add_argument("--version", action="version", version=f"admitone {__version__}")
    parser.parse_args(argv)
    return 0
