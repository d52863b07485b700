"""Ledgers that are wrong on purpose, one bug a file, each a few lines over a correct ledger.

Each target class says which check codes convict it (``convicted_by``: at least one must) and which
must stay silent on it (``never_by``): a suite that reports the wrong broken bound is wrong too.
"""
