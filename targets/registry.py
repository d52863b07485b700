"""The targets that ship, by name. To add one is to write its file and one entry here.

Factories are given as texts, relative to this package, and imported only when asked for: listing
the targets must not import any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["reference", "correct", "broken"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a shipped target lives, what it is for, and what it is in one line.

    ``factory`` is ``module:attribute`` below the package of the targets. ``needs`` names the server
    without which it cannot run ("postgres"), if there is one.
    """

    factory: str
    kind: Kind
    line: str
    needs: str = ""


BUILTIN: Final[dict[str, Entry]] = {
    "caplease-sqlite": Entry(
        "caplease.target:CapLeaseSqlite",
        "reference",
        "the reference: Issue-Prepare-Commit with manifests, on one SQLite file",
    ),
    "server-ledger-sqlite": Entry(
        "caplease.server_ledger:ServerLedgerSqlite",
        "reference",
        "the same core with the scope kept behind the server, on one SQLite file",
    ),
    "caplease-postgres": Entry(
        "caplease.target_postgres:CapLeasePostgres",
        "reference",
        "Issue-Prepare-Commit with manifests, in a schema of a PostgreSQL",
        needs="postgres",
    ),
    "server-ledger-postgres": Entry(
        "caplease.server_ledger:ServerLedgerPostgres",
        "reference",
        "the same core with the scope kept behind the server, in a schema of a PostgreSQL",
        needs="postgres",
    ),
    "correct/counter": Entry(
        "correct.counter:CounterTarget",
        "correct",
        "one counter per approval, without slots",
    ),
    "correct/json-flock": Entry(
        "correct.json_flock:JsonFlockTarget",
        "correct",
        "a JSON file under flock, replaced and synced",
    ),
    "correct/guarded": Entry(
        "correct.guarded:GuardedTarget",
        "correct",
        "runs the effect itself, inside a guard",
    ),
    "correct/lease": Entry(
        "correct.lease:LeaseTarget",
        "correct",
        "leased seats that pass on, with fencing and heartbeats",
    ),
    "correct/at-most-once": Entry(
        "correct.at_most_once:AtMostOnceTarget",
        "correct",
        "an append-only log that never sends twice and leaves doubts to people",
    ),
    "correct/revoke-repeat": Entry(
        "correct.revoke_repeat:RevokeRepeatTarget",
        "correct",
        "bitmaps, whose repeated revoke answers the same counts again",
    ),
    "correct/plain": Entry(
        "correct.plain:PlainTarget",
        "correct",
        "counted tickets that bind nobody and know no attempts",
    ),
    "correct/plain-postgres": Entry(
        "correct.plain_postgres:PlainPostgresTarget",
        "correct",
        "the same on PostgreSQL, each operation one autocommitted statement",
        needs="postgres",
    ),
    "broken/MP1": Entry(
        "broken.mp1:MP1",
        "broken",
        "prepare looks at the slot first and takes it later",
    ),
    "broken/MP1-postgres": Entry(
        "broken.mp1_postgres:MP1Postgres",
        "broken",
        "the same in one transaction at READ COMMITTED, without a row lock",
        needs="postgres",
    ),
    "broken/MP1-lease-lock": Entry(
        "broken.mp1_lease_lock:MP1LeaseLock",
        "broken",
        "prepare looks first and takes later, under a lock that lapses, without fencing",
    ),
    "broken/MP2": Entry(
        "broken.mp2:MP2",
        "broken",
        "a slot is claimed by a subquery, and not if it is still free",
        needs="postgres",
    ),
    "broken/ME1": Entry(
        "broken.me1:ME1",
        "broken",
        "a new sink key each time an admission is handed out",
    ),
    "broken/MP6": Entry(
        "broken.mp6:MP6",
        "broken",
        "a retried prepare takes the next slot",
    ),
    "broken/MP6-stored": Entry(
        "broken.mp6_stored:MP6Stored",
        "broken",
        "the attempt is stored with its slot, and never looked for",
    ),
    "broken/MI1": Entry(
        "broken.mi1:MI1",
        "broken",
        "issue looks for the record first and inserts it later",
    ),
    "broken/MI2a": Entry(
        "broken.mi2a:MI2a",
        "broken",
        "another session opens another record for one confirmation",
    ),
    "broken/MI3": Entry(
        "broken.mi3:MI3",
        "broken",
        "issuing again resets what was used",
    ),
    "broken/MP4a": Entry(
        "broken.mp4a:MP4a",
        "broken",
        "one use more than approved",
    ),
    "broken/MP4b": Entry(
        "broken.mp4b:MP4b",
        "broken",
        "two uses at once are counted as one",
    ),
    "broken/MP5b": Entry(
        "broken.mp5b:MP5b",
        "broken",
        "the winner of an update takes itself for the loser",
    ),
    "broken/MP7": Entry(
        "broken.mp7:MP7",
        "broken",
        "a locked database is answered as a final refusal",
    ),
    "broken/MP8": Entry(
        "broken.mp8:MP8",
        "broken",
        "prepare does not look at who presents the credential",
    ),
    "broken/MP10": Entry(
        "broken.mp10:MP10",
        "broken",
        "prepare compares nothing but the record's id",
    ),
    "broken/ME3": Entry(
        "broken.me3:ME3",
        "broken",
        "the effect is sent before the admission is durable",
    ),
    "broken/ME4": Entry(
        "broken.me4:ME4",
        "broken",
        "no answer from the sink frees the unit",
    ),
    "broken/MC2a": Entry(
        "broken.mc2a:MC2a",
        "broken",
        "an error of COMMIT is answered as success",
    ),
    "broken/MC2a-postgres": Entry(
        "broken.mc2a_postgres:MC2aPostgres",
        "broken",
        "the same over PostgreSQL, where a lost connection says nothing",
        needs="postgres",
    ),
    "broken/MR1": Entry(
        "broken.mr1:MR1",
        "broken",
        "revoke writes the record, and prepare locks the slot alone",
        needs="postgres",
    ),
    "broken/MR2": Entry(
        "broken.mr2:MR2",
        "broken",
        "revoke overwrites what is admitted",
    ),
    "broken/MX1-early": Entry(
        "broken.mx1_early:MX1Early",
        "broken",
        "expiry is looked at before the wait for the lock, and not after it",
    ),
    "broken/MD1": Entry(
        "broken.md1:MD1",
        "broken",
        "a child uses whatever is free, and so does its parent",
    ),
    "broken/MD2": Entry(
        "broken.md2:MD2",
        "broken",
        "delegate reads what is left first and takes it later",
    ),
    "broken/MV1": Entry(
        "broken.mv1:MV1",
        "broken",
        "a reaper frees what is held for long",
    ),
    "broken/MV1-lease": Entry(
        "broken.mv1_lease:MV1Lease",
        "broken",
        "the same over leased seats, under the same key",
    ),
    "broken/MV1-ME1": Entry(
        "broken.mv1_me1:MV1xME1",
        "broken",
        "a reaper, and a new sink key each time",
    ),
    "broken/MV3": Entry(
        "broken.mv3:MV3",
        "broken",
        "recovery admits the request anew",
    ),
    "broken/MV4": Entry(
        "broken.mv4:MV4",
        "broken",
        "recovery passes over what is revoked or expired",
    ),
    "broken/MA2": Entry(
        "broken.ma2:MA2",
        "broken",
        "audit records are written after the commit",
    ),
    "broken/recover-stops": Entry(
        "broken.recover_stops:RecoverStops",
        "broken",
        "recovery ends at the first unit that it cannot finish",
    ),
    "broken/torn-file": Entry(
        "broken.torn_file:TornFile",
        "broken",
        "a file is written over in place",
    ),
    "broken/two-locks": Entry(
        "broken.two_locks:TwoLocks",
        "broken",
        "a coupon is chosen under one file lock and taken under the next",
    ),
    "broken/log-best-effort": Entry(
        "broken.log_best_effort:LogBestEffort",
        "broken",
        "a line that the disk has no room for is passed over",
    ),
    "broken/lease-frees": Entry(
        "broken.lease_frees:LeaseFrees",
        "broken",
        "a lapsed seat is freed for a new use under a new key",
    ),
    "broken/release-by-stranger": Entry(
        "broken.release_by_stranger:ReleaseByStranger",
        "broken",
        "anybody can give back what somebody else holds",
    ),
    "broken/release-after-effect": Entry(
        "broken.release_after_effect:ReleaseAfterEffect",
        "broken",
        "what was used can be given back",
    ),
    "broken/delegate-as-asked": Entry(
        "broken.delegate_as_asked:DelegateAsAsked",
        "broken",
        "a child gets the context that was asked for",
    ),
    "broken/revoke-one-record": Entry(
        "broken.revoke_one_record:RevokeOneRecord",
        "broken",
        "revoke does not look for descendants",
    ),
    "broken/close-keeps": Entry(
        "broken.close_keeps:CloseKeeps",
        "broken",
        "a closed child takes its unused units with it",
    ),
    "broken/kin-unrecorded": Entry(
        "broken.kin_unrecorded:KinUnrecorded",
        "broken",
        "delegate and close leave no audit record",
    ),
    "broken/revoke-counts-own": Entry(
        "broken.revoke_counts_own:RevokeCountsOwn",
        "broken",
        "revoke stops a family, and answers for its head alone",
    ),
    "broken/shared-key": Entry(
        "broken.shared_key:SharedKey",
        "broken",
        "all slots of a record have one sink key",
    ),
    "broken/any-receipt": Entry(
        "broken.any_receipt:AnyReceipt",
        "broken",
        "commit believes whatever looks like a receipt",
    ),
    "broken/receipt-of-another": Entry(
        "broken.receipt_of_another:ReceiptOfAnother",
        "broken",
        "commit does not ask whose unit the receipt is for",
    ),
    "broken/receipt-replaced": Entry(
        "broken.receipt_replaced:ReceiptReplaced",
        "broken",
        "a later receipt is written over that of a used coupon",
    ),
    "broken/done-at-once": Entry(
        "broken.done_at_once:DoneAtOnceTarget",
        "broken",
        "a use is written down as done when it is handed out",
    ),
    "broken/commit-asks-again": Entry(
        "broken.commit_asks_again:CommitAsksAgain",
        "broken",
        "commit looks at revocation and expiry once more",
    ),
    "broken/commit-once": Entry(
        "broken.commit_once:CommitOnce",
        "broken",
        "a repeated commit is refused",
    ),
    "broken/one-refusal": Entry(
        "broken.one_refusal:OneRefusal",
        "broken",
        "whatever is over is answered as exhausted",
    ),
    "broken/take-then-check": Entry(
        "broken.take_then_check:TakeThenCheck",
        "broken",
        "the unit is taken first, and who asks is looked at afterwards",
    ),
    "broken/two-steps": Entry(
        "broken.two_steps:TwoSteps",
        "broken",
        "a use is taken in one transaction and written down in the next",
    ),
    "broken/lock-left": Entry(
        "broken.lock_left:LockLeft",
        "broken",
        "whoever is killed leaves its lock behind",
    ),
    "broken/once-per-action": Entry(
        "broken.once_per_action:OncePerAction",
        "broken",
        "who confirmed an action once can never confirm it again",
    ),
    "broken/one-out-per-user": Entry(
        "broken.one_out_per_user:OneOutPerUserTarget",
        "broken",
        "a unit that is out blocks every other authorization of its user",
    ),
    "broken/audit-best-effort": Entry(
        "broken.audit_best_effort:AuditBestEffort",
        "broken",
        "an error of the audit's own statement is only logged",
    ),
    "broken/audit-trimmed": Entry(
        "broken.audit_trimmed:AuditTrimmed",
        "broken",
        "the audit chain keeps its newest records only",
    ),
}


def is_reference(target: str) -> bool:
    """Whether a target string names one of the suite's own reference ledgers."""
    entry = BUILTIN.get(target.removeprefix("builtin:"))
    return entry is not None and entry.kind == "reference"
