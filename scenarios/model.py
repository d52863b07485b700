"""The ledger as one pure, small specification: state, operation, reply -> next states.

One authorization with b units. A reply that the specification allows in no possible state is a
contradiction; a reply that is unknown leaves several states possible. Nothing here knows of nodes,
stores or sinks, so it can be read in one sitting, and tried against every ordering, which
``judges/general.py`` does.

What is legal follows mutants' ledger of the paper: a grant needs a free unit and no revocation; a
refusal is legal wherever *some* cause holds; an attempt that has its unit gets it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

UnitState = Literal["free", "prepared", "committed", "revoked"]
Cause = Literal["any", "exhausted", "revoked"]
Reply = Literal["granted", "replayed", "refused", "busy", "unknown"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of the budget, and the attempt that has it."""

    state: UnitState = "free"
    attempt: str | None = None


@dataclass(frozen=True, slots=True)
class State:
    """Everything that the specification knows of one authorization."""

    issued: bool = False
    revoked: bool = False
    units: tuple[Unit, ...] = ()

    def held_by(self, attempt: str) -> Unit | None:
        """The unit of an attempt."""
        return next((unit for unit in self.units if unit.attempt == attempt), None)

    @property
    def free(self) -> int:
        """Units that nobody has."""
        return sum(unit.state == "free" for unit in self.units)


START: Final = State()


def after(
    states: Iterable[State],
    op: str,
    reply: Reply,
    *,
    budget: int = 1,
    attempt: str = "",
    cause: Cause = "any",
    stopped: int | None = None,
) -> frozenset[State]:
    """Every state that may hold after the reply; none: the specification does not allow it.

    ``cause``: the one that a refusal names. ``stopped``: the units that Revoke says it stopped.
    """
    found: set[State] = set()
    for state in states:
        if op == "issue":
            found |= _issue(state, reply, budget)
        elif op == "prepare":
            found |= _prepare(state, reply, attempt, cause)
        elif op == "commit":
            found |= _commit(state, reply, attempt)
        elif op == "revoke":
            found |= _revoke(state, reply, stopped)
        else:
            found.add(state)  # recover, audit and readings change nothing by themselves
    return frozenset(found)


def _issue(state: State, reply: Reply, budget: int) -> set[State]:
    opened = state
    if not state.issued:
        opened = State(issued=True, revoked=False, units=(Unit(),) * budget)
    if reply == "granted":
        return {opened}
    if reply == "unknown":
        return {state, opened}
    return {state}  # refused, replayed, busy: nothing happened


def _prepare(state: State, reply: Reply, attempt: str, cause: Cause) -> set[State]:
    held = state.held_by(attempt)
    taken = _take(state, attempt) if held is None else state
    match reply:
        case "granted":
            if held is not None:
                return {state} if held.state == "prepared" else set()
            return {taken} if taken is not None else set()
        case "refused":
            return {state} if held is not None or _has_cause(state, cause) else set()
        case "replayed":
            return {state} if held is not None else set()
        case "unknown":
            return {state} | ({taken} if taken is not None else set())
        case _:
            return {state}


def _has_cause(state: State, cause: Cause) -> bool:
    """Whether the named cause for a refusal holds; every unit used is one, though one that was
    revoked meanwhile is not used."""
    exhausted = all(unit.state in ("prepared", "committed") for unit in state.units)
    if cause == "any":
        return exhausted or state.revoked
    return exhausted if cause == "exhausted" else state.revoked


def _take(state: State, attempt: str) -> State | None:
    if state.revoked or not state.free:
        return None
    units = list(state.units)
    first = next(i for i, unit in enumerate(units) if unit.state == "free")
    units[first] = Unit("prepared", attempt)
    return replace(state, units=tuple(units))


def _commit(state: State, reply: Reply, attempt: str) -> set[State]:
    held = state.held_by(attempt)
    if held is None:
        return {state} if reply != "granted" else set()
    units = tuple(Unit("committed", attempt) if unit is held else unit for unit in state.units)
    done = replace(state, units=units)
    if reply == "granted":
        return {done}
    if reply == "unknown":
        return {state, done}
    return {state} if reply != "refused" or held.state == "committed" else set()


def _revoke(state: State, reply: Reply, said: int | None) -> set[State]:
    """A repeated one stops nothing, and says so, or repeats what the first one said."""
    before = sum(unit.state == "revoked" for unit in state.units)
    if reply == "granted" and said is not None:
        true = (0, before) if state.revoked else (state.free,)
        if said not in true:
            return set()
    units = tuple(Unit("revoked") if unit.state == "free" else unit for unit in state.units)
    stopped = replace(state, revoked=state.issued, units=units)
    if reply == "granted":
        return {stopped}
    return {state, stopped} if reply == "unknown" else {state}
