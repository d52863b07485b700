"""The one primitive: stop at a point, then kill | drop the reply | hold | raise | go on.

With real processes, on two ledgers that share nothing; what counts is what the history says.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from admitone.chaos.events import (
    Armed,
    Invoked,
    Killed,
    Point,
    Read,
    Released,
    Replied,
    SinkApplied,
    SinkReplied,
    SinkRequested,
    Stopped,
)
from admitone.chaos.handle import NodeHandle
from admitone.scenarios.calls import Arm, Twist
from admitone.scenarios.client import Client, Use
from admitone.scenarios.scene import units
from admitone.scenarios.stage import Stage
from tests.harness_world import events, names, one_client, opened, staged, warmed

BEFORE = Twist(Arm("FP3", Point("prepare", "write", "before", 1)))
AFTER = Twist(Arm("FP4", Point("prepare", "write", "after", 1)))
REPLY = Twist(Arm("FP4", Point("prepare", "reply", "before", 1)))
HELD_S = 0.2
"""How long the second of two callers is listened to while the first is held."""


@dataclass
class Play:
    """A stage with one issued authorization, and one node that has it."""

    stage: Stage
    client: Client
    node: NodeHandle
    use: Use
    began: int

    def reading(self) -> tuple[bool, int, int]:
        """Known, prepared, committed: as a fresh process reads them."""
        node = self.stage.node()
        view = self.stage.inspect(node, self.client.known, self.client.label, "after_fault")
        assert view is not None
        return units(view)


@pytest.fixture(params=["builtin:caplease-sqlite", "builtin:correct/counter"])
def play(request: pytest.FixtureRequest, scratch: Path) -> Iterator[Play]:
    with warmed(request.param, scratch) as parent, staged(parent, scratch) as stage:
        client = one_client(stage)
        node = opened(stage, client)
        client.issue(node)
        yield Play(stage, client, node, client.new_use(), len(stage.recorder.lines))


@pytest.mark.parametrize(
    ("arm", "durable"), [(BEFORE, 0), (AFTER, 1), (REPLY, 1)], ids=["before", "after", "reply"]
)
def test_stop_then_kill(play: Play, arm: Twist, durable: int) -> None:
    pending = play.client.prepare(play.node, play.use, arm)
    assert pending.answer is None, "it stands"
    play.stage.kill(play.node, pending)
    assert play.reading() == (True, durable, 0)
    assert names(play.stage, play.began) == [
        *("Armed", "Invoked", "Stopped", "Killed", "Replied", "Read")
    ]
    [killed] = events(play.stage, Killed)
    assert killed == Killed(play.node.name, play.node.pid, signal.SIGKILL, True, 0)
    assert arm.arm is not None
    assert events(play.stage, Stopped)[0].point == arm.arm.point
    assert events(play.stage, Stopped)[0].call == events(play.stage, Invoked)[-1].call
    assert events(play.stage, Replied)[-1].why == "dead"
    assert play.stage.tally.kills == 1
    assert not play.stage.harmed


def test_stop_then_drop_the_reply(play: Play) -> None:
    pending = play.client.prepare(play.node, play.use, REPLY)
    play.stage.lose_reply(pending)
    play.stage.go(pending)
    assert names(play.stage, play.began) == ["Armed", "Invoked", "Stopped", "Replied", "Released"]
    last = events(play.stage, Replied)[-1]
    assert (last.outcome, last.why) == ("unknown", "dropped")
    assert play.reading() == (True, 1, 0)
    again = play.client.prepare(play.node, play.use)
    assert again.answer is not None
    assert again.answer.granted, "its node lives, and knows the attempt"
    assert play.reading() == (True, 1, 0)


def test_stop_then_hold_while_another_acts(play: Play) -> None:
    second = opened(play.stage, play.client)
    other = play.client.new_use()
    began = len(play.stage.recorder.lines)
    held = play.client.prepare(play.node, play.use, BEFORE)
    blocked = play.client.prepare(second, other, Twist(patience_s=HELD_S))
    assert held.answer is None
    assert blocked.answer is None, "it waits for the lock of the one that is held"
    play.stage.go(held)
    play.stage.settle(held, blocked)
    assert held.answer is not None
    assert held.answer.granted
    assert blocked.answer is not None
    assert blocked.answer.outcome == "refused", "b = 1"
    assert names(play.stage, began) == [
        *("Armed", "Invoked", "Stopped", "Invoked", "Released", "Replied", "Replied")
    ]
    assert play.reading() == (True, 1, 0)


def test_stop_before_the_transaction_lets_another_through(play: Play) -> None:
    second = opened(play.stage, play.client)
    other = play.client.new_use()
    arm = Twist(Arm("hold", Point("prepare", "begin", "before", 1)))
    held = play.client.prepare(play.node, play.use, arm)
    assert held.reached
    through = play.client.prepare(second, other)
    assert through.answer is not None
    assert through.answer.granted
    play.stage.go(held)
    assert held.answer is not None
    assert held.answer.outcome == "refused"


@pytest.mark.parametrize("error", ["busy", "io"])
def test_stop_then_raise(play: Play, error: str) -> None:
    """A library may repeat a COMMIT that was busy; its answer and its store must agree."""
    pending = play.client.prepare(play.node, play.use, BEFORE)
    play.stage.go(pending, error)
    assert pending.answer is not None
    admitted = pending.answer.granted
    assert error == "busy" or not admitted, "that COMMIT is lost with its transaction"
    assert events(play.stage, Released)[-1] == Released("FP3", play.node.name, f"raise {error}")
    assert play.reading() == (True, int(admitted), 0)
    again = play.client.prepare(play.node, play.use)
    assert again.answer is not None
    assert again.answer.granted, "the failure left nothing locked"
    assert play.reading() == (True, 1, 0)
    assert not play.stage.harmed


def test_stop_then_go_on(play: Play) -> None:
    pending = play.client.prepare(play.node, play.use, AFTER)
    assert play.reading() == (True, 1, 0), "durable, and not acknowledged"
    play.stage.go(pending)
    assert pending.answer is not None
    assert pending.answer.granted
    assert names(play.stage, play.began) == [
        *("Armed", "Invoked", "Stopped", "Read", "Released", "Replied")
    ]


def test_a_point_that_is_never_reached_stops_nobody(play: Play) -> None:
    far = Twist(Arm("FP3", Point("prepare", "write", "before", 99)))
    pending = play.client.prepare(play.node, play.use, far)
    assert pending.answer is not None
    assert not pending.reached
    assert events(play.stage, Armed)
    assert not events(play.stage, Stopped)


@pytest.mark.parametrize("transit", ["held", "lost", "unanswered"])
def test_an_effect_is_stopped_on_its_way(play: Play, transit: str) -> None:
    play.client.prepare(play.node, play.use)
    assert play.use.admission is not None
    pending = play.client.send(
        play.node,
        play.use,
        play.use.admission,
        Twist(transit=("FP6", transit)),  # type: ignore[arg-type]
    )
    assert pending.answer is None
    assert pending.letter is not None
    applied = len(events(play.stage, SinkApplied))
    assert applied == (transit == "unanswered")
    play.stage.kill(play.node, pending)
    if transit == "held":
        play.stage.desk.deliver(pending.letter)  # its sender is dead; it arrives all the same
        assert len(events(play.stage, SinkApplied)) == 1
    assert (
        len(events(play.stage, SinkRequested)) == {"held": 2, "lost": 0, "unanswered": 1}[transit]
    )
    assert [r.how for r in events(play.stage, SinkReplied)] == {
        "held": ["applied"],
        "lost": [],
        "unanswered": ["dropped"],
    }[transit]


def test_a_call_to_a_dead_node_is_answered_at_once_and_leaves_no_line(play: Play) -> None:
    play.stage.kill(play.node)
    lines = len(play.stage.recorder.lines)
    pending = play.client.prepare(play.node, play.use, BEFORE)
    assert pending.answer is not None
    assert pending.answer.why == "dead"
    assert play.stage.inspect(play.node, play.client.known, play.client.label, "final") is None
    play.stage.kill(play.node)
    play.stage.dismiss(play.node)
    assert len(play.stage.recorder.lines) == lines
    assert not events(play.stage, Read)
