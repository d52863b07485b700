"""A tiny language for hand-written histories: one method for each thing that happens.

    h = Builder(claims=["recover"])                 # one approval, label "L", b = 1
    s1 = h.prepare("r1", slot="s1")                 # granted; h.prepare(..., refused="exhausted")
    h.effect(s1); h.commit(s1)
    h.read(slots={"s1": "committed"})

Every call is one line of text in a test. Time advances 1 ms an event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from admitone.chaos.events import (
    Approved,
    AuditRead,
    Clock,
    Event,
    Invoked,
    Killed,
    Outcome,
    Phase,
    Point,
    Read,
    Recorded,
    Released,
    Replied,
    SinkApplied,
    SinkReplied,
    SinkRequested,
    Stamp,
    Stopped,
    Why,
)
from admitone.scenarios.history import Header, History, SinkKind
from admitone.targets.declaration import Declaration, Facts
from admitone.targets.replies import Busy, Done, Recovered, Refused, Replayed, Revoked
from admitone.targets.terms import (
    Admission,
    Approval,
    AuditView,
    Authorization,
    Call,
    Confirmation,
    Context,
    Counts,
    Receipt,
    SlotState,
    SlotView,
    TargetName,
    Validity,
    View,
)

SPLIT = ("issue", "prepare", "commit", "release", "revoke", "recover", "audit")
GUARDED = ("issue", "execute", "recover")
WORKING = (*GUARDED, "work")
ARGS = {"to": "acct-1", "amount": "9.50", "memo": "invoice L"}


@dataclass(frozen=True)
class Use:
    """One admitted use, to be handed to ``effect``, ``commit`` and ``release``."""

    request: str
    attempt: str
    admission: Admission


@dataclass
class Builder:
    """See the module. ``facts`` and ``claims`` are the target's; everything else happens."""

    budget: object = 1
    facts: Facts = field(default_factory=Facts)
    claims: Sequence[str] = ()
    sink: SinkKind = "idempotent"
    operations: tuple[str, ...] = SPLIT
    validity: Validity = field(default_factory=lambda: Validity(0.0))
    lease_s: float = 0.0
    lines: list[Recorded] = field(default_factory=list)
    _calls: int = 0
    _requests: int = 0
    _applied: int = 0
    _dead: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.approve("L", self.budget)

    # the frame -------------------------------------------------------------------------------

    def add(self, event: Event, after_ms: int = 1) -> int:
        t_ns = (self.lines[-1].stamp.t_ns if self.lines else 0) + after_ms * 1_000_000
        seq = len(self.lines) + 1
        self.lines.append(Recorded(Stamp(seq, t_ns, "test"), event))
        return seq

    def history(self) -> History:
        claims: Mapping[str, str] = dict.fromkeys(self.claims, "documented")
        declaration = Declaration(self.facts, claims)
        name = TargetName("t")
        header = Header(
            "t/x@1", name, declaration, self.operations, self.sink, lease_s=self.lease_s
        )
        return History(header, tuple(self.lines))

    def approve(self, label: str, budget: object = 1, event: str = "e1", **call: Any) -> None:
        approved = Call(call.get("tool", "pay"), call.get("args", ARGS), "user", "account/1")
        confirmation = Confirmation(event + label, "user", "sigma", budget, "mac")
        context = Context("E1", "S", "T")
        self.add(Approved(label, Approval(approved, confirmation, budget, context, self.validity)))

    def phase(self, name: str) -> None:
        self.add(Phase(name))

    # calls -----------------------------------------------------------------------------------

    def begin(self, op: str, node: str = "n1", executor: str = "E1", **about: Any) -> int:
        self._calls += 1
        about.setdefault("label", "L")
        node = "n2" if node in self._dead else node  # whoever died, another one goes on
        self.add(Invoked(self._calls, op, node, executor, **about))
        return self._calls

    def end(
        self,
        call: int,
        outcome: Outcome = "granted",
        value: object = None,
        why: Why = "reply",
        effects: int = 0,
        after_ms: int = 1,
    ) -> None:
        self.add(Replied(call, outcome, why, value, effects), after_ms)

    def unknown(self, call: int, why: Why = "dead", value: object = None) -> None:
        self.end(call, "unknown", value, why)

    def issue(self, record: str = "R", refused: str | None = None, **about: Any) -> None:
        call = self.begin("issue", **about)
        if refused is None:
            self.end(call, "granted", Authorization(record))
        else:
            self.end(call, "refused", Refused(refused))

    def prepare(  # noqa: PLR0913 - each keyword is one word of the language
        self,
        request: str,
        attempt: str | None = None,
        *,
        slot: str | None = None,
        key: str | None = None,
        handle: str | None = None,
        record: str = "R",
        refused: str | None = None,
        busy: str | None = None,
        replayed: bool = False,
        unknown: Why | None = None,
        said: object = None,
        sends: Call | None = None,
        node: str = "n1",
        executor: str = "E1",
        context: Context | None = None,
    ) -> Use:
        attempt = attempt or "a" + request[1:]
        about = {"request": request, "attempt": attempt, "context": context}
        call = self.begin("prepare", node, context.executor if context else executor, **about)
        admission = Admission(record, slot, key, handle, call=sends)
        self._answer(call, admission, refused, busy, replayed, unknown, said)
        return Use(request, attempt, admission)

    def attack(self, granted: object = None, op: str = "prepare", **about: Any) -> None:
        """Something that nobody approved is presented; without a grant it is refused."""
        about.setdefault("request", "x1")
        call = self.begin(op, **about)
        if granted is None:
            self.end(call, "refused", Refused())
        else:
            self.end(call, "granted", granted)

    def _answer(
        self,
        call: int,
        granted: object,
        refused: str | None,
        busy: str | None,
        replayed: bool,
        unknown: Why | None,
        said: object,
        effects: int = 0,
    ) -> None:
        if refused is not None:
            self.end(call, "refused", Refused(refused))
        elif busy is not None:
            self.end(call, "busy", Busy("in_flight" if busy == "in_flight" else "contention"))
        elif replayed:
            self.end(call, "replayed", Replayed())
        elif unknown is not None:
            self.unknown(call, unknown, said)
        else:
            self.end(call, "granted", granted, effects=effects)

    def execute(  # noqa: PLR0913
        self,
        request: str,
        attempt: str | None = None,
        *,
        sink: str | None = "applied",
        key: str | None = None,
        refused: str | None = None,
        busy: str | None = None,
        replayed: bool = False,
        unknown: Why | None = None,
        node: str = "n1",
    ) -> None:
        """A guarded use. ``sink``: what the sink does with its entry; None: no entry."""
        attempt = attempt or "a" + request[1:]
        call = self.begin("execute", node, request=request, attempt=attempt)
        entered = sink is not None and not (refused and sink == "applied") and not replayed
        if entered and busy is None:
            self.sink_gets(call, key or f"k{self._requests}", sink or "", request=request)
        self._answer(call, None, refused, busy, replayed, unknown, None, effects=int(entered))

    def effect(
        self,
        use: Use,
        *,
        key: str | None = None,
        how: str = "applied",
        args: object = ARGS,
        label: str | None = "L",
        node: str = "n1",
        executor: str = "E1",
        twice: bool = False,
    ) -> None:
        """The workload sends the effect of an admission."""
        about: dict[str, Any] = {
            "request": use.request,
            "attempt": use.attempt,
            "admission": use.admission,
        }
        call = self.begin("effect", node, executor, **about)
        key = key or use.admission.key or f"suite-{use.attempt}"
        self.sink_gets(call, key, how, args=args, label=label, request=use.request, node=node)
        if twice:
            self.sink_gets(call, key, how, args=args, label=label, request=use.request, node=node)
        if how == "dropped":
            self.unknown(call, "silent")
        elif how == "refused":
            self.end(call, "refused", Refused())
        else:
            self.end(call, "granted", Receipt(key, "pay", "d", 1, "mac"))

    def sink_gets(
        self,
        call: int | None,
        key: str,
        how: str = "applied",
        *,
        args: object = ARGS,
        label: str | None = "L",
        request: str | None = None,
        node: str = "n1",
    ) -> int:
        """A request reaches the sink. "dropped": applied, and nobody hears of it."""
        self._requests += 1
        number = self._requests
        self.add(SinkRequested(number, node, call, key, "pay", args, label, request=request))
        if how in ("applied", "dropped"):
            self._applied += 1
            self.add(SinkApplied(number, self._applied, key, label, "d"))
        self.add(SinkReplied(number, how))
        return number

    def hold(self, call: int | None, key: str, node: str = "n1") -> int:
        """A request is on its way."""
        self._requests += 1
        self.add(SinkRequested(self._requests, node, call, key, "pay", ARGS, "L", held=True))
        return self._requests

    def commit(
        self, use: Use, refused: str | None = None, unknown: Why | None = None, node: str = "n1"
    ) -> None:
        about: dict[str, Any] = {
            "request": use.request,
            "attempt": use.attempt,
            "admission": use.admission,
        }
        call = self.begin("commit", node, **about)
        said = Done() if unknown == "dropped" else None
        self._answer(call, Done(), refused, None, False, unknown, said)

    def release(self, use: Use, executor: str = "E1", unknown: Why | None = None) -> None:
        about: dict[str, Any] = {
            "request": use.request,
            "attempt": use.attempt,
            "admission": use.admission,
        }
        call = self.begin("release", "n1", executor, **about)
        self._answer(call, Done(), None, None, False, unknown, None)

    def use(self, request: str, **prepare: Any) -> Use:
        """A whole use: prepare, effect, commit."""
        use = self.prepare(request, **prepare)
        self.effect(use)
        self.commit(use)
        return use

    def revoke(
        self,
        stopped: tuple[str, ...] | int | None = None,
        too_late: tuple[str, ...] | int | None = None,
        **about: Any,
    ) -> None:
        self.end(self.begin("revoke", **about), "granted", Revoked(stopped, too_late))

    @staticmethod
    def authorization(record: str, budget: object) -> Authorization:
        return Authorization(record, budget)

    def delegate(
        self, context: Context, budget: int, refused: str | None = None, **about: Any
    ) -> None:
        """A child of whoever is the ``executor``."""
        call = self.begin("delegate", context=context, budget=budget, **about)
        granted = self.authorization(f"of {context.executor}", budget)
        self._answer(call, granted, refused, None, False, None, None)

    def close(self, context: Context, **about: Any) -> None:
        self.end(self.begin("close", context=context, **about), "granted", Done())

    def recover(
        self, *resume: Admission, settled: Iterable[Admission] = (), node: str = "n9"
    ) -> None:
        call = self.begin("recover", node, "E9")
        self.end(call, "granted", Recovered(resume, tuple(settled)))

    def opens(self, node: str = "n1") -> None:
        """A process opens the ledger."""
        self.end(self.begin("open", node, label=None), value=["issue", "prepare", "commit"])

    def cannot_open(self, node: str = "n1") -> None:
        """Opening it raises what nobody classifies."""
        self.unknown(self.begin("open", node, label=None), "unclassified")

    # faults and readings ---------------------------------------------------------------------

    def stop(self, op: str, call: int, node: str = "n1") -> None:
        self.add(Stopped("FP", node, Point(op, "write", "after", 1), call))

    def go(self, node: str = "n1") -> None:
        self.add(Released("FP", node, "go"))

    def kill(self, node: str = "n1", injected: bool = True) -> None:
        self.add(Killed(node, 100, 9, injected))
        self._dead.add(node)

    def read(
        self,
        moment: str = "final",
        *,
        slots: Mapping[str, str] | None = None,
        keys: Mapping[str, str] | None = None,
        attempts: Mapping[str, str] | None = None,
        known: bool = True,
        linearizable: bool = True,
        label: str = "L",
        **counts: int,
    ) -> None:
        """A reading: ``slots={"s1": "committed"}``, or counts as keywords."""
        views = None
        if slots is not None:
            views = tuple(
                SlotView(
                    name,
                    cast(SlotState, state),
                    state,
                    (attempts or {}).get(name),
                    (keys or {}).get(name),
                )
                for name, state in slots.items()
            )
        given = Counts(**counts) if counts or (slots is None and known) else None
        view = View(known, views, given, linearizable)
        began_ns = self.lines[-1].stamp.t_ns + 500_000
        self.add(Read(moment, "n8", label, began_ns, view))

    def clock(self, node: str = "n1", wall_s: float = 0.0, skew_s: float = 0.0) -> None:
        self.add(Clock(node, wall_s, skew_s))

    def audit(self, count: int, head: str | None = None, ok: bool = True, moment: str = "") -> None:
        self.add(AuditRead(moment, "n8", AuditView(head or f"h{count}", count, ok)))
