"""What goes wrong in a ledger of events, each in a line or two: ``py:tests.event_bugs:NAME``."""

from __future__ import annotations

import sqlite3
from typing import Any

from admitone.targets import contract as c
from tests.event_ledger import Decision, EventLedger, EventTarget, Fold, No


class _SortsText(EventLedger):
    order = "CAST(version AS TEXT)"


class SortsText(EventTarget):
    """The tenth event is folded before the second."""

    ledger = _SortsText


class _RemembersRefusals(EventLedger):
    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._over: set[object] = set()

    def prepare(self, authorization: c.Authorization, *asked: Any) -> c.Admission | c.Replayed:
        about = (authorization.record, authorization.credential)
        if about in self._over:
            raise No("exhausted")
        try:
            return super().prepare(authorization, *asked)
        except No as no:
            self._over |= {about} if str(no) == "exhausted" else set()
            raise


class RemembersRefusals(EventTarget):
    """What was used up once is thought to be so for ever, by this process."""

    ledger = _RemembersRefusals


class _GivesOneMore(EventLedger):
    def share(self, free: list[str], b: int) -> list[str]:
        return free[-b - 1 :]


class GivesOneMore(EventTarget):
    """A child gets one unit more than was asked for, where there is one."""

    ledger = _GivesOneMore


class _ComparesWithRoot(EventLedger):
    def narrower(self, seen: Fold, node: str, asked: Any) -> None:
        super().narrower(seen, "", asked)


class ComparesWithRoot(EventTarget):
    """A child's child is compared with what was approved, and not with its parent."""

    ledger = _ComparesWithRoot


class _PassesOverClosed(EventLedger):
    def unfinished(self, seen: Fold, name: str) -> bool:
        return super().unfinished(seen, name) and seen.units[name].user not in seen.closed


class PassesOverClosed(EventTarget):
    """Recovery takes a closed child for one that has come to its end."""

    ledger = _PassesOverClosed


class _KnowsChildren(EventLedger):
    def unfinished(self, seen: Fold, name: str) -> bool:
        return super().unfinished(seen, name) and not seen.parents.get(seen.units[name].user)


class KnowsChildren(EventTarget):
    """Recovery looks at a record and its children, and not at theirs."""

    ledger = _KnowsChildren


class _TakesOvertakenForDone(EventLedger):
    def decide(self, stream: str, decision: Decision) -> Any:
        seen = self.fold(stream)
        answer, event = decision(seen)
        try:
            if event is not None:
                self.append(stream, seen.version, event)
        except sqlite3.IntegrityError:
            if event["kind"] != "done":
                return super().decide(stream, decision)
        return answer


class TakesOvertakenForDone(EventTarget):
    """Who is overtaken at a commit believes that the other one made the same."""

    ledger = _TakesOvertakenForDone
