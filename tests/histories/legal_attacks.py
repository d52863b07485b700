"""Legal: attacks that buy nothing, and what looks like an attack and is none."""

from __future__ import annotations

from dataclasses import replace

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.replies import Done, Replayed
from admitone.targets.terms import Admission, Authorization, Call, Context, Receipt

from ..historybuilder import ARGS, GUARDED, Builder

BINDS = Facts(binds=("tool", "args", "principal", "executor", "session", "budget", "confirmation"))
APPROVED = Call("pay", ARGS, "user", "account/1")
OTHER_ARGS = replace(APPROVED, args={**ARGS, "amount": "19.50"})
THEIRS = Context("E7", "S", "T")


def every_attack_is_refused_and_the_owner_served() -> History:
    h = Builder(facts=BINDS)
    h.attack(op="issue", request="x-issue", forged="confirmation mac")
    h.issue()
    h.attack(context=THEIRS, executor="E7")
    h.attack(request="x2", presented=OTHER_ARGS)
    h.attack(request="x3", forged="credential with another te")
    h.use("r1")
    return h.history()


def attack_is_answered_with_the_stored_call() -> History:
    h = Builder(facts=Facts(binds=("args", "executor")))
    h.issue()
    h.attack(Admission("R", call=APPROVED), presented=OTHER_ARGS)
    return h.history()


def one_and_one_point_zero_are_one_number() -> History:
    h = Builder(facts=BINDS)
    h.approve("M", args={"count": 1})
    h.issue(label="M")
    h.attack(Admission("R"), label="M", presented=replace(APPROVED, args={"count": 1.0}))
    return h.history()


def another_session_of_a_ledger_that_binds_none() -> History:
    h = Builder(facts=Facts(binds=("executor",)))
    h.issue()
    h.attack(Admission("R"), context=Context("E1", "another session", "T"))
    return h.history()


def context_that_an_issue_has_replaced() -> History:
    h = Builder(facts=replace(BINDS, context_update="replace"))
    h.issue()
    h.issue(context=THEIRS)
    h.attack(Admission("R"), context=THEIRS, executor="E7")
    return h.history()


def child_is_used_by_its_holder() -> History:
    h = Builder(facts=BINDS, budget=2, claims=["delegate"])
    h.issue()
    h.end(h.begin("delegate", context=THEIRS, budget=1), "granted", Authorization("C"))
    h.attack(Admission("R"), request="x1", context=THEIRS, executor="E7")
    return h.history()


def forgery_is_answered_with_the_record_that_stands() -> History:
    h = Builder(facts=BINDS)
    h.issue()
    h.attack(Authorization("R"), "issue", request="x-issue", forged="confirmation budget")
    h.attack(Authorization("R"), "issue", request="x-issue", presented=OTHER_ARGS)
    return h.history()


def record_that_an_unheard_issue_may_have_opened() -> History:
    h = Builder(facts=BINDS)
    h.unknown(h.begin("issue"))
    h.attack(Authorization("R"), "issue", request="x-issue", forged="confirmation mac")
    return h.history()


def larger_budget_is_answered_with_the_confirmed_one() -> History:
    h = Builder(facts=BINDS)
    h.issue()
    h.attack(Authorization("R", 1), "issue", request="x-issue", budget=5)
    return h.history()


def guarded_attack_has_a_definite_non_effect() -> History:
    h = Builder(facts=BINDS, operations=GUARDED)
    h.issue()
    call = h.begin("execute", request="x1", attempt="x1", context=THEIRS)
    h.sink_gets(call, "k1", "refused", request="x1")
    h.end(call, "refused")
    return h.history()


def false_receipts_are_refused() -> History:
    h = Builder()
    h.issue()
    use = h.prepare("r1", key="k1")
    about = {"admission": use.admission, "forged": "receipt that nobody signed"}
    h.attack(op="commit", **about)
    h.effect(use)
    h.attack(op="commit", **{**about, "request": "x2", "forged": "receipt with another key"})
    call = h.begin("commit", request="r1", attempt="a1", admission=use.admission)
    h.end(call, "granted", Done(Receipt("k1", "pay", "d", 1, "mac")))
    return h.history()


def ledger_that_is_only_told_that_it_is_done() -> History:
    h = Builder()
    h.issue()
    use = h.prepare("r1")
    about = {"admission": use.admission, "forged": "receipt with another mac"}
    h.attack(Done(), "commit", **about)
    h.effect(use)
    return h.history()


