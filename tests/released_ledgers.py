"""Ledgers that are wrong in what a Release leaves behind, for tests alone.

``py:tests.released_ledgers:NAME``, over the small correct ledger.
"""

from __future__ import annotations

from admitone.targets import contract as c
from tests.attacked_ledgers import _Own
from tests.small_ledger import SmallLedger, _of, _slot


class _FreesRevoked(SmallLedger):
    def release(self, admission: c.Admission, evidence: str) -> c.Done:
        done = super().release(admission, evidence)
        with self._records(admission.record) as found:
            for slot in _of(found, admission.record)["slots"]:
                if slot["name"] == admission.slot:
                    slot["state"] = "issued"
        return done


class FreesRevoked(_Own):
    """What is given back is free again, also under a record that was revoked."""

    ledger = _FreesRevoked


class _ForgetsRelease(SmallLedger):
    def release(self, admission: c.Admission, evidence: str) -> c.Done:
        with self._records(admission.record) as found:
            _slot(_of(found, admission.record), admission, held=True)
        return c.Done()


class ForgetsRelease(_Own):
    """A Release is answered, and nothing comes of it."""

    ledger = _ForgetsRelease


class _ReleasesAny(SmallLedger):
    def release(self, admission: c.Admission, evidence: str) -> c.Done:
        with self._records(admission.record) as found:
            for slot in _of(found, admission.record)["slots"]:
                if slot["name"] == admission.slot and slot["state"] == "prepared":
                    slot |= {"state": "issued", "attempts": [], "handed_out": 0}
        return c.Done()


class ReleasesAny(_Own):
    """Whoever had a slot once gives it back for whoever has it now."""

    ledger = _ReleasesAny
