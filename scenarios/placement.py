"""Where the twelve failure points lie in a ledger that nobody has seen before.

A *survey* is one undisturbed use with every point traced: which statements and durable writes
each operation makes, and where a guarded ledger's effect falls among them. The failure points of
the design (section 5) are then positions in that trace: before and after *each* durable write of
an operation, and before its reply.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from ..chaos.events import Point
from .desk import Transit

_SURVEYS: Final = 16
"""A process plays a few targets; every schedule asks for the places of its own."""


@dataclass(frozen=True, slots=True)
class Step:
    """One traced point: kind, side, count within its operation, and the statement or file."""

    kind: str
    side: str
    nth: int
    text: str = ""


RAISES: Final[Mapping[str, tuple[Literal["before", "after"], str]]] = {
    "busy": ("before", "busy"),
    "io-lost": ("before", "io"),
    "io-kept": ("after", "io"),
}
"""Variant to the side of the write at which it is raised, and to the error: ``busy`` leaves the
transaction open, ``io-lost`` takes it back, ``io-kept`` comes after it has become durable. Of a
plain file ``io-lost`` takes back what was added since the last fsync (``open_files.cut_back``)."""


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What one undisturbed use looked like. ``steps``: operation to its traced points in order.
    Each is made once for a target, and is equal to itself alone, so that what follows from it is
    found once too.

    ``threads``: a client may be called by another thread than the one that opened it. ``raises``:
    the errors (keys of ``RAISES``) that the store can be made to answer a durable write with.
    ``refuses``: it can be made to refuse a statement of a transaction, and the rest of it;
    ``spoils``: to lose a whole transaction at one, or what goes out to a file, for want of room.
    ``resumes``: recovery hands back what is to be sent again. ``awaits``: it leaves a unit alone as
    long as the dead has a lease of it. ``servers``: the endpoints of the
    servers that the suite started for the ledger, and may kill; ``links``: of all whose way may
    lead through a proxy.
    """

    operations: tuple[str, ...]
    steps: dict[str, tuple[Step, ...]]
    threads: bool = False
    raises: frozenset[str] = frozenset()
    refuses: bool = False
    spoils: bool = False
    resumes: bool = False
    awaits: bool = False
    servers: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def guarded(self) -> bool:
        """The ledger runs the effect itself."""
        return "execute" in self.operations

    @property
    def left_to_work(self) -> bool:
        """A guarded ledger that only writes down what is to be sent: its worker sends it."""
        return self.guarded and self.sends("work") and not self.sends("execute")

    def sends(self, op: str) -> bool:
        """Whether the operation entered the effect."""
        return any(step.kind == "effect" for step in self.steps.get(op, ()))

    def writes(self, op: str) -> int:
        """How many durable writes the operation made."""
        return sum(1 for s in self.steps.get(op, ()) if s.kind == "write" and s.side == "after")


@dataclass(frozen=True, slots=True)
class Place:
    """One position of one failure point: a stop in a node, or a state of the effect in transit.

    ``token`` is its part of a schedule id: ``write2``, ``reply``, or empty where there is one.
    ``shown`` is how reports name it: "commit 2 of 2", "reply". ``who``: whose process it is that
    stands there: the one that uses the ledger, the one that recovers, or the sink.
    """

    name: str
    token: str
    op: str
    point: Point | None = None
    transit: Transit | None = None
    shown: str = ""
    who: Literal["executor", "recoverer", "sink"] = "executor"


@lru_cache(maxsize=_SURVEYS)
def places(survey: Survey) -> tuple[Place, ...]:
    """Every position of every failure point that this ledger has."""
    return tuple(_places(survey))


def _places(survey: Survey) -> Iterator[Place]:
    yield from _around_writes(survey, "issue", "FP1", "FP2", 1, survey.writes("issue"), True)
    if survey.guarded:
        split = _writes_before_effect(survey.steps.get("execute", ()))
        last = survey.writes("execute")
        left = survey.left_to_work
        yield from _around_writes(survey, "execute", "FP3", "FP4", 1, split, left)
        if left:
            split, last = _writes_before_effect(survey.steps["work"]), survey.writes("work")
        sender = "work" if left else "execute"
        yield from _effect(sender)
        yield from _around_writes(survey, sender, "FP9", "FP10", split + 1, last, not left)
        yield from _recovering_guarded(survey)
        return
    yield from _around_writes(survey, "prepare", "FP3", "FP4", 1, survey.writes("prepare"), True)
    yield from _effect("effect")
    yield from _around_writes(survey, "commit", "FP9", "FP10", 1, survey.writes("commit"), True)
    yield from _recovering(survey)


def _effect(op: str) -> Iterator[Place]:
    yield Place("FP5", "", op, point=Point(op, "effect", "before", 1), shown="nothing sent")
    yield Place("FP6", "", op, transit="held", shown="delivered later")
    yield Place("FP7", "", op, transit="held", shown="sink between effect and record", who="sink")
    yield Place("FP8", "", op, transit="unanswered", shown="applied, no answer")


