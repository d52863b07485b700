"""Legal: ledgers of another make, attacks that are refused, waiting that is honest."""

from __future__ import annotations

from admitone.chaos.events import FaultOff, FaultOn
from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.replies import Recovered, Refused
from admitone.targets.terms import Admission, Call, Validity

from ..historybuilder import ARGS, GUARDED, Builder

ATTEMPTS = Facts(attempt_identity=True, recovery="resend")
EVERYTHING = ["multi_budget", "recover", "durable_process", "audit"]


def memory_ledger_that_never_claimed_to_survive() -> History:
    h = Builder(operations=GUARDED)
    h.issue()
    h.execute("r1")
    h.kill()
    h.read("after_fault", known=False)
    return h.history()


def two_confirmations_of_one_call() -> History:
    h = Builder()
    h.approve("L", event="e2")
    h.issue("R1")
    h.issue("R2")
    h.use("r1", record="R1", slot="1")
    h.use("r2", record="R2", slot="1")
    return h.history()


def issue_asked_again_answers_the_same() -> History:
    h = Builder(claims=EVERYTHING)
    h.audit(0)
    call = h.begin("issue")
    h.unknown(call)
    h.issue()
    h.issue()
    h.audit(1)
    h.read(issued=1)
    return h.history()


def admission_recorded_before_the_copy_though_its_reply_was_lost() -> History:
    h = Builder(claims=["audit"], facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.audit(2)
    h.prepare("r1")
    h.audit(2)
    return h.history()


def one_record_for_an_admission_that_was_asked_for_three_times() -> History:
    h = Builder(claims=["audit"], facts=ATTEMPTS)
    h.issue()
    h.audit(1)
    h.prepare("r1", unknown="dead")
    h.prepare("r1", unknown="dropped")
    h.prepare("r1")
    h.prepare("r1")
    h.audit(2)
    return h.history()


def recovery_sends_before_the_executor_does() -> History:
    """Guarded: admitted, and held before its effect; recovery sends it under its key first."""
    h = Builder(operations=GUARDED, facts=Facts(key="stored", recovery="resend"))
    h.issue()
    held = h.begin("execute", request="r1", attempt="a1")
    resent = h.begin("recover", "n9", "E9")
    h.sink_gets(resent, "k1")
    h.end(resent, "granted", Recovered(settled=(Admission("R", key="k1", attempt="a1"),)))
    h.sink_gets(held, "k1", "repeated", request="r1")
    h.end(held, "granted", effects=1)
    h.read(committed=1)
    return h.history()


def recovery_that_settles_two_units_in_one_record() -> History:
    h = Builder(budget=2, claims=EVERYTHING, facts=ATTEMPTS)
    h.audit(0)
    h.issue()
    for request in ("r1", "r2"):
        h.effect(h.prepare(request, key=f"k-{request}"), how="dropped")
    settled = tuple(Admission("R", key=f"k-r{n}", attempt=f"a{n}") for n in (1, 2))
    h.recover(settled=settled)
    h.phase("end")
    h.audit(4)
    h.read(committed=2)
    return h.history()


def guarded_recovery_sends_what_was_turned_away(again: bool = False) -> History:
    """The effect was definitely not applied, which the client heard, and its unit is kept for it
    ("blocked"): recovery sends it again, and then it is done."""
    facts = Facts(key="stored", recovery="resend", attempt_identity=True)
    h = Builder(operations=GUARDED, facts=facts, claims=["recover"])
    h.issue()
    h.phase("hurt")
    h.add(FaultOn("down", "sink"))
    call = h.begin("execute", request="r1", attempt="a1")
    h.end(call, "refused", Refused(), effects=1)  # no connection to the sink: nothing was sent
    h.add(FaultOff("down", "sink"))
    h.phase("heal")
    h.read("after_fault", prepared=1)
    h.phase("recover")
    resent = h.begin("recover", "n9", "E9")
    h.sink_gets(resent, "k1")
    h.end(resent, "granted", Recovered(settled=(Admission("R", key="k1"),)))
    if again:
        h.execute("r1", replayed=True)
    h.phase("drain")
    h.execute("r2", sink=None, refused="exhausted")
    h.phase("end")
    h.read(committed=1)
    return h.history()


def guarded_client_asks_again_after_recovery_did_it() -> History:
    return guarded_recovery_sends_what_was_turned_away(again=True)


def guarded_unit_is_blocked_by_what_the_sink_had_turned_away() -> History:
    h = Builder(operations=GUARDED, facts=Facts(attempt_identity=True))
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.sink_gets(call, "k1", "refused", request="r1")
    h.end(call, "refused", Refused(), effects=1)
    h.read("after_fault", prepared=1)
    h.phase("drain")
    h.execute("r2", sink=None, refused="exhausted")
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def guarded_unit_passes_on_under_its_key() -> History:
    """A lapsed holder that wakes sends under the key that its successor has as well."""
    h = Builder(operations=GUARDED, facts=Facts(key="stored", lapse="takeover"))
    h.issue()
    slow = h.begin("execute", request="r1", attempt="a1")
    h.sink_gets(slow, "k1", request="r1")
    h.execute("r2", key="k1", sink="repeated", node="n2")
    h.end(slow, "granted", effects=1)
    h.read(committed=1)
    return h.history()


def repeated_commit_leaves_no_record() -> History:
    h = Builder(claims=["audit", "repeat_commit"], facts=ATTEMPTS)
    h.issue()
    h.audit(1)
    use = h.prepare("r1")
    h.prepare("r1")
    h.effect(use)
    h.commit(use)
    h.commit(use)
    h.audit(3)
    return h.history()


def what_recovery_settled_is_recorded_once() -> History:
    h = Builder(claims=["audit", "repeat_commit"], facts=ATTEMPTS)
    h.issue()
    use = h.prepare("r1")
    h.effect(use)
    h.recover(settled=[use.admission])
    h.audit(3)
    h.commit(use)
    h.audit(3)
    return h.history()


def every_operation_leaves_two_records() -> History:
    h = Builder(claims=["audit"], budget=2)
    h.audit(1)
    h.issue()
    h.use("r1")
    h.revoke(1)
    h.audit(9)
    return h.history()


def tampered_copy_does_not_verify() -> History:
    h = Builder(claims=["audit"])
    h.audit(3)
    h.audit(2, ok=False, moment="tampered: cut tail")
    h.audit(3)
    return h.history()


def tokens_without_a_stored_record() -> History:
    h = Builder(facts=Facts(issues="held"))
    h.issue("token-1")
    h.issue("token-2")
    h.use("r1", record="e1")
    h.prepare("r2", record="e1", refused="duplicate")
    return h.history()


def theft_is_refused() -> History:
    h = Builder(facts=Facts(binds=("executor",)))
    h.issue()
    h.prepare("x1", refused="wrong_principal", executor="E7")
    h.use("r1")
    return h.history()


def odd_budget_is_refused() -> History:
    h = Builder(budget=float("nan"))
    h.issue(refused="invalid")
    return h.history()


def expired_before_the_drain() -> History:
    h = Builder(validity=Validity(0.0, 60.0), claims=["expiry"])
    h.issue()
    h.phase("drain")
    h.prepare("r1", refused="unspecified")
    return h.history()


def revoked_before_the_drain() -> History:
    h = Builder(budget=2, claims=["multi_budget", "revoke"])
    h.issue()
    h.use("r1")
    h.revoke(1)
    h.phase("drain")
    h.prepare("r2", refused="revoked")
    h.phase("end")
    h.read(committed=1, revoked=1)
    return h.history()


def busy_until_it_is_free() -> History:
    h = Builder()
    h.issue()
    h.phase("drain")
    h.prepare("r1", busy="contention")
    h.prepare("r1", busy="contention")
    h.use("r1")
    h.prepare("r2", refused="exhausted")
    return h.history()


def busy_while_a_dead_holder_is_unresolved() -> History:
    h = Builder()
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.phase("drain")
    h.prepare("r2", busy="in_flight", node="n2")
    h.prepare("r2", busy="in_flight", node="n2")
    h.read(prepared=1)
    return h.history()


def silent_because_another_stands_in_the_lock() -> History:
    h = Builder()
    h.issue()
    held = h.begin("prepare", request="r1", attempt="a1")
    h.stop("prepare", held)
    h.prepare("r2", node="n2", unknown="silent")
    h.go()
    h.end(held, "granted", Admission("R", "s1"))
    return h.history()


def argument_that_the_ledger_does_not_bind() -> History:
    h = Builder(facts=Facts(binds=("tool",)))
    h.issue()
    h.effect(h.prepare("r1"), args={**ARGS, "amount": "10.00"})
    return h.history()


def stored_call_in_another_order() -> History:
    h = Builder(facts=Facts(binds=("tool", "args", "principal")))
    h.issue()
    backwards = dict(reversed(ARGS.items()))
    use = h.prepare("r1", sends=Call("pay", backwards, "user", "account/1"))
    h.effect(use, args=backwards)
    h.commit(use)
    return h.history()


def refused_first_and_granted_later() -> History:
    h = Builder(budget=2, claims=["multi_budget"])
    h.issue()
    first = h.prepare("r1")
    h.prepare("r2", refused="held")
    h.effect(first)
    h.commit(first)
    h.use("r2")
    h.read(committed=2)
    return h.history()


def recovery_that_names_nothing() -> History:
    h = Builder(claims=["recover"])
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.phase("recover")
    h.recover(Admission("R"))
    call = h.begin("effect", "n9", "E9", admission=Admission("R"))
    h.sink_gets(call, "k1", node="n9")
    h.end(call)
    h.end(h.begin("commit", "n9", "E9", admission=Admission("R")))
    h.phase("drain")
    h.prepare("r2", node="n2", refused="exhausted")
    h.phase("end")
    h.read(committed=1)
    return h.history()


def foreign_units_in_a_shared_store() -> History:
    h = Builder(claims=["recover"])
    h.issue()
    h.use("r1", slot="s1")
    h.recover(Admission("another record", "s1"), Admission("a third", "s2"))
    return h.history()


def lost_unit_after_a_non_effect() -> History:
    h = Builder(facts=Facts(after_not_applied="blocked"), operations=GUARDED)
    h.issue()
    h.execute("r1", sink="refused", refused="unspecified")
    h.phase("drain")
    h.execute("r2", sink=None, refused="in_doubt")
    return h.history()


def lost_unit_that_never_reached_the_sink() -> History:
    """No connection to the sink: its log shows nothing, and the unit is gone all the same."""
    h = Builder(facts=Facts(after_not_applied="blocked"), operations=GUARDED)
    h.issue()
    h.add(FaultOn("down", "sink"))
    asked = h.begin("execute", request="r1", attempt="a1")
    h.end(asked, "refused", Refused("unspecified"), effects=1)
    h.add(FaultOff("down", "sink"))
    h.phase("drain")
    h.execute("r2", sink=None, refused="exhausted")
    return h.history()


def opened_at_the_second_try_after_a_kill() -> History:
    h = Builder()
    h.end(h.begin("open", label=None), value=["issue", "prepare", "commit"])
    h.issue()
    h.kill()
    h.cannot_open("n2")
    h.end(h.begin("open", "n3", label=None), value=["issue", "prepare", "commit"])
    h.prepare("r1", node="n3")
    return h.history()


def raises_while_the_server_is_down() -> History:
    h = Builder()
    h.end(h.begin("open", label=None), value=["issue", "prepare", "commit"])
    h.issue()
    h.kill()
    h.add(FaultOn("crash killed", "postgres"))
    for node in ("n2", "n3"):
        h.cannot_open(node)
    h.add(FaultOff("crash killed", "postgres"))
    h.end(h.begin("open", "n4", label=None), value=["issue", "prepare", "commit"])
    h.prepare("r1", node="n4")
    return h.history()


def a_process_from_before_the_kill_raises() -> History:
    """What it keeps open may have gone with the other one; whoever opens anew is served."""
    h = Builder()
    for node in ("n1", "n2"):
        h.end(h.begin("open", node, label=None), value=["issue", "prepare", "commit"])
    h.issue()
    h.kill()
    for number in (1, 2, 3):
        call = h.begin("prepare", "n2", request=f"r{number}", attempt=f"a{number}")
        h.unknown(call, "unclassified")
    h.end(h.begin("open", "n3", label=None), value=["issue", "prepare", "commit"])
    h.prepare("r4", node="n3")
    return h.history()


def one_recovery_names_the_keys_of_two_records() -> History:
    h = Builder(facts=Facts(key="stored"), claims=["recover"])
    h.approve("M")
    h.issue("R")
    h.issue("Q", label="M")
    h.prepare("r1", key="k1", unknown="dropped", said=Admission("R", key="k1"))
    call = h.begin("prepare", label="M", request="r1", attempt="m1")
    h.end(call, "granted", Admission("Q", key="k2"))
    h.recover(Admission("R", key="k1", attempt="a1"), Admission("Q", key="k2", attempt="m1"))
    return h.history()
