"""What is wrong with a reply is said once and clearly; a right one is let through."""

from __future__ import annotations

import pytest

from admitone.scenarios.replies import malformed, malformed_view
from admitone.targets import contract as c
from tests.acts import ANSWERS

WRONG = {
    ("issue", "receipt"): "it must answer Authorization",
    ("issue", "authorization_0"): "Authorization.record is int 0; it must be a text",
    ("prepare", "done"): "it must answer Admission",
    ("prepare", "record_0"): "Admission.record is int 0",
    ("prepare", "slot_0"): "Admission.slot is int 0; it must be a text or None",
    ("prepare", "call_7"): "Admission.call is int 7",
    ("prepare", "call_of_nothing"): "Admission.call is Call",
    ("prepare", "code_7"): "Refused.code is int 7",
    ("prepare", "busy_nan"): "Busy.retry_after_s is float nan",
    ("prepare", "busy_text"): "Busy.retry_after_s is str 'soon'",
    ("prepare", "replayed_5"): "Replayed.receipt is int 5",
    ("commit", "admission"): "it must answer Done",
    ("commit", "done_5"): "Done.receipt is int 5",
    ("release", "nothing"): "it must answer Done",
    ("renew", "text"): "it must answer Done",
    ("revoke", "revoked_text"): "stopped is str 'all'",
    ("recover", "resume_7"): "must be tuples of Admission",
    ("recover", "resume_of_numbers"): "where an Admission must be",
}
WRONG_VIEWS = {
    "number": "it must answer View or None",
    "view_bare": "without slots or counts",
    "view_7": "View.slots is int 7",
    "view_of_numbers": "slot is a text, state one of the contract's five",
    "counts_text": "counts are whole numbers",
    "counts_7": "View.counts is int 7",
    "known_text": "View.known is str 'yes'",
}
RIGHT = {
    "propose": c.Authorization("r"),
    "issue": c.Refused("a code of its own"),
    "prepare": c.Admission("r", "s", "k", {"any": 1}, c.Call("t", {}, "u", "x"), "a"),
    "commit": c.Done(),
    "release": c.Busy("in_flight", 0.5),
    "revoke": c.Revoked(("s1",), 0),
    "recover": c.Recovered((c.Admission("r"),)),
    "audit": c.AuditView("h", 0, True),
    "effect": c.Receipt("k", "t", "d", 1, "m"),
    "execute": None,
}
RIGHT_VIEWS = (
    None,
    c.View(False),
    c.View(True, slots=(c.SlotView("s", "issued", "free"),)),
    c.View(True, counts=c.Counts(1)),
)


@pytest.mark.parametrize(("op", "name"), WRONG)
def test_a_reply_of_the_wrong_kind_is_named(op: str, name: str) -> None:
    assert WRONG[op, name] in str(malformed(op, ANSWERS[name]))


@pytest.mark.parametrize("name", WRONG_VIEWS)
def test_a_view_of_the_wrong_kind_is_named(name: str) -> None:
    assert WRONG_VIEWS[name] in str(malformed_view(ANSWERS[name]))


@pytest.mark.parametrize("op", RIGHT)
def test_a_right_reply_is_let_through(op: str) -> None:
    assert malformed(op, RIGHT[op]) is None


@pytest.mark.parametrize("view", RIGHT_VIEWS)
def test_a_right_view_is_let_through(view: c.View | None) -> None:
    assert malformed_view(view) is None
