"""Ledgers that are wrong in what they bind, each by a few lines over the small correct one.

``py:tests.attacked_ledgers:NAME``; ``CONVICTED`` says by which schedule and which code.
"""

from __future__ import annotations

import unicodedata
from dataclasses import asdict, replace
from typing import Any, ClassVar

from admitone.targets import contract as c
from admitone.targets import identity as ids
from tests.small_ledger import No, SmallLedger, SmallTarget, _admission


class _Own(SmallTarget):
    """Opens its own ledger. Its records name the call only where they say so."""

    ledger: ClassVar[type[SmallLedger]]

    def open(self, store: c.Json, env: c.Env) -> SmallLedger:
        return self.ledger(env.workspace / str(store), env)


class _BudgetFromRequest(SmallLedger):
    """MI2c: a repeated Issue gives what it asks for, whatever was confirmed."""

    def issue(self, *asked: Any) -> c.Authorization:
        call, said, b, by, validity = asked
        granted = super().issue(call, said, said.budget, by, validity)
        with self._records(said.event) as found:
            slots = found[said.event]["slots"]
            for n in range(len(slots) + 1, b + 1):
                slots.append({"name": f"s{n}", "state": "issued", "attempts": []})
        return replace(granted, budget=b)


class BudgetFromRequest(_Own):
    """Its ledger takes the budget from the request."""

    ledger = _BudgetFromRequest


class _Unsigned(SmallLedger):
    """A confirmation is believed, whoever made it."""

    def issue(self, *asked: Any) -> c.Authorization:
        call, said, b, by, validity = asked
        key = self._env.trust.confirmation_key
        return super().issue(call, ids.confirm(key, said.event, call, b), b, by, validity)


class Unsigned(_Own):
    """Its ledger does not verify confirmations, and says that it does."""

    ledger = _Unsigned
    declaration = replace(
        SmallTarget.declaration,
        facts=replace(
            SmallTarget.declaration.facts,
            binds=(*SmallTarget.declaration.facts.binds, "confirmation"),
        ),
    )


class _AnyExecutor(SmallLedger):
    """MP8: the executor is not compared."""

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Busy:
        with self._records(authorization.record) as found:
            holder = found[authorization.record]["executor"]
        return super().prepare(authorization, call, replace(context, executor=holder), attempt)


class AnyExecutor(_Own):
    """Its ledger admits whoever comes."""

    ledger = _AnyExecutor


class _EqualArguments(SmallLedger):
    """MP10: arguments are compared by ``==``, and what was presented is sent."""

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Busy:
        with self._records(authorization.record) as found:
            kept = found[authorization.record]["call"]
        same = asdict(call) == kept
        shown = c.Call(**kept) if same else call
        admission = super().prepare(authorization, shown, context, attempt)
        return replace(admission, call=None) if isinstance(admission, c.Admission) else admission


class EqualArguments(_Own):
    """In Python True == 1."""

    ledger = _EqualArguments


class _Folding(SmallLedger):
    """MP11: texts are folded before they are compared, and what was presented is sent."""

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Busy:
        with self._records(authorization.record) as found:
            kept = c.Call(**found[authorization.record]["call"])
        shown = kept if _folded(call) == _folded(kept) else call
        admission = super().prepare(authorization, shown, context, attempt)
        return replace(admission, call=None) if isinstance(admission, c.Admission) else admission


def _folded(call: c.Call) -> str:
    texts = {k: v for k, v in call.args.items() if v is not None}
    texts["amount"] = f"{float(str(call.args.get('amount', 0))):.2f}"
    return (
        unicodedata.normalize("NFKC", repr(replace(call, args=texts))).casefold().replace(" ", "")
    )


class Folding(_Own):
    """Its canonical form forgets case, blanks, widths, zeros and nulls."""

    ledger = _Folding


class _AttemptFirst(SmallLedger):
    """Whoever names an attempt that has a slot is given it, and nothing else is compared."""

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Busy:
        name = authorization.record
        with self._records(name) as found:
            for slot in found[name]["slots"]:
                if slot["state"] == "prepared" and attempt in slot["attempts"]:
                    return replace(_admission(name, found[name], slot), call=None)
        return super().prepare(authorization, call, context, attempt)


class AttemptFirst(_Own):
    """An idempotent answer comes before every comparison."""

    ledger = _AttemptFirst


class _AnyReceipt(SmallLedger):
    """Commit stores whatever is said to be a receipt."""

    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done:
        with self._records(admission.record) as found:
            slots = found[admission.record]["slots"]
            slot = next(s for s in slots if s["name"] == admission.slot)
            slot |= {"state": "committed", "receipt": asdict(receipt)}
        return c.Done(receipt)


class AnyReceipt(_Own):
    """Its ledger believes every receipt, and hands it out again."""

    ledger = _AnyReceipt


class _BlocksTheOwner(SmallLedger):
    """Whoever is attacked is blocked: one wrong executor revokes the record."""

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Busy:
        try:
            return super().prepare(authorization, call, context, attempt)
        except No as no:
            if str(no) == "wrong_principal":
                self.revoke(authorization)
            raise


class BlocksTheOwner(_Own):
    """An attack costs the owner the use."""

    ledger = _BlocksTheOwner


class _LocksOut(SmallLedger):
    """Three wrong executors in a row, and the record is closed, as a password would be."""

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Busy:
        try:
            return super().prepare(authorization, call, context, attempt)
        except No as no:
            with self._records(authorization.record) as found:
                record = found.get(authorization.record, {})
                record["failures"] = record.get("failures", 0) + (str(no) == "wrong_principal")
                locked = record["failures"] > 2
            if locked:
                self.revoke(authorization)
            raise


