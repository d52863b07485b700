"""Attacks on one use: around its admission, its effect and its commit, and on a child's credential.

``Attack`` is what every attack of the family ``binding`` is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from ...chaos.handle import NodeHandle
from ...targets.identity import effect_digest
from ...targets.terms import Authorization, Receipt
from ..attacker import NO_MAC, Attacker
from ..checks.attacks import ANOTHER_HOLDER, OF_ANOTHER_UNIT
from ..client import Client, Use, approve
from ..moves import as_executor, delegate, present
from ..scene import Scene
from .variations import CALLS, TYPED

THIEF: Final = "executor-2"
STRANGER: Final = "executor-3"
RECEIPTS: Final = ("made", "key", "tool", "digest", "number", "mac", "effect")
ELSEWHERE: Final = {
    "effect": "of another effect",
    "unit": f"{OF_ANOTHER_UNIT} of the authorization",
    "renewed": f"{OF_ANOTHER_UNIT}, of the same call confirmed anew",
}
"""Receipts that the sink did give, for something else. The last two are for the same payload, so
that nothing but their key tells them from the right one."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack: who, from which node (the owner's), and what is changed or forged."""

    scene: Scene
    by: Attacker
    node: NodeHandle
    what: str

    @property
    def client(self) -> Client:
        """The owner of what is attacked."""
        return self.by.client


def approved(scene: Scene, budget: int, executor: str = "executor-1") -> Client:
    """A decision about a call with typed and nested arguments."""
    trust = scene.stage.setting.trust
    return approve(
        scene.stage, scene.facts, trust, scene.draws, budget, executor=executor, more=TYPED
    )


def _receipt(attack: Attack) -> None:
    """Commit on a false receipt; then on the right one, which must still work."""
    client = attack.client
    elsewhere = _genuine_elsewhere(attack)
    use = client.new_use()
    client.prepare(attack.node, use)
    admission = use.admission
    if admission is None:
        return
    if attack.what == "made":
        call = admission.call or client.approval.call
        digest = effect_digest(call.tool, dict(call.args))
        made = Receipt(admission.key, call.tool, digest, 1, NO_MAC)
        attack.by.commit(attack.node, use, made, "that nobody signed")
    client.send(attack.node, use, admission)
    genuine = use.receipt
    if genuine is None:
        return
    if attack.what in ELSEWHERE:
        if elsewhere is not None and elsewhere.key != genuine.key:
            _with_another(attack, use, elsewhere)
        return
    if attack.what != "made":
        attack.by.commit(
            attack.node, use, _false(genuine, attack.what), f"with another {attack.what}"
        )
    client.commit(attack.node, use, admission)


def _with_another(attack: Attack, use: Use, receipt: Receipt) -> None:
    """Commit a unit on a receipt of something else, before the right one and after it. Whatever is
    answered then, the unit's own receipt is what its owner must be shown."""
    client, how = attack.client, ELSEWHERE[attack.what]
    assert use.admission is not None
    attack.by.commit(attack.node, use, receipt, how)
    client.commit(attack.node, use, use.admission)
    attack.by.commit(attack.node, use, receipt, how)
    if attack.scene.facts.attempt_identity:
        client.prepare(attack.node, use)
    client.commit(attack.node, use, use.admission)  # not before: it may put the right one back


def _genuine_elsewhere(attack: Attack) -> Receipt | None:
    """A receipt that the sink gives for another use, which is brought to its end. None: none is
    asked for, or none came."""
    if attack.what not in ELSEWHERE:
        return None
    other = attack.client
    if attack.what == "effect":
        other = approved(attack.scene, 1)
    elif attack.what == "renewed":
        other = attack.scene.confirmed_anew(attack.client)
    if other is not attack.client:
        other.issue(attack.node)
    if other.authorization is None:
        return None
    use = other.new_use()
    other.finish(attack.node, use)
    return use.receipt


def _false(genuine: Receipt, what: str) -> Receipt:
    """The sink's receipt with one field changed, its authenticator as it was."""
    return {
        "key": replace(genuine, key=f"{genuine.key}0"),
        "tool": replace(genuine, tool=f"{genuine.tool}-all"),
        "digest": replace(genuine, digest=NO_MAC),
        "number": replace(genuine, number=genuine.number + 1),
        "mac": replace(genuine, mac=NO_MAC),
    }[what]


def _repeated(attack: Attack) -> None:
    """The attempt of an admission that is out comes again, from somebody else or with another
    call: whoever looks for the attempt first must compare no less than at the first time."""
    client = attack.client
    use = client.new_use()
    client.prepare(attack.node, use)
    if use.admission is None:
        return
    if attack.what == "executor":
        thief = attack.scene.helper(THIEF)
        context = as_executor(client.approval.context, THIEF)
        attack.by.present(thief, context=context, attempt=use.attempt)
        attack.scene.stage.dismiss(thief)
    else:
        other = CALLS["amount"](client.approval.call)
        attack.by.present(attack.node, call=other, attempt=use.attempt)
    client.carry_out(attack.node, use, use.admission)


def _payload(attack: Attack) -> None:
    """The key of an applied effect comes again with other arguments: the sink must refuse it."""
    client = attack.client
    use = client.new_use()
    client.prepare(attack.node, use)
    if use.admission is None:
        return
    client.send(attack.node, use, use.admission)
    key = use.admission.key or client.keys.get(use.attempt)
    attack.by.send_again(attack.node, use.admission, CALLS["amount"](client.approval.call), key)
    client.commit(attack.node, use, use.admission)


def _delegated(attack: Attack) -> None:
    """A child's credential in another hand: a stranger's, or its parent's."""
    client = attack.client
    theirs = as_executor(client.approval.context, THIEF)
    answer = delegate(client, attack.node, theirs, 1).answer
    child = answer.value if answer is not None else None
    if not isinstance(child, Authorization):
        attack.scene.idle = "the ledger did not delegate"
        return
    if attack.what == "parent":
        attack.by.present(attack.node, authorization=child, forged=ANOTHER_HOLDER)
    else:
        stranger = attack.scene.helper(STRANGER)
        context = as_executor(client.approval.context, STRANGER)
        attack.by.present(stranger, context=context, authorization=child)
        attack.scene.stage.dismiss(stranger)
    holder = attack.scene.helper(THIEF)
    use = client.new_use()
    pending = present(client, holder, use.request, context=theirs, authorization=child)
    client.prepared(use, pending)
    if use.admission is not None:
        client.carry_out(holder, use, use.admission)
    attack.scene.stage.dismiss(holder)


AROUND_A_USE: Final[dict[str, Callable[[Attack], None]]] = {
    "receipt": _receipt,
    "repeated": _repeated,
    "sink": _payload,
    "delegated": _delegated,
}
