"""Legal: what is resumed, taken over or asked again beside what is done."""

from __future__ import annotations

from dataclasses import replace

from admitone.scenarios.history import History
from admitone.targets.declaration import Facts
from admitone.targets.replies import Recovered

from ..historybuilder import GUARDED, Builder


def resumed_by_a_recovery_that_had_begun_before_the_commit() -> History:
    h = Builder(facts=Facts(slot_identity=True, attempt_identity=True, recovery="resend"))
    h.issue()
    use = h.prepare("r1", slot="s1")
    h.effect(use)
    recovery = h.begin("recover", "n9", "E9")
    h.commit(use)
    h.end(recovery, "granted", Recovered((use.admission,), ()))
    h.read(slots={"s1": "committed"})
    return h.history()


def resumed_after_a_commit_that_was_never_claimed_to_survive() -> History:
    h = Builder(facts=Facts(slot_identity=True, attempt_identity=True, recovery="resend"))
    h.issue()
    use = h.use("r1", slot="s1")
    h.kill()
    h.recover(use.admission)
    h.commit(use)
    h.read(slots={"s1": "committed"})
    return h.history()


def resumed_by_the_name_of_the_record_where_another_unit_is_done() -> History:
    h = Builder(budget=2, facts=Facts(attempt_identity=True, recovery="resend"))
    h.issue()
    h.use("r1", handle="ticket")
    use = h.prepare("r2", handle="ticket")
    h.effect(use)
    h.recover(replace(use.admission, attempt=use.attempt))
    h.commit(use)
    return h.history()


def taken_over_and_then_refused() -> History:
    h = Builder(budget=2, facts=Facts(slot_identity=True, lapse="takeover", key="derived"))
    h.issue()
    h.prepare("r1", slot="s1", key="k1")
    h.use("r2", slot="s1", key="k1")
    h.use("r3", slot="s2", key="k2")
    h.prepare("r4", refused="exhausted")
    return h.history()


def asked_again_under_its_own_key_after_it_was_done() -> History:
    facts = Facts(key="stored", attempt_identity=True)
    h = Builder(budget=2, facts=facts, operations=GUARDED)
    h.issue()
    h.execute("r1", key="k1")
    h.execute("r1", key="k1", sink="receipt")
    h.execute("r2", key="k2")
    return h.history()
