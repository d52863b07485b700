"""A history that breaks its own rules is the harness's fault, and is told from every legal one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from admitone.chaos.events import (
    Approved,
    Phase,
    Read,
    Recorded,
    Replied,
    SinkApplied,
    SinkReplied,
    SinkRequested,
    Stamp,
)
from admitone.scenarios.validate import validate
from admitone.targets.replies import Refused
from tests.histories.convicting import CONVICTING
from tests.histories.legal import LEGAL
from tests.historybuilder import Builder


@pytest.mark.parametrize("name", CONVICTING | LEGAL)
def test_what_a_ledger_can_do_is_always_valid(name: str) -> None:
    assert validate((CONVICTING | LEGAL)[name]()) == []


def reply_without_invocation(h: Builder) -> None:
    h.end(9)


def two_replies(h: Builder) -> None:
    call = h.begin("issue")
    h.end(call)
    h.end(call)


def call_number_used_twice(h: Builder) -> None:
    h.begin("issue")
    h._calls = 0
    h.begin("issue")


def granted_and_refused_at_once(h: Builder) -> None:
    h.end(h.begin("issue"), "granted", Refused())


def refused_with_a_grant(h: Builder) -> None:
    h.end(h.begin("issue"), "refused", "fine")


def unheard_of_operation(h: Builder) -> None:
    h.begin("prepere")


def commit_of_nothing(h: Builder) -> None:
    h.begin("commit")


def label_that_was_not_approved(h: Builder) -> None:
    h.begin("issue", label="M")


def reading_of_a_label_that_was_not_approved(h: Builder) -> None:
    h.read(label="M", issued=1)


def applied_without_a_request(h: Builder) -> None:
    h.add(SinkApplied(1, 1, "k", "L", "d"))


def applied_while_only_held(h: Builder) -> None:
    number = h.hold(None, "k")
    h.add(SinkApplied(number, 1, "k", "L", "d"))


def application_counted_twice(h: Builder) -> None:
    number = h.sink_gets(None, "k")
    h.add(SinkApplied(number, 1, "k", "L", "d"))


def answered_without_a_request(h: Builder) -> None:
    h.add(SinkReplied(4, "applied"))


def request_received_twice(h: Builder) -> None:
    h.sink_gets(None, "k")
    h._requests = 0
    h.sink_gets(None, "k", "repeated")


def delivered_otherwise_than_held(h: Builder) -> None:
    h.hold(None, "k")
    h.add(SinkRequested(1, "n1", None, "another", "pay", {}, "L"))


def request_of_an_unknown_call(h: Builder) -> None:
    h.sink_gets(12, "k")


def reading_that_ended_before_it_began(h: Builder) -> None:
    h.add(Read("final", "n1", "L", 10**15, None))


def phases_backwards(h: Builder) -> None:
    h.phase("drain")
    h.phase("heal")


def unheard_of_phase(h: Builder) -> None:
    h.add(Phase("drian"))


def call_on_a_dead_node(h: Builder) -> None:
    h.kill()
    h._dead.clear()
    h.begin("issue")


def stop_of_a_dead_node(h: Builder) -> None:
    call = h.begin("issue")
    h.kill()
    h.stop("issue", call)


BROKEN = [
    reply_without_invocation,
    two_replies,
    call_number_used_twice,
    granted_and_refused_at_once,
    refused_with_a_grant,
    unheard_of_operation,
    commit_of_nothing,
    label_that_was_not_approved,
    reading_of_a_label_that_was_not_approved,
    applied_without_a_request,
    applied_while_only_held,
    application_counted_twice,
    answered_without_a_request,
    request_received_twice,
    delivered_otherwise_than_held,
    request_of_an_unknown_call,
    reading_that_ended_before_it_began,
    phases_backwards,
    unheard_of_phase,
    call_on_a_dead_node,
    stop_of_a_dead_node,
]


@pytest.mark.parametrize("breaks", BROKEN, ids=lambda f: f.__name__)
def test_a_history_that_breaks_its_own_rules(breaks: Callable[[Builder], None]) -> None:
    h = Builder()
    breaks(h)
    problems = validate(h.history())
    assert len(problems) == 1, problems
    assert problems[0].startswith("event ")


def test_a_sequence_that_does_not_increase() -> None:
    history = LEGAL["two_ok_replies_for_one_attempt"]()
    doubled = replace(history, lines=(*history.lines, history.lines[-1]))
    assert any("sequence" in problem for problem in validate(doubled))


def test_a_label_is_approved_before_it_is_used() -> None:
    history = LEGAL["two_ok_replies_for_one_attempt"]()
    approved = [x for x in history.lines if isinstance(x.event, Approved)]
    late = Recorded(Stamp(10**6, 0, "test"), approved[0].event)
    assert validate(replace(history, lines=(*history.lines[1:], late)))


def test_a_reply_may_arrive_after_its_node_died() -> None:
    h = Builder()
    call = h.begin("prepare", request="r1", attempt="a1")
    h.kill()
    h.add(Replied(call, "unknown", "dead"))
    assert validate(h.history()) == []
