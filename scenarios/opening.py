"""What a node is told when it opens the ledger: its store, its identity, and its world."""

from __future__ import annotations

from ..chaos.channel import Message
from ..targets.terms import Identity
from ..targets.values import encode
from .calls import Setting


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
