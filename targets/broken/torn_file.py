"""torn-file: the file of tickets is written over in place.

Changed: what was a new file, synced and then renamed, is the old file opened for writing, which
empties it first. Whoever is killed before the text is in leaves no book at all, and nobody can read
it any more. As long as nobody dies there, everything is right.

Real class: ``open(path, "w")`` around ``json.dump``, the way in which configuration, tokens and
carts are kept by a thousand small tools.
"""

from __future__ import annotations

import os

from .. import contract as c
from ..correct.json_flock import JsonFlockTarget, TicketFile


class InPlace(TicketFile):
    """Empty, then write."""

    def _replace(self, text: str) -> None:
        with self._path.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


class TornFile(JsonFlockTarget):
    """The target ``builtin:broken/torn-file``."""

    name = c.TargetName("admitone", "broken/torn-file", "1")
    convicted_by: tuple[str, ...] = ("AO806",)
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO103", "AO104", "AO201", "AO203", "AO801")
    file_class = InPlace