def false_receipt_for_what_is_committed() -> History:
    h = Builder(claims=["repeat_commit"])
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use)
    right = Receipt("k1", "pay", "d", 1, "mac")
    h.end(h.begin("commit", request="r1", admission=use.admission), "granted", Done(right))
    about = {"admission": use.admission, "forged": "receipt with another mac"}
    h.attack(Done(right), "commit", **about)
    h.attack(op="commit", **{**about, "admission": Admission("R", key="k9"), "request": "x2"})
    return h.history()


def receipt_of_another_unit_changes_nothing() -> History:
    """Whoever is committed may answer any receipt as done, and shows its own for ever."""
    h = Builder(budget=2)
    h.issue()
    h.use("r1", key="k1")
    use = h.prepare("r2", key="k2")
    other, own = (Receipt(f"k{n}", "pay", "d", n, "mac") for n in (1, 2))
    about = {"admission": use.admission, "forged": "receipt of another unit of the authorization"}
    h.attack(op="commit", **about)
    h.effect(use)
    about |= {"request": "x2"}
    h.end(h.begin("commit", request="r2", attempt="a2", admission=use.admission), value=Done(own))
    h.attack(Done(other), "commit", **about)
    h.end(h.begin("prepare", request="r2", attempt="a2"), "replayed", Replayed(own))
    h.end(h.begin("prepare", request="r1", attempt="a1"), "replayed", Replayed(other))
    return h.history()


def ledger_that_asks_the_sink_whoever_comes() -> History:
    """What it is brought is not looked at: it finds the receipt of the unit by itself."""
    h = Builder()
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use)
    about = {"admission": use.admission, "forged": "receipt of another unit of the authorization"}
    own = Receipt("k1", "pay", "d", 1, "mac")
    h.attack(Done(own), "commit", **about)
    h.end(h.begin("prepare", request="r1", attempt="a1"), "replayed", Replayed(own))
    return h.history()


def unit_that_is_given_no_key_by_its_ledger() -> History:
    h = Builder(budget=2)
    h.issue()
    h.use("r1")
    use = h.prepare("r2")
    other = Receipt("suite-a1", "pay", "d", 1, "mac")
    about = {"admission": use.admission, "forged": "receipt of another unit of the authorization"}
    h.attack(Done(other), "commit", **about)
    h.end(h.begin("prepare", request="r2", attempt="a2"), "replayed", Replayed(other))
    return h.history()


def used_key_with_another_payload_is_refused() -> History:
    h = Builder()
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use)
    h.effect(use, args=OTHER_ARGS.args, how="refused")
    h.effect(use, how="repeated")
    h.commit(use)
    return h.history()


def refused_payload_and_then_the_right_one() -> History:
    h = Builder(facts=Facts(key="stored"))
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use)
    h.effect(use, args=OTHER_ARGS.args, how="refused")
    return h.history()


def control_sink_knows_no_keys() -> History:
    h = Builder(sink="control")
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use, twice=True)
    return h.history()


def second_decision_is_served() -> History:
    h = Builder()
    h.issue("R1")
    h.use("r1", record="R1", slot="1")
    h.approve("L", event="e2")
    h.issue("R2")
    h.use("r2", record="R2", slot="1")
    h.prepare("r3", refused="exhausted")
    return h.history()


def second_decision_while_the_first_is_unresolved() -> History:
    h = Builder(facts=Facts(reapproval="refuse"))
    h.issue("R1")
    use = h.prepare("r1", record="R1")
    h.approve("L", event="e2")
    h.issue(refused="in_doubt")
    h.effect(use)
    h.commit(use)
    return h.history()


def two_slots_with_keys_of_their_own() -> History:
    h = Builder(budget=2, claims=["multi_budget"], facts=Facts(slot_identity=True, key="derived"))
    h.issue("R")
    h.use("r1", record="R", slot="1", key="k1")
    h.use("r2", record="R", slot="2", key="k2")
    return h.history()


def second_decision_that_keeps_to_its_own_unit() -> History:
    facts = Facts(slot_identity=True, key="derived")
    h = Builder(facts=facts)
    h.issue("R1")
    h.use("r1", record="R1", slot="1", key="k1")
    h.approve("L", event="e2")
    h.issue("R2")
    h.use("r2", record="R2", slot="1", key="k2")
    return h.history()
