"""Correct ledgers of other makes than the references, sharing no code with them or each other.

They guard the suite against knowing only itself: a check that accuses one of them is wrong.
They are also examples: each file is a small library as a stranger might write it, and the
adapter that puts it under test.
"""
