"""Fault injection and concurrency tests for authorization ledgers.

The public API. It stays light: pytest imports this package in every project of an environment
that admitone is installed in, so nothing here imports the rest before it is asked for.
"""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
