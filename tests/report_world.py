"""Results, histories and hostile texts that the tests of the reports share."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from admitone.chaos.events import (
    Approved,
    Armed,
    Event,
    Invoked,
    Killed,
    Note,
    Phase,
    Point,
    Read,
    Recorded,
    Released,
    Replied,
    SinkApplied,
    SinkReplied,
    SinkRequested,
    Stamp,
    Stopped,
)
from admitone.scenarios.history import Header, History
from admitone.scenarios.results import Finding, PointUse, ScheduleResult
from admitone.scenarios.summary import Required, RunFacts, RunTally, TargetFacts
from admitone.targets.declaration import Declaration
from admitone.targets.replies import Done, Recovered, Refused
from admitone.targets.terms import (
    Admission,
    Approval,
    Authorization,
    Call,
    Confirmation,
    Context,
    SlotView,
    TargetName,
    Validity,
    View,
)

SNAPSHOTS = Path(__file__).parent / "snapshots"


SCHEDULE = "broken-recover/crash:FP9.kill.b1.control.s17@1"


HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\nline two\u202e\u2028\x9b31m" + "A" * 1_000_000 + "\x1b[0m"


ACTS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


def same_as_snapshot(name: str, text: str) -> None:
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("ADMITONE_UPDATE_SNAPSHOTS"):
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")


CALL = Call("transfer", {"amount": 5, "label": "a1"}, "alice", "acct-9")


K1, K2 = "9d1f6a" + "0" * 58, "c40e11" + "0" * 58


FINDING = Finding(
    code="AO301",
    title="a recovered slot was sent again under another key",
    label="a1",
    inequality="N_effect = 2 > N_admit = 1",
    expected="one application: a recovered slot keeps its key 9d1f…",
    seen="two applications, keys 9d1f… and c40e…",
    remedy="derive the key from record and slot, or store it with the admission",
    at=(9, 22),
    claim="recover",
)


def history(*events: Event, source: str = "harness") -> History:
    header = Header(SCHEDULE, TargetName("broken-recover", "", "0.1"), Declaration(), (), "control")
    recorded = [
        Recorded(Stamp(n, n * 1000, "n1" if isinstance(e, Note) else source), e)
        for n, e in enumerate(events, 1)
    ]
    return History(header, tuple(recorded))


def doubled_effect() -> tuple[Event, ...]:
    approval = Approval(
        CALL,
        Confirmation("e-7", "alice", "sigma", 1, "mac"),
        1,
        Context("n1", "s", "t"),
        Validity(0.0),
    )
    commit = Point("commit", "write", "before", 1)
    first, second = Admission("r1", "0", K1), Admission("r1", "0", K2)
    args = {"amount": 5}
    return (
        Approved("a1", approval),
        Phase("hurt"),
        Invoked(1, "issue", "n1", "alice", "a1"),
        Replied(1, "granted", "reply", Authorization("r1", 1)),
        Invoked(2, "prepare", "n1", "alice", "a1", "q1", "t1"),
        Replied(2, "granted", "reply", first),
        SinkRequested(1, "n1", None, K1, "transfer", args, "a1"),
        Invoked(9, "prepare", "n9", "bob", "other", "q9", "t9"),  # another story
        SinkApplied(1, 1, K1, "a1", "d"),
        SinkReplied(1, "applied"),
        Armed("FP9", "n1", commit),
        Invoked(3, "commit", "n1", "alice", "a1", admission=first),
        Note("stderr", "Traceback:\n  deep\n  deeper\nWARN commit is slow"),
        Stopped("FP9", "n1", commit, 3, "COMMIT"),
        Killed("n1", 4711, 9, True),
        Replied(3, "unknown", "dead"),
        Read("after_fault", "inspector", "a1", 0, View(True, (SlotView("0", "prepared", "P"),))),
        Phase("recover"),
        Invoked(4, "recover", "n2", "carol"),
        Replied(4, "granted", "reply", Recovered((second,))),
        SinkRequested(2, "n2", None, K2, "transfer", args, "a1"),
        SinkApplied(2, 2, K2, "a1", "d"),
        SinkReplied(2, "applied"),
        Invoked(5, "commit", "n2", "carol", "a1", admission=second),
        Replied(5, "granted", "reply", Done()),
        Phase("end"),
        Read("final", "inspector", "a1", 0, View(True, (SlotView("0", "committed", "C"),))),
    )


def race() -> tuple[Event, ...]:
    held = Point("prepare", "statement", "after", 2)
    steps: list[Event] = [
        Invoked(1, "prepare", "n1", "alice", "a1", "q1", "t1"),
        Invoked(2, "prepare", "n2", "bob", "a1", "q2", "t2"),
    ]
    for nth, sql in enumerate(("BEGIN", "SELECT used FROM slots", "UPDATE slots SET used = 1"), 1):
        steps.append(Stopped("order 7", "n1", replace(held, nth=nth), 1, sql))
        steps.append(Released("order 7", "n1", "go"))
    return (
        *steps,
        Stopped("order 7", "n2", Point("prepare", "statement", "after", 1), 2, "BEGIN"),
        Released("order 7", "n2", "go"),
        Stopped("order 7", "n1", Point("prepare", "write", "before", 1), 1, "COMMIT"),
        Replied(2, "granted", "reply", Admission("r1", "0", K2)),
        Released("order 7", "n1", "go"),
        Replied(1, "refused", "reply", Refused("exhausted")),
    )


def facts() -> RunFacts:
    return RunFacts(
        seed=4021,
        profile="quick",
        version="0.1.0",
        command="admitone run --seed 4021",
        machine="Linux x86_64, 2 cores",
        started="2026-01-02T03:04:05Z",
        targets=(
            TargetFacts("caplease-sqlite", "0.1.0", "sha256:aa11", {"revoke": "s", "recover": "s"}),
            TargetFacts(
                "broken-recover", "0.1.0", "", {"recover": "s"}, {"FP7": "its sink is atomic"}
            ),
        ),
        required=Required(("crash",), ("FP1", "FP9"), ("AO101",)),
        planned={"budgets": 4, "crash": 3},
    )


def results() -> list[ScheduleResult]:
    fp1 = PointUse("FP1", 1, 1, "kill write 1 of 1")
    fp9 = PointUse("FP9", 1, 1, "kill write 1 of 1")
    good = ScheduleResult(
        "caplease-sqlite/crash:FP9.kill.b1.idem.s1@1",
        "caplease-sqlite",
        "crash",
        "passed",
        opportunities={"AO101": 3},
        points=(fp1, fp9),
        claims=("recover",),
        kills=2,
        admits=3,
        effects=3,
        digest="ab" * 32,
        duration_s=0.25,
    )
    bad = replace(
        good,
        id=SCHEDULE,
        target="broken-recover",
        verdict="violation",
        findings=(FINDING,),
        points=(fp9, PointUse("FP11", 4, 0, "kill")),
        races_started=3,
        races_overlapped=1,
        relies_on_sink="yes",
        history_kept="histories/1.jsonl",
    )
    odd = replace(bad, verdict="could_not_run", findings=(), points=(), reason="no toxiproxy")
    return [good, bad, replace(bad, id="b", drops=1), replace(odd, id="c", family="network")]


def a_tally() -> RunTally:
    tally = RunTally(facts())
    for result in results():
        tally.add(result)
    tally.stop("max_time", duration_s=12.34, detail="20 s were up")
    return tally


def hostile_result() -> ScheduleResult:
    finding = Finding("AO101", HOSTILE, "a1", HOSTILE, HOSTILE, HOSTILE, HOSTILE, claim=HOSTILE)
    return ScheduleResult(
        "mine/crash:x@1",
        "mine",
        "crash",
        "violation",
        (finding,) * 60,
        {f"AO{n}": n for n in range(500)},
        tuple(PointUse("FP1", 1, 1, f"{n}{HOSTILE}") for n in range(50)),
        reason=HOSTILE,
    )


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s
