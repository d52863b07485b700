"""The Server Ledger: its selector, and that it answers what CapLease answers, whatever is asked."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.server_ledger import ServerLedgerSqlite
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.contract import (
    Admission,
    Authorization,
    Context,
    Json,
    Recovered,
    Refused,
    Validity,
)
from admitone.targets.registry import is_reference
from tests.caplease_world import (
    CALL,
    CHILD,
    CONTEXT,
    END_S,
    START_S,
    Site,
    World,
    code,
    confirm,
    issued,
    prepare,
    prepared,
    receipt_for,
)


@pytest.fixture
def site(scratch: Path) -> Iterator[Site]:
    made = Site(ServerLedgerSqlite(), scratch)
    yield made
    made.shut()


@pytest.fixture
def ledger(site: Site) -> CapLease:
    return site.client()[0]


def selector(granted: Authorization) -> dict[str, Json]:
    assert isinstance(granted.credential, dict)
    return granted.credential


# the selector --------------------------------------------------------------------------------


def test_it_is_a_reference_of_its_own_name() -> None:
    assert is_reference("builtin:server-ledger-sqlite")
    assert ServerLedgerSqlite.name != CapLeaseSqlite.name
    assert ServerLedgerSqlite.declaration is CapLeaseSqlite.declaration


def test_it_carries_no_scope(ledger: CapLease) -> None:
    carried = selector(issued(ledger, 3))
    assert carried.keys() == {"nu", "to", "mac"}
    assert carried["to"] == CONTEXT.executor


def test_it_is_written_the_same_each_time_and_works_from_other_processes(site: Site) -> None:
    one, other = site.client()[0], site.client()[0]
    granted = issued(one, 2)
    assert issued(other, 2) == granted
    assert prepared(other, granted, "a").slot == "1"


def test_guessed_it_opens_nothing(ledger: CapLease) -> None:
    granted = issued(ledger)
    genuine = str(selector(granted)["mac"])
    for mac in ("0" * 64, "", "\u00fc" * 64, genuine.upper()):
        guess = replace(granted, credential={**selector(granted), "mac": mac})
        assert code(prepare(ledger, guess, "a")) == "bad_credential"
        assert code(ledger.revoke(guess)) == "bad_credential"


@pytest.mark.parametrize("position", range(0, 64, 7))
def test_flipped_anywhere_it_opens_nothing(ledger: CapLease, position: int) -> None:
    granted = issued(ledger)
    mac = str(selector(granted)["mac"])
    flipped = mac[:position] + ("0" if mac[position] != "0" else "1") + mac[position + 1 :]
    bad = replace(granted, credential={**selector(granted), "mac": flipped})
    assert code(prepare(ledger, bad, "a")) == "bad_credential"


def test_made_over_to_another_principal_it_opens_nothing(ledger: CapLease) -> None:
    """Neither with the name changed, nor with the MAC of what that principal was given."""
    granted = issued(ledger, 2)
    child = ledger.delegate(granted, CHILD, 1)
    assert isinstance(child, Authorization)
    for mine in (
        {**selector(granted), "to": CHILD.executor},
        {**selector(granted), "to": CHILD.executor, "mac": selector(child)["mac"]},
        {**selector(granted), "mac": selector(child)["mac"]},
    ):
        stolen = replace(granted, credential=mine)
        assert code(ledger.prepare(stolen, CALL, CHILD, "a")) == "bad_credential"


def test_presented_unaltered_by_somebody_else_it_opens_nothing(ledger: CapLease) -> None:
    assert code(prepare(ledger, issued(ledger), "a", executor="thief")) == "wrong_principal"


@pytest.mark.parametrize(
    "credential", [None, "text", [], {}, {"nu": 1, "to": "agent", "mac": "0"}], ids=repr
)
def test_what_is_no_selector_opens_nothing(ledger: CapLease, credential: Json) -> None:
    granted = replace(issued(ledger), credential=credential)
    assert code(prepare(ledger, granted, "a")) == "bad_credential"


def test_with_something_added_it_opens_nothing(ledger: CapLease) -> None:
    granted = issued(ledger)
    more = replace(granted, credential={**selector(granted), "budget": 5})
    assert code(prepare(ledger, more, "a")) == "bad_credential"


def test_the_selector_of_another_record_or_ledger_opens_nothing(
    ledger: CapLease, tmp_path: Path
) -> None:
    granted, second = issued(ledger), issued(ledger, event="second")
    swapped = replace(granted, credential=second.credential)
    assert code(prepare(ledger, swapped, "a")) == "bad_credential"
    elsewhere = Site(ServerLedgerSqlite(), tmp_path)
    try:
        assert code(prepare(elsewhere.client()[0], granted, "a")) == "bad_credential"
    finally:
        elsewhere.shut()


def test_a_manifest_is_no_selector_nor_the_other_way_round(
    ledger: CapLease, tmp_path: Path
) -> None:
    elsewhere = Site(CapLeaseSqlite(), tmp_path)
    try:
        other = elsewhere.client()[0]
        assert code(prepare(ledger, issued(other), "a")) == "bad_credential"
        assert code(prepare(other, issued(ledger), "a")) == "bad_credential"
    finally:
        elsewhere.shut()


# the same answers ----------------------------------------------------------------------------

EVENTS, ATTEMPTS = ("e1", "e2"), ("a1", "a2", "a3")
NTH = st.integers(0, 5)
CONTEXTS: tuple[Context, ...] = (
    CONTEXT,
    CHILD,
    replace(CHILD, task="task/other"),
    replace(CONTEXT, executor="thief"),
    replace(CONTEXT, policy_epoch=2),
)
STEPS = st.one_of(
    st.tuples(st.just("issue"), st.sampled_from(EVENTS), st.integers(0, 3), st.booleans()),
    st.tuples(
        st.just("prepare"), NTH, st.sampled_from(ATTEMPTS), st.sampled_from(CONTEXTS), st.booleans()
    ),
    st.tuples(st.just("forge"), NTH, st.sampled_from(ATTEMPTS)),
    st.tuples(st.just("commit"), NTH, st.integers(1, 2), st.booleans()),
    st.tuples(st.just("revoke"), NTH),
    st.tuples(st.just("delegate"), NTH, st.sampled_from(CONTEXTS), st.integers(0, 2)),
    st.tuples(st.just("close"), NTH),
    st.tuples(st.just("recover")),
    st.tuples(st.just("audit")),
    st.tuples(st.just("wait"), st.sampled_from((1.0, END_S - START_S))),
)


@dataclass
class Player:
    """Plays one sequence of operations on one ledger; what it was given serves later steps."""

    ledger: CapLease
    world: World
    authorizations: list[Authorization] = field(default_factory=list)
    admissions: list[Admission] = field(default_factory=list)

    def play(self, step: tuple[Any, ...]) -> object:
        """The answer, without the bytes that only the artifact decides."""
        answer = getattr(self, f"_{step[0]}")(*step[1:])
        if isinstance(answer, Authorization):
            self.authorizations.append(answer)
            return replace(answer, credential=None)
        if isinstance(answer, Admission):
            self.admissions.append(answer)
        elif isinstance(answer, Recovered):
            self.admissions += answer.resume
        elif isinstance(answer, Refused) and answer.code == "bad_credential":
            return replace(answer, detail="")  # names the kind of credential
        return answer

    def _given(self, n: int) -> Authorization:
        given = self.authorizations
        return given[n % len(given)] if given else Authorization("0" * 32, 1, None)

    def _issue(self, event: str, budget: int, changed: bool) -> object:
        call = replace(CALL, resource="another") if changed else CALL
        said = confirm(budget, event, call)
        return self.ledger.issue(call, said, budget, CONTEXT, Validity(START_S, END_S))

    def _prepare(self, n: int, attempt: str, context: Context, changed: bool) -> object:
        call = replace(CALL, args={**CALL.args, "cents": 1}) if changed else CALL
        return self.ledger.prepare(self._given(n), call, context, attempt)

    def _forge(self, n: int, attempt: str) -> object:
        given = self._given(n)
        carried = given.credential if isinstance(given.credential, dict) else {}
        forged = replace(given, credential=dict.fromkeys(carried, "0"))
        return self.ledger.prepare(forged, CALL, CONTEXT, attempt)

    def _commit(self, n: int, number: int, genuine: bool) -> object:
        if not self.admissions:
            return None
        admission = self.admissions[n % len(self.admissions)]
        receipt = receipt_for(admission, number)
        return self.ledger.commit(admission, receipt if genuine else replace(receipt, mac="0"))

    def _revoke(self, n: int) -> object:
        return self.ledger.revoke(self._given(n))

    def _delegate(self, n: int, context: Context, budget: int) -> object:
        return self.ledger.delegate(self._given(n), context, budget)

    def _close(self, n: int) -> object:
        return self.ledger.close(self._given(n))

    def _recover(self) -> object:
        return self.ledger.recover(())

    def _audit(self) -> object:
        return self.ledger.audit()

    def _wait(self, seconds: float) -> None:
        self.world.clock_s += seconds


def played(target: CapLeaseSqlite, folder: Path, steps: list[tuple[Any, ...]]) -> list[object]:
    """All answers, and the last readings."""
    return played_at(Site(target, folder), steps)


def played_at(site: Site, steps: list[tuple[Any, ...]]) -> list[object]:
    """The same, on a site that is shut in the end. Record ids are counted and not drawn, so that
    two ledgers have the same ones."""
    numbers = itertools.count(1)
    counted = SimpleNamespace(token_hex=lambda size: f"{next(numbers):0{2 * size}x}")
    package = "admitone.targets.caplease"
    try:
        with (
            patch(f"{package}.issue.secrets", counted),
            patch(f"{package}.delegate.secrets", counted),
        ):
            player = Player(*site.client())
            answers = [player.play(step) for step in steps]
            readings = [site.look(given) for given in player.authorizations]
        return [*answers, player.ledger.audit(), *readings]
    finally:
        site.shut()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=1, max_size=25))
def test_both_realizations_give_the_same_answers(scratch: Path, steps: list[Any]) -> None:
    with (
        tempfile.TemporaryDirectory(dir=scratch) as one,
        tempfile.TemporaryDirectory(dir=scratch) as other,
    ):
        ours = played(CapLeaseSqlite(), Path(one), steps)
        theirs = played(ServerLedgerSqlite(), Path(other), steps)
    assert ours == theirs


def test_the_comparison_sees_grants_and_refusals_of_each_kind(scratch: Path) -> None:
    """One sequence that reaches everything, so that equal answers mean something."""
    steps = [
        ("issue", "e1", 3, False),
        ("prepare", 0, "a1", CONTEXT, False),
        ("prepare", 0, "a2", CONTEXT, True),
        ("prepare", 0, "a2", CONTEXTS[3], False),
        ("forge", 0, "a2"),
        ("delegate", 0, CHILD, 1),
        ("commit", 0, 1, True),
        ("revoke", 1),
        ("recover",),
        ("wait", END_S - START_S),
        ("prepare", 0, "a3", CONTEXT, False),
    ]
    with (
        tempfile.TemporaryDirectory(dir=scratch) as one,
        tempfile.TemporaryDirectory(dir=scratch) as other,
    ):
        ours = played(CapLeaseSqlite(), Path(one), steps)
        theirs = played(ServerLedgerSqlite(), Path(other), steps)
    assert ours == theirs
    kinds = [a.code if isinstance(a, Refused) else type(a).__name__ for a in ours]
    assert kinds[: len(steps)] == [
        "Authorization",
        "Admission",
        "wrong_action",
        "wrong_principal",
        "bad_credential",
        "Authorization",
        "Done",
        "Revoked",
        "Recovered",
        "NoneType",
        "expired",
    ]
