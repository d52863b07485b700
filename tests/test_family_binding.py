"""Reissuance, binding and budgets: attacks buy nothing from a correct ledger, its owner is served,
and every ledger that is wrong in one of these ways is convicted of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from admitone.scenarios.attacker import altered
from admitone.scenarios.families import Subjects, family
from admitone.scenarios.families.variations import CALLS, CONFIRMATIONS, PRESENTERS, TYPED
from admitone.scenarios.plan import Plan
from admitone.scenarios.results import ScheduleResult
from admitone.targets.terms import Approval, Call, Confirmation, Context, Json, Validity
from tests.attacked_ledgers import CONVICTED
from tests.canonical_ledgers import FORGETS
from tests.harness_world import conducted

REFERENCE = "builtin:caplease-sqlite"
SMALL = "py:tests.small_ledger:SmallTarget"
OURS = ("reissuance", "binding", "budgets")
EXERCISED = {
    "reissuance:issued.session.b1.ctrl.s0@1": ("AO204", "AO801"),
    "reissuance:issued.more.b1.idem.s0@1": ("AO101", "AO205"),
    "reissuance:prepared.action.b2.idem.s0@1": ("AO202", "AO303"),
    "reissuance:committed.again.b1.idem.s0@1": ("AO101", "AO304"),
    "reissuance:killed.node.b2.ctrl.s0@1": ("AO303", "AO701"),
    "reissuance:revoked.executor.b2.idem.s0@1": ("AO204",),
    "reissuance:committed.fresh.b1.idem.s0@1": ("AO805",),
    "binding:theft.executor.b1.idem.s0@1": ("AO204", "AO801", "AO802"),
    "binding:call.nested.b2.ctrl.s0@1": ("AO202", "AO801"),
    "binding:credential.altered.b1.idem.s0@1": ("AO205", "AO801"),
    "binding:credential.foreign.b1.idem.s0@1": ("AO204",),
    "binding:receipt.number.b1.ctrl.s0@1": ("AO206",),
    "binding:receipt.unit.b2.idem.s0@1": ("AO206",),
    "binding:receipt.renewed.b1.ctrl.s0@1": ("AO206",),
    "binding:sink.payload.b1.idem.s0@1": ("AO601", "AO602"),
    "binding:repeated.executor.b1.idem.s0@1": ("AO204", "AO802"),
    "binding:repeated.call.b2.ctrl.s0@1": ("AO202", "AO802"),
    "budgets:crash.b5.idem.s0@1": ("AO701", "AO802"),
    "budgets:order.b10.ctrl.s0@1": ("AO203", "AO802"),
    "binding:context.nobody.b1.ctrl.s0@1": ("AO204",),
    "budgets:alternate.b5.idem.s0@1": ("AO103", "AO802"),
}
"""Schedules, with checks that must have had a chance to convict."""
BY_KEY = (":receipt.unit", ":receipt.renewed")
"""What a ledger that gives no keys cannot tell from the right one."""


def play(target: str, folder: Path, names: Sequence[str]) -> dict[str, ScheduleResult]:
    plans = {name: Plan.parse(f"{target.removeprefix('builtin:')}/{name}") for name in names}
    with conducted(target, folder) as (conductor, _):
        return {name: conductor.play(plan, virgin=True).result for name, plan in plans.items()}


@pytest.mark.parametrize("target", [REFERENCE, "builtin:correct/counter", SMALL])
def test_a_correct_ledger_is_not_accused(target: str, scratch: Path) -> None:
    without = {SMALL: ("revoked",), "builtin:correct/counter": BY_KEY}.get(target, ())
    names = [n for n in EXERCISED if not any(word in n for word in without)]
    results = play(target, scratch, names)
    assert {n: (r.verdict, r.reason, r.findings) for n, r in results.items()} == dict.fromkeys(
        names, ("passed", "", ())
    )


@pytest.mark.parametrize(
    ("name", "what"),
    [("WhatIsThere", "nobody"), ("WhatIsThere", "no_task"), ("Beginnings", "shorter")],
)
def test_half_a_comparison_is_convicted(name: str, what: str, scratch: Path) -> None:
    schedule = f"binding:context.{what}.b1.idem.s0@1"
    [wrong] = play(f"py:tests.voucher_bugs:{name}", scratch, [schedule]).values()
    assert {finding.code for finding in wrong.findings} == {"AO204"}


def test_a_refusal_that_leaves_its_lock_behind_is_convicted(scratch: Path) -> None:
    [result] = play(
        "py:tests.voucher_bugs:LeavesOpen", scratch, ["binding:theft.executor.b1.idem.s0@1"]
    ).values()
    assert {finding.code for finding in result.findings} == {"AO804"}


def test_of_two_at_work_the_one_that_ended_is_written_down(scratch: Path) -> None:
    names = [f"budgets:crash.b{b}.idem.s0@1" for b in (2, 5)]
    results = play("py:tests.voucher_bugs:EndsTheYoungest", scratch, names)
    assert [{f.code for f in results[name].findings} for name in names] == [{"AO302"}] * 2


def test_who_compares_all_is_not_accused(scratch: Path) -> None:
    names = [f"binding:context.{w}.b1.idem.s0@1" for w in ("nobody", "no_task", "shorter")]
    results = play("py:tests.voucher_ledger:VoucherTarget", scratch, names)
    assert {result.verdict for result in results.values()} == {"passed"}


def test_a_credential_that_alone_is_the_authority_is_its_owners(scratch: Path) -> None:
    """A ledger that runs the effect itself does not say whose unit it took: its owner, who brings
    his own credential under the name of another record, is served by his own."""
    names = [
        f"binding:credential.{what}.b{b}.idem.s0@1"
        for what in ("foreign", "altered")
        for b in (1, 2)
    ]
    results = play("py:tests.odd_ledgers:CredentialAlone", scratch, names)
    assert {n: (r.verdict, r.findings) for n, r in results.items()} == dict.fromkeys(
        names, ("passed", ())
    )


def test_what_a_schedule_is_for_is_exercised(scratch: Path) -> None:
    results = play(REFERENCE, scratch, list(EXERCISED))
    idle = {
        name: [code for code in codes if not results[name].opportunities[code]]
        for name, codes in EXERCISED.items()
    }
    assert idle == {name: [] for name in EXERCISED}


@pytest.mark.parametrize("name", CONVICTED)
def test_a_broken_ledger_is_convicted(name: str, scratch: Path) -> None:
    schedule, code = CONVICTED[name]
    [result] = play(f"py:tests.attacked_ledgers:{name}", scratch, [schedule]).values()
    assert result.verdict == "violation", result.reason
    assert code in {finding.code for finding in result.findings}


@pytest.mark.parametrize(
    ("target", "schedule", "codes"),
    [
        ("broken/MI2a", "reissuance:issued.session.b1.ctrl.s0@1", {"AO101"}),
        ("broken/MI3", "reissuance:committed.again.b1.ctrl.s0@1", {"AO304"}),
        ("broken/MI3", "budgets:reissue.b2.ctrl.s0@1", {"AO304"}),
        ("broken/MP10", "binding:call.amount.b1.idem.s0@1", {"AO202"}),
        ("broken/MP10", "binding:context.task.b1.idem.s0@1", {"AO204"}),
        ("broken/receipt-of-another", "binding:receipt.unit.b2.ctrl.s0@1", {"AO206"}),
        ("broken/receipt-of-another", "binding:receipt.renewed.b1.idem.s0@1", {"AO206"}),
        ("broken/receipt-replaced", "binding:receipt.unit.b2.idem.s0@1", {"AO206"}),
        ("broken/receipt-replaced", "binding:receipt.effect.b1.ctrl.s0@1", {"AO206"}),
        ("broken/MP4a", "budgets:drain.b5.ctrl.s0@1", {"AO102"}),
    ],
)
def test_a_seeded_bug_is_convicted(
    target: str, schedule: str, codes: set[str], scratch: Path
) -> None:
    [result] = play(f"builtin:{target}", scratch, [schedule]).values()
    assert codes <= {finding.code for finding in result.findings}, result.reason


def test_a_canonical_form_of_the_ledgers_own_is_convicted(scratch: Path) -> None:
    forgets = ("case", "space", "wide", "zero", "null")
    target = "py:tests.attacked_ledgers:Folding"
    with conducted(target, scratch) as (conductor, fitting):
        subject = Subjects(target, fitting.greeting.declaration, fitting.survey)
        plans = {p.params: p for p in family("binding").placed(subject)}
        results = {
            name: conductor.play(plans["call", name], virgin=True).result
            for name in (*forgets, "shorter")
        }
    found = {name: {f.code for f in result.findings} for name, result in results.items()}
    assert found == {**{name: {"AO202"} for name in forgets}, "shorter": set()}


@pytest.mark.parametrize("name", FORGETS)
def test_a_canonical_form_is_convicted_of_what_it_forgets(name: str, scratch: Path) -> None:
    target, suspects = (
        f"py:tests.canonical_ledgers:{name}",
        {n for f in FORGETS.values() for n in f},
    )
    with conducted(target, scratch) as (conductor, fitting):
        subject = Subjects(target, fitting.greeting.declaration, fitting.survey)
        plans = {p.params: p for p in family("binding").placed(subject)}
        results = {n: conductor.play(plans["call", n], virgin=True).result for n in suspects}
    found = {n: {f.code for f in result.findings} for n, result in results.items()}
    assert {n for n, codes in found.items() if "AO202" in codes} == set(FORGETS[name])


def test_an_attempt_is_no_way_around_the_call(scratch: Path) -> None:
    names = ["binding:repeated.call.b1.ctrl.s0@1"]
    [result] = play("py:tests.attacked_ledgers:AttemptFirst", scratch, names).values()
    assert "AO202" in {finding.code for finding in result.findings}


def test_a_comparison_by_order_or_by_beginning_is_tried_from_both_sides() -> None:
    context = Context("executor-1", "s", "t", 5, 5)
    shown = [change(context) for change in PRESENTERS.values()]
    assert {c.policy_epoch for c in shown} == {c.schema_epoch for c in shown} == {4, 5, 6}
    assert any(c.executor.startswith("executor-1") and c.executor != "executor-1" for c in shown)


@pytest.mark.parametrize("name", OURS)
def test_every_plan_is_placed_once_and_reads_back(name: str, scratch: Path) -> None:
    with conducted(REFERENCE, scratch) as (_, fitting):
        subject = Subjects(REFERENCE, fitting.greeting.declaration, fitting.survey)
        plans = list(family(name).placed(subject))
    assert len({(plan.params, plan.budget) for plan in plans}) == len(plans)
    assert 10 <= len(plans) <= 75
    assert {plan.sink for plan in plans} == {"idempotent", "control"}
    assert [Plan.parse(plan.id).id for plan in plans] == [plan.id for plan in plans]
    assert family(name).rows


def test_a_plan_that_the_ledger_cannot_have_is_said(scratch: Path) -> None:
    target = "builtin:correct/guarded"
    names = (
        "binding:receipt.mac.b1.idem.s0@1",
        "reissuance:prepared.again.b1.idem.s0@1",
        "budgets:order.b2.idem.s0@1",
        "budgets:drain.b3.idem.s0@1",
    )
    results = play(target, scratch, names)
    assert {result.verdict for result in results.values()} == {"could_not_run"}


CUTS = ("its first half", "nothing in it")


def test_each_leaf_of_a_credential_is_altered_alone() -> None:
    credential: Json = {"nu": "r-1", "b": 2, "chi": ["e1", True], "te": None, "empty": ""}
    found = dict(altered(credential))
    cut = {f"{name} ({how})" for name in ("nu", "chi[0]") for how in CUTS}
    assert set(found) == {"nu", "b", "chi[0]", "chi[1]", "te", "empty", *cut}
    for other in found.values():
        assert isinstance(other, dict)
        assert isinstance(credential, dict)
        assert other != credential
        assert sum(other[name] != credential[name] for name in credential) == 1
    assert dict(altered("token")) == {
        "text": "to1en",
        "text (its first half)": "to",
        "text (nothing in it)": "",
    }


def test_each_variation_changes_one_field() -> None:
    call = Call("pay", {"to": "a-1", "amount": "1.00", "memo": "no m", **TYPED}, "user", "account")
    for name, change in CALLS.items():
        other = change(call)
        fields = ("tool", "args", "principal", "resource", "tool_version")
        differing = [f for f in fields if repr(getattr(other, f)) != repr(getattr(call, f))]
        assert len(differing) == 1, name
    approval = Approval(
        call, Confirmation("e", "user", "sigma", 1, "mac"), 1, Context("x", "s", "t"), Validity(0.0)
    )
    for name, forge in CONFIRMATIONS.items():
        forgery = forge(approval)
        differing = [
            field
            for field in ("confirmation", "call", "budget")
            if getattr(forgery, field) not in (None, getattr(approval, field))
        ]
        assert differing, name
        # a larger budget is confirmed and asked for; anything else is changed alone
        expected = ["confirmation", "budget"] if name == "budget" else differing[:1]
        assert differing == expected, name


def test_of_a_record_in_the_clients_hand_no_more_is_asked_than_it_can_know(scratch: Path) -> None:
    with conducted(REFERENCE, scratch) as (_, fitting):
        kept = fitting.greeting.declaration
        held = replace(kept, facts=replace(kept.facts, issues="held"))
        pairs = [
            {plan.params for plan in family("reissuance").placed(subject)}
            for subject in (Subjects(REFERENCE, d, fitting.survey) for d in (kept, held))
        ]
    assert pairs[0] - pairs[1] == {("issued", "action")}
