"""Delegation: the reference is acquitted, and one ledger for each rule is convicted by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.played import acquitted, codes, played


def test_the_reference_is_acquitted(scratch: Path) -> None:
    plans = (
        "two.b2.idem.s0",
        "narrow.session.b1.idem.s0",
        "wide.task.b2.ctrl.s0",
        "wide.budget.b1.idem.s0",
        "wide.session_longer.b1.ctrl.s0",
        "odd.negative.b2.idem.s0",
        "odd.huge.b1.idem.s0",
        "mutated.b1.idem.s0",
        "stranger.b1.ctrl.s0",
        "conserved.b2.idem.s0",
        "closed.twice.b2.idem.s0",
        "closed.used.b1.ctrl.s0",
        "closed.revoked.b1.idem.s0",
        "closed.again.b2.idem.s0",
        "closed.reborn.b2.ctrl.s0",
        "closed.below.b1.idem.s0",
        "revoked.b2.idem.s0",
        "below.b2.idem.s0",
        "orphaned.b1.ctrl.s0",
        "cut.reply.drop.b1.idem.s0",
    )
    results = played("builtin:caplease-sqlite", "delegation", scratch, plans)
    acquitted(results, "AO501", "AO502", "AO503", "AO504", "AO404", "AO204", "AO403", "AO703")


def test_the_reference_is_acquitted_of_races(scratch: Path) -> None:
    plans = (
        "race.prepare.statement3.after.b1.idem.s0",
        "race.delegate.write1.before.b2.idem.s0",
        "both.delegate.statement3.after.b1.ctrl.s0",
    )
    results = played("builtin:caplease-sqlite", "delegation", scratch, plans)
    acquitted(results, "AO502")
    assert all(result.races_overlapped == 1 for result in results)


@pytest.mark.parametrize(
    ("target", "plan", "found"),
    [
        ("delegate-as-asked", "wide.session.b1.idem.s0", {"AO501"}),
        ("delegate-as-asked", "wide.schema_epoch.b1.idem.s0", {"AO501"}),
        ("MD1", "conserved.b1.idem.s0", {"AO502"}),
        ("MD2", "both.delegate.write1.before.b1.idem.s0", {"AO502"}),
        ("revoke-one-record", "revoked.b1.idem.s0", {"AO503"}),
        ("revoke-one-record", "below.b2.idem.s0", {"AO503"}),
        ("close-keeps", "closed.unused.b1.idem.s0", {"AO504"}),
        ("kin-unrecorded", "one.b1.idem.s0", {"AO703"}),
        ("kin-unrecorded", "closed.unused.b2.idem.s0", {"AO703"}),
        ("revoke-counts-own", "revoked.b1.idem.s0", {"AO403"}),
        ("revoke-counts-own", "begun.b2.idem.s0", {"AO403"}),
        ("revoke-counts-own", "orphaned.b1.ctrl.s0", {"AO403"}),
    ],
)
def test_each_rule_convicts_whoever_breaks_it(
    target: str, plan: str, found: set[str], scratch: Path
) -> None:
    assert codes(played(f"builtin:broken/{target}", "delegation", scratch, [plan])) == found


@pytest.mark.parametrize(
    ("target", "plan", "code"),
    [
        ("ClosesUnrecorded", "closed.unused.b1.idem.s0", "AO703"),
        ("ClosesUnrecorded", "closed.twice.b2.idem.s0", "AO703"),
        ("RecordsTwice", "closed.unused.b2.idem.s0", "AO703"),
        ("CountsWhatRan", "begun.b1.idem.s0", "AO403"),
        ("CountsWhatRan", "orphaned.b2.ctrl.s0", "AO403"),
    ],
)
def test_what_is_wrong_of_children_alone_is_convicted(
    target: str, plan: str, code: str, scratch: Path
) -> None:
    results = played(f"py:tests.order_ledgers:{target}", "delegation", scratch, [plan])
    assert codes(results) == {code}


def test_a_child_that_gives_back_what_it_used_is_convicted(scratch: Path) -> None:
    target = "py:tests.order_ledgers:FullRefund"
    found = codes(played(target, "delegation", scratch, ["closed.used.b2.idem.s0"]))
    assert found == {"AO504", "AO104", "AO304"}


CHILDREN = {
    "CutsByBeginning": ("wide.session_longer.b1.idem.s0", {"AO501"}),
    "CutsAnything": ("odd.negative.b1.idem.s0", {"AO102", "AO103", "AO502"}),
    "TakesAgain": ("closed.again.b2.idem.s0", {"AO504"}),
    "ReturnsAgain": ("closed.revoked.b1.ctrl.s0", {"AO102", "AO502"}),
    "OpensAgain": ("closed.reborn.b2.ctrl.s0", {"AO102", "AO502", "AO504"}),
    "ClosesInTwo": ("ended.write1.after.kill.b2.idem.s0", {"AO504"}),
    "ClosesOne": ("closed.below.b1.ctrl.s0", {"AO102", "AO502"}),
}


@pytest.mark.parametrize("name", CHILDREN)
def test_what_a_child_takes_and_leaves_is_counted(name: str, scratch: Path) -> None:
    plan, found = CHILDREN[name]
    assert codes(played(f"py:tests.voucher_bugs:{name}", "delegation", scratch, [plan])) == found


def test_a_ledger_that_counts_by_arithmetic_is_acquitted(scratch: Path) -> None:
    plans = [plan for plan, _ in CHILDREN.values()] + ["ended.reply.drop.b2.idem.s0"]
    plans += ["two.b2.idem.s0", "conserved.b2.ctrl.s0", "odd.fraction.b2.idem.s0"]
    results = played("py:tests.voucher_ledger:VoucherTarget", "delegation", scratch, plans)
    acquitted(results, "AO501", "AO502", "AO504")
