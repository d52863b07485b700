"""What a client carries: here the manifest, which shows its scope and is authenticated by mu.

    manifest = (sigma, e_u, b, chi, t_i, t_e, nu, mu)        (the paper, equation 8)

The manifest represents the record, it creates no authority: every operation still goes to the
ledger, and a manifest whose record is gone opens nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Final, Protocol

from ..terms import Authorization, Json
from .denials import refused
from .records import Record


class Credential(Protocol):
    """The part in which realizations of the ledger differ."""

    def write(self, record: Record) -> Json:
        """The credential for a record."""
        ...

    def read(self, authorization: Authorization) -> str:
        """The record nu that it stands for; ``Denied`` if it is not genuine."""
        ...


class Manifest:
    """All scope fields in the client's hand, under a MAC of the issuer."""

    FIELDS: Final = ("sigma", "event", "budget", "chi", "ti", "te", "nu")

    def __init__(self, key: bytes) -> None:
        self._mac = hmac.new(key, digestmod=hashlib.sha256)

    def write(self, record: Record) -> Json:
        fields: list[Json] = [
            record.sigma,
            record.event,
            record.budget,
            record.chi,
            record.ti,
            record.te,
            record.nu,
        ]
        return {**dict(zip(self.FIELDS, fields, strict=True)), "mu": self._mu(fields)}

    def read(self, authorization: Authorization) -> str:
        manifest = authorization.credential
        if not isinstance(manifest, dict) or manifest.keys() != {*self.FIELDS, "mu"}:
            raise refused("bad_credential", "not a manifest")
        mu = manifest["mu"]
        fields = [manifest[name] for name in self.FIELDS]
        if not isinstance(mu, str) or not mu.isascii():
            raise refused("bad_credential", "mu")
        if not hmac.compare_digest(mu, self._mu(fields)):
            raise refused("bad_credential", "mu")
        if manifest["nu"] != authorization.record:
            raise refused("bad_credential", "the manifest is of another record")
        return authorization.record

    def _mu(self, fields: list[Json]) -> str:
        mac = self._mac.copy()
        # An array of scalars has one form in json.dumps, which tells true from 1 and 1 from 1.0.
        mac.update(json.dumps(["manifest", *fields]).encode())
        return mac.hexdigest()
