"""Legal: retries, recovery and late effects that a naive check would accuse."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.replies import Recovered, Replayed
from admitone.targets.terms import Admission

from ..historybuilder import GUARDED, Builder, Use

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
ATTEMPTS = Facts(attempt_identity=True, recovery="resend")
EVERYTHING = ["multi_budget", "recover", "durable_process", "audit"]


def two_ok_replies_for_one_attempt() -> History:
    h = Builder(facts=SLOTS, claims=EVERYTHING)
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.use("r1", slot="s1", key="k1")
    h.read(slots={"s1": "committed"}, keys={"s1": "k1"}, attempts={"s1": "a1"})
    return h.history()


def two_ok_replies_without_any_name() -> History:
    h = Builder(facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", unknown="dropped", said=Admission("R"))
    h.use("r1")
    h.read(committed=1)
    return h.history()


def another_executor_resumes() -> History:
    h = Builder(facts=SLOTS, claims=EVERYTHING)
    h.issue()
    h.phase("hurt")
    first = h.prepare("r1", slot="s1", key="k1")
    h.effect(first, how="dropped")
    h.kill()
    h.phase("recover")
    h.recover(Admission("R", "s1", "k1", attempt="a1"))
    h.effect(first, how="repeated", node="n9", executor="E9")
    h.commit(first, node="n9")
    h.phase("drain")
    h.prepare("r2", node="n9", refused="exhausted")
    h.prepare("r3", node="n9", refused="exhausted")
    h.phase("end")
    h.read(slots={"s1": "committed"}, keys={"s1": "k1"}, attempts={"s1": "a1"})
    return h.history()


def committed_by_recovery_then_given_to_its_own_attempt(resumed: str | None = "a1") -> History:
    """The answer of Prepare is lost, recovery ends the unit, and its attempt asks once more."""
    h = Builder(facts=SLOTS, claims=EVERYTHING)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.recover(Admission("R", "s1", "k1", attempt=resumed))
    end = Use("r1", "a1", Admission("R", "s1", "k1"))
    h.effect(end, node="n9")
    h.commit(end, node="n9")
    h.effect(h.prepare("r1", slot="s1", key="k1", node="n2"), how="repeated", node="n2")
    h.read(slots={"s1": "committed"}, keys={"s1": "k1"}, attempts={"s1": "a1"})
    return h.history()


def committed_by_recovery_that_names_nobody_then_given_to_its_own_attempt() -> History:
    return committed_by_recovery_then_given_to_its_own_attempt(None)


def carried_out_while_it_stood_and_told_so() -> History:
    """Its unit is taken, it stands, recovery ends the unit: "done" is then a true answer."""
    h = Builder(facts=SLOTS, claims=EVERYTHING)
    h.issue()
    call = h.begin("prepare", request="r1", attempt="a1")
    h.recover(Admission("R", "s1", "k1", attempt="a1"))
    end = Use("r1", "a1", Admission("R", "s1", "k1", attempt="a1"))
    h.effect(end, node="n9")
    h.commit(end, node="n9")
    h.end(call, "replayed", Replayed())
    h.phase("drain")
    h.prepare("r2", node="n9", refused="exhausted")
    h.phase("end")
    h.read(slots={"s1": "committed"}, keys={"s1": "k1"}, attempts={"s1": "a1"})
    return h.history()


def in_doubt_only_after_recovery() -> History:
    """Nobody knows what the retry did, and nobody recovers after it."""
    h = Builder(facts=SLOTS, claims=EVERYTHING)
    h.issue()
    h.phase("hurt")
    h.prepare("r1", unknown="dead")
    h.kill()
    h.phase("recover")
    h.recover()
    h.unknown(h.begin("prepare", node="n2", request="r1", attempt="a1"), why="reply")
    h.phase("drain")
    h.prepare("r2", node="n2", refused="exhausted")
    h.prepare("r3", node="n2", refused="exhausted")
    h.phase("end")
    h.read(slots={"s1": "prepared"}, keys={"s1": "k1"}, attempts={"s1": "a1"})
    return h.history()


def cached_receipt_is_no_second_effect() -> History:
    h = Builder(claims=EVERYTHING)
    h.issue()
    use = h.prepare("r1", key="k1")
    h.effect(use)
    h.effect(use, how="repeated")
    h.commit(use)
    h.read(committed=1)
    return h.history()


def unknown_prepare_proved_by_the_view() -> History:
    h = Builder(claims=EVERYTHING, facts=ATTEMPTS)
    h.issue()
    h.phase("hurt")
    h.prepare("r1", unknown="dead")
    h.kill()
    h.phase("heal")
    h.read("after_fault", prepared=1)
    use = h.prepare("r1", node="n2")
    h.effect(use, node="n2")
    h.commit(use, node="n2")
    h.phase("recover")
    h.recover()
    h.phase("drain")
    h.prepare("r2", node="n2", refused="exhausted")
    h.phase("end")
    h.read(committed=1)
    return h.history()


def unknown_prepare_that_never_happened() -> History:
    h = Builder(claims=EVERYTHING)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.read("after_fault", issued=1)
    h.phase("drain")
    h.use("r2", node="n2")
    h.prepare("r3", node="n2", refused="exhausted")
    h.phase("end")
    h.read(committed=1)
    return h.history()


def control_sink_doubles_a_resend() -> History:
    h = Builder(sink="control", facts=SLOTS, claims=EVERYTHING)
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.effect(use, how="dropped")
    h.recover(use.admission)
    h.effect(use)
    h.commit(use)
    h.read(slots={"s1": "committed"}, keys={"s1": "k1"})
    return h.history()


def control_sink_cannot_look_up() -> History:
    facts = Facts(recovery="lookup")
    h = Builder(sink="control", facts=facts, claims=["recover"], operations=GUARDED)
    h.issue()
    h.phase("hurt")
    call = h.begin("execute", request="r1", attempt="a1")
    h.sink_gets(call, "k1", "dropped", request="r1")
    h.kill()
    h.unknown(call)
    h.phase("recover")
    h.recover()
    h.phase("drain")
    h.execute("r2", node="n2", refused="in_doubt", sink=None)
    h.phase("end")
    h.read(prepared=1)
    return h.history()


def replayed_after_commit() -> History:
    h = Builder(facts=ATTEMPTS, claims=EVERYTHING)
    h.issue()
    h.use("r1")
    h.prepare("r1", replayed=True)
    h.phase("drain")
    h.prepare("r2", replayed=True)
    h.phase("end")
    h.read(committed=1)
    return h.history()


def replayed_by_a_guarded_ledger() -> History:
    h = Builder(facts=ATTEMPTS, operations=GUARDED)
    h.issue()
    h.execute("r1", sink="dropped", unknown="dropped")
    h.execute("r1", replayed=True)
    h.read(committed=1)
    return h.history()


def carried_out_by_recovery_while_it_stood() -> History:
    """It was admitted and stood; another one's recovery sent its effect; so it is told: done."""
    h = Builder(facts=ATTEMPTS, operations=GUARDED, claims=["recover"])
    h.issue()
    asked = h.begin("execute", request="r1", attempt="a1")
    recovering = h.begin("recover", "n2", "E2")
    h.sink_gets(recovering, "k1", node="n2")
    h.end(recovering, "granted", Recovered((), (Admission("R", key="k1", attempt="a1"),)))
    h.end(asked, "replayed", Replayed())
    h.read(committed=1)
    return h.history()


