"""What a target says of itself: facts, claims and boundaries.

A *fact* is how the ledger is built; it selects which of the stated rules judges. A *claim* is
what is judged, given with the sentence of the target's own documentation that makes it. A
*boundary* is a limit that the target documents; a result inside it is ``not claimed``: never
passed, never called conformant.

Every fact has the default that fits the plainest ledger: one that stores its records, admits by
one counter, keeps no key, and says nothing about retries. State a fact only where the ledger is
built otherwise. A wrong fact does not hide a bug: no fact turns the core off (issue, prepare,
commit or execute, and N_effect <= N_admit <= N_issue <= b).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Claim = Literal[
    "multi_budget",  # budgets above 1 are served, each unit once
    "revoke",  # no admission after an acknowledged revocation
    "revoke_counts",  # revoke says which or how many units it stopped
    "delegate",  # children share the parent's budget
    "recover",  # prepared units are brought to an end after a crash
    "finds_unfinished",  # recover finds them by itself, also those of unknown authorizations
    "release",  # a unit comes back after a definite non-effect
    "expiry",  # no admission after t_e
    "lease",  # a held unit lapses, and what lapse means is kept
    "audit",  # a chain of records that cannot be cut or altered unseen
    "repeat_commit",  # committing again with the same receipt is answered as done
    "precise_codes",  # the refusal code names the cause
    "structured_denials",  # retryable and next are given
    "durable_process",  # what was acknowledged survives a killed process
    "durable_power",  # what was acknowledged survives a power cut
]
CLAIMS: tuple[str, ...] = get_args(Claim)

Bound = Literal[
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
]


@dataclass(frozen=True, slots=True)
class Facts:
    """How the ledger is built. Field by field, the choices and their meaning:

    ``issues``           "stored": issue writes a record; "held": issue is kept elsewhere (a token
                         in the client's hand; ``inspect`` shows no record before the first use);
                         "none": there is no issue step.
    ``keyed_by``         "ledger": the ledger makes record ids; "confirmation": by e_u.
    ``key``              the sink key: "derived" recomputable from record, slot and tool; "stored"
                         made once and kept; "none": the ledger gives none.
    ``attempt_identity`` the same attempt asked again gets the same admission (or a refusal),
                         never a second unit.
    ``slot_identity``    units have stable names.
    ``commits``          there is a commit step; without one an admission is final.
    ``reach``            clients that see one ledger: "thread", "process" or "network".
    ``binds``            fields of call and context that prepare compares.
    ``lapse``            a holder that stops: "none" holds for ever; "takeover" another may continue
                         the same unit under the same key; "readmit" the unit is free again;
                         "in_doubt" it goes to the manual state; "refuse" nobody else gets it, so
                         that it is lost unless its holder finishes.
    ``after_not_applied`` a definite non-effect leaves the unit "free" (or releasable) or "blocked".
    ``recovery``         how prepared units end: "lookup" by asking the sink, "resend" under the
                         same key, "manual" in the manual state, "none".
    ``expiry``           at t_e exactly: "inclusive" still admits, "exclusive" does not.
    ``clock``            "injected" (``env.now``), "node" (the machine's) or "server".
    ``clock_error_s``    bound on that clock's error, seconds.
    ``child_refund``     what a child did not use returns: "never", "on_revoke", "on_expiry",
                         "on_close".
    ``context_update``   re-issuing with another context: "refuse", "keep", "narrow", "replace".
    ``reapproval``       a new confirmation while a unit is unresolved: "refuse" or "separate".
    ``policy_mode``      permits of an old policy: "original" finishes, "current" is refused.
    ``waits_s``          longest time a call may wait for others, seconds.
    ``retention_s``      how long a used record is kept, seconds; None: for ever.
    ``manual_state``     the ledger's own word for the state of units it cannot settle, or None.
    """

    issues: Literal["stored", "held", "none"] = "stored"
    keyed_by: Literal["ledger", "confirmation"] = "ledger"
    key: Literal["derived", "stored", "none"] = "none"
    attempt_identity: bool = False
    slot_identity: bool = False
    commits: bool = True
    reach: Literal["thread", "process", "network"] = "process"
    binds: tuple[Bound, ...] = ()
    lapse: Literal["none", "takeover", "readmit", "in_doubt", "refuse"] = "none"
    after_not_applied: Literal["free", "blocked"] = "blocked"
    recovery: Literal["lookup", "resend", "manual", "none"] = "none"
    expiry: Literal["inclusive", "exclusive"] = "exclusive"
    clock: Literal["injected", "node", "server"] = "node"
    clock_error_s: float = 0.0
    child_refund: Literal["never", "on_revoke", "on_expiry", "on_close"] = "never"
    context_update: Literal["refuse", "keep", "narrow", "replace"] = "keep"
    reapproval: Literal["refuse", "separate"] = "separate"
    policy_mode: Literal["original", "current"] = "original"
    waits_s: float = 0.0
    retention_s: float | None = None
    manual_state: str | None = None


@dataclass(frozen=True, slots=True)
class Boundary:
    """A documented limit: ``what`` in a few words, the ``sentence`` that documents it, and the
    codes of the checks whose findings fall inside it."""

    what: str
    sentence: str
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declaration:
    """Facts, claims (name to the sentence that makes it) and boundaries of one target."""

    facts: Facts = field(default_factory=Facts)
    claims: Mapping[str, str] = field(default_factory=dict)
    boundaries: tuple[Boundary, ...] = ()

    def claims_that(self, name: Claim) -> bool:
        """Whether the target makes this claim."""
        return name in self.claims
