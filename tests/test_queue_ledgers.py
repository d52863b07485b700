"""Queues of jobs, whose workers are threads of every process: who sent what, and what is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.played import codes, played

QUEUES = "py:tests.queue_ledgers:"
RACES = tuple(
    f"stress.use.nodes.{n}.barrier.b5.{kind}.s0"
    for n, kind in ((2, "idem"), (2, "ctrl"), (8, "idem"))
)


def test_a_worker_may_carry_out_what_a_client_of_another_process_asked_for(scratch: Path) -> None:
    """Whose effect it is cannot be told then, and nobody's worker is left without an answer."""
    results = played(f"{QUEUES}JobsTarget", "consumers", scratch, RACES)
    assert [(r.id, r.findings) for r in results if r.findings] == []
    assert {r.verdict for r in results} <= {"passed", "not_exercised"}
    assert any(r.opportunities["AO103"] for r in results)


@pytest.mark.parametrize("target", ["SendsTwice", "CountsNothing"])
def test_a_queue_that_sends_more_than_was_approved_is_convicted(target: str, scratch: Path) -> None:
    assert "AO103" in codes(played(f"{QUEUES}{target}", "consumers", scratch, RACES))


@pytest.mark.parametrize(
    ("plan", "found"),
    [("FP7.kill.retry.b1.ctrl.s0", "AO105"), ("FP5.kill.retry.b1.idem.s0", "AO802")],
)
def test_an_effect_that_stands_is_a_use_whatever_the_ledger_shows(
    plan: str, found: str, scratch: Path
) -> None:
    """Then no other one may be asked for; where nothing was sent, the rest must be usable."""
    assert codes(played(f"{QUEUES}ShowsADoubtAsLost", "crash", scratch, [plan])) == {found}
