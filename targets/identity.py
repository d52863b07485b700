"""Identities and authenticators of the trusted base: sigma, e_u, k and receipts.

Canonical bytes are RFC 8785 (package ``rfc8785``) over tagged JSON (``values.py``), so that a
budget of NaN or an amount beyond 2**53 has one canonical form too, and never equals another value.

A ledger's adapter may use these functions to do what its library would do with a confirmation or
a receipt; the suite's own verdicts never rest on them: applications are grouped by the label that
the workload planted in the arguments.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Final

import rfc8785

from .terms import Call, Confirmation, Receipt
from .values import encode

_PLAIN_JSON: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":")
)


def canonical_bytes(value: object) -> bytes:
    """RFC 8785 bytes of the tagged JSON of ``value``. Raises ``ValueError`` if it has none."""
    tagged = encode(value)
    if _is_plain(tagged):
        text = _PLAIN_JSON.encode(tagged)
        if text.isascii():  # then keys sort the same by code points and by UTF-16 units
            return text.encode("ascii")
    return bytes(rfc8785.dumps(tagged))


def _is_plain(tagged: object) -> bool:
    """No number with a fraction anywhere: in ASCII, only there do RFC 8785 and Python's own JSON
    differ. Python's takes less than half the time, and one use of a ledger needs some ten."""
    if type(tagged) is dict:
        tagged = list(tagged.values())
    if type(tagged) is list:
        for item in tagged:
            if type(item) is not str and not _is_plain(item):
                return False
    return type(tagged) is not float


def digest(value: object) -> str:
    """SHA-256 over the canonical bytes, in hex."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def action_identity(call: Call) -> str:
    """sigma(c, gamma) = (P_u, h_c, h_a, R), hashed (the paper, equation 1)."""
    return digest(
        {
            "principal": call.principal,
            "operation": {"tool": call.tool, "version": call.tool_version},
            "arguments": dict(call.args),
            "resource": call.resource,
        }
    )


def effect_digest(tool: str, args: object) -> str:
    """What a sink compares when a key comes a second time: the whole payload."""
    return digest({"tool": tool, "arguments": args})


def confirm(key: bytes, event: str, call: Call, budget: object) -> Confirmation:
    """e_u as the trusted confirmation service signs it: bound to the displayed action, the
    principal and the budget (the paper, section "Authorization identity")."""
    action = action_identity(call)
    mac = _mac(key, "confirmation", [event, call.principal, action, budget])
    return Confirmation(event, call.principal, action, budget, mac)


def confirmation_is_genuine(key: bytes, confirmation: Confirmation) -> bool:
    """Whether the confirmation service signed exactly these fields."""
    signed = [
        confirmation.event,
        confirmation.principal,
        confirmation.action,
        confirmation.budget,
    ]
    return _equal(_mac(key, "confirmation", signed), confirmation.mac)


def sign_receipt(key: bytes, sink_key: str | None, tool: str, digest_: str, number: int) -> Receipt:
    """A receipt as the sink signs it."""
    return Receipt(
        sink_key, tool, digest_, number, _mac(key, "receipt", [sink_key, tool, digest_, number])
    )


def receipt_is_genuine(key: bytes, receipt: Receipt) -> bool:
    """Whether the sink signed exactly these fields."""
    signed = [receipt.key, receipt.tool, receipt.digest, receipt.number]
    return _equal(_mac(key, "receipt", signed), receipt.mac)


def sink_key(record: str, slot: str, tool: str) -> str:
    """k = H(nu || j || tool), each part length-prefixed so that ("a", "11") and ("a1", "1")
    differ (the paper, equation 9)."""
    hasher = hashlib.sha256()
    for part in (record, slot, tool):
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(len(data).to_bytes(8, "big") + data)
    return hasher.hexdigest()


def _equal(ours: str, theirs: object) -> bool:
    """In constant time; a forged authenticator may be anything, also no text or no ASCII."""
    if not isinstance(theirs, str):
        return False
    return hmac.compare_digest(ours.encode(), theirs.encode("utf-8", "surrogatepass"))


def _mac(key: bytes, purpose: str, signed: Sequence[object]) -> str:
    return hmac.new(key, canonical_bytes([purpose, *signed]), hashlib.sha256).hexdigest()
