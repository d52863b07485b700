"""What the reference says of itself. Every sentence here stands in the package's own page."""

from __future__ import annotations

from typing import Final

from ..declaration import Declaration, Facts

FACTS: Final = Facts(
    key="derived",
    attempt_identity=True,
    slot_identity=True,
    binds=(
        "principal",
        "tool",
        "tool_version",
        "args",
        "resource",
        "executor",
        "session",
        "task",
        "policy_epoch",
        "schema_epoch",
        "budget",
        "confirmation",
    ),
    recovery="resend",
    clock="injected",
    child_refund="on_close",
    waits_s=2.0,
)

CLAIMS: Final = {
    "multi_budget": (
        "A budget of b is served by b slots, and each of them is admitted exactly once."
    ),
    "revoke": (
        "After an acknowledged Revoke no slot of the record or of its descendants is admitted."
    ),
    "revoke_counts": "Revoke names the slots that it stopped and those that it came too late for.",
    "delegate": (
        "A child reserves slots of its parent in the transaction that makes it, and they are the "
        "same slots under another holder."
    ),
    "recover": (
        "Every Prepared slot is handed out again under its key until it is Committed, whoever "
        "held it, and expiry or revocation do not stop that."
    ),
    "finds_unfinished": (
        "Recover finds those slots by itself, also those of records unknown to its caller."
    ),
    "expiry": "At t_e and after it nothing is admitted.",
    "audit": (
        "Every transition appends one record to a hash chain that cannot be altered, reordered or "
        "cut in the middle without being seen"
    ),
    "repeat_commit": "Committing again with the same receipt is answered as done.",
    "precise_codes": "A refusal's code names a cause that held when it was given.",
    "structured_denials": (
        "Every refusal says whether asking again may help, and what to do next."
    ),
    "durable_process": "An acknowledged transition survives the death of any process.",
    "durable_power": (
        "An acknowledged transition survives a power cut, because the log is synced before the "
        "reply."
    ),
}

DECLARATION: Final = Declaration(facts=FACTS, claims=CLAIMS)
