"""Both judges against a search through all orders, and against known verdicts.

Two judges written from one specification share its errors, so histories whose verdict was found
by hand stand beside the random ones.
"""

from __future__ import annotations

from itertools import permutations
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admitone.scenarios import judges
from admitone.scenarios.checks.linear import member
from admitone.scenarios.judges.budget import NEVER, Operation, Prepare, Revoke, explain
from admitone.scenarios.judges.general import FEASIBLE, linearizable
from admitone.scenarios.story import tell
from admitone.targets.declaration import Facts
from admitone.targets.terms import Validity
from tests.historybuilder import Builder, Use


def searched(budget: int, operations: list[Operation]) -> bool:
    """Try every subset of the unknown ones, in every order that real time allows."""
    known = [op for op in operations if op.ended != NEVER]
    perhaps = [op for op in operations if op.ended == NEVER]
    for chosen in range(2 ** len(perhaps)):
        mine = known + [op for n, op in enumerate(perhaps) if chosen >> n & 1]
        if any(_runs(budget, order) for order in permutations(mine) if _in_time(order)):
            return True
    return False


def _in_time(order: tuple[Operation, ...]) -> bool:
    latest = -NEVER
    for op in order:
        latest = max(latest, op.began)
        if latest > op.ended:
            return False
    return True


def _runs(budget: int, order: tuple[Operation, ...]) -> bool:
    """The specification, one operation after another."""
    used, stopped = 0, None
    for op in order:
        if isinstance(op, Revoke):
            count = budget - used if stopped is None else stopped
            if op.stopped is not None and op.stopped != count and (
                stopped is None or op.stopped != 0
            ):  # fmt: skip
                return False
            stopped = count
        elif op.kind == "refused":
            causes = {"exhausted": used == budget, "revoked": stopped is not None}
            if not (any(causes.values()) if op.cause == "any" else causes[op.cause]):
                return False
        else:
            if used == budget or stopped is not None:
                return False
            used += 1
    return True


instants = st.integers(0, 7)


@st.composite
def prepares(draw: st.DrawFn) -> Prepare:
    kind = draw(st.sampled_from(["granted", "refused", "unknown"]))
    began = draw(instants)
    if kind == "unknown":
        return Prepare("unknown", began)
    cause = draw(st.sampled_from(["any", "exhausted", "revoked"])) if kind == "refused" else "any"
    return Prepare(kind, began, draw(st.integers(began, 8)), cause)  # type: ignore[arg-type]


@st.composite
def revokes(draw: st.DrawFn) -> Revoke:
    began = draw(instants)
    if draw(st.booleans()):
        return Revoke(began)
    stopped = draw(st.sampled_from([None, 0, 1, 2]))
    return Revoke(began, draw(st.integers(began, 8)), stopped)


@settings(max_examples=500, deadline=None)
@given(
    st.integers(1, 3),
    st.lists(prepares(), max_size=4),
    st.lists(revokes(), max_size=2),
)
def test_it_agrees_with_a_search(budget: int, used: list[Prepare], ended: list[Revoke]) -> None:
    operations: list[Operation] = [*used, *ended]
    legal = searched(budget, operations)
    assert (explain(budget, operations) is not None) == legal
    assert linearizable(budget, operations) == legal