def _recovering(survey: Survey) -> Iterator[Place]:
    """The ledger says what is unfinished; whoever asked sends it again, and commits."""
    if "recover" not in survey.operations:
        return
    if not survey.resumes:  # it settles what it can find out, and sends nothing
        total = survey.writes("recover")
        for nth in _own_writes(survey, "recover", 1, total):
            point = Point("recover", "write", "before", nth)
            yield _of_recoverer("FP12", f"write{nth}", point, f"write {nth} of {total}")
        return
    yield from _before_resend(survey, survey.writes("recover"))
    yield _of_recoverer("FP11", "reply", Point("recover", "reply", "before", 1), "reply")
    shown = "resent effect applied, no answer"
    yield Place("FP12", "unanswered", "effect", None, "unanswered", shown, "recoverer")
    last = survey.writes("commit")
    for nth in _own_writes(survey, "commit", 1, last):
        point = Point("commit", "write", "before", nth)
        yield _of_recoverer("FP12", f"write{nth}", point, f"commit write {nth} of {last}")


def _recovering_guarded(survey: Survey) -> Iterator[Place]:
    """The ledger sends again by itself, inside its recovery, where it does at all."""
    steps = survey.steps.get("recover", ())
    if not any(step.kind == "effect" for step in steps):
        return
    split, last = _writes_before_effect(steps), survey.writes("recover")
    yield from _before_resend(survey, split)
    yield _of_recoverer("FP11", "send", Point("recover", "effect", "before", 1), "nothing sent")
    shown = "resent effect applied, no answer"
    yield Place("FP12", "unanswered", "recover", None, "unanswered", shown, "recoverer")
    for nth in _own_writes(survey, "recover", split + 1, last):
        point = Point("recover", "write", "before", nth)
        yield _of_recoverer("FP12", f"write{nth}", point, f"write {nth - split} of {last - split}")


def _before_resend(survey: Survey, last: int) -> Iterator[Place]:
    words = _words(survey.steps.get("recover", ()))
    sides: tuple[Literal["before", "after"], ...] = ("before", "after")
    for nth in _own_writes(survey, "recover", 1, last):
        shown = f"{words.get(nth, 'write')} {nth} of {last}"
        for side in sides:
            point = Point("recover", "write", side, nth)
            yield _of_recoverer("FP11", f"write{nth}-{side}", point, f"{side} {shown}")


def _of_recoverer(name: str, token: str, point: Point, shown: str) -> Place:
    return Place(name, token, point.op, point, shown=shown, who="recoverer")


BESIDE: Final[Mapping[str, tuple[str, str]]] = {
    "revoke": ("RV-before", "RV-after"),
    "delegate": ("DG-before", "DG-after"),
}
"""The four points beside the twelve: around the durable writes of two more operations."""


@lru_cache(maxsize=_SURVEYS)
def places_beside(survey: Survey, op: str) -> tuple[Place, ...]:
    """The positions around the durable writes of Revoke or Delegate, and before its reply."""
    before, after = BESIDE[op]
    return tuple(_around_writes(survey, op, before, after, 1, survey.writes(op), True))


def _around_writes(
    survey: Survey, op: str, before: str, after: str, first: int, last: int, reply: bool
) -> Iterator[Place]:
    if op not in survey.steps:
        return
    words = _words(survey.steps[op])
    total = last - first + 1
    for nth in _own_writes(survey, op, first, last):
        shown = f"{words.get(nth, 'write')} {nth - first + 1} of {total}"
        token = f"write{nth}"
        yield Place(before, token, op, Point(op, "write", "before", nth), shown=shown)
        yield Place(after, token, op, Point(op, "write", "after", nth), shown=shown)
    for step in _between(survey.steps[op], first, last):
        point = Point(op, "statement", "after", step.nth)
        yield Place(before, f"statement{step.nth}", op, point, shown=step.text[:40])
    if reply:
        yield Place(after, "reply", op, Point(op, "reply", "before", 1), shown="reply")


def _between(steps: tuple[Step, ...], first: int, last: int) -> Iterator[Step]:
    """What changes a file before the last durable write of these: whoever is killed right behind
    it leaves a file half written. Not of one that is made aside, and moved when it is whole."""
    moved = _moved_later(steps)
    done = 0
    for step in steps:
        done += step.kind == "write" and step.side == "after"
        changes = step.kind == "statement" and step.side == "after"
        if changes and step.text.startswith(_CHANGES) and first - 1 <= done < last:
            _, _, name = step.text.partition(" ")
            if name not in moved:
                yield step


def _own_writes(survey: Survey, op: str, first: int, last: int) -> Iterator[int]:
    """The numbers of those writes that are places of their own."""
    aside = _aside(survey.steps.get(op, ()))
    return (nth for nth in range(first, last + 1) if nth not in aside)


