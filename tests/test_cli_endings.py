"""Runs that do not come to their own end: interrupted, or bereft of a worker or a reader."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from admitone.scenarios.historyfile import write_history
from tests.front_door import (
    DEADLINE_S,
    REPORT,
    Ran,
    Running,
    admitone_in,
    command,
    environment,
    journal_in,
    summary_in,
)
from tests.histories.convicting import CONVICTING

LONG = ("run", "correct/counter", "--family", "crash", "--schedules", "5000", "-n", "2")


@pytest.fixture
def long_run(scratch: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    (scratch / REPORT).mkdir()
    (scratch / REPORT / "summary.json").write_text('{"outcome": "passed"}')
    with Running(scratch, *LONG, "--sink", request.param) as running:
        running.until_results(2)
        yield running


def partial(running: Running) -> Ran:
    """The end of a run that was cut short; what it has seen until then is kept."""
    ran = running.end()
    assert "Traceback" not in ran.err
    journal, summary = journal_in(running.folder), summary_in(running.folder)
    assert len(journal.results) > 0
    assert not journal.torn
    assert (journal.exit_code, summary["exit_code"]) == (ran.code, ran.code)
    assert summary["complete"] is False
    assert f"exit {ran.code}" in ran.out
    assert f"\n  {len(journal.results)} schedule" in ran.out
    again = admitone_in(running.folder, "report")
    assert again.code == ran.code
    assert f"exit {ran.code}" in again.out
    return ran


def ctrl_c(running: Running) -> None:
    """What a terminal does: the whole foreground group is told."""
    os.killpg(running.process.pid, signal.SIGINT)


def interrupt(running: Running) -> None:
    running.process.send_signal(signal.SIGINT)


def terminate(running: Running) -> None:
    running.process.send_signal(signal.SIGTERM)


@pytest.mark.parametrize(
    ("long_run", "stop"),
    [("embedded", interrupt), ("process", ctrl_c), ("process", terminate)],
    indirect=["long_run"],
)
def test_an_interrupted_run_leaves_a_partial_report_and_nothing_else(
    long_run: Running, stop: Callable[[Running], None]
) -> None:
    assert long_run.sinks() > 0 or stop is interrupt  # embedded: only while one stands in FP7
    stop(long_run)
    ran = partial(long_run)
    assert ran.code == 130
    summary = summary_in(long_run.folder)
    assert (summary["stop_reason"], summary["outcome"]) == ("interrupted", "interrupted")


@pytest.mark.parametrize("long_run", ["process"], indirect=True)
def test_a_worker_that_is_killed_fails_the_suite_and_keeps_the_results(long_run: Running) -> None:
    workers = long_run.workers()
    assert len(workers) == 2
    workers[0].kill()
    ran = partial(long_run)
    assert ran.code == 4
    assert "admitone: a worker process died (signal SIGKILL)" in ran.err
    assert summary_in(long_run.folder)["stop_reason"] == "suite_failed"


@pytest.mark.parametrize("long_run", ["process"], indirect=True)
def test_a_run_that_is_killed_takes_everything_with_it(long_run: Running) -> None:
    """No courtesy is possible then: the journal can be read, and the next run tidies."""
    long_run.process.kill()
    long_run.process.wait()
    ran = admitone_in(long_run.folder, "report")
    assert ran.code == 130
    assert "the run never came to its end" in ran.err or "is torn" in ran.err
    other = admitone_in(long_run.folder, "replay", journal_in(long_run.folder).results[0].id)
    assert other.code in (0, 3)
    assert long_run.end().code == -signal.SIGKILL


def test_a_reader_that_leaves_changes_no_verdict(scratch: Path) -> None:
    run = command("run", "correct/counter", "--family", "crash", "--schedules", "4")
    shell = 'set -o pipefail; "$@" | head -n 1; echo "codes ${PIPESTATUS[0]}"'
    done = subprocess.run(
        ["bash", "-c", shell, "bash", *run],
        cwd=scratch,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    first, last = done.stdout.splitlines()
    assert first.startswith("admitone ")
    assert last == f"codes {summary_in(scratch)['exit_code']}" != "codes 4"
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert len(journal_in(scratch).results) == 4


def test_a_page_that_nobody_reads_ends_like_any_pipe(scratch: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command("explain", "AO104"),
        cwd=scratch,
        env=environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=DEADLINE_S,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_lanes_are_drawn_in_signs_that_the_output_has(scratch: Path) -> None:
    write_history(CONVICTING["AO102_two_grants"](), scratch / "h.jsonl")
    done = subprocess.run(
        command("judge", "h.jsonl"),
        cwd=scratch,
        env=environment(PYTHONIOENCODING="ascii"),
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 1
    assert b"AO102" in done.stdout
    assert b"\\u" not in done.stdout


@pytest.mark.parametrize(
    ("more", "colour", "redrawn"),
    [
        ({}, True, True),
        ({"NO_COLOR": "1"}, False, True),
    ],
)
def test_a_terminal_gets_what_it_can_show(
    scratch: Path, more: dict[str, str], colour: bool, redrawn: bool
) -> None:
    ours, theirs = pty.openpty()
    run = command("run", "correct/counter", "--family", "crash", "--schedules", "2", "-n", "1")
    process = subprocess.Popen(
        run,
        cwd=scratch,
        env=environment(**({"TERM": "xterm"} | more)),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.STDOUT,
    )
    os.close(theirs)
    text = b""
    while data := _read(ours):
        text += data
    os.close(ours)
    assert process.wait(DEADLINE_S) == summary_in(scratch)["exit_code"] != 4
    assert (b"\x1b[1m" in text) is colour
    assert (b"\x1b[2K" in text) is redrawn
    assert b": 2 passed" in text


def test_what_is_no_terminal_gets_plain_lines(scratch: Path) -> None:
    ran = admitone_in(
        scratch, "run", "correct/counter", "--family", "crash", "--schedules", "2", "-n", "1"
    )
    assert (ran.code, ran.err) == (summary_in(scratch)["exit_code"], "")
    assert "\x1b" not in ran.out
    assert ran.out.splitlines()[-1] == f"exit {ran.code}" != "exit 4"


def test_a_sign_that_cannot_be_carried_changes_no_verdict(scratch: Path) -> None:
    done = subprocess.run(
        command("replay", "broken/MP6/crash:FP10.reply.kill.retry.b2.idem.s0@1"),
        cwd=scratch,
        env=environment(PYTHONIOENCODING="ascii"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"AO106" in done.stdout


def test_a_recorded_pass_does_not_outweigh_recorded_violations(scratch: Path) -> None:
    wanted = ("--family", "crash", "--schedules", "24", "-n", "1")
    assert admitone_in(scratch, "run", "broken/MP6", *wanted).code == 1
    journal = scratch / REPORT / "journal.jsonl"
    text = journal.read_text()
    for code, told in ((0, 1), (3, 3)):
        journal.write_text(text.replace('"exit_code":1', f'"exit_code":{code}'))
        assert admitone_in(scratch, "report").code == told
    journal.write_text(text + '{"v":1,"kind":"schedule.end"')
    assert admitone_in(scratch, "report").code == 130, "it was torn"
    for wrong in ("256", '"0"', "true"):
        journal.write_text(text.replace('"exit_code":1', f'"exit_code":{wrong}'))
        assert "run.end has no exit code" in admitone_in(scratch, "report").said


def test_a_search_that_convicts_leaves_nothing_required(scratch: Path) -> None:
    """The schedule that it was shrunk to answers by another id than the search had."""
    wanted = ("--family", "stateful", "--schedules", "12", "-n", "1")
    ran = admitone_in(scratch, "run", "broken/MI3", *wanted)
    assert (ran.code, summary_in(scratch)["gaps"]) == (1, [])


@pytest.mark.parametrize("long_run", ["embedded"], indirect=True)
def test_the_summary_of_an_earlier_pass_does_not_outlive_the_start_of_a_run(
    long_run: Running,
) -> None:
    """Whoever kills the run would otherwise find it; see ``long_run``."""
    assert not (long_run.folder / REPORT / "summary.json").exists()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # EIO: its other end is closed
        return b""
