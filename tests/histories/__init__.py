"""Hand-written histories with known verdicts: judges that share a specification cannot find its
errors, these can. ``convicting`` must be accused of their code, ``legal`` of nothing at all."""
