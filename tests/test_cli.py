"""Mistakes at the front door: each gets one message (what, where, what to do) and its exit code."""

from __future__ import annotations

import platform
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from admitone.cli import main
from admitone.scenarios.families import held, neighbours, stress
from tests.front_door import REPORT, Ran, admitone_in

GOOD = "correct/counter/crash:FP8.kill.retry.b2.idem.s17@1"

MODULES = {
    "torn": "x = = 1\n",
    "lacking": "import nothing_has_this_name\n",
    "targets": """
import os
from pathlib import Path
from admitone.targets import contract as c

class Raises:
    def __init__(self):
        raise RuntimeError("no database here")

class Idle:
    def deploy(self, workspace):
        return c.Deployment(store=".")
    def open(self, store, env):
        return object()
    def inspect(self, store, approval):
        return c.View(known=True)

class QuietLedger:
    def __init__(self, folder):
        self.folder = folder
    def prepare(self, authorization, call, context, attempt):
        try:
            os.mkdir(self.folder / authorization.record)
        except FileExistsError:
            return c.Refused("exhausted")
        return c.Admission(record=authorization.record, handle=authorization.record)
    def commit(self, admission, receipt):
        os.mkdir(self.folder / f"{admission.handle}.done")
        return c.Done()

class Quiet(Idle):
    '''Its writes are seen by no probe.'''
    declaration = c.Declaration(c.Facts(issues="none", keyed_by="confirmation"))
    def open(self, store, env):
        return QuietLedger(env.workspace / store)
    def inspect(self, store, approval):
        used = (Path(store) / approval.confirmation.event).exists()
        done = (Path(store) / f"{approval.confirmation.event}.done").exists()
        counts = c.Counts(prepared=int(used and not done), committed=int(done))
        return c.View(known=True, counts=counts)
""",
}

Say = Callable[..., str]


@pytest.fixture
def say(scratch: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Say:
    """A mistake in an empty folder: the one message that it gets."""
    monkeypatch.chdir(scratch)

    def mistaken(*arguments: str) -> str:
        before = signal.getsignal(signal.SIGTERM)
        code = main(arguments)
        assert signal.getsignal(signal.SIGTERM) == before
        out, err = capfd.readouterr()
        assert code == 2
        return Ran(code, out, err).said

    return mistaken


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ((), ("COMMAND", "--help")),
        (("frob",), ("frob", "run", "replay", "--help")),
        (("run", "-n", "0"), ("-n", "'0'", "from 1 upwards", "admitone run --help")),
        (("run", "-n", "two"), ("-n", "'two'", "whole number")),
        (("run", "--schedules", "-1"), ("--schedules", "'-1'", "from 1 upwards")),
        (("run", "--schedules", "٣"), ("--schedules", "whole number")),
        (("run", "--seed", "x"), ("--seed", "'x'", "from 0 upwards")),
        (("run", "--seed", "9" * 5000), ("--seed", "999", "whole number")),
        (("run", "--sink", "none"), ("--sink", "'none'", "embedded", "process")),
        (("run", "--profile", "slow"), ("--profile", "'slow'", "quick")),
        (("run", "--colour"), ("--colour", "--help")),
        (("run", "--family", "crsh"), ("--family crsh", "crash", "consumers")),
        (("run", "--json", "missing/x.json"), ("missing/x.json", "does not exist", "make it")),
        (("run", "--json", "."), ("--json .", "no file", "name another")),
        (("explain", "AO999"), ("AO999", "AO104")),
        (("judge", "missing.jsonl"), ("missing.jsonl", "No such file", "check the path")),
        (("report", "missing.jsonl"), ("missing.jsonl", "No such file", "journal.jsonl")),
        (("serve-sink", "--store", "missing/x"), ("--store",)),
        (("serve-sink", "--store", "x", "--port", "70000"), ("port must be 0-65535", "--port")),
        (("serve-sink", "--store", "x", "--host", "0.0.0.0"), ("--host 0.0.0.0", "loopback")),
        (("replay", "garbage"), ("'garbage'", "no schedule id", "copy it whole")),
        (("replay", ""), ("''", "no schedule id")),
        (("replay", GOOD[:-1] + "9"), ("version 9", "runs version 1", "printed it")),
        (("replay", GOOD.replace("crash", "crsh")), ("'crsh'", "there are: ", "consumers, crash")),
        (("replay", GOOD, "--times", "0"), ("--times", "'0'")),
    ],
)
def test_a_mistake_gets_one_message(
    say: Say, arguments: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    message = say(*arguments)
    assert [part for part in parts if part not in message] == []


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("caplease-sqlit", ("builtin:caplease-sqlit", "perhaps you meant caplease-sqlite")),
        ("exec:./driver", ("exec:", "py:package.module:Factory")),
        ("py:nowhere:Target", ("'nowhere'", "py:nowhere:Target", "check its spelling")),
        ("py:lacking:Target", ("'nothing_has_this_name'", "lacking imports", "install")),
        ("py:torn:Target", ("SyntaxError", "torn.py:1", "make `python -c 'import torn'` work")),
        ("py:targets", ("two parts", "py:package.module:Factory")),
        ("py:targets:Quite", ("no 'Quite'", "py:targets:Quite", "perhaps you meant Quiet")),
        ("py:targets:Raises", ("no database here", "targets.py:8", "without arguments")),
        ("py:targets:Idle", ("neither prepare nor execute", "py:targets:Idle", "SplitLedger")),
    ],
)
def test_a_target_that_cannot_be_tried_loses_nothing(
    say: Say, scratch: Path, target: str, parts: tuple[str, ...]
) -> None:
    for name, text in MODULES.items():
        (scratch / f"{name}.py").write_text(text)
    kept = scratch / REPORT / "histories" / "of an earlier run.jsonl"
    kept.parent.mkdir(parents=True)
    kept.touch()
    (scratch / REPORT / "journal.jsonl").write_text("of an earlier run")
    message = say("run", target)
    assert [part for part in parts if part not in message] == []
    assert kept.exists()
    assert (scratch / REPORT / "journal.jsonl").read_text() == "of an earlier run"
    assert sorted(path.name for path in (scratch / REPORT).iterdir()) == [
        "histories",
        "journal.jsonl",
    ]


