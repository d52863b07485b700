"""The matrix read by its columns: every check is set off by a seeded bug that ships.

``test_matrix.py`` reads it by its rows, one ledger after the other, up to the first conviction.
Here are the checks for which a ledger was made, each with one schedule in which it convicts that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from admitone.idempotent_sink.protocol import Answer, Received
from admitone.idempotent_sink.sink import Sink
from admitone.idempotent_sink.store import Store
from admitone.scenarios.checks import CHECKS
from admitone.targets.registry import BUILTIN
from admitone.targets.resolve import resolve
from tests.campaigns.matrix import NO_LEDGER
from tests.played import codes, played

SET_OFF: Final = {
    "AO203": ("shared-key", "budgets:order.b2.idem.s0"),
    "AO204": ("MP8", "binding:theft.executor.b1.idem.s0"),
    "AO206": ("any-receipt", "binding:receipt.made.b1.idem.s0"),
    "AO301": ("MV4", "revocation:orphaned.b1.idem.s0"),
    "AO302": ("done-at-once", "crash:FP5.kill.gone.b1.idem.s0"),
    "AO305": ("commit-once", "crash:FP10.reply.drop.retry.b1.idem.s0"),
    "AO404": ("commit-asks-again", "revocation:admitted.b1.idem.s0"),
    "AO405": ("MP7", "consumers:held.prepare.statement3.after.b2.idem.s0"),
    "AO406": ("one-refusal", "revocation:before.b2.idem.s0"),
    "AO501": ("delegate-as-asked", "delegation:wide.task.b1.idem.s0"),
    "AO502": ("MD1", "delegation:conserved.b1.idem.s0"),
    "AO503": ("revoke-one-record", "delegation:revoked.b1.idem.s0"),
    "AO504": ("close-keeps", "delegation:closed.unused.b1.idem.s0"),
    "AO702": ("take-then-check", "binding:theft.executor.b1.idem.s0"),
    "AO704": ("audit-trimmed", "crash:FP5.kill.retry.b2.idem.s0"),
    "AO801": ("MP5b", "budgets:order.b2.idem.s0"),
    "AO802": ("two-steps", "crash:FP3.write2.kill.retry.b1.idem.s0"),
    "AO803": ("MP6-stored", "crash:FP4.reply.drop.retry.b2.idem.s0"),
    "AO804": ("lock-left", "crash:FP3.write2.kill.recover.b1.idem.s0"),
    "AO805": ("once-per-action", "reissuance:committed.fresh.b1.idem.s0"),
}


@pytest.mark.parametrize("code", SET_OFF)
def test_a_check_is_set_off_by_its_ledger(code: str, scratch: Path) -> None:
    name, schedule = SET_OFF[code]
    family, _, shape = schedule.partition(":")
    found = codes(played(f"builtin:broken/{name}", family, scratch, [shape]))
    guilty: Any = resolve(f"builtin:broken/{name}")
    assert code in found
    assert not found & set(guilty.never_by)


def test_every_check_has_a_ledger_or_a_reason_why_there_is_none() -> None:
    guilty: list[Any] = [resolve(name) for name, entry in BUILTIN.items() if entry.kind == "broken"]
    convicting = {code for target in guilty for code in target.convicted_by}
    assert not convicting & NO_LEDGER.keys()
    assert convicting | NO_LEDGER.keys() == set(CHECKS)
    by_name = {target.name.layer: target.convicted_by for target in guilty}
    assert all(code in by_name[f"broken/{name}"] for code, (name, _) in SET_OFF.items())


# the two checks of the sink, which no ledger can set off: through a run with a worse sink than ours


def test_a_sink_that_forgets_its_keys_is_convicted(
    monkeypatch: pytest.MonkeyPatch, scratch: Path
) -> None:
    monkeypatch.setattr(Store, "receipt_for", lambda *_: None)
    monkeypatch.setattr(Store, "add_record", lambda *_: None)
    results = played("builtin:caplease-sqlite", "crash", scratch, ["FP8.drop.retry.b1.idem.s0"])
    assert "AO601" in codes(results)


def test_a_sink_that_compares_no_payloads_is_convicted(
    monkeypatch: pytest.MonkeyPatch, scratch: Path
) -> None:
    right = Sink._take

    def take(sink: Sink, received: Received) -> Answer:
        known = sink._store.receipt_for(received.key or "")
        if known is None:
            return right(sink, received)
        return Answer(received.number, "repeated", known, known.number, received.label)

    monkeypatch.setattr(Sink, "_take", take)
    results = played("builtin:caplease-sqlite", "binding", scratch, ["sink.payload.b1.idem.s0"])
    assert codes(results) == {"AO602"}
