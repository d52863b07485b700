"""Histories that must be convicted: recovery and repetition (AO3xx)."""

from __future__ import annotations

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.replies import Recovered
from admitone.targets.terms import Admission

from ..historybuilder import GUARDED, Builder, Use

SLOTS = Facts(slot_identity=True, attempt_identity=True, key="derived", recovery="resend")
ATTEMPTS = Facts(attempt_identity=True, recovery="resend")


def ao301_never_settled() -> History:
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


def ao301_doubt_without_a_manual_state() -> History:
    h = Builder(claims=["recover"], facts=Facts(recovery="manual"))
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.phase("recover")
    h.recover()
    h.read(in_doubt=1)
    return h.history()


def ao302_committed_without_effect() -> History:
    h = Builder()
    h.issue()
    use = h.prepare("r1")
    h.recover(settled=[use.admission])
    h.read(committed=1)
    return h.history()


def ao302_replayed_without_effect() -> History:
    h = Builder(operations=GUARDED)
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.kill()
    h.unknown(call)
    h.execute("r1", replayed=True, node="n2")
    return h.history()


def ao302_replayed_before_recovery_did_it() -> History:
    h = Builder(operations=GUARDED)
    h.issue()
    call = h.begin("execute", request="r1", attempt="a1")
    h.kill()
    h.unknown(call)
    h.execute("r1", replayed=True, node="n2")
    recovery = h.begin("recover", "n9", "E9")
    h.sink_gets(recovery, "k1", node="n9")
    h.end(recovery, "granted", Recovered())
    return h.history()


def ao302_replayed_prepare_without_effect() -> History:
    h = Builder(facts=ATTEMPTS)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.prepare("r1", replayed=True, node="n2")
    return h.history()


def ao303_second_slot() -> History:
    h = Builder(budget=2, facts=SLOTS, claims=["multi_budget"])
    h.issue()
    h.prepare("r1", unknown="dropped", said=Admission("R", "s1", "k1"))
    h.prepare("r1", slot="s2", key="k2")
    return h.history()


def ao303_recovery_takes_a_free_one() -> History:
    h = Builder(budget=2, claims=["recover", "multi_budget"], facts=Facts(slot_identity=True))
    h.issue()
    h.prepare("r1", slot="s1")
    h.kill()
    h.read("after_fault", slots={"s1": "prepared", "s2": "issued"})
    h.recover(Admission("R", "s2"))
    return h.history()


def ao304_committed_then_issued() -> History:
    h = Builder(facts=SLOTS)
    h.issue()
    h.use("r1", slot="s1", key="k1")
    h.read("after_heal", slots={"s1": "committed"})
    h.issue()
    h.read("final", slots={"s1": "issued"})
    return h.history()


def ao304_committed_then_given_again() -> History:
    h = Builder(facts=SLOTS)
    h.issue()
    h.use("r1", slot="s1", key="k1")
    h.prepare("r2", slot="s1", key="k1")
    return h.history()


def ao304_committed_by_recovery_then_given_to_another() -> History:
    h = Builder(facts=SLOTS)
    h.issue()
    h.prepare("r1", unknown="dead")
    h.kill()
    h.recover(Admission("R", "s1", "k1"))
    end = Use("r1", "a1", Admission("R", "s1", "k1"))
    h.effect(end, node="n9")
    h.commit(end, node="n9")
    h.prepare("r2", slot="s1", key="k1", node="n2")
    return h.history()


def ao305_the_same_again_is_refused() -> History:
    h = Builder(claims=["repeat_commit"])
    h.issue()
    use = h.use("r1")
    h.commit(use, refused="not_prepared")
    return h.history()


def ao305_nobody_heard_the_first_answer() -> History:
    h = Builder(claims=["repeat_commit"], facts=SLOTS)
    h.issue()
    use = h.prepare("r1", slot="s1", key="k1")
    h.effect(use)
    h.commit(use, unknown="dropped")
    h.read("after_fault", slots={"s1": "committed"})
    h.commit(use, refused="not_prepared")
    return h.history()


def ao304_fewer_committed() -> History:
    h = Builder()
    h.issue()
    h.use("r1")
    h.read("after_heal", committed=1)
    h.read("final", issued=1)
    return h.history()


def ao304_committed_then_resumed() -> History:
    h = Builder(facts=SLOTS)
    h.issue()
    use = h.use("r1", slot="s1", key="k1")
    h.recover(use.admission)
    return h.history()