def _aside(steps: tuple[Step, ...]) -> frozenset[int]:
    """The writes that make a file which the same operation later moves to its place: nobody looks
    for it under its first name, and whoever dies at the next write leaves it there as well."""
    moved = _moved_later(steps)
    return frozenset(
        step.nth
        for step in steps
        if (step.kind, step.side) == ("write", "before")
        and step.text.startswith("create ")
        and step.text[7:] in moved
    )


def _moved_later(steps: tuple[Step, ...]) -> frozenset[str]:
    """The names that the operation moves away from."""
    moves = (step.text for step in steps if step.kind == "write" and step.text.startswith(_MOVES))
    return frozenset(text.partition(" ")[2].rpartition(" ")[0] for text in moves)


_CHANGES: Final = ("empty ", "flush ", "write ", "truncate ")
"""How the probe for files writes down what a killed process leaves behind, synced or not."""

_MOVES: Final = ("replace ", "rename ", "link ")
_ACQUIRES: Final = (
    *("flock LOCK_EX", "flock LOCK_SH", "lockf LOCK_EX", "lockf LOCK_SH"),
    *("lockf F_LOCK", "lockf F_TLOCK", "fcntl F_RDLCK", "fcntl F_WRLCK"),
)
_RELEASES: Final = ("flock LOCK_UN", "lockf LOCK_UN", "lockf F_ULOCK", "fcntl F_UNLCK")
"""How the probe for files (``chaos/probes``) writes these down."""


def _words(steps: tuple[Step, ...]) -> dict[int, str]:
    """What each durable write is: the first word of its statement ("commit", "fsync", …)."""
    found = {}
    for step in steps:
        if step.kind == "write" and step.side == "before":
            word = step.text.split(None, 1)[0].lower() if step.text.strip() else "write"
            found[step.nth] = "".join(c for c in word if c.isalnum())[:20] or "write"
    return found


def _writes_before_effect(steps: tuple[Step, ...]) -> int:
    count = 0
    for step in steps:
        if step.kind == "effect":
            break
        if step.kind == "write" and step.side == "after":
            count += 1
    return count


def held_points(survey: Survey, op: str) -> tuple[Point, ...]:
    """Where one caller can be held inside an operation while another acts: after every statement,
    before every durable write, and before a lock that it asks for with something already learnt
    or done, up to the moment before a guarded ledger's effect leaves.

    Not right after a file lock was taken: nothing has been looked at under it that could be old
    by now, and the other would only wait."""
    steps = survey.steps.get(op, ())
    sent = _sent(steps)
    found = _stops(op, steps, steps[:sent])
    return (*found, Point(op, "effect", "before", 1)) if sent < len(steps) else tuple(found)


def settling_points(survey: Survey) -> tuple[Point, ...]:
    """The same behind a guarded ledger's effect, while it writes down how that ended."""
    steps = survey.steps.get("execute", ())
    return tuple(_stops("execute", steps, steps[_sent(steps) :]))


def _sent(steps: tuple[Step, ...]) -> int:
    """How many steps there are before the effect leaves; all, where none does."""
    return next((n for n, step in enumerate(steps) if step.kind == "effect"), len(steps))


_NO_WRITE: Final = ("statement", "begin", "effect", "reply")


def _stops(op: str, steps: tuple[Step, ...], among: tuple[Step, ...]) -> Iterator[Point]:
    aside, gaps = _aside(steps), _before_locks(steps)
    for step in among:
        if step in gaps:
            yield Point(op, step.kind, "before", step.nth)
            continue
        if step.text.startswith(_ACQUIRES) or (step.kind == "write" and step.nth in aside):
            continue
        if step.kind in ("statement", "begin") and step.side == "after":
            yield Point(op, step.kind, "after", step.nth)
        elif step.kind not in _NO_WRITE and step.side == "before":
            yield Point(op, step.kind, "before", step.nth)


def _before_locks(steps: tuple[Step, ...]) -> frozenset[Step]:
    """The locks before which what the operation knows may grow old, at a moment that has no point
    of its own: a file lock goes silently when its descriptor is closed, so that behind the last
    look under it others may act; and behind a durable write nobody is held. What is made or
    opened to be locked tells nothing."""
    found, gap, locked = set(), False, False
    files = {_named(step) for step in steps if step.text.startswith(_ACQUIRES)}
    for step in steps:
        if _locks_all(step):
            if gap and step.side == "before":
                found.add(step)
            gap, locked = False, locked or step.kind == "statement"
        elif step.text.startswith(_RELEASES):
            gap = locked = False
        elif step.side == "after" and not (
            step.text.startswith(("create ", "open ")) and _named(step) in files
        ):
            gap = locked or step.kind == "write"
    return frozenset(found)


def _locks_all(step: Step) -> bool:
    """Others wait from here on: a file lock, or a transaction that begins with SQLite's."""
    words = step.text.upper()
    if step.kind == "begin":
        return "IMMEDIATE" in words or "EXCLUSIVE" in words
    return step.kind == "statement" and step.text.startswith(_ACQUIRES)


def _named(step: Step) -> str:
    return step.text.rpartition(" ")[2]