def test_what_a_target_says_of_itself_does_not_act_on_the_terminal(say: Say, scratch: Path) -> None:
    text = 'raise RuntimeError("\\x1b[31mred\\x1b]0;title\\x07")'
    (scratch / "loud.py").write_text(text)
    message = say("run", "py:loud:Target")
    assert "red" in message
    assert not {"\x1b", "\x07"} & set(message)


def test_nothing_to_try_is_a_mistake(
    say: Say, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scratch / "targets.py").write_text(MODULES["targets"])
    for topic in (held, stress, neighbours):
        monkeypatch.setattr(topic, "placed", lambda *_: ())
    message = say("run", "py:targets:Quiet", "--family", "consumers")
    assert "py:targets:Quiet: nothing in consumers can be tried" in message
    assert "env.at" in message
    assert not (scratch / REPORT / "journal.jsonl").exists()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_report_folder_that_cannot_be_made(say: Say, scratch: Path, place: str) -> None:
    (scratch / "file").write_text("precious")
    message = say("run", "--report-dir", place)
    assert "cannot write reports: Not a directory" in message
    assert f"where:  {place}\n" in message
    assert "--report-dir" in message
    say("replay", GOOD, "--keep", place)
    assert (scratch / "file").read_text() == "precious"


def test_a_folder_to_keep_that_is_in_use(say: Say, scratch: Path) -> None:
    (scratch / "kept").mkdir()
    (scratch / "kept/mine").touch()
    assert "--keep kept: the folder is not empty; name another" in say(
        "replay", GOOD, "--keep", "kept"
    )


@pytest.mark.parametrize(
    ("identity", "parts"),
    [
        (GOOD.replace("FP8", "FP99"), ("no such place now", "fresh run")),
        (GOOD.replace("retry", "retyr"), ("no such place now",)),
        (GOOD.replace("FP8.kill.retry", "FP8"), ("no such place now",)),
        (GOOD.replace("b2", "b0"), ("budget of 0", "1, 2")),
        (GOOD.replace("b2", "b99999"), ("budget of 99999", "1, 2")),
        (GOOD.replace("counter", "countre"), ("'correct/countre'", "correct/counter")),
        (GOOD.replace("correct/counter", "py:nowhere:Target"), ("'nowhere'",)),
    ],
)
def test_an_id_that_cannot_be_played(say: Say, identity: str, parts: tuple[str, ...]) -> None:
    message = say("replay", identity)
    assert [part for part in parts if part not in message] == []


@pytest.mark.parametrize(
    ("arguments", "variable"),
    [
        (("run", "--family", "network"), "ADMITONE_TOXIPROXY"),
        (("replay", "caplease-sqlite/network:sink.null.retry.b1.idem.s0@1"), "ADMITONE_TOXIPROXY"),
        (("run", "caplease-postgres"), "ADMITONE_PG_BIN"),
        (("replay", GOOD.replace("correct/counter", "caplease-postgres")), "ADMITONE_PG_BIN"),
    ],
    ids=["no proxy to run", "no proxy to replay", "no server to run", "no server to replay"],
)
def test_what_this_machine_lacks_is_no_mistake(
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    variable: str,
) -> None:
    monkeypatch.chdir(scratch)
    monkeypatch.setenv(variable, str(scratch / "nothing"))
    code = main(arguments)
    said = Ran(code, *capfd.readouterr()).said
    assert code == 3
    assert said.startswith("admitone: could not run: ")
    assert f"{variable} names" in said
    assert " Run: " in said


@pytest.mark.parametrize("command", ["judge", "report"])
@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"[]\n", b'{"kind": 1}\n', b"{" * 100_000])
def test_a_file_of_something_else(say: Say, scratch: Path, command: str, content: bytes) -> None:
    (scratch / "file").write_bytes(content)
    message = say(command, "file")
    assert "file, line " in message
    assert len(message) < 400


def test_another_system_is_refused(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    message = say("run")
    assert "Linux only; this is Darwin" in message
    assert "container" in message


def test_mistakes_of_a_real_process(scratch: Path) -> None:
    """What the tests above see in this process, seen from outside."""
    for arguments in (("run", "--seed", "x"), ("run", "nowhere"), ("replay", "garbage")):
        ran = admitone_in(scratch, *arguments)
        assert ran.code == 2
        assert ran.said.count("\n") <= 3


def test_the_version_and_the_help_are_no_mistake(scratch: Path) -> None:
    ran = admitone_in(scratch, "--version")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("admitone ")
    helped = admitone_in(scratch, "run", "--help")
    assert (helped.code, helped.err) == (0, "")
    assert "--sink {embedded,process}" in helped.out
