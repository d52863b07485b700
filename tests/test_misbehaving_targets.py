"""Whatever a target does, the harness ends in time, and with the right word.

What shows while the adapter is checked is a ``TargetProblem`` that says what to do (exit 2); what
shows later makes the schedule a ``harness_error`` of the target's (exit 3). Never an exception,
never a hang, never a pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from admitone.chaos.events import Killed
from admitone.chaos.parent import WARM_DEADLINE_S, TargetProblem
from admitone.scenarios.campaign import placed_plans
from admitone.scenarios.plan import Plan
from admitone.scenarios.preflight import fit
from admitone.scenarios.results import ScheduleResult
from tests.harness_world import conducted, events, one_client, opened, staged, warmed

ROOT = Path(__file__).parent.parent
SHORT_S = 0.5
"""The longest wait for a target that hangs, and for the others in the same test."""

PATIENT_S = 10.0
PLANS = {
    "kill": "crash:FP2.reply.kill.retry.b1.idem.s3@1",
    "drop": "crash:FP9.write1.drop.retry.b2.idem.s3@1",
    "held": "consumers:held.prepare.statement2.after.b1.idem.s1@1",
}


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'src'}")


def problem_of(name: str, folder: Path, deadline_s: float) -> str:
    """What the check of the adapter says."""
    target = f"py:tests.misbehaving:{name}"
    warm_s = deadline_s + 1 if ".warm." in name else WARM_DEADLINE_S  # it imports, under any load
    try:
        with warmed(target, folder, deadline_s=warm_s) as parent:
            fit(parent, folder, deadline_s=deadline_s)
    except TargetProblem as problem:
        return str(problem)
    return "nothing is wrong"


HANGING = {
    "early.warm.hangs": "did not answer within 1.5 s",
    "early.deploy.hangs": "deploy() did not answer within 0.5 s",
    "early.open.hangs": "open did not answer within 0.5 s",
    "early.prepare.hangs": "prepare did not answer within 0.5 s",
    "early.prepare.hangs_in_a_loop": "prepare did not answer within 0.5 s",
    "early.inspect.hangs": "inspect after issue: not made within 0.5 s",
    "NeverStopsAsking": "prepare did not answer within 0.5 s",
}
PROTOCOL = "the node's protocol broke during prepare: "
BROKEN = {
    "early.prepare.never_reads": PROTOCOL + "it does not read what it is told",
    "early.prepare.floods_garbage": PROTOCOL + "not JSON",
    "early.prepare.floods_one_line": PROTOCOL + "a line of more than",
    "early.prepare.floods_traces": PROTOCOL + "more than 100000 trace lines",
    "early.prepare.says_half_a_stop": PROTOCOL + "KeyError('ask')",
    "early.prepare.says_a_stop_nowhere": PROTOCOL + "TypeError",
    "early.prepare.says_no_object": PROTOCOL + "not an object",
    "early.prepare.says_hello": PROTOCOL + "no message of the protocol",
    "early.prepare.says_no_effect": PROTOCOL + "ValueProblem('tool is a text",
    "early.prepare.says_deep": PROTOCOL + "nested deeper",
    "early.prepare.finds_the_channel": "ValueProblem('a stop that nobody armed')",
    "early.issue.answers_huge": "the node's protocol broke during issue: a line of more than",
    "early.warm.says_garbage": "wrote b'garbage' where only this suite may write",
}
DYING = {
    "early.warm.exits": "its process ended (exit code 0)",
    "early.warm.kills_itself": "its process ended (signal SIGKILL)",
    "early.deploy.segfaults": "deploy() ended its process",
    "early.open.exits": "the node died by itself during open (it left)",
    "early.prepare.segfaults": "the node died by itself during prepare (signal 11)",
    "early.prepare.closes_everything": "the node died by itself during prepare",
    "early.commit.kills_itself": "the node died by itself during commit (signal 9)",
    "early.inspect.exits": "inspect ended its node",
}
UNNAMED = "raised an exception that the target's classify() does not name: "
RAISING = {
    "early.warm.raises": "warm() raised KeyError",
    "early.deploy.raises": "deploy() raised KeyError",
    "early.open.raises": f"open {UNNAMED}KeyError: 'a bug of the library'",
    "early.prepare.raises": f"prepare {UNNAMED}KeyError: 'a bug of the library'",
    "early.prepare.asks_to_exit": f"prepare {UNNAMED}SystemExit: no more",
    "early.inspect.raises": "inspect raised KeyError",
    "RaisesInClassify": "and classify() raised ZeroDivisionError",
    "ClassifiesNonsense": f"prepare {UNNAMED}KeyError",
}
NONSENSE = {
    "early.issue.answers_nothing": "issue answered NoneType None; it must answer Authorization",
    "early.issue.answers_live_credential": "the answer cannot travel: a object cannot travel",
    "early.prepare.answers_cycle": "the answer cannot travel",
    "early.prepare.answers_slot_0": "Admission.slot is int 0; it must be a text or None",
    "early.commit.answers_done_5": "Done.receipt is int 5",
    "early.inspect.answers_number": "it must answer View or None",
    "early.inspect.answers_other_counts": "inspect() disagrees with the ledger",
    "early.deploy.answers_nothing": "deploy() must return Deployment(store=…), not None",
    "early.deploy.answers_store_bytes": "it must be plain JSON",
    "early.deploy.answers_store_path": "the answer cannot travel: a PosixPath cannot travel",
}
ODD = {
    "early.warm.starts_a_thread": "warm() left 1 thread(s) running",
    "early.warm.opens_a_store": "warm() left a file open for writing",
    "ReturnsAbsolutePath": "contains the workspace's own path",
    "LeavesAPipe": "cannot be copied",
    "CanDoNothing": "has neither prepare nor execute",
    "NeverCommits": "the ledger has prepare but no commit",
    "ClaimsMore": "it claims revoke, and the ledger that open() returned has no revoke",
    "InMemory": "inspect() disagrees with the ledger",
    "InMemoryUnseen": "what one process issued, and could use, a second process may not",
}
QUICK = {**BROKEN, **DYING, **RAISING, **NONSENSE, **ODD}


@pytest.mark.parametrize("name", HANGING)
def test_a_target_that_hangs_is_found_undisturbed(name: str, scratch: Path) -> None:
    assert HANGING[name] in problem_of(name, scratch, SHORT_S)


@pytest.mark.parametrize("name", QUICK)
def test_a_target_that_misbehaves_is_found_undisturbed(name: str, scratch: Path) -> None:
    assert QUICK[name] in problem_of(name, scratch, PATIENT_S)


def played(
    name: str, folder: Path, plans: tuple[str, ...], deadline_s: float
) -> Iterator[ScheduleResult]:
    target = f"py:tests.misbehaving:{name}"
    with conducted(target, folder, deadline_s=deadline_s) as (conductor, _):
        for plan in plans:
            yield conductor.play(Plan.parse(f"{target}/{PLANS[plan]}")).result


LATE_HANGING = {
    "late.open.hangs": "open did not answer within 0.5 s",
    "late.prepare.hangs": "prepare did not answer within 0.5 s",
    "late.inspect.hangs": "did not answer|not made within 0.5 s",
}
LATE = {
    "late.open.exits": "the node died by itself during open",
    "late.open.raises": f"open {UNNAMED}KeyError",
    "late.open.answers_number": "open() did not answer the ledger that the adapter check saw",
    "late.issue.answers_nothing": "issue answered NoneType None",
    "late.prepare.floods_garbage": PROTOCOL + "not JSON",
    "late.prepare.finds_the_channel": "ValueProblem('a stop that nobody armed')",
    "late.prepare.segfaults": "the node died by itself during prepare (signal 11)",
    "late.prepare.raises": f"prepare {UNNAMED}KeyError",
    "late.prepare.answers_call_of_nothing": "Admission.call is Call",
    "late.prepare.answers_busy_nan": "Busy.retry_after_s is float nan",
    "late.commit.kills_itself": "the node died by itself during commit (signal 9)",
    "late.commit.answers_done_5": "Done.receipt is int 5",
    "late.recover.raises": f"recover {UNNAMED}KeyError",
    "late.recover.answers_resume_7": "resume and settled must be tuples",
    "late.recover.answers_resume_of_numbers": "recover answered int 7",
    "late.inspect.exits": "inspect ended its node",
    "late.inspect.raises": "inspect raised KeyError",
    "late.inspect.answers_counts_text": "counts are whole numbers",
}


def _blamed(result: ScheduleResult, words: str) -> bool:
    return result.reason.startswith("target: ") and any(
        w in result.reason for w in words.split("|")
    )


@pytest.mark.parametrize("name", LATE_HANGING)
def test_a_target_that_hangs_later_errs(name: str, scratch: Path) -> None:
    for result in played(name, scratch, ("kill",), SHORT_S):
        assert result.verdict == "harness_error", result
        assert _blamed(result, LATE_HANGING[name]), result.reason


@pytest.mark.parametrize("name", LATE)
def test_a_target_that_misbehaves_later_errs(name: str, scratch: Path) -> None:
    for result in played(name, scratch, ("drop", "held"), PATIENT_S):
        assert result.verdict == "harness_error", result
        assert _blamed(result, LATE[name]), result.reason


def test_a_ledger_that_refuses_everything_is_convicted(scratch: Path) -> None:
    """That is no fault of its adapter."""
    target = "py:tests.misbehaving:early.issue.answers_exhausted"
    with conducted(target, scratch) as (conductor, fitting):
        plans = placed_plans(fitting, ("crash", "consumers"), 0)
        assert plans
        for plan in plans[:3]:
            assert conductor.play(plan).result.verdict == "violation"


def test_a_process_that_cannot_change_its_store_never_serves_two(scratch: Path) -> None:
    target = "py:tests.misbehaving:OneStoreForEver"
    with conducted(target, scratch) as (conductor, fitting):
        assert not fitting.veterans
        for _ in range(2):  # a victim that had served the first store would ruin the second
            assert (
                conductor.play(Plan.parse(f"{target}/{PLANS['kill']}")).result.verdict == "passed"
            )


def test_the_correct_ledger_itself_serves_two_stores(scratch: Path) -> None:
    with conducted("builtin:correct/counter", scratch) as (_, fitting):
        assert fitting.veterans
        assert fitting.deadline_s == 10 + 4 * fitting.greeting.declaration.facts.waits_s


def test_what_a_target_prints_is_kept_and_never_taken_for_the_protocol(scratch: Path) -> None:
    target = "py:tests.misbehaving:early.prepare.prints"
    with conducted(target, scratch) as (conductor, _):
        assert conductor.play(Plan.parse(f"{target}/{PLANS['drop']}")).result.verdict == "passed"
        output = conductor.output()
    assert '{"reply": 1, "value": null} printed' in output
    assert "complained" in output
    assert "� raw" in output


def test_processes_that_a_node_leaves_are_counted_and_killed(scratch: Path) -> None:
    with (
        warmed("py:tests.misbehaving:LeavesChildren", scratch) as parent,
        staged(parent, scratch) as stage,
    ):
        client = one_client(stage)
        stage.kill(opened(stage, client))
        stage.dismiss(opened(stage, client))
        assert [killed.left for killed in events(stage, Killed)] == [2, 2]
        assert not _alive(scratch)
        opened(stage, client)
        assert len(_alive(scratch)) == 2
        parent.close()
        assert not _alive(scratch), "the end of the run ends them too"


def _alive(folder: Path) -> list[int]:
    """Of the processes that nodes started, those that live; children that nobody waits for too."""
    pids = map(int, (folder / "store" / "children").read_text().split())
    return [pid for pid in pids if psutil.pid_exists(pid)]
