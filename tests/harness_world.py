"""The harness as tests use it: a warmed target, a stage over one fresh store, a conductor."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from admitone.chaos.handle import NodeHandle, Said
from admitone.chaos.parent import WarmParent
from admitone.chaos.recorder import Recorder
from admitone.chaos.runfolder import Template
from admitone.idempotent_sink.sink import Sink
from admitone.scenarios.calls import Setting
from admitone.scenarios.client import Client, approve
from admitone.scenarios.conductor import Conductor
from admitone.scenarios.preflight import TRUST, Fitting, fit
from admitone.scenarios.stage import Stage
from admitone.targets.terms import Deployment
from admitone.targets.values import decode

E = TypeVar("E")

DEADLINE_S = 20.0
"""For what answers at once: only a machine that stands still makes it pass."""


@contextmanager
def warmed(target: str, folder: Path, *, deadline_s: float = DEADLINE_S) -> Iterator[WarmParent]:
    """The warm parent of a target, ended afterwards, and with it all of its nodes."""
    parent = WarmParent(target, folder, folder / "output.log", warm_deadline_s=deadline_s)
    try:
        yield parent
    finally:
        parent.close()


@contextmanager
def conducted(
    target: str, folder: Path, *, deadline_s: float | None = None, reference: bool = False
) -> Iterator[tuple[Conductor, Fitting]]:
    """A conductor of a target that passed the adapter check undisturbed; see ``fit``.

    ``deadline_s``: for the schedules that are played then. ``reference``: see ``Conductor``.
    """
    with warmed(target, folder) as parent:
        fitting = fit(parent, folder)
        if deadline_s is not None:
            fitting = replace(fitting, deadline_s=deadline_s)
        conductor = Conductor(parent, fitting, folder, reference=reference)
        try:
            yield conductor, fitting
        finally:
            conductor.close()


@contextmanager
def staged(parent: WarmParent, folder: Path, *, deadline_s: float = DEADLINE_S) -> Iterator[Stage]:
    """A stage on a fresh store, with an idempotent sink. All of its nodes are killed at the end."""
    place = folder / "deployed"
    place.mkdir()
    node = parent.fork("deploy")
    node.say({"do": "deploy", "id": 0, "workspace": str(place)})
    heard = node.hear(DEADLINE_S)
    assert isinstance(heard, Said), heard
    deployed: Deployment = decode(heard.message["value"])
    node.kill()
    parent.reap(node.pid)
    workspace = folder / "store"
    Template.of(deployed.store, place).write(workspace)
    sink = Sink(folder / "sink", "idempotent", TRUST.receipt_key)
    setting = Setting(workspace, deployed.store, TRUST, deadline_s)
    stage = Stage(parent, sink, setting, Recorder())
    try:
        yield stage
    finally:
        for node in stage.nodes:
            stage.dismiss(node)
        sink.close()


def one_client(stage: Stage, budget: int = 1, seed: int = 0) -> Client:
    """One decision of a user, and its client."""
    facts = stage.parent.greeting.declaration.facts
    return approve(stage, facts, TRUST, random.Random(f"test {seed}"), budget)


def opened(stage: Stage, client: Client) -> NodeHandle:
    """A fresh node in which the ledger is open."""
    node = stage.node()
    assert stage.open(node, client.executor).granted
    return node


def events(stage: Stage, kind: type[E]) -> list[E]:
    """The events of one class, in order."""
    return [line.event for line in stage.recorder.lines if isinstance(line.event, kind)]


def names(stage: Stage, since: int = 0) -> list[str]:
    """What kinds of events there were, in order."""
    return [type(line.event).__name__ for line in stage.recorder.lines[since:]]
