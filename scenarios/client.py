"""The honest clients of a schedule: what a workload does with a ledger, one call at a time.

A client never invents: without an attempt identity it does not ask twice for a request whose
Prepare is unknown, and it resumes only what recovery hands back. Keys that a ledger does not
give are made here, one per attempt, so that a resend of the same attempt carries the same key.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..chaos.events import Approved, AuditRead, Note
from ..chaos.handle import NodeHandle
from ..idempotent_sink.labels import make_label
from ..targets.declaration import Facts
from ..targets.identity import confirm
from ..targets.replies import Busy, Recovered
from ..targets.terms import (
    Admission,
    Approval,
    AuditView,
    Authorization,
    Budget,
    Call,
    Context,
    Receipt,
    Trust,
    Validity,
)
from .calls import PLAIN, Answer, Pending, Subject, Twist
from .stage import Stage

BUSY_TRIES: Final = 200
"""Bound on the repeats of one call that answers Busy."""

BRIEF_S: Final = 0.1
"""How long Busy is asked again where recovery has not run yet, seconds."""

BUSY_MARGIN_S: Final = 3.0
"""What a loaded machine may add to a target's own waits_s and lease, seconds."""


@dataclass(slots=True)
class Use:
    """One request: a thing that the user wants done once, and what its client knows of it."""

    request: str
    attempt: str
    admission: Admission | None = None
    receipt: Receipt | None = None
    done: bool = False
    unknown: bool = False


