"""The pytest front door, as a project outside this tree uses it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

OVERRIDE = """
import pytest

@pytest.fixture(scope="session")
def ledger_target():
    return "builtin:broken/MP6"
"""


def run(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """pytest in a project of its own; the environment of the outer run must not leak in."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *arguments],
        cwd=folder,
        env={**kept, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_correct_ledger_passes_item_by_item(tmp_path: Path) -> None:
    done = run(tmp_path, "--admitone-target=correct/counter", "-k", "FP8", "--junitxml=junit.xml")
    assert done.returncode == 0, done.stdout
    assert re.search(r"1 passed, \d+ deselected", done.stdout)
    [case] = ElementTree.parse(tmp_path / "junit.xml").iter("testcase")
    assert case.get("name") == "test_ledger[crash-FP8]"
    [schedules] = case.iter("property")
    assert int(schedules.get("value", "0")) > 0


def test_an_overridden_fixture_names_the_ledger_and_workers_share_the_items(
    tmp_path: Path,
) -> None:
    (tmp_path / "conftest.py").write_text(OVERRIDE)
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    done = run(tmp_path, "-n", "2", "-k", "FP4 or test_own")
    assert done.returncode == 1, done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert "admitone::test_ledger[crash-FP4]" in done.stdout
    assert "expected  " in done.stdout, "the lanes end with what was expected"
    assert "repeat:   admitone replay broken/MP6/crash:FP4" in done.stdout
    again = run(tmp_path, "--lf", "--collect-only")
    assert "1/" in again.stdout or "1 test" in again.stdout
    assert "crash-FP4" in again.stdout
    assert "crash-FP5" not in again.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--admitone-target=correct/counter", "-k", "nosuchitem"), 5),
        (("--admitone-target=broken/NOPE", "-k", "FP8"), 1),
        ((), 5),
    ],
    ids=["nothing selected", "no such ledger", "nobody asked"],
)
def test_zero_schedules_are_never_a_pass(
    tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == code, done.stdout
    if code == 1:
        assert "broken/NOPE" in done.stdout
        assert "Traceback" not in done.stdout


BLIND = """
import ctypes
import os
from pathlib import Path
from admitone.targets import contract as c

MKDIR = ctypes.CDLL(None).mkdir  # past every probe

class Ledger:
    def __init__(self, folder):
        self.folder = folder
    def prepare(self, authorization, call, context, attempt):
        if MKDIR(os.fsencode(self.folder / authorization.record), 0o700):
            return c.Refused("exhausted")
        return c.Admission(record=authorization.record, handle=authorization.record)
    def commit(self, admission, receipt):
        MKDIR(os.fsencode(self.folder / f"{admission.handle}.done"), 0o700)
        return c.Done()

class Target:
    declaration = c.Declaration(c.Facts(issues="none", keyed_by="confirmation"))
    def deploy(self, workspace):
        return c.Deployment(store=".")
    def open(self, store, env):
        return Ledger(env.workspace / store)
    def inspect(self, store, approval):
        used = (Path(store) / approval.confirmation.event).exists()
        done = (Path(store) / f"{approval.confirmation.event}.done").exists()
        counts = c.Counts(prepared=int(used and not done), committed=int(done))
        return c.View(known=True, counts=counts)
"""


def test_a_machine_that_lacks_the_server_is_told_once_for_an_item(tmp_path: Path) -> None:
    absent = {"ADMITONE_PG_BIN": str(tmp_path / "no-programs")}
    done = run(tmp_path, "--admitone-target=caplease-postgres", "-k", "FP8", environment=absent)
    assert done.returncode == 1
    [told] = [
        line
        for line in done.stdout.splitlines()
        if "pip install" in line and not line.startswith("ERROR")
    ]
    assert told.startswith("caplease-postgres: ADMITONE_PG_BIN names")
    assert "During handling" not in done.stdout


def test_a_point_of_writes_that_no_probe_sees_is_no_skip(tmp_path: Path) -> None:
    (tmp_path / "blind.py").write_text(BLIND)
    done = run(tmp_path, "--admitone-target=py:blind:Target", "-k", "crash-FP3")
    assert done.returncode == 1
    assert "not exercised: no durable write was seen where FP3 would stand" in done.stdout
