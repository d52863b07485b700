"""The page of the matrix: what must not be is told, and marked in its cell."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.campaigns.matrix import Row, page

SHOWN = "broken/X/crash:FP1.reply.kill.retry.b1.idem.s0@1"


def row(wanted: tuple[str, ...], unwanted: tuple[str, ...], **codes: int) -> Row:
    seen = dict.fromkeys(codes, SHOWN)
    return Row("broken/X", 9, wanted, unwanted, played=9, codes=Counter(codes), shown=seen)


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        (row((), ()), []),
        (row((), (), AO102=1), [f"AO102, which must not fire: `{SHOWN}`"]),
        (row(("AO102",), ("AO101",), AO102=3, AO103=1), []),
        (row(("AO102",), ("AO101",), AO103=1), ["not convicted by AO102"]),
        (
            row(("AO102",), ("AO101",), AO102=1, AO101=1),
            [f"AO101, which must not fire: `{SHOWN}`"],
        ),
    ],
    ids=["innocent", "accused", "convicted", "missed", "wronged"],
)
def test_what_must_not_be_is_told(made: Row, wrong: list[str]) -> None:
    assert made.wrong == wrong
    text = "\n".join(page([made], "the command"))
    assert all(f"- `broken/X`: {line}" in text for line in wrong)
    assert ("\nNothing.\n" in text) is (wrong == [])


def test_a_schedule_that_could_not_be_judged_is_told() -> None:
    made = row((), ())
    made.verdicts["harness_error"] = 2
    made.shown["harness_error"] = SHOWN
    assert made.wrong == [f"2 schedules could not be judged, first `{SHOWN}`"]


def test_cells_say_what_was_expected_of_a_code() -> None:
    made = row(("AO102", "AO103"), ("AO101", "AO104"), AO102=3, AO104=2, AO201=1)
    cells = [made.cell(code) for code in ("AO101", "AO102", "AO103", "AO104", "AO201", "AO202")]
    assert cells == ["never", "**3**", "**0**", "2 !", "1", ""]