@dataclass(slots=True)
class Client:
    """One authorization and its uses. ``label`` is planted in the arguments of the call.

    ``acting``: under which delegated context it is used, where it is a child. ``strange``: records
    of other clients, whose units are not resumed here. ``stuck``: the last call was Busy for longer
    than any may be, so that nobody waits so long again before one is not.
    """

    stage: Stage
    facts: Facts
    label: str
    approval: Approval
    authorization: Authorization | None = None
    uses: list[Use] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    acting: Context | None = None
    strange: set[str] = field(default_factory=set)
    stuck: bool = False

    @property
    def executor(self) -> str:
        """P_e: the principal that the authorization is bound to."""
        return self.approval.context.executor

    @property
    def known(self) -> Approval:
        """The approval with whatever authorization was answered."""
        return replace(self.approval, authorization=self.authorization)

    def new_use(self) -> Use:
        """The next request, under a fresh attempt."""
        number = len(self.uses) + 1
        use = Use(f"r{number}", f"a{number}-{self.label[3:11]}")
        self.uses.append(use)
        return use

    # steps -----------------------------------------------------------------------------------

    def issue(self, node: NodeHandle, twist: Twist = PLAIN) -> Pending | None:
        """Ask for the authorization. None: this ledger has no issue step."""
        if "issue" not in node.operations:
            self.authorization = Authorization(self.approval.confirmation.event)
            return None
        asked = self.approval
        args: list[Any] = [
            asked.call,
            asked.confirmation,
            asked.budget,
            asked.context,
            asked.validity,
        ]
        asking: list[Pending] = []

        def ask() -> Pending:
            subject = Subject(self.label)
            asking.append(self.stage.call(node, "issue", args, subject, self.executor, twist))
            return asking[-1]

        if twist is not PLAIN:
            ask()
        elif self._patiently(ask).outcome == "unknown":
            self._patiently(ask)  # it opens nothing new, and says what is open
        pending = asking[-1]
        self.issued(pending)
        return pending

    def issued(self, pending: Pending) -> None:
        """Learn from the answer of an issue."""
        answer = pending.answer
        if answer and isinstance(answer.value, Authorization):
            self.authorization = answer.value
            self.stage.holders.setdefault(answer.value.record, self._resume)
        elif (
            answer
            and answer.outcome in ("replayed", "refused")
            and self.authorization is None
            and self.facts.keyed_by == "confirmation"
        ):  # "already approved": its client knows the key of the record all the same
            self.authorization = Authorization(self.approval.confirmation.event)

    def prepare(self, node: NodeHandle, use: Use, twist: Twist = PLAIN) -> Pending:
        """Ask for admission."""
        pending = self._use_call(node, "prepare", use, twist)
        self.prepared(use, pending)
        return pending

    def prepared(self, use: Use, pending: Pending) -> None:
        """Learn from the answer of a prepare."""
        if pending.answer is None:
            return
        value = pending.answer.value
        use.unknown = pending.answer.outcome == "unknown"
        if isinstance(value, Admission):
            use.admission = value
        use.done = use.done or pending.answer.outcome == "replayed"

    def execute(self, node: NodeHandle, use: Use, twist: Twist = PLAIN) -> Pending:
        """Have a guarded ledger do the whole use."""
        pending = self._use_call(node, "execute", use, twist)
        self.executed(use, pending)
        return pending

    def executed(self, use: Use, pending: Pending) -> None:
        """Learn from the answer of an execute."""
        if pending.answer is None:
            return
        use.unknown = pending.answer.outcome == "unknown"
        use.done = use.done or pending.answer.outcome in ("granted", "replayed")

    def send(
        self, node: NodeHandle, use: Use, admission: Admission, twist: Twist = PLAIN
    ) -> Pending:
        """Send the effect: the call that the ledger says, under the ledger's key."""
        call = admission.call or self.approval.call
        key = admission.key or self._made_key(use.attempt)
        subject = Subject(self.label, use.request, use.attempt, admission)
        args = [call.tool, dict(call.args), key]
        pending = self.stage.call(node, "effect", args, subject, self.executor, twist)
        self.sent(use, pending)
        return pending

    def sent(self, use: Use, pending: Pending) -> None:
        """Learn from the answer of a send."""
        if pending.answer and isinstance(pending.answer.value, Receipt):
            use.receipt = pending.answer.value

    def commit(
        self, node: NodeHandle, use: Use, admission: Admission, twist: Twist = PLAIN
    ) -> Pending | None:
        """Say that the effect stands. None: no commit step, or no receipt to show."""
        if "commit" not in node.operations or use.receipt is None:
            return None
        subject = Subject(self.label, use.request, use.attempt, admission)
        pending = self.stage.call(
            node, "commit", [admission, use.receipt], subject, self.executor, twist
        )
        self.committed(use, pending)
        return pending

    def committed(self, use: Use, pending: Pending) -> None:
        """Learn from the answer of a commit."""
        if pending.answer is not None:
            use.done = use.done or pending.answer.outcome in ("granted", "replayed")

    # whole pieces ----------------------------------------------------------------------------

    def finish(self, node: NodeHandle, use: Use, *, brief: bool = False) -> Answer:
        """Take one use to its end, undisturbed: admission, effect, commit. Busy is asked again
        for as long as the target says that it may wait, never longer. ``brief``: a few times
        only, because something else has still to happen (recovery, say) before it can end."""
        if "execute" in node.operations:
            executed = self._patiently(lambda: self.execute(node, use), brief=brief)
            if executed.left:
                self.work(node)
            return executed
        answer = self._patiently(lambda: self.prepare(node, use), brief=brief)
        if answer.granted and use.admission is not None:
            self.carry_out(node, use, use.admission)
        return answer

    def carry_out(
        self, node: NodeHandle, use: Use, admission: Admission, twist: Twist = PLAIN
    ) -> Pending | None:
        """Effect and commit of an admission. With a twist the commit is made once, under it; what
        is still open then is answered."""
        self.send(node, use, admission)
        if use.receipt is None:
            return None
        if twist is PLAIN:
            self._patiently(lambda: self.commit(node, use, admission))
            return None
        pending = self.commit(node, use, admission, twist)
        return pending if pending is not None and pending.answer is None else None

    def recover(self, node: NodeHandle, *, unaided: bool = False) -> bool:
        """Have the ledger find what is unfinished, and resume what it hands back; then its own
        worker passes, where it has one. ``unaided``: without telling it which authorizations
        there are."""
        recovered = self._recover(node, unaided)
        self.work(node)
        return recovered

    def work(self, node: NodeHandle) -> None:
        """One pass of the ledger's sweeper, relay or reaper, if it has any."""
        if node.alive and "work" in self.stage.parent.greeting.optional:
            self.stage.work(node, self.executor)

    def _recover(self, node: NodeHandle, unaided: bool) -> bool:
        if "recover" not in node.operations:
            return False
        found: list[Pending] = []

        def ask() -> Pending | None:
            pending = self.recovery(node, unaided=unaided)
            found.extend([pending] if pending is not None else [])
            return pending

        answer = self._patiently(ask)
        for pending in found[-1:]:
            self.resume(node, pending)
        return answer.granted

    def recovery(
        self, node: NodeHandle, twist: Twist = PLAIN, *, unaided: bool = False
    ) -> Pending | None:
        """The call alone. None: this ledger has no recovery."""
        if "recover" not in node.operations:
            return None
        known = [] if unaided or self.authorization is None else [self.authorization]
        return self.stage.call(node, "recover", [known], Subject(self.label), self.executor, twist)

    def resume(self, node: NodeHandle, pending: Pending, twist: Twist = PLAIN) -> list[Pending]:
        """Carry out what a recovery handed back; what is still open then, under a twist."""
        value = pending.answer.value if pending.answer is not None else None
        resumed = value.resume if isinstance(value, Recovered) else ()
        mine = [admission for admission in resumed if admission.record not in self.strange]
        holders = dict(self.stage.holders)  # what another client asked for, he sends
        if self.authorization is not None:
            holders[self.authorization.record] = self._resume
        waits = [holders.get(a.record, self._resume)(node, a, twist) for a in mine]
        return [each for each in waits if each is not None]

    def _resume(self, node: NodeHandle, admission: Admission, twist: Twist) -> Pending | None:
        use = self.use_of(admission)
        if use is None and admission.key is None:
            self.stage.recorder.record(
                "client",
                Note(
                    "recovery",
                    f"unit {admission.slot or admission.handle!r} came back without attempt, slot "
                    "or handle that anyone here knows and without a key: not resent",
                ),
            )
            return None
        return self.carry_out(node, use or Use("recovery", "recovery"), admission, twist)

    def use_of(self, admission: Admission) -> Use | None:
        """The use that a recovered admission belongs to: by attempt, slot or handle."""
        for use in self.uses:
            first = use.admission
            if admission.attempt is not None:
                if admission.attempt == use.attempt:
                    return use
            elif first is not None and (
                (admission.slot is not None and admission.slot == first.slot)
                or (admission.handle is not None and admission.handle == first.handle)
            ):
                return use
        open_uses = [use for use in self.uses if use.unknown and use.admission is None]
        return open_uses[0] if len(open_uses) == 1 and admission.attempt is None else None

    def audit(self, node: NodeHandle, moment: str) -> None:
        """Copy head and count of the audit chain out."""
        copy_audit(self.stage, node, self.executor, moment)

    # inside ----------------------------------------------------------------------------------

    def _use_call(self, node: NodeHandle, op: str, use: Use, twist: Twist) -> Pending:
        asked = self.approval
        args = [self.authorization, asked.call, asked.context, use.attempt]
        subject = Subject(self.label, use.request, use.attempt, context=self.acting)
        return self.stage.call(node, op, args, subject, self.executor, twist)

    def _made_key(self, attempt: str) -> str:
        return self.keys.setdefault(attempt, f"suite-{attempt}")

    def _patiently(self, ask: Any, *, brief: bool = False) -> Answer:
        """Repeat a call that answers Busy, bounded in time and number."""
        limit_s = self.facts.waits_s + self.stage.setting.lease_s + BUSY_MARGIN_S
        if brief or self.stuck:
            limit_s = BRIEF_S
        until = time.monotonic() + limit_s
        for tries in range(BUSY_TRIES):
            pending: Pending | None = ask()
            answer = (
                Answer("unknown") if pending is None or pending.answer is None else pending.answer
            )
            if answer.outcome != "busy" or time.monotonic() > until:
                self.stuck = answer.outcome == "busy" and (self.stuck or not brief)
                return answer
            wait_s = answer.value.retry_after_s if isinstance(answer.value, Busy) else None
            # the pause that Busy asks of an honest client; nothing is synchronised by it
            time.sleep(min(max(wait_s or 0.0, 0.002 * (tries + 1)), 0.25))
        return answer


