"""Nothing of a run is left behind: its folder goes with it, or with the next run."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from admitone.chaos.runfolder import RunFolder, Template, base_folder, no_room, sweep
from tests.front_door import DEADLINE_S, command, environment, until

MARK = "ADMITONE_TEST_RUN"


def test_a_folder_lives_as_long_as_its_run(scratch: Path) -> None:
    with RunFolder(scratch) as folder:
        (folder.path / "store").mkdir()
        assert sweep(scratch) == 0, "its run is alive"
        assert folder.path.is_dir()
    assert list(scratch.iterdir()) == []
    folder.close()


def test_the_folder_of_a_dead_run_goes_with_the_next(scratch: Path) -> None:
    folder = RunFolder(scratch)
    (folder.path / "store").mkdir()
    os.close(folder._lock)  # as the death of its process does
    with RunFolder(scratch) as later:
        assert [path.name for path in scratch.iterdir()] == [later.path.name]


def test_a_full_disk_is_told_from_other_errors(scratch: Path) -> None:
    assert no_room(OSError(errno.EACCES, "no")) == ""
    looped = OSError(errno.EACCES, "no")
    looped.__cause__ = looped
    assert no_room(looped) == ""
    assert "smaller -n" in no_room(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    db = sqlite3.connect(scratch / "small.db", isolation_level=None)
    db.execute("PRAGMA max_page_count = 1")
    with pytest.raises(RuntimeError) as wrapped:
        _fill(db)
    db.close()
    assert "database or disk is full" in no_room(wrapped.value)


def _fill(db: sqlite3.Connection) -> None:
    try:
        db.execute("CREATE TABLE t (x)")
    except sqlite3.Error:
        raise RuntimeError("it cannot be used") from None


def test_nothing_else_is_swept(scratch: Path) -> None:
    (scratch / "admitone-of-somebody").mkdir()
    with RunFolder(scratch) as folder:
        link = scratch / f"{folder.path.name}-link"
        link.symlink_to(folder.path)
        begun = scratch / f"{folder.path.name}-2.new"
        begun.mkdir()
        assert sweep(scratch) == 0
        assert link.is_symlink()
        assert begun.is_dir(), "it may be locked in a moment"
        os.utime(begun, (0, 0))
        sweep(scratch)
        assert not begun.exists(), "nobody takes an hour for that"
    assert (scratch / "admitone-of-somebody").is_dir()


def test_a_half_removed_folder_goes_too(scratch: Path) -> None:
    """Whoever was killed while it removed one may have removed the lock first."""
    half = scratch / f"admitone-{os.getuid()}-1-half"
    (half / "store").mkdir(parents=True)
    assert sweep(scratch) == 1
    assert not half.exists()


@pytest.mark.parametrize("how", ["small", "big", "linked"])
def test_a_template_makes_equal_stores(how: str, scratch: Path) -> None:
    source = scratch / "source"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "deep" / "a.db").write_bytes(b"\x00\xff")
    (source / "run").write_text("#!")
    (source / "run").chmod(0o700)
    if how == "big":
        (source / "big").write_bytes(bytes(9 << 20))
    if how == "linked":
        (source / "link").symlink_to("run")
    template = Template.of("a.db", source)
    assert (template.files is None) == (how != "small"), "only small ones are kept in memory"
    for name in ("one", "two"):
        template.write(scratch / name)
        assert tree(scratch / name) == tree(source)


def test_a_store_that_finds_no_room_is_not_made_shorter(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk takes a part and raises nothing."""
    source = scratch / "source"
    source.mkdir()
    (source / "a.db").write_bytes(b"store")
    template = Template.of("a.db", source)
    whole = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda to, data: whole(to, data[:-1]))
        with pytest.raises(OSError, match=r"a\.db") as raised:
            template.write(scratch / "copy")
    assert raised.value.errno == errno.ENOSPC


def tree(folder: Path) -> dict[str, tuple[int, object]]:
    """Every name below, with its mode and content."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode & 0o777 if path.is_file() else 0,
            path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes(),
        )
        for path in folder.rglob("*")
    }


def counter_run(*options: str) -> list[str]:
    return command("run", "builtin:correct/counter", *options)


def of_run(mark: str) -> Iterator[psutil.Process]:
    """The processes of a run: the mark in their environment outlives their parents."""
    for process in psutil.process_iter():
        try:
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get(MARK) == mark:
                yield process
        except (psutil.Error, OSError):  # gone meanwhile, or not ours to look at
            continue


def test_a_run_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    marked = environment(**{MARK: str(tmp_path)})
    journal = tmp_path / "report" / "journal.jsonl"
    harness = subprocess.Popen(
        counter_run("--schedules", "100000", "-n", "2", "--report-dir", str(tmp_path / "report")),
        env=marked,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    )
    try:
        until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 4, "a journal")
        [folder] = base_folder().glob(f"admitone-{os.getuid()}-{harness.pid}-*")
        assert len(list(of_run(str(tmp_path)))) > 4, "harness, workers, warm parents, nodes"
    finally:
        os.kill(harness.pid, signal.SIGKILL)
        harness.wait()
    until(lambda: not list(of_run(str(tmp_path))), "the end of all processes")
    again = subprocess.run(
        counter_run("--schedules", "1", "-n", "1", "--report-dir", str(tmp_path / "report")),
        env=marked,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=False,
    )
    assert "1 schedule" in again.stdout, again.stderr
    assert not folder.exists(), "the next run removes it"
