"""A guarded ledger may leave its effects to a worker, if that sends them."""

from __future__ import annotations

from pathlib import Path

import pytest

from admitone.chaos.events import Replied
from admitone.reports.words import Words
from admitone.scenarios.plan import Plan
from admitone.scenarios.replies import answer_of
from admitone.targets.replies import Replayed
from tests.harness_world import conducted
from tests.historybuilder import GUARDED, Builder
from tests.played import acquitted, codes, played

OUTBOX = "py:tests.outbox_ledgers:Outbox"
CRASHES = [
    *("FP3.write1.kill.retry.b1.idem", "FP4.reply.kill.recover.b2.ctrl"),
    *("FP5.kill.retry.b1.idem", "FP5.drop.recover.b2.ctrl", "FP6.kill.recover.b1.idem"),
    *("FP7.kill.retry.b1.ctrl", "FP8.kill.retry.b1.idem", "FP8.hold.retry.b2.idem"),
    *("FP9.write1.kill.retry.b2.idem", "FP10.write1.kill.recover.b1.idem"),
]


def played_on(name: str, family: str, folder: Path, *plans: str) -> set[str]:
    """The codes that were found on the ledger of this name."""
    return codes(played(f"py:tests.outbox_ledgers:{name}", family, folder, plans))


def test_what_is_left_to_a_worker_is_open_and_what_is_remembered_is_not() -> None:
    assert answer_of("execute", None, 0, 1).outcome == "replayed"
    left = answer_of("execute", None, 0, 1, works=True)
    assert (left.outcome, left.left) == ("unknown", True)
    assert answer_of("execute", Replayed(), 0, 0, works=True).outcome == "replayed"


def test_the_failure_points_of_the_effect_are_in_the_worker(scratch: Path) -> None:
    names = [f"{name}.s1" for name in CRASHES]
    with conducted(OUTBOX, scratch) as (conductor, fitting):
        assert fitting.survey.left_to_work
        plans = [Plan.parse(f"{OUTBOX}/crash:{name}@1") for name in names]
        results = [conductor.play(plan, virgin=True).result for plan in plans]
    acquitted(results, "AO103", "AO106", "AO802", "AO803")
    assert all(point.fired for result in results for point in result.points)


def test_a_row_that_a_dead_relay_has_a_lease_of_may_wait_until_that_has_lapsed(
    scratch: Path,
) -> None:
    plans = [f"{name}.s1" for name in CRASHES if name[:3] not in ("FP9", "FP1")]
    acquitted(played("py:tests.outbox_ledgers:Claims", "crash", scratch, plans))


def test_it_is_not_accused_by_families_that_only_use_it(scratch: Path) -> None:
    for family, plan in (
        ("budgets", "drain.b5.idem.s1"),
        ("consumers", "held.execute.statement1.after.b1.idem.s1"),
        ("stateful", "do.b1.idem.s1"),
    ):
        (folder := scratch / family).mkdir()
        acquitted(played(OUTBOX, family, folder, [plan]))


@pytest.mark.parametrize(
    ("name", "plan", "code"),
    [
        ("NewKeys", "FP8.kill.retry.b1.idem.s1", "AO103"),
        ("SaysSent", "FP3.write1.kill.retry.b2.idem.s1", "AO302"),
        ("LeavesLater", "FP4.reply.kill.retry.b5.idem.s1", "AO802"),
        ("ClaimsForEver", "FP5.kill.retry.b1.idem.s1", "AO803"),
    ],
)
def test_a_worker_that_does_it_wrong_is_convicted(
    name: str, plan: str, code: str, scratch: Path
) -> None:
    assert code in played_on(name, "crash", scratch, plan)


def test_a_worker_that_does_nothing_is_convicted(scratch: Path) -> None:
    assert "AO801" in codes(
        played("py:tests.outbox_ledgers:SendsNothing", "budgets", scratch, ["drain.b1.idem.s1"])
    )


def test_a_worker_may_take_one_use_a_pass(scratch: Path) -> None:
    names = [f"{name}.s1" for name in CRASHES]
    acquitted(played("py:tests.outbox_ledgers:OneAPass", "crash", scratch, names), "AO802")


def test_what_a_worker_raises_is_classified_like_the_rest(scratch: Path) -> None:
    """It met a lock: nothing is wrong with the adapter, and the next pass sends."""
    acquitted(
        played(
            "py:tests.outbox_ledgers:MeetsALock",
            "crash",
            scratch,
            ["FP3.write1.drop.retry.b1.idem.s1"],
        )
    )


def test_a_story_says_what_was_left_and_nothing_against_it() -> None:
    h = Builder(operations=GUARDED)
    call = h.begin("execute", request="r1", attempt="a1")
    left = answer_of("execute", None, 0, 1, works=True)
    h.end(call, left.outcome, left.value, left.why)
    replied = next(h.history().events(Replied))
    assert Words(h.history()).reply(replied) == "unknown nothing was sent: left to work()"
