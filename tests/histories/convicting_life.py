"""Histories that must be convicted: durability, audit, liveness (AO7xx, AO8xx)."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Admission

from ..historybuilder import GUARDED, Builder, Use

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
ATTEMPTS = Facts(attempt_identity=True, recovery="resend")


def ao701_admission_lost() -> History:
    h = Builder(claims=["durable_process"])
    h.issue()
    h.prepare("r1")
    h.kill()
    h.read("after_fault", issued=1)
    return h.history()


def ao701_record_lost() -> History:
    h = Builder(claims=["durable_process"])
    h.issue()
    h.kill()
    h.read("after_fault", known=False)
    return h.history()


def ao701_commit_lost() -> History:
    h = Builder(claims=["durable_process"], facts=SLOTS)
    h.issue()
    h.use("r1", slot="s1", key="k1")
    h.kill()
    h.read("after_fault", slots={"s1": "prepared"})
    return h.history()


def ao702_refused_then_resumed() -> History:
    h = Builder(facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", refused="exhausted")
    h.recover(Admission("R", attempt="a1"))
    return h.history()


def ao702_refused_yet_counted() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", busy="contention")
    h.read("after_heal", prepared=1)
    return h.history()


def ao702_refused_yet_applied() -> History:
    h = Builder()
    h.issue()
    call = h.begin("prepare", request="r1", attempt="a1")
    h.end(call, "refused", None)
    h.sink_gets(call, "k1", request="r1")
    return h.history()


def ao703_no_record() -> History:
    h = Builder(claims=["audit"])
    h.audit(3)
    h.issue()
    h.use("r1")
    h.audit(5)
    return h.history()


def ao703_no_record_of_a_commit_after_recovery() -> History:
    h = Builder(claims=["audit"])
    h.recover()
    h.audit(3)
    h.use("r1")
    h.audit(4)
    return h.history()


def ao703_no_record_of_an_admission_whose_reply_was_lost() -> History:
    h = Builder(claims=["audit"], facts=ATTEMPTS)
    h.issue()
    h.audit(1)
    h.prepare("r1", unknown="dead")
    h.prepare("r1")
    h.audit(1)
    return h.history()


def ao703_no_record_of_an_admission_that_only_recovery_saw() -> History:
    h = Builder(claims=["audit", "durable_process"], facts=SLOTS)
    h.audit(0)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.recover(Admission("R", "s1", "k1", attempt="a1"))
    end = Use("r1", "a1", Admission("R", "s1", "k1"))
    h.effect(end, node="n9")
    h.commit(end, node="n9")
    h.phase("end")
    h.audit(2)
    h.read(slots={"s1": "committed"}, keys={"s1": "k1"}, attempts={"s1": "a1"})
    return h.history()


def ao704_does_not_verify() -> History:
    h = Builder(claims=["audit"])
    h.audit(3, ok=False)
    return h.history()


def ao704_shrank() -> History:
    h = Builder(claims=["audit"])
    h.audit(3)
    h.audit(2)
    return h.history()


def ao704_another_head() -> History:
    h = Builder(claims=["audit"])
    h.audit(3)
    h.audit(3, head="other")
    return h.history()


def ao801_first_use() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", refused="exhausted")
    return h.history()


def ao801_first_issue() -> History:
    h = Builder()
    h.issue(refused="duplicate")
    return h.history()


def ao801_guarded_replay() -> History:
    h = Builder(operations=GUARDED, sink="control")
    h.issue()
    h.execute("r1", replayed=True)
    return h.history()


def ao802_leaked_unit() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    h.use("r1")
    h.phase("drain")
    h.prepare("r2", refused="exhausted")
    h.prepare("r3", refused="exhausted")
    return h.history()


def ao802_view_has_a_free_one() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.phase("drain")
    h.prepare("r2", node="n2", refused="exhausted")
    h.phase("end")
    h.read(issued=1)
    return h.history()


def ao802_replayed_to_a_fresh_request() -> History:
    h = Builder(budget=2, claims=["multi_budget"], operations=GUARDED)
    h.issue()
    h.execute("r1")
    h.phase("drain")
    h.execute("r2", replayed=True)
    return h.history()


def ao802_nothing_but_unknown() -> History:
    h = Builder()
    h.issue()
    h.stop("prepare", h.begin("prepare", request="r1", attempt="a1"))
    h.kill()
    h.phase("drain")
    h.prepare("r2", node="n2", unknown="classified")
    h.prepare("r3", node="n2", unknown="classified")
    h.phase("end")
    h.read(issued=1)
    return h.history()


def ao802_never_issued() -> History:
    h = Builder()
    h.stop("issue", h.begin("issue"))
    h.kill()
    h.phase("drain")
    h.issue(node="n2", refused="duplicate")
    return h.history()


def ao803_retry_costs_two() -> History:
    h = Builder(budget=2, claims=["multi_budget"], facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", unknown="dropped")
    h.use("r1")
    h.read(prepared=1, committed=1)
    return h.history()


def ao803_never_ends() -> History:
    h = Builder(facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.prepare("r1", node="n2", refused="duplicate")
    h.read(prepared=1)
    return h.history()


def ao804_silent() -> History:
    h = Builder()
    h.issue()
    h.phase("drain")
    h.prepare("r1", unknown="silent")
    return h.history()


def ao804_always_busy() -> History:
    h = Builder()
    h.issue()
    h.phase("drain")
    h.prepare("r1", busy="contention")
    h.prepare("r1", busy="contention")
    h.prepare("r1", busy="contention")
    return h.history()


def ao806_nobody_can_open_it_any_more() -> History:
    h = Builder()
    h.end(h.begin("open", label=None), value=["issue", "prepare", "commit"])
    h.issue()
    standing = h.begin("prepare", request="r1", attempt="a1")
    h.stop("prepare", standing)
    h.kill()
    h.unknown(standing)
    for node in ("n2", "n3"):
        h.cannot_open(node)
    return h.history()


def ao806_every_call_raises() -> History:
    h = Builder()
    h.end(h.begin("open", label=None), value=["issue", "prepare", "commit"])
    h.issue()
    standing = h.begin("prepare", request="r1", attempt="a1")
    h.stop("prepare", standing)
    h.kill()
    h.unknown(standing)
    h.end(h.begin("open", "n2", label=None), value=["issue", "prepare", "commit"])
    for number in (1, 2, 3):
        call = h.begin("prepare", "n2", request=f"r{number}", attempt=f"a{number}")
        h.unknown(call, "unclassified")
    return h.history()
