"""What a node is told when it opens the ledger: its store, its identity, and its world."""

from __future__ import annotations

from ..chaos.channel import Message
from ..chaos.parent import TargetProblem
from ..targets.terms import Identity
from ..targets.values import encode
from .calls import Answer, Setting


def to_open(setting: Setting, node: str, executor: str, skew_s: float) -> Message:
    """The request to open in this node, as this executor, under a clock that is so much ahead."""
    return {
        "do": "open",
        "store": setting.store_for(node),
        "workspace": str(setting.workspace),
        "identity": encode(Identity(executor, f"key of {executor}".encode())),
        "trust": encode(setting.trust),
        "skew_s": skew_s,
        "lease_s": setting.lease_s,
        "patience_s": setting.patience_s,
        "sink_url": setting.sink_url,
    }


def must_be_open(answer: Answer, where: str) -> None:
    """Raise ``TargetProblem`` where nothing disturbs, and the ledger does not open all the same."""
    if not answer.granted:
        raise TargetProblem(
            f"{where}, undisturbed, answered {answer.value}. If it is a lock that passes, let "
            "open() give the library env.patience_s. A store that one process has for itself "
            "cannot be tested by this version: its clients are several processes, that share the "
            "store or a server."
        )
