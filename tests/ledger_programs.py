"""Clients of a ledger that are processes of their own: ``python -m tests.ledger_programs``.

``consume`` takes part in a race on command. ``sweep`` kills a client at every line that it runs
in its ledger's module, and shows what another client makes of what is left.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from admitone.targets.contract import Authorization, Busy
from tests.ledger_world import Client, World


def load(name: str) -> Any:
    """A target by ``module:class``."""
    module, _, cls = name.partition(":")
    return getattr(importlib.import_module(module), cls)()


def say(text: str) -> str:
    """One line to the parent; its answer."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
    return sys.stdin.readline()


def consume(target: Any, store: Any, workspace: Path, attempt: str) -> None:
    """Open, say so, and use each authorization that is named until it is no longer busy."""
    client = Client(target, store, World.below(workspace))
    line = say("ready")
    while line:
        authorization = Authorization(**json.loads(line))
        answer = client.use(authorization, attempt)
        while isinstance(answer, Busy):
            answer = client.use(authorization, attempt)
        line = say(type(answer).__name__)


def sweep(target: Any, workspace: Path, budget: int) -> None:
    """For n = 1, 2, … a victim dies at its n-th line and a healer finishes, until one survives.
    Each pair has a store of its own: a ledger may run more lines the more it has to read."""
    outcomes: list[object] = []
    died: int = signal.SIGKILL
    while died:
        event = f"event-{len(outcomes) + 1}"
        (folder := workspace / event).mkdir()
        store = target.deploy(folder).store
        world = World.below(folder)
        died = in_child(partial(victim, target, store, world, event, budget))
        in_child(partial(healer, target, store, world, event, budget))
        outcomes.append(json.loads((folder / "healed.json").read_text()))
    say(json.dumps(outcomes))


def victim(target: Any, store: Any, world: World, event: str, budget: int) -> None:
    """Issue and use once; die on the way, at the line whose number is in the event's name."""
    client = Client(target, store, world)
    code = sys.modules[type(target).__module__].__file__
    left = int(event.rpartition("-")[2])

    def trace(frame: FrameType, what: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != code or frame.f_code.co_name.startswith("<"):
            return None
        left -= what == "line"
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    client.use(client.issue(budget, event), "first")
    sys.settrace(None)


def healer(target: Any, store: Any, world: World, event: str, budget: int) -> None:
    """Ask for the same again, recover, and use whatever is left."""
    client = Client(target, store, world)
    authorization = client.issue(budget, event)
    client.recover()
    attempts = ["first", *(f"later-{n}" for n in range(budget))]
    answers = [type(client.use(authorization, attempt)).__name__ for attempt in attempts]
    outcome = {
        "answers": answers,
        "applied": world.sink.applied(),
        "states": client.states(event),
    }
    (world.workspace / "healed.json").write_text(json.dumps(outcome))


def in_child(work: Callable[[], None]) -> int:
    """Run in a fork, so that nothing is imported again. Answers the signal that it died of."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(70)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status)
    if os.WEXITSTATUS(status):
        raise SystemExit("a client failed")
    return 0


if __name__ == "__main__":
    _, what, named, stored, folder, last = sys.argv
    arguments = load(named), json.loads(stored), Path(folder)
    if what == "consume":
        consume(*arguments, last)
    else:
        sweep(arguments[0], arguments[2], int(last))