def manual_state_that_is_declared() -> History:
    h = Builder(claims=["recover"], facts=Facts(recovery="manual", manual_state="NEEDS_HUMAN"))
    h.issue()
    h.effect(h.prepare("r1"), how="dropped")
    h.kill()
    h.phase("recover")
    h.recover()
    h.phase("drain")
    h.prepare("r2", node="n2", refused="in_doubt")
    h.phase("end")
    h.read(in_doubt=1)
    return h.history()


def busy_behind_one_that_is_at_work() -> History:
    """Nothing was hurt; the lock is that of a use between its Prepare and its Commit."""
    h = Builder()
    h.issue()
    h.phase("hurt")
    use = h.prepare("r1")
    h.prepare("r2", busy="contention")
    h.prepare("r2", busy="contention")
    h.effect(use)
    h.commit(use)
    return h.history()


def busy_behind_a_process_that_died() -> History:
    h = Builder()
    h.issue()
    h.phase("hurt")
    standing = h.begin("prepare", "n2", request="r1", attempt="a1")
    h.stop("prepare", standing, "n2")
    h.kill("n2")
    h.unknown(standing)
    h.prepare("r2", busy="contention")
    h.prepare("r2", busy="contention")
    return h.history()


def final_when_admitted() -> History:
    h = Builder(facts=Facts(commits=False, slot_identity=True), operations=("issue", "prepare"))
    h.issue()
    h.prepare("r1", slot="s1", unknown="dropped")
    h.read(slots={"s1": "committed"})
    return h.history()


