"""FP7: the sink dies between its effect and the record of it, and comes back.

An idempotent sink makes both in one transaction, so there both are gone, or neither; the control
sink has the gap on purpose, and a resend doubles the effect there. Only these schedules need a sink
that can be killed, so only these have one in a process of its own.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ...idempotent_sink.process import SinkProcess, SinkProcessProblem
from ...idempotent_sink.protocol import Application
from ...targets.replies import EffectUnknown, NotApplied
from ..desk import Letter
from ..history import SinkKind
from ..placement import Place, places
from ..plan import Plan
from ..scene import Scene
from . import Subjects, budgets_of
from .crash_pipeline import Hurt, ask_again, reach, stands, twist_of

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")
ORDERS: Final = ("retry", "recover")


def placed(subject: Subjects, family: str) -> Iterator[Plan]:
    """Both sinks x both orders; budgets in turn."""
    budgets = budgets_of(subject.declaration)
    for place in places(subject.survey):
        if place.who != "sink":
            continue
        for turn, order in enumerate(ORDERS):
            for sink in SINKS:
                params = (place.name, "kill", order)
                yield Plan(subject.target, family, params, budgets[turn % len(budgets)], sink, 0)


def run(plan: Plan, scene: Scene, place: Place, order: str) -> None:
    """Play one plan, with a sink of its own."""
    stage = scene.stage
    embedded, passed_on = stage.desk.sink, stage.desk.passed_on
    folder = stage.setting.workspace.with_name(f"{stage.setting.workspace.name}-gap")
    folder.mkdir()
    key = stage.setting.trust.receipt_key
    mortal = _Mortal(folder / "sink", plan.sink, key)
    stage.setting = replace(stage.setting, sink_url=None)
    try:
        stage.desk.sink = mortal.sink
        _play(plan, scene, place, order, mortal)
    except SinkProcessProblem as problem:
        stage.blind(f"the sink that is to be killed: {problem}")
    finally:
        stage.desk.sink, stage.desk.passed_on = embedded, passed_on
        mortal.sink.close()
        shutil.rmtree(folder, ignore_errors=True)


def _play(plan: Plan, scene: Scene, place: Place, order: str, mortal: _Mortal) -> None:
    stage = scene.stage
    client = scene.approve(plan.budget)
    victim = scene.victim(client.executor)
    scene.phase("hurt")
    pending, use = reach(client, victim, place, 0, twist_of(place, "kill"))
    fired = stands(pending) and pending.letter is not None
    if fired and pending.letter is not None:
        letter = pending.letter
        stage.desk.deliver_to_its_death(letter, lambda: mortal.dies_of(letter))
        stage.desk.sink = mortal.sink
        stage.tally.kills += 1
        stage.tally.fired.append((place.name, f"kill {place.shown}"))
        stage.desk.forsake(letter, "the sink died")
        stage.drive(pending)
    else:
        scene.idle = f"{place.name} was never reached"
        mortal.comes_back()
        stage.desk.sink = mortal.sink
    if place.op == "execute":
        client.executed(use, pending)
    else:
        client.sent(use, pending)
    scene.phase("heal")
    healer, view = scene.healer(client, "after_fault")
    scene.check_durable(place, "kill", len(client.uses) - 1, view)
    hurt = Hurt(place, "drop", pending, use, fired)
    scene.phase("recover")
    if order == "retry":
        ask_again(scene, client, hurt, victim)
    client.recover(healer)
    if order == "recover":
        ask_again(scene, client, hurt, victim)
    stage.dismiss(victim)
    scene.drain(client, healer, plan.budget)
    scene.end(client, healer)


@dataclass(slots=True)
class _Mortal:
    """A sink that stands in its gap at the first request, is killed there, and comes back."""

    path: Path
    kind: SinkKind
    key: bytes
    sink: SinkProcess

    def __init__(self, path: Path, kind: SinkKind, key: bytes) -> None:
        self.path, self.kind, self.key = path, kind, key
        self.sink = SinkProcess(path, kind, key, hold_gap=True)

    def dies_of(self, letter: Letter) -> Application | None:
        """Deliver it, kill the sink in the gap, restart it; what stands applied then."""
        doomed = threading.Thread(target=self._deliver, args=(self.sink, letter), daemon=True)
        doomed.start()
        self.sink.await_gap()
        self.sink.close()
        doomed.join()
        self.comes_back()
        found = self.sink.applications()
        return found[-1] if found else None

    def comes_back(self) -> None:
        """The same store, another process, without the gap held."""
        self.sink.close()
        self.sink = SinkProcess(self.path, self.kind, self.key)

    @staticmethod
    def _deliver(sink: SinkProcess, letter: Letter) -> None:
        with contextlib.suppress(NotApplied, EffectUnknown):
            sink.request(letter.key, letter.tool, letter.args, node=letter.node.name)
