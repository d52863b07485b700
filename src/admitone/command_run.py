"""``admitone run``: check the adapters, play the campaign, tell everybody, answer with a code."""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from . import __version__
from .chaos.parent import TargetProblem
from .chaos.runfolder import RunFolder
from .cli import UsageProblem, could_not_run
from .reports.closing import Closing
from .reports.folder import ReportFolder, ReportProblem
from .reports.journal import JournalWriter
from .reports.live import Live
from .reports.summary_json import SummaryWriter, summary_text
from .reports.text import clean_lines, put
from .reports.writer import Fan, Writer
from .scenarios.campaign import Campaign, Request, check_adapters
from .scenarios.families import FAMILIES, family, missing_here
from .scenarios.frame import lacks, required_of, target_facts
from .scenarios.historyfile import HistoryProblem, read_history
from .scenarios.preflight import Fitting
from .scenarios.premises import CannotRun
from .scenarios.profiles import PROFILES
from .scenarios.results import ScheduleResult
from .scenarios.summary import RunFacts, RunTally, StopReason
from .targets.registry import is_reference

DEFAULT_TARGET = "builtin:caplease-sqlite"


def run(options: argparse.Namespace) -> int:
    """Run the campaign that the options ask for; the exit code."""
    targets = tuple(dict.fromkeys(options.targets)) or (DEFAULT_TARGET,)
    families = _families(options.family)
    missing = missing_here(families)
    if len(missing) == len(families):
        return could_not_run("\n".join(f"family {name}: {why}" for name, why in missing.items()))
    # asked for by name, or strictly, such a family could not run, and says so by the exit code
    left_out = {} if options.family or options.strict else missing
    families = tuple(name for name in families if name not in left_out)
    try:
        reports = ReportFolder.prepare(options.report_dir)
    except ReportProblem as problem:
        print(problem, file=sys.stderr)
        return 2
    if options.json is not None:
        _writable(options.json)
    profile = PROFILES[options.profile]
    chosen = options.schedules is not None
    request = Request(
        targets,
        families,
        options.schedules if chosen else profile.schedules,
        options.max_time or (None if chosen else profile.max_time_s),
        profile.required,
        "all" if chosen else profile.samples,
        options.max_time is not None,
        options.seed or 0,
        options.workers or len(os.sched_getaffinity(0)) + 1,  # for whenever one of them waits
        reports.histories,
        sink=options.sink,
    )
    with RunFolder() as folder:
        try:
            fittings = check_adapters(targets, folder.path, options.sink)
        except CannotRun as lacking:
            return could_not_run(lacking)
        except TargetProblem as problem:
            raise UsageProblem(str(problem)) from None
        return _play(request, fittings, folder.path, reports, options, left_out)


def _families(asked: Sequence[str] | None) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(asked or FAMILIES))
    for name in chosen:
        if name not in FAMILIES:
            raise UsageProblem(
                f"--family {name}: there is no such family. There are: {', '.join(FAMILIES)}"
            )
    return chosen


def _writable(path: Path) -> None:
    """Say now, and not after the run, that the summary cannot be stored there."""
    if not path.absolute().parent.is_dir():
        raise UsageProblem(f"--json {path}: its folder does not exist; make it first")
    if path.is_dir() or not os.access(path.absolute().parent, os.W_OK):
        raise UsageProblem(f"--json {path}: no file can be written there; name another one")


def _tidy(reports: ReportFolder, copy: Path | None) -> None:
    """What an earlier run left would be taken for this one's: its pass, if this one is killed."""
    reports.summary.unlink(missing_ok=True)
    if copy is not None and copy.is_file():
        copy.unlink()
    for old in reports.histories.glob("*.jsonl*"):  # a part that a killed run was writing, too
        old.unlink(missing_ok=True)


