"""The sessions that nodes have at real servers, and whether those of the dead are gone.

A killed client is not the end of what it asked for: its session may still work on the last
statement, or wait for a lock, and commit it afterwards. Nothing that comes after a kill is judged
before such a session is gone. One that waits for a lock cannot go while its holder stands; it is
remembered, and waited for when the holder has gone on.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from ..chaos.servers import ServerProblem

if TYPE_CHECKING:
    from .calls import Setting

GONE_DEADLINE_S: Final = 5.0
"""Longest wait for the session of a dead client, seconds."""

FIRST_LOOK_S: Final = 0.001
LAST_LOOK_S: Final = 0.01
"""Pauses between two looks at the server, seconds."""

CERTAIN_LOOKS: Final = 2
"""How often a session must be seen waiting for a lock before it counts as blocked."""


class Sessions:
    """See the module. One instance per schedule; without servers it has nothing to do."""

    def __init__(self) -> None:
        self._lingering: set[str] = set()

    def left_by(self, setting: Setting, node: str) -> None:
        """The node was killed: wait until its sessions are gone, or cannot go yet."""
        known = node in self._lingering
        if setting.servers and not known and not _gone(setting, node, blocked_is_enough=True):
            self._lingering.add(node)

    def remember(self, node: str) -> None:
        """The node will be killed while the network holds what it sent: its sessions end when that
        has arrived, and not before."""
        self._lingering.add(node)

    def await_all(self, setting: Setting) -> list[str]:
        """Wait for every session of the dead; the nodes whose sessions are still there."""
        self._lingering = {
            node
            for node in sorted(self._lingering)
            if not _gone(setting, node, blocked_is_enough=False)
        }
        return sorted(self._lingering)


def _gone(setting: Setting, node: str, *, blocked_is_enough: bool) -> bool:
    """Whether no server has a session of the node any more, at the deadline at the latest."""
    until, pause_s = time.monotonic() + GONE_DEADLINE_S, FIRST_LOOK_S
    while any(_has_session(setting, node)):
        if time.monotonic() > until or (blocked_is_enough and is_blocked(setting, node)):
            return False
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LAST_LOOK_S)
    return True


def _has_session(setting: Setting, node: str) -> list[bool]:
    found = []
    for server in setting.servers:
        try:
            found.append(bool(server.sessions(setting.client(node))))
        except ServerProblem:
            found.append(False)  # it is down, and so is every session
    return found


def is_blocked(setting: Setting, node: str) -> bool:
    """Whether a session of the node is seen waiting for another session's lock, time and again."""
    for look in range(CERTAIN_LOOKS):
        try:
            waits = any(server.is_blocked(setting.client(node)) for server in setting.servers)
        except ServerProblem:
            return False
        if not waits:
            return False
        if look + 1 < CERTAIN_LOOKS:
            time.sleep(FIRST_LOOK_S)
    return bool(setting.servers)


def is_inside(setting: Setting, node: str) -> bool:
    """Whether a session of the node has left a transaction open, and with it what it has locked."""
    try:
        return any(server.is_inside(setting.client(node)) for server in setting.servers)
    except ServerProblem:
        return False
