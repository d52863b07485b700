"""A project's conftest.py: it names the ledger under test."""

import pytest


@pytest.fixture(scope="session")
def ledger_target():
    return "py:tickets_target:TicketsTarget"
