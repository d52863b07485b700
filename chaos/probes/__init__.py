"""Probes: they find the stops inside a Python ledger without changing it."""
