"""What a client of the Server Ledger carries: an authenticated selector for nu, and no scope.

selector = (nu, P_e, HMAC(nu || P_e))        (the paper, the Server Ledger)
"""

from __future__ import annotations

import hashlib
import hmac
import json

from ..terms import Authorization, Json
from .denials import refused
from .records import Record, read_context


class Selector:
    """Names nu and whom it was given to, under a MAC of the server; everything else stays there.

    Guessed, altered, or taken over by another principal, it opens nothing. Presented unaltered by
    somebody else it is refused where a manifest is: by chi, under the record's lock.
    """

    def __init__(self, key: bytes) -> None:
        self._mac = hmac.new(key, digestmod=hashlib.sha256)

    def write(self, record: Record) -> Json:
        principal = read_context(record.chi).executor
        return {"nu": record.nu, "to": principal, "mac": self._sign(record.nu, principal)}

    def read(self, authorization: Authorization) -> str:
        match authorization.credential:
            case {"nu": str(nu), "to": str(principal), "mac": str(mac), **rest} if not rest:
                pass
            case _:
                raise refused("bad_credential", "not a selector")
        if not mac.isascii() or not hmac.compare_digest(mac, self._sign(nu, principal)):
            raise refused("bad_credential", "mac")
        if nu != authorization.record:
            raise refused("bad_credential", "the selector is of another record")
        return nu

    def _sign(self, nu: str, principal: str) -> str:
        mac = self._mac.copy()
        mac.update(json.dumps(["selector", nu, principal]).encode())
        return mac.hexdigest()
