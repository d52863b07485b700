"""Plays plans of one target, one after another, and judges each.

One conductor lives in one worker process, on one core: it keeps the warm parent, the two sinks
and the template, and makes everything else anew for every schedule.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..chaos.events import Note, Recorded, Stamp
from ..chaos.handle import NodeHandle
from ..chaos.parent import WarmParent
from ..chaos.recorder import Recorder
from ..idempotent_sink.process import SinkProcess
from ..idempotent_sink.sink import Sink
from ..targets.replies import EffectUnknown
from .families import Family, family
from .history import Header, History
from .links import Links
from .plan import Plan, PlanProblem
from .preflight import TRUST, Fitting
from .premises import Premises
from .results import ScheduleResult
from .scene import Abandoned, Scene
from .sessions import is_inside
from .sinks import SinkHome, Sinks, sink_url
from .stage import Stage
from .verdict import judged

LOG_LIMIT_BYTES: Final = 1 << 20
"""A target's own output is kept up to this size between schedules."""


OUTPUT_LIMIT_BYTES: Final = 4000
"""How much of a target's output goes into a report."""


LEARN_AFTER: Final = (2, 20)
"""After so many schedules the warm parent looks what the nodes that live then have written to."""


@dataclass(frozen=True, slots=True)
class Played:
    """One schedule, done."""

    result: ScheduleResult
    history: History


@dataclass(frozen=True, slots=True)
class Opened:
    """A scene that is being played."""

    scene: Scene
    workspace: Path
    began_s: float


