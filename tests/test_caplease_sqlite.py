"""The reference ledger: Issue, Prepare and Commit, and what each of them refuses."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from admitone.targets import identity
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.contract import (
    Admission,
    Busy,
    Done,
    Replayed,
    Validity,
)
from tests.caplease_world import (
    CALL,
    CONTEXT,
    END_S,
    START_S,
    Site,
    audited,
    code,
    confirm,
    issue,
    issued,
    prepare,
    prepared,
    receipt_for,
)


@pytest.fixture
def site(scratch: Path) -> Iterator[Site]:
    made = Site(CapLeaseSqlite(), scratch)
    yield made
    made.shut()


@pytest.fixture
def ledger(site: Site) -> CapLease:
    return site.client()[0]


# issue ---------------------------------------------------------------------------------------


def test_issue_opens_one_record_with_b_slots(site: Site, ledger: CapLease) -> None:
    granted = issued(ledger, 3)
    assert granted.budget == 3
    assert site.words(granted) == ["Issued"] * 3


def test_issuing_again_answers_the_same_record_whatever_became_of_it(
    site: Site, ledger: CapLease
) -> None:
    first = issued(ledger, 2)
    admission = prepared(ledger, first, "a")
    ledger.commit(admission, receipt_for(admission))
    assert issue(ledger, 2) == first
    ledger.revoke(first)
    later, world = site.client()
    world.clock_s = END_S + 1
    assert issue(later, 2) == first
    assert site.words(first) == ["Committed", "Revoked"]


def test_another_context_or_interval_opens_no_second_record(ledger: CapLease) -> None:
    first = issued(ledger)
    assert issue(ledger, context=replace(CONTEXT, executor="other")) == first
    assert issue(ledger, validity=Validity(START_S, None)) == first


def test_a_larger_budget_for_the_same_confirmation_event_changes_nothing(ledger: CapLease) -> None:
    first = issued(ledger, 1)
    assert issue(ledger, 5) == first


def test_an_event_that_comes_with_another_action_is_refused(ledger: CapLease) -> None:
    issued(ledger)
    other = replace(CALL, args={"to": "bob", "cents": 1200})
    assert code(issue(ledger, call=other, confirmation=confirm(1, call=other))) == "duplicate"


@pytest.mark.parametrize(
    "budget", [0, -1, 1.0, 1.5, float("nan"), float("inf"), True, "1", 2**70, 1001, None]
)
def test_a_budget_is_a_whole_number_within_bounds(ledger: CapLease, budget: object) -> None:
    answer = issue(ledger, budget=budget, confirmation=confirm(budget))
    assert code(answer) == "invalid"
    assert audited(ledger).count == 0


def test_a_confirmed_budget_is_compared_with_its_type(ledger: CapLease) -> None:
    assert code(issue(ledger, budget=1, confirmation=confirm(True))) == "invalid"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"confirmation": replace(confirm(1), mac="0" * 64)}, "bad_credential"),
        ({"confirmation": replace(confirm(1), event="another")}, "bad_credential"),
        ({"confirmation": replace(confirm(1), budget={1})}, "bad_credential"),
        ({"confirmation": confirm(1, call=replace(CALL, principal="eve"))}, "wrong_principal"),
        ({"confirmation": confirm(1, call=replace(CALL, resource="other"))}, "wrong_action"),
        ({"budget": 2}, "widened"),
        ({"budget": 1, "confirmation": confirm(2)}, "invalid"),
        ({"call": replace(CALL, args={"to": "\ud800"})}, "ambiguous_call"),
        ({"call": replace(CALL, args={"to": object()})}, "ambiguous_call"),
        ({"validity": Validity(START_S, START_S - 1)}, "invalid"),
        ({"validity": Validity(float("nan"), END_S)}, "invalid"),
        ({"validity": Validity(START_S - 9, START_S)}, "expired"),
        ({"context": replace(CONTEXT, executor="")}, "invalid"),
        ({"context": replace(CONTEXT, policy_epoch=True)}, "invalid"),
    ],
)
def test_issue_refuses(ledger: CapLease, changes: dict[str, Any], expected: str) -> None:
    assert code(issue(ledger, **changes)) == expected
    assert audited(ledger).count == 0


def test_issued_at_once_by_many_there_is_one_record(site: Site) -> None:
    clients = [site.client(patience_s=5.0)[0] for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(issued, clients))
    assert len({answer.record for answer in answers}) == 1
    assert audited(clients[0]).count == 1


# prepare -------------------------------------------------------------------------------------


def test_prepare_admits_the_approved_call_under_the_derived_key(
    site: Site, ledger: CapLease
) -> None:
    granted = issued(ledger, 2)
    admission = prepared(ledger, granted, "a")
    assert admission.record == granted.record
    assert admission.key == identity.sink_key(granted.record, str(admission.slot), CALL.tool)
    assert admission.call == CALL
    assert admission.attempt == "a"
    assert site.words(granted) == ["Prepared", "Issued"]


def test_each_attempt_has_one_slot_and_the_budget_is_used_up(ledger: CapLease) -> None:
    granted = issued(ledger, 2)
    first, second = prepared(ledger, granted, "a"), prepared(ledger, granted, "b")
    assert first.slot != second.slot
    assert first.key != second.key
    assert prepared(ledger, granted, "a") == first
    assert code(prepare(ledger, granted, "c")) == "exhausted"


def test_a_committed_attempt_is_answered_with_its_receipt(ledger: CapLease) -> None:
    granted = issued(ledger)
    admission = prepared(ledger, granted, "a")
    receipt = receipt_for(admission)
    ledger.commit(admission, receipt)
    assert prepare(ledger, granted, "a") == Replayed(receipt)
    assert code(prepare(ledger, granted, "b")) == "exhausted"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"executor": "thief"}, "wrong_principal"),
        ({"session": "other"}, "wrong_principal"),
        ({"task": "other"}, "wrong_principal"),
        ({"policy_epoch": 2}, "wrong_epoch"),
        ({"schema_epoch": 2}, "wrong_epoch"),
        ({"policy_epoch": True}, "wrong_epoch"),
        ({"tool": "refund"}, "wrong_action"),
        ({"tool_version": "2"}, "wrong_action"),
        ({"principal": "eve"}, "wrong_action"),
        ({"resource": "account-2"}, "wrong_action"),
        ({"args": {"to": "bob", "cents": 1200}}, "wrong_action"),
        ({"args": {"to": "ann", "cents": "1200"}}, "wrong_action"),
        ({"args": {"to": "ann"}}, "wrong_action"),
    ],
)
def test_prepare_is_bound_to_every_field(
    site: Site, ledger: CapLease, changes: dict[str, Any], expected: str
) -> None:
    granted = issued(ledger)
    assert code(prepare(ledger, granted, "a", **changes)) == expected
    assert site.words(granted) == ["Issued"]
    prepared(ledger, granted, "a")
    assert code(prepare(ledger, granted, "a", **changes)) == expected  # a repetition is bound too


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sigma", "0" * 64),
        ("event", "other"),
        ("budget", 2),
        ("budget", True),
        ("chi", '["thief", "session", "task", 1, 1]'),
        ("ti", 0.0),
        ("te", 9e9),
        ("te", None),
        ("nu", "0" * 32),
        ("mu", "0" * 64),
        ("mu", "\u00e9"),
        ("mu", None),
    ],
)
def test_mu_authenticates_every_field_of_the_manifest(
    ledger: CapLease, name: str, value: Any
) -> None:
    granted = issued(ledger)
    assert isinstance(granted.credential, dict)
    altered = replace(granted, credential={**granted.credential, name: value})
    for answer in (prepare(ledger, altered, "a"), ledger.revoke(altered), ledger.close(altered)):
        assert code(answer) == "bad_credential"


@pytest.mark.parametrize("credential", [None, {}, "manifest", []])
def test_what_is_no_manifest_opens_nothing(ledger: CapLease, credential: Any) -> None:
    granted = issued(ledger)
    assert code(prepare(ledger, replace(granted, credential=credential), "a")) == "bad_credential"


def test_a_manifest_of_another_record_opens_nothing(ledger: CapLease) -> None:
    first, second = issued(ledger), issued(ledger, event="second")
    crossed = replace(first, credential=second.credential)
    assert code(prepare(ledger, crossed, "a")) == "bad_credential"


def test_a_genuine_manifest_creates_no_authority_without_its_record(
    site: Site, ledger: CapLease
) -> None:
    granted = issued(ledger)
    site.alter("DELETE FROM auth")
    assert code(prepare(ledger, granted, "a")) == "unknown_record"


@pytest.mark.parametrize(("clock_s", "admitted"), [(END_S - 0.001, True), (END_S, False)])
def test_expiry_is_exclusive(site: Site, clock_s: float, admitted: bool) -> None:
    ledger, world = site.client()
    granted = issued(ledger)
    world.clock_s = clock_s
    answer = prepare(ledger, granted, "a")
    assert isinstance(answer, Admission) if admitted else code(answer) == "expired"


def test_the_clock_is_read_under_the_lock(site: Site) -> None:
    ledger, world = site.client()
    granted = issued(ledger)
    other, _ = site.client()
    seen: list[object] = []

    def write() -> None:
        try:
            seen.append(other.revoke(granted))
        except Exception as raised:  # whatever it is, it is looked at below
            seen.append(site.target.classify(raised))

    world.during_now.append(write)
    prepared(ledger, granted, "a")
    assert [type(answer) for answer in seen] == [Busy]


def test_of_many_consumers_exactly_b_are_admitted(site: Site) -> None:
    owner, _ = site.client()
    granted = issued(owner, 3)
    clients = [site.client(patience_s=5.0)[0] for _ in range(8)]
    gate = threading.Barrier(8)

    def consume(number: int) -> object:
        gate.wait()
        return prepare(clients[number], granted, f"attempt-{number}")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(consume, range(8)))
    admitted = [answer for answer in answers if isinstance(answer, Admission)]
    assert sorted(str(admission.slot) for admission in admitted) == ["1", "2", "3"]
    assert {code(answer) for answer in answers if answer not in admitted} == {"exhausted"}


# commit --------------------------------------------------------------------------------------


def test_commit_by_another_client_ends_the_slot(site: Site, ledger: CapLease) -> None:
    granted = issued(ledger)
    admission = prepared(ledger, granted, "a")
    other, _ = site.client()
    receipt = receipt_for(admission)
    handle_alone = Admission(record=admission.record, handle=admission.handle)
    assert other.commit(handle_alone, receipt) == Done(receipt)
    assert site.words(granted) == ["Committed"]


def test_committing_again_is_done_and_adds_nothing(ledger: CapLease) -> None:
    admission = prepared(ledger, issued(ledger), "a")
    receipt = receipt_for(admission)
    ledger.commit(admission, receipt)
    count = audited(ledger).count
    assert ledger.commit(admission, receipt) == Done(receipt)
    assert code(ledger.commit(admission, receipt_for(admission, number=2))) == "receipt_mismatch"
    assert audited(ledger).count == count


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sink_key": "0" * 64}, "wrong_key"),
        ({"sink_key": None}, "wrong_key"),
        ({"digest_": "0" * 64}, "receipt_mismatch"),
        ({"tool": "refund"}, "receipt_mismatch"),
    ],
)
def test_a_receipt_must_be_for_this_slot_and_payload(
    site: Site, ledger: CapLease, changes: dict[str, Any], expected: str
) -> None:
    granted = issued(ledger)
    admission = prepared(ledger, granted, "a")
    assert code(ledger.commit(admission, receipt_for(admission, **changes))) == expected
    assert site.words(granted) == ["Prepared"]


def test_a_forged_receipt_ends_nothing(site: Site, ledger: CapLease) -> None:
    granted = issued(ledger)
    admission = prepared(ledger, granted, "a")
    forged = replace(receipt_for(admission), mac="0" * 64)
    assert code(ledger.commit(admission, forged)) == "receipt_mismatch"
    assert site.words(granted) == ["Prepared"]


def test_a_slot_that_is_not_prepared_cannot_be_committed(ledger: CapLease) -> None:
    granted = issued(ledger, 2)
    admission = prepared(ledger, granted, "a")
    free = replace(admission, handle={"record": granted.record, "slot": 2, "attempt": "a"})
    assert code(ledger.commit(free, receipt_for(admission))) == "not_prepared"
    ledger.revoke(granted)
    assert code(ledger.commit(free, receipt_for(admission))) == "not_prepared"


@pytest.mark.parametrize(
    "handle", [None, "1", {}, {"record": "none", "slot": 1, "attempt": "a"}, {"slot": "1"}]
)
def test_a_handle_of_nothing_is_refused(ledger: CapLease, handle: Any) -> None:
    admission = prepared(ledger, issued(ledger), "a")
    odd = replace(admission, handle=handle)
    assert code(ledger.commit(odd, receipt_for(admission))) == "unknown_record"
