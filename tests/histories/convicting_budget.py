"""Histories that must be convicted: budget (AO1xx) and identity (AO2xx)."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.terms import Admission, Call

from ..historybuilder import ARGS, GUARDED, Builder

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
ATTEMPTS = Facts(attempt_identity=True, recovery="resend")


def ao101_view_holds_more() -> History:
    h = Builder()
    h.issue()
    h.read(issued=2)
    return h.history()


def ao101_second_record() -> History:
    h = Builder()
    h.issue("R1")
    h.issue("R2")
    return h.history()


def ao101_slot_names() -> History:
    h = Builder(facts=SLOTS)
    h.issue()
    h.read("after_fault", slots={"s1": "issued"})
    h.read("final", slots={"s2": "issued"})
    return h.history()


def ao102_two_grants() -> History:
    h = Builder()
    h.issue()
    h.use("r1")
    h.prepare("r2")
    return h.history()


def ao102_view() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", unknown="dead")
    h.prepare("r2", unknown="dead")
    h.read("after_fault", prepared=2)
    return h.history()


def ao102_admitted_after_the_view() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", unknown="dead")
    h.read("after_fault", prepared=1)
    h.prepare("r2")
    return h.history()


def ao102_released_by_a_stranger() -> History:
    h = Builder(facts=Facts(after_not_applied="free"), claims=["release"])
    h.issue()
    first = h.prepare("r1", slot="s1")
    h.release(first, executor="E2")
    h.prepare("r2", slot="s2", executor="E3")
    return h.history()


def ao102_guarded_entries() -> History:
    h = Builder(operations=GUARDED)
    h.issue()
    h.execute("r1")
    h.execute("r2")
    return h.history()


def ao102_dropped_grant() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", unknown="dropped", said=Admission("R", "s1"))
    h.prepare("r2", slot="s2")
    return h.history()


def ao103_key_per_attempt() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    use = h.prepare("r1")
    h.effect(use, key="k1")
    h.effect(use, key="k2")
    return h.history()


def ao103_more_than_b() -> History:
    h = Builder()
    h.issue()
    use = h.prepare("r1")
    h.effect(use, key="k1")
    h.prepare("r2", unknown="silent")
    h.sink_gets(None, "k2")
    return h.history()


def ao104_slot_twice() -> History:
    h = Builder(budget=5, facts=SLOTS, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.prepare("r2", slot="s1", key="k1")
    return h.history()


def ao104_key_twice() -> History:
    h = Builder(budget=2, facts=Facts(key="stored"), claims=["multi_budget"])
    h.issue()
    h.prepare("r1", key="k1")
    h.prepare("r2", key="k1")
    return h.history()


def ao104_takeover_under_another_key() -> History:
    h = Builder(facts=Facts(lapse="takeover"))
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.prepare("r2", slot="s1", key="k2", node="n2")
    return h.history()


def ao104_shown_by_a_view() -> History:
    h = Builder(budget=2, facts=SLOTS, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", unknown="dead")
    h.read("after_fault", slots={"s1": "prepared"}, attempts={"s1": "a1"})
    h.prepare("r2", slot="s1", key="k1", node="n2")
    return h.history()


def ao105_not_admitted_while_held() -> History:
    h = Builder(operations=GUARDED)
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.hold(call, "k1")
    h.read("while_effect_held", issued=1)
    return h.history()


def ao105_killed_before_commit() -> History:
    h = Builder(operations=GUARDED, claims=["durable_process"])
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.sink_gets(call, "k1", request="r1")
    h.kill()
    h.unknown(call)
    h.read("after_fault", issued=1)
    return h.history()


def ao105_timeout_frees_the_slot() -> History:
    h = Builder(budget=2, facts=SLOTS, claims=["multi_budget", "durable_process"])
    h.issue()
    h.use("r1", slot="s1", key="k1")
    h.effect(h.prepare("r2", slot="s2", key="k2"), how="dropped")
    h.kill(injected=False)
    h.read("after_fault", slots={"s1": "committed", "s2": "issued"})
    return h.history()


def ao106_retry_takes_next() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    call = h.begin("prepare", request="r1", attempt="a1")
    h.unknown(call)
    h.effect(h.prepare("r1", slot="s2", node="n2"), node="n2")
    h.recover(Admission("R", "s1"))
    call = h.begin("effect", "n9", request="r1", attempt="a1", admission=Admission("R", "s1"))
    h.sink_gets(call, "k-s1", request="r1")
    return h.history()


def ao201_key_changes() -> History:
    h = Builder(facts=SLOTS, claims=["recover"])
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.effect(use, how="dropped")
    h.recover(Admission("R", "s1", "k2"))
    return h.history()


def ao201_guarded_entry_keys() -> History:
    h = Builder(facts=Facts(key="stored", attempt_identity=True), operations=GUARDED)
    h.issue()
    h.execute("r1", key="k1", unknown="dead")
    h.execute("r1", key="k2", sink="repeated", node="n2")
    return h.history()


def ao202_other_arguments() -> History:
    h = Builder(facts=Facts(binds=("args",)))
    h.issue()
    h.effect(h.prepare("r1"), args={**ARGS, "amount": "95.00"})
    return h.history()


def ao202_true_is_not_one() -> History:
    h = Builder(facts=Facts(binds=("tool", "args")))
    h.approve("M", args={"n": 1})
    use = h.prepare("r1")
    h.effect(use, args={"n": True}, label="M")
    return h.history()


def ao202_nobody_approved() -> History:
    h = Builder()
    h.issue()
    h.effect(h.prepare("r1"), label=None)
    return h.history()


def ao202_admitted_call() -> History:
    h = Builder(facts=Facts(binds=("principal",)))
    h.issue()
    h.prepare("r1", sends=Call("pay", ARGS, "another user", "account/1"))
    return h.history()


def ao203_one_key_for_two_records_without_slots() -> History:
    h = Builder(facts=Facts(key="stored"))
    h.approve("M")
    h.issue("R")
    h.issue("Q", label="M")
    h.prepare("r1", key="k1")
    call = h.begin("prepare", label="M", request="r1", attempt="m1")
    h.end(call, "granted", Admission("Q", key="k1"))
    return h.history()


def ao203_one_key_for_two() -> History:
    h = Builder(budget=2, facts=SLOTS, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.prepare("r2", slot="s2", key="k1")
    return h.history()


def ao303_resumed_after_its_release() -> History:
    h = Builder(facts=SLOTS, claims=["release", "recover"])
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.effect(use, how="refused")
    h.release(use)
    h.recover(use.admission)
    return h.history()


def ao303_resumed_after_its_release_without_a_slot() -> History:
    h = Builder(facts=ATTEMPTS, claims=["release", "recover"])
    h.issue()
    use = h.prepare("r1")
    h.effect(use, how="refused")
    h.release(use)
    h.recover(Admission("R", attempt="a1"))
    return h.history()


def ao104_released_by_who_had_it_before() -> History:
    """One gives back twice; the second time it is another one's."""
    h = Builder(facts=SLOTS, claims=["release"])
    h.issue()
    first = h.prepare("r1", slot="s1", key="k1")
    h.effect(first, how="refused")
    h.release(first)
    h.prepare("r2", slot="s1", key="k2")
    h.release(first)
    h.prepare("r3", slot="s1", key="k3")
    return h.history()


def ao203_one_key_for_two_requests_that_were_carried_out() -> History:
    h = Builder(budget=2, facts=Facts(key="stored", attempt_identity=True), operations=GUARDED)
    h.issue()
    h.execute("r1", key="k1")
    h.execute("r2", key="k1")
    return h.history()
