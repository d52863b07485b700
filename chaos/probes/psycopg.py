"""The probe for psycopg 3, where the target imported it; see ``psycopg_methods``."""

from __future__ import annotations

import sys


def install_after_import() -> None:
    """Wrap the driver's methods if the target imported it; else do nothing, and import nothing.

    The node calls it after ``warm()``; once more does no harm.
    """
    if "psycopg" in sys.modules:
        from . import psycopg_methods

        psycopg_methods.wrap_all()


def uninstall() -> None:
    """Put the methods back."""
    if "psycopg" in sys.modules:
        from . import psycopg_methods

        psycopg_methods.unwrap_all()
