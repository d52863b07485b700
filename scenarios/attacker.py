"""The attacker: presents what was not approved, and carries out whatever it is given.

What a ledger admits is sent, also to an attacker: only then does the sink show what would have
been done, and a ledger that may admit it (it does not claim to bind that field) is left with no
unit that nobody finishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ..chaos.handle import NodeHandle
from ..targets.terms import Admission, Authorization, Call, Context, Json, Receipt
from .calls import Answer, Subject
from .client import Client, Use
from .moves import present

NO_MAC: Final = "0" * 64
"""An authenticator that nobody signed."""


@dataclass(slots=True)
class Attacker:
    """One attacker of one authorization. Its requests are x1, x2, …"""

    client: Client
    tries: int = 0

    def next_request(self) -> str:
        """The name of the next attack."""
        self.tries += 1
        return f"x{self.tries}"

    def present(
        self,
        node: NodeHandle,
        *,
        call: Call | None = None,
        context: Context | None = None,
        authorization: Authorization | None = None,
        forged: str = "",
        attempt: str | None = None,
    ) -> Answer:
        """Ask for admission with something that differs, and use what is granted."""
        request = self.next_request()
        pending = present(
            self.client,
            node,
            request,
            call=call,
            context=context,
            authorization=authorization,
            forged=forged,
            attempt=attempt,
        )
        answer = pending.answer or Answer("unknown")
        if answer.granted and isinstance(answer.value, Admission):
            use = Use(request, pending.subject.attempt or request, answer.value)
            self._as_presented(call, context).carry_out(node, use, answer.value)
        return answer

    def _as_presented(self, call: Call | None, context: Context | None) -> Client:
        """A client that believes what was presented to be what was approved."""
        approval = self.client.approval
        believed = replace(
            approval, call=call or approval.call, context=context or approval.context
        )
        return replace(self.client, approval=believed, uses=[], keys={})

    def commit(self, node: NodeHandle, use: Use, receipt: Receipt, forged: str) -> Answer:
        """Say that an effect stands, with a receipt that the sink never gave for it."""
        admission = use.admission
        subject = Subject(
            self.client.label, self.next_request(), admission=admission, forged=f"receipt {forged}"
        )
        pending = self.client.stage.call(
            node, "commit", [admission, receipt], subject, self.client.executor
        )
        return pending.answer or Answer("unknown")

    def send_again(
        self, node: NodeHandle, admission: Admission, call: Call, key: str | None
    ) -> Answer:
        """Send another payload under the key of an admission."""
        subject = Subject(
            self.client.label, self.next_request(), admission=admission, presented=call
        )
        args = [call.tool, dict(call.args), key]
        pending = self.client.stage.call(node, "effect", args, subject, self.client.executor)
        return pending.answer or Answer("unknown")


def altered(credential: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """The credential with one leaf changed, for every leaf in turn, with the leaf's name. A text is
    also cut to its first half, and to nothing."""
    if isinstance(credential, Mapping):
        for name, item in credential.items():
            for where, other in altered(item, f"{path}.{name}".lstrip(".")):
                yield where, {**credential, name: other}
    elif isinstance(credential, list):
        for number, item in enumerate(credential):
            for where, other in altered(item, f"{path}[{number}]"):
                yield where, [*credential[:number], other, *credential[number + 1 :]]
    else:
        yield path or "text", _another(credential)
        if isinstance(credential, str) and len(credential) > 1:  # a comparison of beginnings
            yield f"{path or 'text'} (its first half)", credential[: len(credential) // 2]
            yield f"{path or 'text'} (nothing in it)", ""


def _another(leaf: Json) -> Json:
    """A value of the same type where it has others; it never decodes to the same bytes."""
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, (int, float)):
        return leaf + 1
    if isinstance(leaf, str) and leaf:
        # in the middle: the last characters of a base64 text may carry no bits
        middle = len(leaf) // 2
        other = "1" if leaf[middle] != "1" else "2"
        return leaf[:middle] + other + leaf[middle + 1 :]
    return "another"
