"""The steps of a stateful schedule, as tokens of its id: ``I.P1.K-prepare-write1-after.R``.

A step is one thing that a client or the world does. A sequence of them is a schedule: it is
printed, stored, shrunk and replayed as text, without Hypothesis.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from ..chaos.events import Point

Kind = Literal[
    "issue",  # I   present the confirmation
    "reissue",  # J   present it again, from another session
    "use",  # P1  ask for admission (a guarded ledger: carry out)
    "send",  # E1  send the effect of an admission
    "commit",  # C1  say that it stands
    "revoke",  # V   withdraw
    "recover",  # R   find and resume what is unfinished
    "other",  # N   the other client acts from here on
    "thief",  # T   somebody else presents the authorization
    "mutant",  # M   another call is presented under it
    "hold",  # H1  send the effect, which stays on its way; the client gives up
    "deliver",  # L   what is on its way arrives
    "kill",  # K-…  the next such call is killed at a point
    "drop",  # D-…  the reply of the next such call is lost
]

_LETTERS: Final[dict[str, Kind]] = {
    "I": "issue",
    "J": "reissue",
    "P": "use",
    "E": "send",
    "C": "commit",
    "V": "revoke",
    "R": "recover",
    "N": "other",
    "T": "thief",
    "M": "mutant",
    "H": "hold",
    "L": "deliver",
}
_LETTER_OF: Final = {kind: letter for letter, kind in _LETTERS.items()}
_PLAIN: Final = re.compile(r"([IJPECVRNTMHL])(\d*)\Z")
_HURT: Final = re.compile(r"([KD])-(issue|use|send|commit)(\d*)-([a-z]+)(\d+)-(before|after)\Z")


@dataclass(frozen=True, slots=True)
class Step:
    """One step. ``number``: which request; ``hits`` and ``point``: where a kill or drop strikes."""

    kind: Kind
    number: int = 0
    hits: Kind | None = None
    point: Point | None = None

    @property
    def token(self) -> str:
        """The step as a piece of a schedule id."""
        number = str(self.number) if self.number else ""
        if self.point is None:
            return f"{_LETTER_OF[self.kind]}{number}"
        letter = "K" if self.kind == "kill" else "D"
        place = f"{self.point.kind}{self.point.nth}-{self.point.side}"
        return f"{letter}-{self.hits}{number}-{place}"


def parse_step(token: str, ops: dict[Kind, str]) -> Step | None:
    """The step of a token; None if it is none. ``ops``: the ledger's operation for each kind."""
    if plain := _PLAIN.match(token):
        return Step(_LETTERS[plain[1]], int(plain[2] or 0))
    hurt = _HURT.match(token)
    if hurt is None:
        return None
    kinds: dict[str, Kind] = {"issue": "issue", "use": "use", "send": "send", "commit": "commit"}
    hits = kinds[hurt[2]]
    side: Literal["before", "after"] = "before" if hurt[6] == "before" else "after"
    point = Point(ops[hits], hurt[4], side, int(hurt[5]))
    return Step("kill" if hurt[1] == "K" else "drop", int(hurt[3] or 0), hits, point)