def guarded_non_effect_is_released() -> History:
    h = Builder(operations=GUARDED, facts=Facts(after_not_applied="free"))
    h.issue()
    h.execute("r1", sink="refused", refused="unspecified")
    h.execute("r2")
    h.read(committed=1)
    return h.history()


def guarded_retry_of_one_attempt() -> History:
    h = Builder(operations=GUARDED, facts=ATTEMPTS, claims=["recover"])
    h.issue()
    h.execute("r1", key="k1", sink="dropped", unknown="dead")
    h.kill()
    h.execute("r1", key="k1", sink="repeated", node="n2")
    h.recover()
    h.read(committed=1)
    return h.history()


def guarded_recovery_enters_again() -> History:
    facts = Facts(key="stored", recovery="resend")
    h = Builder(operations=GUARDED, facts=facts, claims=["recover"])
    h.issue()
    h.execute("r1", key="k1", sink="dropped", unknown="dead")
    h.kill()
    call = h.begin("recover", "n9", "E9", label=None)
    h.sink_gets(call, "k1", "repeated", node="n9")
    h.end(call, "granted", None)
    h.read(committed=1)
    return h.history()


def takeover_of_a_lapsed_unit() -> History:
    h = Builder(facts=Facts(lapse="takeover", slot_identity=True, key="derived"))
    h.issue()
    h.effect(h.prepare("r1", slot="s1", key="k1"), how="dropped")
    second = h.prepare("r2", slot="s1", key="k1", node="n2")
    h.effect(second, how="repeated", node="n2")
    h.commit(second, node="n2")
    h.read(slots={"s1": "committed"}, keys={"s1": "k1"})
    return h.history()


def late_original_is_absorbed() -> History:
    h = Builder(claims=EVERYTHING, facts=SLOTS)
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    call = h.begin("effect", request="r1", attempt="a1", admission=use.admission)
    h.hold(call, "k1")
    h.kill()
    h.unknown(call)
    h.read("after_fault", slots={"s1": "prepared"}, keys={"s1": "k1"})
    h.recover(use.admission)
    h.effect(use, node="n9")
    h.commit(use, node="n9")
    h.sink_gets(call, "k1", "repeated", request="r1")
    h.recover()
    h.read(slots={"s1": "committed"}, keys={"s1": "k1"})
    return h.history()


def admitted_while_held() -> History:
    h = Builder(operations=GUARDED)
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.hold(call, "k1")
    h.read("while_effect_held", prepared=1)
    return h.history()


def reading_that_is_not_linearizable_during_a_call() -> History:
    h = Builder(operations=GUARDED)
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.hold(call, "k1")
    h.read("while_effect_held", issued=1, linearizable=False)
    return h.history()
