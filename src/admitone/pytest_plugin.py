"""The pytest plugin: its options, and nothing that imports the suite.

pytest loads this module in every project of the environment, so it must cost nothing there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options; they mean nothing to tests that do not ask for them."""
    parser.getgroup("admitone", "authorization ledgers").addoption(
        "--admitone-target",
        metavar="TARGET",
        default=None,
        help="the ledger under test: builtin:NAME, py:package.module:Factory, exec:CMD, "
        "http://host:port/ or a configured name",
    )