def _play(
    request: Request,
    fittings: tuple[Fitting, ...],
    folder: Path,
    reports: ReportFolder,
    options: argparse.Namespace,
    left_out: Mapping[str, str],
) -> int:
    """Run it with every writer listening."""
    references = frozenset(i for i, name in enumerate(request.targets) if is_reference(name))
    campaign = Campaign(request, fittings, folder, references)
    if not sum(campaign.planned.values()):
        raise UsageProblem(_nothing_to_try(request, fittings))
    _tidy(reports, options.json)
    facts = replace(_facts(request, fittings, campaign, options), left_out=left_out)
    tally = RunTally(facts)
    files = [str(reports.journal), str(reports.summary), str(reports.histories)]
    writers: list[Writer] = [
        JournalWriter(reports.journal),
        Live(sys.stdout),
        SummaryWriter(reports),
        Closing(sys.stdout, files),
    ]
    if options.json is not None:
        writers.append(SummaryFile(options.json))
    fan = Fan(writers, lambda text: print(f"admitone: {text}", file=sys.stderr))
    began_s = time.monotonic()
    with contextlib.suppress(OSError):  # a run is not for its output alone
        head = f"admitone {__version__} · {', '.join(request.targets)} · seed {request.seed}"
        put(sys.stdout, f"{head}\n")
    fan.begin(facts)
    try:
        end = campaign.run(lambda result: _told(result, tally, fan, reports))
        reason: StopReason = end.reason
        detail, left = end.detail, end.required_left
    except KeyboardInterrupt:
        reason, detail, left = "interrupted", "", campaign.required_left
    duration_s = time.monotonic() - began_s
    tally.stop(reason, duration_s=duration_s, detail=detail, required_left=left)
    with _undisturbed():
        fan.end(tally)
    if tally.stop_detail:
        print(f"admitone: {clean_lines(tally.stop_detail)}", file=sys.stderr)
    return tally.exit_code


def _nothing_to_try(request: Request, fittings: tuple[Fitting, ...]) -> str:
    tried = [(family(name), fitting) for fitting in fittings for name in request.families]
    lacking = [lacks(*each) for each in tried]
    why, todo = "; ".join(dict.fromkeys(lacking)), ""
    if not all(lacking):
        why = "no stop was seen in an undisturbed use"
        todo = ", or show the ledger's durable writes with env.at"
    return (
        f"{', '.join(request.targets)}: nothing in {', '.join(request.families)} can be tried on "
        f"it: {why}. Choose other families{todo}."
    )


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Whoever presses Ctrl-C again still gets the reports: they are short to write."""
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    )
    try:
        yield
    finally:
        with contextlib.suppress(KeyboardInterrupt):  # what came meanwhile comes here
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _told(result: ScheduleResult, tally: RunTally, fan: Fan, reports: ReportFolder) -> None:
    tally.add(result)
    fan.result(result)
    if not result.findings or result.history_kept is None:
        return
    try:
        history = read_history(reports.histories / result.history_kept)
    except HistoryProblem as problem:
        print(f"admitone: {problem}", file=sys.stderr)
        return
    for finding in result.findings:
        fan.finding(result, finding, history)


def _facts(
    request: Request,
    fittings: tuple[Fitting, ...],
    campaign: Campaign,
    options: argparse.Namespace,
) -> RunFacts:
    return RunFacts(
        seed=request.seed,
        profile=options.profile,
        version=__version__,
        command=shlex.join(["admitone", *sys.argv[1:]]),
        machine=f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        targets=tuple(target_facts(fitting, request.families) for fitting in fittings),
        required=required_of(request.families),
        planned=campaign.planned,
        strict=options.strict,
    )


class SummaryFile:
    """``--json FILE``: the summary once more, where the user wants it."""

    name = "--json"

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, facts: RunFacts) -> None:
        """Nothing to write yet."""

    def result(self, result: ScheduleResult) -> None:
        """Nothing to write yet."""

    def finding(self, *_: object) -> None:
        """Nothing to write yet."""

    def end(self, tally: RunTally) -> None:
        """Write it whole, then put it in its place."""
        unfinished = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            unfinished.write_text(summary_text(tally), "utf-8")
            shutil.move(unfinished, self._path)
        finally:
            unfinished.unlink(missing_ok=True)
