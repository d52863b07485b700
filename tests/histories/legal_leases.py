"""Legal: units of holders whose leases may not have lapsed when recovery came (AO3xx, AO8xx)."""

from __future__ import annotations

from admitone.chaos.events import Note
from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.replies import Recovered
from admitone.targets.terms import Admission

from ..historybuilder import Builder

LEASE_S = 0.01


def _held(*, lease_s: float = LEASE_S, error_s: float = 0.0) -> Builder:
    facts = Facts(lapse="takeover", clock_error_s=error_s)
    h = Builder(claims=["recover"], facts=facts, lease_s=lease_s)
    h.issue()
    h.phase("hurt")
    h.prepare("r1", slot="s1")
    h.kill()
    h.phase("recover")
    return h


def _passes(h: Builder, after_ms: int) -> None:
    h.add(Note("time", "passes"), after_ms=after_ms)


def _ended(h: Builder) -> History:
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def recovery_that_comes_before_the_lease_has_lapsed() -> History:
    h = _held()
    h.recover()
    return _ended(h)


def recovery_that_comes_within_the_error_of_the_clock() -> History:
    h = _held(error_s=0.1)
    _passes(h, 20)
    h.recover()
    return _ended(h)


def lease_of_a_length_that_nobody_told() -> History:
    h = _held(lease_s=0.0)
    _passes(h, 1000)
    h.recover()
    return _ended(h)


def lease_that_its_holder_renewed() -> History:
    h = _held()
    _passes(h, 8)
    h.end(h.begin("renew", admission=Admission("R", "s1")))
    _passes(h, 4)
    h.recover()
    return _ended(h)


def recovery_behind_another_that_may_have_a_lease() -> History:
    h = _held()
    h.recover()
    _passes(h, 8)
    h.recover()
    return _ended(h)


def recovery_behind_a_worker_that_may_have_a_lease() -> History:
    h = _held()
    h.end(h.begin("work", "n7", label=None), value=Recovered())
    _passes(h, 8)
    h.recover()
    return _ended(h)


def retry_that_is_refused_while_the_lease_runs() -> History:
    facts = Facts(lapse="takeover", attempt_identity=True, recovery="resend")
    h = Builder(facts=facts, lease_s=LEASE_S)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.prepare("r1", node="n2", refused="held")
    h.read(prepared=1)
    return h.history()
