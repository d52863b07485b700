"""Histories that must be convicted: attacks that were granted, sinks that forget, new
confirmations that are not served (AO202, AO204, AO205, AO206, AO6xx, AO801, AO805)."""

from __future__ import annotations

from dataclasses import replace

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.replies import Done, Replayed
from admitone.targets.terms import Admission, Authorization, Call, Context, Receipt

from ..historybuilder import ARGS, GUARDED, Builder

BINDS = Facts(binds=("tool", "args", "principal", "executor", "session", "budget", "confirmation"))
APPROVED = Call("pay", ARGS, "user", "account/1")
THEIRS = Context("E7", "S", "T")
RECEIPT = Receipt("k1", "pay", "d", 1, "mac")


def ao202_attack_is_admitted() -> History:
    h = Builder(facts=BINDS)
    h.issue()
    h.attack(Admission("R"), presented=replace(APPROVED, principal="somebody else"))
    return h.history()


def ao202_true_for_one() -> History:
    h = Builder(facts=BINDS)
    h.approve("M", args={"count": 1})
    h.issue(label="M")
    h.attack(Admission("R"), label="M", presented=replace(APPROVED, args={"count": True}))
    return h.history()


def ao202_guarded_ledger_runs_for_another_principal() -> History:
    h = Builder(facts=BINDS, operations=GUARDED)
    h.issue()
    presented = replace(APPROVED, principal="somebody else")
    call = h.begin("execute", request="x1", attempt="x1", presented=presented)
    h.sink_gets(call, "k1", request="x1")
    h.end(call, "granted", None, effects=1)
    return h.history()


def ao204_thief_is_admitted() -> History:
    h = Builder(facts=BINDS)
    h.issue()
    h.attack(Admission("R"), context=THEIRS, executor="E7")
    return h.history()


def ao204_guarded_ledger_runs_in_another_session() -> History:
    h = Builder(facts=BINDS, operations=GUARDED)
    h.issue()
    context = Context("E1", "another session", "T")
    call = h.begin("execute", request="x1", attempt="x1", context=context)
    h.sink_gets(call, "k1", request="x1")
    h.end(call, "granted", None, effects=1)
    return h.history()


def ao205_altered_credential() -> History:
    h = Builder(facts=BINDS)
    h.issue()
    h.attack(Admission("R"), forged="credential with another te")
    return h.history()


def ao205_child_in_the_hand_of_its_parent() -> History:
    h = Builder(facts=BINDS, budget=2)
    h.issue()
    h.attack(Admission("R"), forged="credential of another holder")
    return h.history()


def ao205_forged_confirmation_opens_a_record() -> History:
    h = Builder(facts=BINDS)
    h.attack(Authorization("R"), "issue", request="x-issue", forged="confirmation mac")
    h.issue("R")
    return h.history()


def ao205_confirmation_of_another_call() -> History:
    h = Builder(facts=BINDS)
    presented = replace(APPROVED, args={**ARGS, "amount": "19.50"})
    h.attack(Authorization("R"), "issue", request="x-issue", presented=presented)
    return h.history()


def ao205_more_than_confirmed() -> History:
    h = Builder(facts=BINDS)
    h.issue()
    h.attack(Authorization("R", 5), "issue", request="x-issue", budget=5)
    return h.history()


def ao206_forged_receipt() -> History:
    h = Builder()
    h.issue()
    use = h.prepare("r1", key="k1")
    false = replace(RECEIPT, mac="0")
    h.attack(Done(false), "commit", admission=use.admission, forged="receipt with another mac")
    h.effect(use)
    return h.history()


def ao206_receipt_of_another_effect() -> History:
    h = Builder()
    h.issue()
    use = h.prepare("r1", key="k1")
    other = replace(RECEIPT, key="k2")
    h.attack(Done(other), "commit", admission=use.admission, forged="receipt of another effect")
    return h.history()


def ao206_receipt_of_another_unit_is_taken() -> History:
    h = Builder(budget=2)
    h.issue()
    use = h.prepare("r1", key="k1")
    other = replace(RECEIPT, key="k2")
    about = {"admission": use.admission, "forged": "receipt of another unit of the authorization"}
    h.attack(Done(other), "commit", **about)
    return h.history()


def ao206_receipt_of_another_unit_replaces_the_first() -> History:
    h = Builder()
    h.issue()
    use = h.use("r1", key="k1")
    about = {"admission": use.admission, "forged": "receipt of another unit of the authorization"}
    other = replace(RECEIPT, key="k2")
    h.attack(Done(other), "commit", **about)
    h.end(h.begin("prepare", request="r1", attempt="a1"), "replayed", Replayed(other))
    return h.history()


def ao601_one_key_twice() -> History:
    h = Builder(budget=2)
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use, twice=True)
    return h.history()


def ao602_second_payload_is_applied() -> History:
    h = Builder(budget=2)
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use)
    h.effect(use, args={**ARGS, "amount": "19.50"})
    return h.history()


def ao602_second_payload_gets_the_first_receipt() -> History:
    h = Builder()
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use)
    h.effect(use, args={**ARGS, "amount": "19.50"}, how="repeated")
    return h.history()


def ao801_owner_pays_for_the_attack() -> History:
    h = Builder(facts=BINDS)
    h.issue()
    h.attack(context=THEIRS, executor="E7")
    h.prepare("r1", refused="revoked")
    return h.history()


def ao801_issue_after_a_forgery() -> History:
    h = Builder(facts=BINDS)
    h.attack(op="issue", request="x-issue", forged="confirmation mac")
    h.issue(refused="duplicate")
    return h.history()


def ao805_second_decision_is_a_duplicate() -> History:
    h = Builder()
    h.issue()
    h.use("r1")
    h.approve("L", event="e2")
    h.issue(refused="duplicate")
    return h.history()


def ao805_second_decision_cannot_be_used() -> History:
    h = Builder()
    h.issue()
    h.use("r1")
    h.approve("L", event="e2")
    h.issue("R")
    h.prepare("r2", refused="exhausted")
    h.prepare("r3", replayed=True)
    return h.history()
