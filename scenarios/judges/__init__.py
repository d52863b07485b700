"""Judges of linearizability: each says of which histories its verdict is exact."""
