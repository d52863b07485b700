"""``admitone explain CODE``: one page on one check."""

from __future__ import annotations

import argparse
import difflib
import textwrap

from .cli import UsageProblem
from .scenarios.checks import CHECKS


def explain(options: argparse.Namespace) -> int:
    """Print what a code means, its usual cause, and what to do about it."""
    code = options.code.strip().upper()
    check = CHECKS.get(code)
    if check is None:
        near = difflib.get_close_matches(code, CHECKS, 3, 0.5)
        hint = f"Did you mean {', '.join(near)}?" if near else f"There are: {', '.join(CHECKS)}."
        raise UsageProblem(f"explain {options.code[:40]}: no check has this code. {hint}")
    claim = "the core: judged for every ledger" if check.claim is None else f"claim {check.claim}"
    print(f"{check.code}  {check.title}")
    for head, text in (
        ("Judged for", claim),
        ("Source", check.section),
        ("Meaning", check.meaning),
        ("Usual cause", check.cause),
        ("What to do", check.remedy),
    ):
        print(f"\n{head}")
        print(
            textwrap.fill(" ".join(text.split()), 88, initial_indent="  ", subsequent_indent="  ")
        )
    return 0
