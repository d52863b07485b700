"""How often could it still fail? The exact one-sided 95 % bound of Clopper and Pearson.

"Upheld in 400 schedules" alone invites more trust than it earns. Beside it stands the largest
failure rate, *over the distribution of schedules that was run*, which 95 % of such runs would
have exposed. It says nothing about schedules that were never drawn.
"""

from __future__ import annotations

from math import exp, lgamma, log
from typing import Final

_RISK: Final = 0.05
_HALVINGS: Final = 60  # the bracket is then narrower than a double can tell


def upper_bound_95(failures: int, schedules: int) -> float:
    """The p at which ``failures`` or fewer in ``schedules`` has probability 5 %.

    >>> round(upper_bound_95(0, 300), 5)
    0.00994
    """
    if not 0 <= failures <= schedules:
        raise ValueError(f"{failures} failures in {schedules} schedules")
    if failures == schedules:  # also "nothing was run": then nothing is excluded
        return 1.0
    if failures == 0:
        return float(1.0 - _RISK ** (1.0 / schedules))
    low, high = failures / schedules, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if at_most(failures, schedules, middle) > _RISK:
            low = middle
        else:
            high = middle
    return high


def at_most(successes: int, trials: int, p: float) -> float:
    """P[X <= successes] for X binomial(trials, p), where p is above successes / trials.

    Above that ratio the terms fall geometrically from the last one down, so summing from it is
    short and loses nothing.
    """
    if p >= 1.0:
        return 0.0
    term = exp(
        lgamma(trials + 1)
        - lgamma(successes + 1)
        - lgamma(trials - successes + 1)
        + successes * log(p)
        + (trials - successes) * log(1.0 - p)
    )
    total, count = term, successes
    while count > 0 and term > total * 1e-17:
        term *= count * (1.0 - p) / ((trials - count + 1) * p)
        total += term
        count -= 1
    return total