class LocksOut(_Own):
    """A thief who does not give up costs the owner the use."""

    ledger = _LocksOut


class _AnyCase(SmallLedger):
    """The executor is compared as a mail address would be."""

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Busy:
        shown = replace(context, executor=context.executor.casefold())
        return super().prepare(authorization, call, shown, attempt)


class AnyCase(_Own):
    """EXECUTOR-1 is executor-1."""

    ledger = _AnyCase


class _Abridged(SmallLedger):
    """A token is right as far as it goes."""

    def issue(self, *asked: Any) -> c.Authorization:
        granted = super().issue(*asked)
        return replace(granted, credential=ids.sink_key("token", granted.record, ""))

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Busy:
        token, right = authorization.credential, ids.sink_key("token", authorization.record, "")
        if not isinstance(token, str) or not right.startswith(token):
            raise No("bad_credential")
        return super().prepare(authorization, call, context, attempt)


class Abridged(_Own):
    """So the empty one is right, too."""

    ledger = _Abridged


class _ByAction(SmallLedger):
    """Revoke finds its record by what was approved."""

    def revoke(self, authorization: c.Authorization) -> c.Revoked:
        with self._records() as found:
            action = found[authorization.record]["action"]
            alike = [name for name, record in found.items() if record["action"] == action]
        for name in alike:
            super().revoke(c.Authorization(name))
        return super().revoke(authorization)


class ByAction(_Own):
    """Every approval of the same action goes with the one that is withdrawn."""

    ledger = _ByAction


class _OncePerAction(SmallLedger):
    """Replay protection on the action: who confirmed it once can never confirm it again."""

    def issue(self, *asked: Any) -> c.Authorization:
        call, said = asked[:2]
        with self._records() as found:
            for name, record in found.items():
                if record["action"] == ids.action_identity(call) and name != said.event:
                    raise No("duplicate")
        return super().issue(*asked)


class OncePerAction(_Own):
    """Unique is sigma, and not (sigma, e_u)."""

    ledger = _OncePerAction


class _OpenManifest(SmallLedger):
    """The credential shows the holder and the budget, under a MAC of the record's name alone."""

    def issue(self, *asked: Any) -> c.Authorization:
        granted = super().issue(*asked)
        shown = {"holder": asked[3].executor, "budget": asked[2], "mac": self._mac(granted.record)}
        return replace(granted, credential=shown)

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Replayed | c.Busy:
        shown = authorization.credential
        if not isinstance(shown, dict) or shown["mac"] != self._mac(authorization.record):
            raise No("bad_credential")
        return super().prepare(authorization, call, context, attempt)

    def _mac(self, record: str) -> str:
        return ids.sink_key("manifest", record, "mac")


class OpenManifest(_Own):
    """What its credential says can be altered unseen."""

    ledger = _OpenManifest


class _OneMore(SmallLedger):
    """MP4a: one slot too many."""

    def issue(self, *asked: Any) -> c.Authorization:
        granted = super().issue(*asked)
        with self._records(granted.record) as found:
            slots = found[granted.record]["slots"]
            if len(slots) == asked[2]:
                slots.append({"name": "s0", "state": "issued", "attempts": []})
        return granted


class OneMore(_Own):
    """b + 1 uses."""

    ledger = _OneMore


class _AnyBudget(SmallLedger):
    """Budgets are used as they come: True is 1, "1" is 1, and 1.5 is two uses."""

    def issue(self, *asked: Any) -> c.Authorization:
        call, said, b, by, validity = asked
        units = int(-(-float(b) // 1)) if b == b and float(b) < 1000 else 5  # noqa: PLR0124 - NaN
        key = self._env.trust.confirmation_key
        if units < 1:
            raise No("invalid")
        return super().issue(call, ids.confirm(key, said.event, call, units), units, by, validity)


class AnyBudget(_Own):
    """NaN opens five uses."""

    ledger = _AnyBudget


CONVICTED = {
    "BudgetFromRequest": ("reissuance:issued.more.b1.idem.s0@1", "AO101"),
    "Unsigned": ("binding:confirmation.mac.b1.idem.s0@1", "AO205"),
    "AnyExecutor": ("binding:theft.executor.b1.idem.s0@1", "AO204"),
    "EqualArguments": ("binding:call.true.b1.ctrl.s0@1", "AO202"),
    "AttemptFirst": ("binding:repeated.executor.b1.idem.s0@1", "AO204"),
    "AnyReceipt": ("binding:receipt.made.b1.idem.s0@1", "AO206"),
    "BlocksTheOwner": ("binding:theft.executor.b1.idem.s0@1", "AO801"),
    "LocksOut": ("binding:theft.often.b1.idem.s0@1", "AO801"),
    "AnyCase": ("binding:context.upper.b1.ctrl.s0@1", "AO204"),
    "Abridged": ("binding:credential.altered.b1.idem.s0@1", "AO205"),
    "ByAction": ("reissuance:revoked.beside.b1.idem.s0@1", "AO805"),
    "OncePerAction": ("reissuance:committed.fresh.b1.idem.s0@1", "AO805"),
    "OpenManifest": ("binding:credential.altered.b2.idem.s0@1", "AO205"),
    "OneMore": ("budgets:drain.b5.ctrl.s0@1", "AO102"),
    "AnyBudget": ("budgets:odd.nan.b1.idem.s0@1", "AO102"),
}
"""By class name: the schedule that convicts it, and the code."""
