"""Histories that must be convicted: at least one for every code."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Admission, Call

from ..historybuilder import ARGS, GUARDED, Builder

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
ATTEMPTS = Facts(attempt_identity=True, recovery="resend")
TRUE_ARGS = {"to": "acct-1", "amount": True}


def AO101_view_holds_more() -> History:
    h = Builder()
    h.issue()
    h.read(issued=2)
    return h.history()


def AO101_second_record() -> History:
    h = Builder()
    h.issue("R1")
    h.issue("R2")
    return h.history()


def AO101_slot_names() -> History:
    h = Builder(facts=SLOTS)
    h.issue()
    h.read("after_fault", slots={"s1": "issued"})
    h.read("final", slots={"s2": "issued"})
    return h.history()


def AO102_two_grants() -> History:
    h = Builder()
    h.issue()
    h.use("r1")
    h.prepare("r2")
    return h.history()


def AO102_view() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", unknown="dead")
    h.prepare("r2", unknown="dead")
    h.read("after_fault", prepared=2)
    return h.history()


def AO102_admitted_after_the_view() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", unknown="dead")
    h.read("after_fault", prepared=1)
    h.prepare("r2")
    return h.history()


def AO102_released_by_a_stranger() -> History:
    h = Builder(facts=Facts(after_not_applied="free"), claims=["release"])
    h.issue()
    first = h.prepare("r1", slot="s1")
    h.release(first, executor="E2")
    h.prepare("r2", slot="s2", executor="E3")
    return h.history()


def AO102_guarded_entries() -> History:
    h = Builder(operations=GUARDED)
    h.issue()
    h.execute("r1")
    h.execute("r2")
    return h.history()


def AO102_dropped_grant() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", unknown="dropped", said=Admission("R", "s1"))
    h.prepare("r2", slot="s2")
    return h.history()


def AO103_key_per_attempt() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    use = h.prepare("r1")
    h.effect(use, key="k1")
    h.effect(use, key="k2")
    return h.history()


def AO103_more_than_b() -> History:
    h = Builder()
    h.issue()
    use = h.prepare("r1")
    h.effect(use, key="k1")
    h.prepare("r2", unknown="silent")
    h.sink_gets(None, "k2")
    return h.history()


def AO104_slot_twice() -> History:
    h = Builder(budget=5, facts=SLOTS, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.prepare("r2", slot="s1", key="k1")
    return h.history()


def AO104_key_twice() -> History:
    h = Builder(budget=2, facts=Facts(key="stored"), claims=["multi_budget"])
    h.issue()
    h.prepare("r1", key="k1")
    h.prepare("r2", key="k1")
    return h.history()


def AO104_takeover_under_another_key() -> History:
    h = Builder(facts=Facts(lapse="takeover"))
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.prepare("r2", slot="s1", key="k2", node="n2")
    return h.history()


def AO104_shown_by_a_view() -> History:
    h = Builder(budget=2, facts=SLOTS, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", unknown="dead")
    h.read("after_fault", slots={"s1": "prepared"}, attempts={"s1": "a1"})
    h.prepare("r2", slot="s1", key="k1", node="n2")
    return h.history()


def AO105_not_admitted_while_held() -> History:
    h = Builder(operations=GUARDED)
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.hold(call, "k1")
    h.read("while_effect_held", issued=1)
    return h.history()


def AO105_killed_before_commit() -> History:
    h = Builder(operations=GUARDED, claims=["durable_process"])
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.sink_gets(call, "k1", request="r1")
    h.kill()
    h.unknown(call)
    h.read("after_fault", issued=1)
    return h.history()


def AO105_timeout_frees_the_slot() -> History:
    h = Builder(budget=2, facts=SLOTS, claims=["multi_budget"])
    h.issue()
    h.use("r1", slot="s1", key="k1")
    h.effect(h.prepare("r2", slot="s2", key="k2"), how="dropped")
    h.kill(injected=False)
    h.read("after_fault", slots={"s1": "committed", "s2": "issued"})
    return h.history() if "durable_process" in h.claims else _claiming(h)


def _claiming(h: Builder) -> History:
    h.claims = [*h.claims, "durable_process"]
    return h.history()


def AO106_retry_takes_next() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    call = h.begin("prepare", request="r1", attempt="a1")
    h.unknown(call)
    h.effect(h.prepare("r1", slot="s2", node="n2"), node="n2")
    h.recover(Admission("R", "s1"))
    call = h.begin("effect", "n9", request="r1", attempt="a1", admission=Admission("R", "s1"))
    h.sink_gets(call, "k-s1", request="r1")
    return h.history()


def AO201_key_changes() -> History:
    h = Builder(facts=SLOTS, claims=["recover"])
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.effect(use, how="dropped")
    h.recover(Admission("R", "s1", "k2"))
    return h.history()


def AO201_guarded_entry_keys() -> History:
    h = Builder(facts=Facts(key="stored", attempt_identity=True), operations=GUARDED)
    h.issue()
    h.execute("r1", key="k1", unknown="dead")
    h.execute("r1", key="k2", sink="repeated", node="n2")
    return h.history()


def AO202_other_arguments() -> History:
    h = Builder(facts=Facts(binds=("args",)))
    h.issue()
    h.effect(h.prepare("r1"), args={**ARGS, "amount": "95.00"})
    return h.history()


def AO202_true_is_not_one() -> History:
    h = Builder(facts=Facts(binds=("tool", "args")))
    h.approve("M", args={"n": 1})
    use = h.prepare("r1")
    h.effect(use, args={"n": True}, label="M")
    return h.history()


def AO202_nobody_approved() -> History:
    h = Builder()
    h.issue()
    h.effect(h.prepare("r1"), label=None)
    return h.history()


def AO202_admitted_call() -> History:
    h = Builder(facts=Facts(binds=("principal",)))
    h.issue()
    h.prepare("r1", sends=Call("pay", ARGS, "another user", "account/1"))
    return h.history()


def AO203_one_key_for_two() -> History:
    h = Builder(budget=2, facts=SLOTS, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.prepare("r2", slot="s2", key="k1")
    return h.history()


def AO301_never_settled() -> History:
    h = Builder(claims=["recover"])
    h.issue()
    h.phase("hurt")
    h.effect(h.prepare("r1"), how="dropped")
    h.kill()
    h.phase("recover")
    h.recover()
    h.phase("drain")
    h.prepare("r2", node="n2", refused="exhausted")
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def AO301_doubt_without_a_manual_state() -> History:
    h = Builder(claims=["recover"], facts=Facts(recovery="manual"))
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.phase("recover")
    h.recover()
    h.read(in_doubt=1)
    return h.history()


def AO302_committed_without_effect() -> History:
    h = Builder()
    h.issue()
    use = h.prepare("r1")
    h.recover(settled=[use.admission])
    h.read(committed=1)
    return h.history()


def AO302_replayed_without_effect() -> History:
    h = Builder(operations=GUARDED)
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.kill()
    h.unknown(call)
    h.execute("r1", replayed=True, node="n2")
    return h.history()


def AO303_second_slot() -> History:
    h = Builder(budget=2, facts=SLOTS, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", unknown="dropped", said=Admission("R", "s1", "k1"))
    h.prepare("r1", slot="s2", key="k2")
    return h.history()


def AO303_recovery_takes_a_free_one() -> History:
    h = Builder(budget=2, claims=["recover", "multi_budget"], facts=Facts(slot_identity=True))
    h.issue()
    h.prepare("r1", slot="s1")
    h.kill()
    h.read("after_fault", slots={"s1": "prepared", "s2": "issued"})
    h.recover(Admission("R", "s2"))
    return h.history()


def AO304_committed_then_issued() -> History:
    h = Builder(facts=SLOTS)
    h.issue()
    h.use("r1", slot="s1", key="k1")
    h.read("after_heal", slots={"s1": "committed"})
    h.issue()
    h.read("final", slots={"s1": "issued"})
    return h.history()


def AO304_committed_then_given_again() -> History:
    h = Builder(facts=SLOTS)
    h.issue()
    h.use("r1", slot="s1", key="k1")
    h.prepare("r2", slot="s1", key="k1")
    return h.history()


def AO304_fewer_committed() -> History:
    h = Builder()
    h.issue()
    h.use("r1")
    h.read("after_heal", committed=1)
    h.read("final", issued=1)
    return h.history()


def AO701_admission_lost() -> History:
    h = Builder(claims=["durable_process"])
    h.issue()
    h.prepare("r1")
    h.kill()
    h.read("after_fault", issued=1)
    return h.history()


def AO701_record_lost() -> History:
    h = Builder(claims=["durable_process"])
    h.issue()
    h.kill()
    h.read("after_fault", known=False)
    return h.history()


def AO701_commit_lost() -> History:
    h = Builder(claims=["durable_process"], facts=SLOTS)
    h.issue()
    h.use("r1", slot="s1", key="k1")
    h.kill()
    h.read("after_fault", slots={"s1": "prepared"})
    return h.history()


def AO702_refused_then_resumed() -> History:
    h = Builder(facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", refused="exhausted")
    h.recover(Admission("R", attempt="a1"))
    return h.history()


def AO702_refused_yet_counted() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", busy="contention")
    h.read("after_heal", prepared=1)
    return h.history()


def AO702_refused_yet_applied() -> History:
    h = Builder()
    h.issue()
    call = h.begin("prepare", request="r1", attempt="a1")
    h.end(call, "refused", None)
    h.sink_gets(call, "k1", request="r1")
    return h.history()


def AO703_no_record() -> History:
    h = Builder(claims=["audit"])
    h.audit(3)
    h.issue()
    h.use("r1")
    h.audit(5)
    return h.history()


def AO704_does_not_verify() -> History:
    h = Builder(claims=["audit"])
    h.audit(3, ok=False)
    return h.history()


def AO704_shrank() -> History:
    h = Builder(claims=["audit"])
    h.audit(3)
    h.audit(2)
    return h.history()


def AO704_another_head() -> History:
    h = Builder(claims=["audit"])
    h.audit(3)
    h.audit(3, head="other")
    return h.history()


def AO801_first_use() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", refused="exhausted")
    return h.history()


def AO801_first_issue() -> History:
    h = Builder()
    h.issue(refused="duplicate")
    return h.history()


def AO801_guarded_replay() -> History:
    h = Builder(operations=GUARDED, sink="control")
    h.issue()
    h.execute("r1", replayed=True)
    return h.history()


def AO802_leaked_unit() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    h.use("r1")
    h.phase("drain")
    h.prepare("r2", refused="exhausted")
    h.prepare("r3", refused="exhausted")
    return h.history()


def AO802_view_has_a_free_one() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.phase("drain")
    h.prepare("r2", node="n2", refused="exhausted")
    h.phase("end")
    h.read(issued=1)
    return h.history()


def AO802_replayed_to_a_fresh_request() -> History:
    h = Builder(budget=2, claims=["multi_budget"], operations=GUARDED)
    h.issue()
    h.execute("r1")
    h.phase("drain")
    h.execute("r2", replayed=True)
    return h.history()


def AO803_retry_costs_two() -> History:
    h = Builder(budget=2, claims=["multi_budget"], facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", unknown="dropped")
    h.use("r1")
    h.read(prepared=1, committed=1)
    return h.history()


def AO803_never_ends() -> History:
    h = Builder(facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.prepare("r1", node="n2", refused="duplicate")
    h.read(prepared=1)
    return h.history()


def AO804_silent() -> History:
    h = Builder()
    h.issue()
    h.phase("drain")
    h.prepare("r1", unknown="silent")
    return h.history()


def AO804_always_busy() -> History:
    h = Builder()
    h.issue()
    h.phase("drain")
    h.prepare("r1", busy="contention")
    h.prepare("r1", busy="contention")
    h.prepare("r1", busy="contention")
    return h.history()


CONVICTING = {name: make for name, make in list(globals().items()) if name.startswith("AO")}
"""Every history of this module by its name, which starts with the code that must convict it."""