def copy_audit(stage: Stage, node: NodeHandle, executor: str, moment: str) -> None:
    """Copy head and count of the audit chain out, where there is one."""
    if "audit" not in node.operations:
        return
    pending = stage.call(node, "audit", [], Subject(), executor)
    if pending.answer and isinstance(pending.answer.value, AuditView):
        stage.recorder.record(
            f"node {node.name}", AuditRead(moment, node.name, pending.answer.value)
        )


def approve(
    stage: Stage,
    facts: Facts,
    trust: Trust,
    rng: random.Random,
    budget: Budget,
    *,
    executor: str = "executor-1",
    expires_s: float | None = None,
    more: Mapping[str, object] | None = None,
) -> Client:
    """One decision of a user: a call, a label planted in its arguments, confirmed for b uses.
    ``more``: further arguments of the call."""
    label = make_label(rng)
    now_s = time.time()
    call = Call(
        "transfer",
        {
            "to": f"acct-{rng.randrange(10_000):04d}",
            "amount": f"{rng.randrange(1, 50_000) / 100:.2f}",
            "memo": f"invoice {label}",
            **(more or {}),
        },
        f"user-{rng.randrange(100):02d}",
        f"account/{rng.randrange(10_000):04d}",
    )
    context = Context(executor, f"session-{rng.randrange(1000)}", f"task-{rng.randrange(1000)}")
    event = f"e-{rng.getrandbits(64):016x}"
    approval = Approval(
        call,
        confirm(trust.confirmation_key, event, call, budget),
        budget,
        context,
        Validity(now_s - 1.0, now_s + 3600.0 if expires_s is None else expires_s),
    )
    stage.recorder.record("client", Approved(label, approval))
    return Client(stage, facts, label, approval)
