"""The broken ledgers of one idea each that change the reference: beside it, without a run.

``test_broken_children.py`` and ``test_broken_plain.py`` have the others, ``test_matrix_codes.py``
the runs in which all are convicted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from admitone.targets.broken.audit_best_effort import AuditBestEffort
from admitone.targets.broken.audit_trimmed import KEPT, AuditTrimmed
from admitone.targets.broken.close_keeps import CloseKeeps
from admitone.targets.broken.commit_asks_again import CommitAsksAgain
from admitone.targets.broken.commit_once import CommitOnce
from admitone.targets.broken.delegate_as_asked import DelegateAsAsked
from admitone.targets.broken.kin_unrecorded import KinUnrecorded
from admitone.targets.broken.md1 import MD1
from admitone.targets.broken.md2 import MD2
from admitone.targets.broken.mp5b import MP5b
from admitone.targets.broken.mp6_stored import MP6Stored
from admitone.targets.broken.mp7 import MP7
from admitone.targets.broken.mp8 import MP8
from admitone.targets.broken.mv4 import MV4
from admitone.targets.broken.once_per_action import OncePerAction
from admitone.targets.broken.one_refusal import OneRefusal
from admitone.targets.broken.revoke_counts_own import RevokeCountsOwn
from admitone.targets.broken.revoke_one_record import RevokeOneRecord
from admitone.targets.broken.shared_key import SharedKey
from admitone.targets.broken.take_then_check import TakeThenCheck
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.contract import (
    Admission,
    Authorization,
    Busy,
    Done,
    Recovered,
    Refused,
)
from tests.caplease_world import (
    END_S,
    Site,
    audited,
    code,
    issue,
    issued,
    prepare,
    prepared,
    receipt_for,
)

RIGHT_ALONE = (
    MD1,
    MD2,
    DelegateAsAsked,
    RevokeOneRecord,
    CloseKeeps,
    AuditBestEffort,
    KinUnrecorded,
    RevokeCountsOwn,
    SharedKey,
    CommitAsksAgain,
    CommitOnce,
    OneRefusal,
    TakeThenCheck,
    MP6Stored,
    MP7,
    MP8,
    MV4,
    OncePerAction,
)
"""Over the reference, and right as long as nothing happens but uses."""

OF_ONE_IDEA = (*RIGHT_ALONE, MP5b, AuditTrimmed)


@pytest.fixture
def site(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Site]:
    made = Site(request.param(), scratch)
    yield made
    made.shut()


def beside_the_reference(*targets: type[CapLeaseSqlite]) -> pytest.MarkDecorator:
    both = (CapLeaseSqlite, *targets)
    return pytest.mark.parametrize("site", both, indirect=True, ids=lambda t: t.__name__)


def is_broken(site: Site) -> bool:
    return type(site.target) is not CapLeaseSqlite


@beside_the_reference(*RIGHT_ALONE)
def test_uses_alone_are_right(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 2)
    for attempt in ("a", "b"):
        admission = prepared(ledger, granted, attempt)
        assert isinstance(ledger.commit(admission, receipt_for(admission)), Done)
    assert code(prepare(ledger, granted, "c")) == "exhausted"
    assert site.words(granted) == ["Committed"] * 2
    assert (audited(ledger).chain_ok, audited(ledger).count) == (True, 5)


# prepare and commit --------------------------------------------------------------------------


@beside_the_reference(SharedKey)
def test_shared_key_gives_two_slots_one_key(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 2)
    first, second = prepared(ledger, granted, "a"), prepared(ledger, granted, "b")
    assert first.slot != second.slot
    assert (first.key == second.key) is is_broken(site)
    other = issued(ledger, event="other")
    assert prepared(ledger, other, "c").key != first.key


@beside_the_reference(MP5b)
def test_mp5b_turns_everybody_away_and_keeps_nothing(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    answer = prepare(ledger, granted, "a")
    if is_broken(site):
        assert code(answer) == "exhausted"
        assert site.words(granted) == ["Issued"]
        assert audited(ledger).count == 1
    else:
        assert isinstance(answer, Admission)


@beside_the_reference(MP6Stored)
def test_mp6_stored_names_one_attempt_twice(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, 2)
    prepared(ledger, granted, "a")
    prepared(ledger, granted, "a")
    attempts = [slot.attempt for slot in site.look(granted).slots or ()]
    assert attempts == (["a", "a"] if is_broken(site) else ["a", None])


@beside_the_reference(MP7)
def test_mp7_calls_a_lock_the_end(site: Site) -> None:
    """Whoever looked first and writes second meets the lock; the reference has locked by then."""
    one, world = site.client()
    other, _ = site.client()
    granted = issued(one, 2)
    answers = []

    def ask(ledger: CapLease, attempt: str) -> None:
        try:
            answers.append(prepare(ledger, granted, attempt))
        except Exception as raised:  # whatever it is, it is classified
            answers.append(site.target.classify(raised))

    world.during_now.append(lambda: ask(other, "second"))
    ask(one, "first")
    second, first = answers
    if is_broken(site):
        assert isinstance(second, Admission)
        assert first == Refused("exhausted", retryable=False)
    else:
        assert isinstance(second, Busy)
        assert isinstance(first, Admission)
    assert site.words(granted) == ["Prepared", "Issued"]
    assert site.target.classify(KeyError()) is None


@beside_the_reference(MP8)
def test_mp8_admits_a_thief_and_no_other_call(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    assert code(prepare(ledger, granted, "x", resource="another")) == "wrong_action"
    answer = prepare(ledger, granted, "y", executor="thief", policy_epoch=2)
    if is_broken(site):
        assert isinstance(answer, Admission)
    else:
        assert code(answer) == "wrong_principal"


@beside_the_reference(MV4)
@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_mv4_does_not_recover_the_dead(site: Site, end: str) -> None:
    ledger, world = site.client()
    granted = issued(ledger)
    prepared(ledger, granted, "a")
    living = ledger.recover(())
    assert isinstance(living, Recovered)
    assert [each.attempt for each in living.resume] == ["a"]
    if end == "revoked":
        ledger.revoke(granted)
    else:
        world.clock_s = END_S
    assert ledger.recover(()) == (Recovered() if is_broken(site) else living)


@beside_the_reference(TakeThenCheck)
def test_take_then_check_refuses_and_has_taken(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    assert code(prepare(ledger, granted, "x", executor="thief")) == "wrong_principal"
    assert code(prepare(ledger, granted, "y", resource="another")) != ""
    assert site.words(granted) == (["Prepared"] if is_broken(site) else ["Issued"])


@beside_the_reference(CommitAsksAgain)
@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_commit_asks_again_turns_an_admitted_use_away(site: Site, end: str) -> None:
    ledger, world = site.client()
    granted = issued(ledger)
    admission = prepared(ledger, granted, "a")
    if end == "revoked":
        ledger.revoke(granted)
    else:
        world.clock_s = END_S
    answer = ledger.commit(admission, receipt_for(admission))
    if is_broken(site):
        assert code(answer) == end
    else:
        assert isinstance(answer, Done)


@beside_the_reference(CommitOnce)
def test_commit_once_refuses_the_second_one(site: Site) -> None:
    ledger, _ = site.client()
    admission = prepared(ledger, issued(ledger), "a")
    receipt = receipt_for(admission)
    assert isinstance(ledger.commit(admission, receipt), Done)
    again = ledger.commit(admission, receipt)
    if is_broken(site):
        assert code(again) == "not_prepared"
    else:
        assert again == Done(receipt)


@beside_the_reference(OneRefusal)
def test_one_refusal_says_exhausted_of_what_is_revoked(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    ledger.revoke(granted)
    said = code(prepare(ledger, granted, "a"))
    assert said == ("exhausted" if is_broken(site) else "revoked")
    assert code(prepare(ledger, granted, "b", executor="thief")) == "wrong_principal"


@beside_the_reference(OncePerAction)
def test_once_per_action_turns_a_new_decision_away(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger)
    assert issued(ledger) == granted
    again = issue(ledger, event="another")
    if is_broken(site):
        assert code(again) == "duplicate"
    else:
        assert isinstance(again, Authorization)


@beside_the_reference(AuditTrimmed)
def test_audit_trimmed_keeps_the_newest_records(site: Site) -> None:
    ledger, _ = site.client()
    granted = issued(ledger, KEPT)
    for number in range(KEPT - 1):
        prepared(ledger, granted, f"a{number}")
    assert (audited(ledger).count, audited(ledger).chain_ok) == (KEPT, True)
    prepared(ledger, granted, "last")
    broken = is_broken(site)
    assert audited(ledger).count == (KEPT if broken else KEPT + 1)
    assert audited(ledger).chain_ok is not broken