class Conductor:
    """See the module. ``folder`` is this worker's own; ``reference``: one of the suite's ledgers,
    where the place of every failure point is asserted."""

    def __init__(
        self,
        parent: WarmParent,
        fitting: Fitting,
        folder: Path,
        *,
        reference: bool,
        sink: SinkHome = "embedded",
    ) -> None:
        self._parent = parent
        self._fitting = fitting
        self._folder = folder
        self._reference = reference
        self._sinks = Sinks(sink, folder, TRUST.receipt_key)
        self._links = Links(folder, TRUST)
        self._premises = Premises(parent, fitting.ground, folder / "premises", TRUST)
        self._veteran: NodeHandle | None = None
        self._count = 0
        self._printed = 0
        self._families: dict[str, Family] = {}

    def play(
        self, plan: Plan, *, keep: Path | None = None, virgin: bool = False, digest: bool = True
    ) -> Played:
        """Play one plan on a fresh store and judge it. ``virgin``: with a fresh victim.

        ``keep``: leave the store there afterwards. ``digest``: see ``judged``.
        """
        if plan.family == "stateful" and plan.params[0] == "search":
            from .machine import search  # Hypothesis is imported only where it is used

            return search(self, self._fitting.survey, plan)
        opened = self.open(plan, virgin=virgin)
        problem = ""
        try:
            self._family(plan.family).run(plan, opened.scene)
        except Abandoned:
            pass  # judged by what happened up to here
        except PlanProblem as wrong:
            problem = str(wrong)
        except BaseException:
            self._put_away(opened, keep)
            raise
        return self.judge(opened, plan, keep=keep, digest=digest, problem=problem)

    def open(self, plan: Plan, *, virgin: bool = False) -> Opened:
        """A scene on a fresh store, for who plays by hand; ``judge`` must follow."""
        return Opened(*self._scene(plan, virgin), time.monotonic())

    def judge(
        self,
        opened: Opened,
        plan: Plan,
        *,
        keep: Path | None = None,
        digest: bool = True,
        problem: str = "",
    ) -> Played:
        """Clear the scene away and judge what was played, under the id of this plan."""
        self._put_away(opened, keep)
        scene = opened.scene
        header = Header(
            plan.id,
            self._fitting.greeting.name,
            self._fitting.greeting.declaration,
            self._fitting.survey.operations,
            plan.sink,
            self._reference,
            scene.stage.setting.lease_s,
        )
        history = History(header, scene.stage.recorder.lines)
        result = judged(plan, scene, history, problem, digest=digest)
        printed = self.output().strip() if result.findings else ""
        if printed and history.lines:  # beside a finding: there it says what went wrong
            history = with_note(history, Note("output", printed))
        return Played(replace(result, duration_s=time.monotonic() - opened.began_s), history)

    def _put_away(self, opened: Opened, keep: Path | None) -> None:
        self._clear(opened.scene)
        _look_past(opened.scene)
        if keep is not None:
            shutil.copytree(
                opened.workspace, keep, symlinks=True, dirs_exist_ok=True, ignore=_no_files
            )
        shutil.rmtree(opened.workspace, ignore_errors=True)
        self._premises.give_up(opened.scene.stage.setting)

    def close(self) -> None:
        """End the last node, the sinks and the warm parent."""
        if self._veteran is not None:
            self._veteran.kill()
            self._veteran = None
        self._sinks.close()
        self._links.close()
        self._premises.close()
        self._parent.close()

    def output(self) -> str:
        """The end of what the target printed since the last scene was opened, both streams."""
        try:
            with self._parent.log.open("rb") as log:
                size = log.seek(0, 2)
                log.seek(max(self._printed, size - OUTPUT_LIMIT_BYTES, 0))
                return log.read(OUTPUT_LIMIT_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""

    def _scene(self, plan: Plan, virgin: bool) -> tuple[Scene, Path]:
        self._count += 1
        self._trim_log()
        workspace = self._folder / f"s{self._count}"
        fitting = self._fitting
        sink = self._sinks.fresh(plan.sink)
        url = sink_url(sink)
        setting = self._premises.setting(workspace, fitting.deadline_s, url)
        stage = Stage(self._parent, sink, setting, Recorder())
        veteran = self._veteran
        if veteran is not None and (virgin or not veteran.alive):
            veteran.kill()
            self._parent.reap(veteran.pid)
            veteran = None
        self._veteran = None
        if url is not None:
            stage.recorder.record("harness", Note("sink", f"a process of its own, at {url}"))
        scene = Scene(
            stage,
            fitting.greeting.declaration,
            fitting.survey,
            plan.draws(),
            self._reference,
            veteran,
            links=self._links,
        )
        return scene, workspace

    def _clear(self, scene: Scene) -> None:
        """End every node but the one that goes on to the next schedule."""
        if self._count in LEARN_AFTER:
            self._parent.learn()
        survivor = scene.survivor
        for node in (*scene.stage.nodes, *([scene.veteran] if scene.veteran else [])):
            if node is not survivor and node.alive:
                node.kill()
                self._parent.reap(node.pid)
        if survivor is None or not survivor.alive:
            return
        stands = is_inside(scene.stage.setting, survivor.name)  # then nothing can be discarded
        if self._fitting.veterans and not scene.stage.harmed and not stands:
            self._veteran = survivor
        else:
            survivor.kill()
            self._parent.reap(survivor.pid)

    def _family(self, name: str) -> Family:
        found = self._families.get(name)
        if found is None:
            found = self._families[name] = family(name)
        return found

    def _trim_log(self) -> None:
        try:
            self._printed = self._parent.log.stat().st_size
            if self._printed > LOG_LIMIT_BYTES:
                with self._parent.log.open("r+b") as log:
                    log.truncate(0)
                self._printed = 0
        except OSError:
            self._printed = 0


def with_note(history: History, note: Note) -> History:
    """The history with one more line for its readers, which no check reads."""
    stamp = Stamp(len(history.lines) + 1, history.lines[-1].stamp.t_ns, "harness")
    return replace(history, lines=(*history.lines, Recorded(stamp, note)))


def _no_files(folder: str, names: list[str]) -> list[str]:
    """Sockets and pipes, which ``open`` may make: they cannot be copied."""
    paths = [Path(folder, name) for name in names]
    return [p.name for p in paths if not (p.is_symlink() or p.is_dir() or p.is_file())]


def _look_past(scene: Scene) -> None:
    """A ledger can reach a sink with an url by itself, and what it sends there is no line of the
    history: effects that nobody counted must not end in a pass, nor in an accusation."""
    sink = scene.stage.desk.sink
    if scene.stage.blinded:
        return
    if isinstance(sink, Sink):
        if sink.application_count() != scene.stage.desk.applied_by[id(sink)]:
            scene.stage.blind("the sink's store was changed by somebody else than the suite")
        return
    if not isinstance(sink, SinkProcess):
        return
    try:
        past = len(sink.requests()) - scene.stage.desk.passed_on
    except EffectUnknown as failure:
        scene.stage.blind(f"the suite's own sink is lost: {failure}")
        return
    if past:
        scene.stage.blind(
            f"{past} request(s) went to the sink's url past env.effect; this version judges only "
            "what goes through env.effect"
        )