ok: Final = "granted"
no: Final = "refused"
KNOWN: dict[str, tuple[bool, int, list[Operation]]] = {
    "nothing": (True, 1, []),
    "one more than there is": (False, 1, [Prepare(ok, 0, 1), Prepare(ok, 2, 3)]),
    "two at once, one refused": (True, 1, [Prepare(ok, 0, 5), Prepare(no, 1, 2)]),
    "refused before anybody asked": (False, 1, [Prepare(no, 0, 1), Prepare(ok, 2, 3)]),
    "refused although a unit is left": (False, 2, [Prepare(ok, 0, 1), Prepare(no, 2, 3)]),
    "an unknown one has it": (True, 1, [Prepare("unknown", 0), Prepare(no, 2, 3)]),
    "an unknown one that begins later has it not": (
        False, 1, [Prepare(no, 0, 1), Prepare("unknown", 2)],
    ),
    "used up, revoked, and refused as revoked": (
        True, 1, [Prepare(ok, 0, 1), Revoke(2, 3, 0), Prepare(no, 4, 5, "revoked")],
    ),
    "admitted after the answer": (False, 2, [Revoke(0, 1, 2), Prepare(ok, 2, 3)]),
    "admitted while Revoke ran": (True, 2, [Revoke(0, 3, 1), Prepare(ok, 2, 4)]),
    "and counted as stopped all the same": (False, 2, [Revoke(0, 3, 2), Prepare(ok, 1, 2)]),
    "a second Revoke says none": (True, 3, [Revoke(0, 1, 3), Revoke(2, 3, 0)]),
    "or the same": (True, 3, [Revoke(0, 1, 3), Revoke(2, 3, 3)]),
    "but nothing in between": (False, 3, [Revoke(0, 1, 3), Revoke(2, 3, 1)]),
    "none stopped although all are free": (False, 2, [Revoke(0, 1, 0)]),
    "an unknown Revoke took them before": (True, 2, [Revoke(0), Revoke(2, 3, 0)]),
    "an unknown Revoke that comes too late": (False, 2, [Revoke(2, 3, 0), Revoke(4)]),
    "refused by a Revoke that is unknown": (True, 2, [Revoke(0), Prepare(no, 1, 2)]),
    "which then ends it for everybody": (
        False, 2, [Revoke(0), Prepare(no, 1, 2), Prepare(ok, 3, 4)],
    ),
    "exhausted is said, revoked was meant": (
        False, 2, [Revoke(0, 1, 2), Prepare(no, 2, 3, "exhausted")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_known_verdicts(name: str) -> None:
    legal, budget, operations = KNOWN[name]
    assert (explain(budget, operations) is not None) is legal
    assert searched(budget, operations) is legal
    assert linearizable(budget, operations) is legal


def test_a_conviction_that_the_search_can_explain_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    legal: list[Operation] = [Prepare(ok, 0, 1), Prepare(no, 2, 3)]
    assert not judges.contradicts(1, legal)
    assert judges.contradicts(2, legal)
    monkeypatch.setattr(judges, "explain", lambda *_: None)
    with pytest.raises(judges.JudgesDisagree, match="the search explains"):
        judges.contradicts(1, legal)
    many = [Prepare(ok, n, n + 1) for n in range(FEASIBLE + 1)]
    assert judges.contradicts(len(many), many)  # too many to be searched


def test_it_says_how_many_are_used_at_least() -> None:
    unknown: list[Operation] = [Prepare("unknown", 0), Prepare("unknown", 0)]
    assert explain(2, unknown) == 0
    assert explain(2, [*unknown, Prepare(no, 1, 2)]) == 2
    assert explain(2, [*unknown, Revoke(1, 2, 1)]) == 1


def test_a_hundred_thousand_operations() -> None:
    many: list[Operation] = [Prepare(ok, 2 * n, 2 * n + 1000) for n in range(50_000)]
    many += [Prepare("unknown", 2 * n) for n in range(1000)]
    many += [Prepare(no, 100_000 + n, 200_000 + n) for n in range(50_000)]
    assert explain(50_000, many) == 50_000
    assert explain(51_000, many) == 51_000
    assert explain(51_001, many) is None


def history_of(name: str) -> Builder:
    """A member, with one thing added that takes it out of the class."""
    facts = {
        "a lease that frees": Facts(lapse="readmit"),
        "a record that is forgotten": Facts(retention_s=60.0),
    }.get(name, Facts())
    validity = Validity(0.0, 60.0) if name == "an expiry" else Validity(0.0)
    h = Builder(facts=facts, validity=validity, claims=["revoke", "multi_budget"], budget=2)
    h.issue()
    use: Use = h.prepare("r1")
    if name == "a non-effect":
        h.effect(use, how="refused")
    if name == "a release":
        h.release(use)
    if name == "a child":
        h.end(h.begin("delegate"), "granted")
    if name == "two confirmations":
        h.approve("L", event="e2")
    h.revoke(1)
    return h


@pytest.mark.parametrize(
    "name",
    ["a lease that frees", "a record that is forgotten", "an expiry", "a non-effect", "a release",
     "a child", "two confirmations"],
)  # fmt: skip
def test_what_takes_a_history_out_of_the_class(name: str) -> None:
    plain = tell(history_of("nothing").history())
    assert member(plain, plain.labels[0])
    other = tell(history_of(name).history())
    assert not member(other, other.labels[0])
