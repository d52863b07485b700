"""The process that a hand-written crash test starts: a victim, or the one that heals after it.

``python process.py MODULE PATH victim POINT BUDGET`` or ``... healer - BUDGET``. It talks in lines
with the test: ``at POINT`` and then it waits for its death, ``effect KEY`` and then it reads the
receipt, at the end ``done`` with the number of admissions and the states of the slots.
"""

from __future__ import annotations

import importlib
import json
import sys


def main(module: str, path: str, role: str, point: str, budget: int) -> None:
    """Be the victim or the healer."""

    def stand(here: str) -> None:
        if here == point:
            print(f"at {here}", flush=True)
            sys.stdin.readline()  # never answered: the test kills

    def effect(key: str) -> str:
        stand("before effect")
        print(f"effect {key}", flush=True)
        receipt = sys.stdin.readline().strip()
        stand("after effect")
        return receipt

    ledger = importlib.import_module(module).Ledger(path, stand)
    nu = ledger.issue("pay 10 to bob", "event-1", budget)
    admitted = 0
    if role == "victim":
        admission = ledger.prepare(nu, "attempt-1")
        ledger.commit(nu, admission[0], effect(admission[1]))
    else:
        for nu_, j, key in ledger.unfinished():
            ledger.commit(nu_, j, effect(key))
        for number in range(1, budget + 3):  # the hurt attempt first, then to the refusal
            admission = ledger.prepare(nu, f"attempt-{number}")
            if admission is None:
                break
            admitted += 1
            if number > 1 or ledger.states()[admission[0]] != "Committed":
                ledger.commit(nu, admission[0], effect(admission[1]))
    print("done " + json.dumps([admitted, ledger.states()]), flush=True)


if __name__ == "__main__":
    what, store, part, place, units = sys.argv[1:]
    main(what, store, part, place, int(units))
