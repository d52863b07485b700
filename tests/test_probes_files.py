"""The probe for files: every form's points, what a kill there leaves, and what is left alone."""

from __future__ import annotations

import builtins
import errno
import io
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from admitone.chaos.probes import sight
from admitone.chaos.probes.open_files import ORIGINAL
from tests import probe_trial
from tests.probe_file_forms import FORMS
from tests.probe_trial import STATEMENT, WRITE, Found, Notes


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    """All forms, each in a folder of its own."""
    return probe_trial.tried("tests.probe_file_forms", tmp_path_factory.mktemp("forms"))


@pytest.mark.parametrize("name", FORMS)
def test_a_form_has_exactly_these_points(tried: dict[str, Found], name: str) -> None:
    assert tried[name].points == FORMS[name].points
    assert tried[name].count == 1


@pytest.mark.parametrize("name", FORMS)
def test_a_kill_at_a_write_leaves_what_its_side_says(tried: dict[str, Found], name: str) -> None:
    """Bytes that the kernel had before survive a kill at *before* too (no power was cut)."""
    assert tried[name].before == (9, FORMS[name].before)
    assert tried[name].after == (9, FORMS[name].after)


@pytest.fixture
def notes(scratch: Path) -> Iterator[Notes]:
    taken = Notes()
    (scratch / "work").mkdir()
    sight.install(taken, scratch / "work")
    yield taken
    sight.uninstall()


def only_opens(work: Path) -> None:
    """A lock file is opened, and nothing is read from it or written."""
    (work / "here").open().close()
    (work / "here").open("a").close()
    os.close(os.open(work / "here", os.O_RDONLY))
    os.close(os.open(work / "here", os.O_RDWR | os.O_CREAT))


def asks_little(work: Path) -> None:
    """What libraries call by the dozen."""
    (work / "here").lstat()
    os.stat(work / "here", follow_symlinks=False)  # noqa: PTH116
    os.path.realpath(work / "here")
    fd = os.open(work / "here", os.O_RDONLY)
    os.fstat(fd)
    os.close(fd)


def elsewhere(work: Path) -> None:
    with (work.parent / "work-of-others").open("w") as file:
        file.write("x")
        file.flush()
        os.fsync(file)
    os.replace(work.parent / "work-of-others", work.parent / "out")  # noqa: PTH105  # it is probed
    assert (work.parent / "out").read_text() == "x"
    assert not (work / ".." / "nothing").exists()
    (work.parent / "folder").mkdir()
    assert sorted(os.listdir(work.parent)) == ["folder", "out", "work"]  # noqa: PTH208
    (work.parent / "folder").rmdir()
    (work.parent / "out").unlink()


def pipes_and_sockets(work: Path) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"x")
    os.close(theirs)
    os.close(ours)
    one, other = socket.socketpair()
    with one, other, one.makefile("wb") as file:
        file.write(b"x")
    os.mkfifo(work / "fifo")
    fd = os.open(work / "fifo", os.O_RDWR)
    os.write(fd, b"x")
    os.close(fd)


def originals(work: Path) -> None:
    """What the harness itself uses."""
    with ORIGINAL.open(work / "journal", "a") as file:
        file.write("x")
        file.flush()
        ORIGINAL.fsync(file)
    ORIGINAL.replace(work / "journal", work / "journal2")


def sqlite_itself(work: Path) -> None:
    """Its I/O is in C: the file probe sees none of it, the SQLite probe is not asked here."""
    sight.watch(False)
    store = sqlite3.connect(work / "ledger.db")
    store.execute("CREATE TABLE t (n)")
    sight.watch(True)
    store.close()


@pytest.mark.parametrize(
    "action", [only_opens, asks_little, elsewhere, pipes_and_sockets, originals, sqlite_itself]
)
def test_left_alone(notes: Notes, scratch: Path, action: Callable[[Path], None]) -> None:
    (scratch / "work" / "here").touch()
    with sight.watched():
        action(scratch / "work")
    assert notes.points == []


def test_a_number_used_again_is_another_file(notes: Notes, scratch: Path) -> None:
    """The descriptor was closed where no probe looks, and the kernel gave its number away."""
    fd = os.open(scratch / "work" / "ledger", os.O_WRONLY | os.O_CREAT)
    os.closerange(fd, fd + 1)
    again = ORIGINAL.os_open(scratch / "outside", os.O_WRONLY | os.O_CREAT)
    assert again == fd
    with sight.watched():
        os.write(again, b"x")
        os.close(again)
    assert notes.points == []


def test_what_was_written_unwatched_is_known_at_the_close(notes: Notes, scratch: Path) -> None:
    file = (scratch / "work" / "ledger").open("w")
    file.write("x")
    with sight.watched():
        file.close()
        file.close()
    assert notes.points == WRITE


def test_errors_are_those_of_the_stock_functions(notes: Notes, scratch: Path) -> None:
    work = scratch / "work"
    with sight.watched():
        with pytest.raises(FileNotFoundError):
            os.replace(work / "nothing", work / "ledger")  # noqa: PTH105  # the call that is probed
        with pytest.raises(ValueError, match="binary mode doesn't take an encoding"):
            (work / "ledger").open("wb", encoding="utf-8")
        with pytest.raises(ValueError, match="can't have unbuffered text"):
            (work / "ledger").open("w", buffering=0)
        file = (work / "ledger").open("w")
        file.close()
        with pytest.raises(ValueError, match="I/O operation on closed file"):
            file.write("x")
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fsync(10**6)
        with pytest.raises(TypeError):
            os.replace(work)  # type: ignore[call-arg]  # noqa: PTH105  # the call that is probed
    assert notes.points == []


@pytest.mark.parametrize(("side", "moved"), [("before", False), ("after", True)])
def test_an_io_error_comes_before_the_write_or_after_it(
    notes: Notes, scratch: Path, side: str, moved: bool
) -> None:
    work, wish = scratch / "work", sight.Raise("io")
    (work / "new").touch()
    notes.answer = (f"write.{side}", wish)
    with sight.watched(), pytest.raises(OSError, match="Input/output") as caught:
        os.replace(work / "new", work / "ledger")  # noqa: PTH105  # the call that is probed
    assert caught.value.errno == errno.EIO
    assert wish.fired
    assert (work / "ledger").exists() is moved


def test_a_file_is_never_busy(notes: Notes, scratch: Path) -> None:
    work, wish = scratch / "work", sight.Raise("busy")
    (work / "new").touch()
    for point in ("write.before", "statement.before"):
        notes.answer = (point, wish)
        with sight.watched():
            os.replace(work / "new", work / "ledger")  # noqa: PTH105  # the call that is probed
            os.replace(work / "ledger", work / "new")  # noqa: PTH105  # the call that is probed
            by_number(work, b"line\n")
    assert not wish.fired


def by_number(work: Path, data: bytes) -> None:
    fd = os.open(work / "ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def by_flush(work: Path, data: bytes) -> None:
    with (work / "ledger").open("ab") as file:
        file.write(data)
        file.flush()


def by_close(work: Path, data: bytes) -> None:
    with (work / "ledger").open("a") as file:
        file.write(data.decode())


def unbuffered(work: Path, data: bytes) -> None:
    with (work / "ledger").open("ab", buffering=0) as file:
        file.write(data)


@pytest.mark.parametrize(
    ("put", "point", "left"),
    [
        (by_number, "statement.before", b""),
        (unbuffered, "statement.before", b""),
        (by_flush, "statement.before", b"lin"),
        (by_close, "write.before", b"lin"),
    ],
)
def test_a_full_disk_takes_nothing_or_a_half(
    notes: Notes, scratch: Path, put: Callable[[Path, bytes], None], point: str, left: bytes
) -> None:
    """As long as the call lasts, however often it tries; then there is room again."""
    work, wish = scratch / "work", sight.Raise("io")
    (work / "ledger").write_bytes(b"old\n")
    notes.answer = (point, wish)
    with sight.watched():
        for _ in range(2):
            with pytest.raises(OSError, match="No space left") as caught:
                put(work, b"line\n..")
            assert caught.value.errno == errno.ENOSPC
            notes.answer = None
            assert (work / "ledger").read_bytes() == b"old\n" + (left and b"line\n.."[:3])
            left = left and b"lin"
        assert wish.fired
        (work / "other").touch()
        (work / "other").unlink()
        wish.over = True
        put(work, b"new\n")
    assert (work / "ledger").read_bytes().endswith(b"new\n")


def test_what_a_file_object_could_not_get_rid_of_goes_out_later(
    notes: Notes, scratch: Path
) -> None:
    work, wish = scratch / "work", sight.Raise("io")
    notes.answer = ("statement.before", wish)
    with sight.watched(), (work / "ledger").open("w") as file:
        file.write("one\n")
        with pytest.raises(OSError, match="No space left"):
            file.flush()
        assert (work / "ledger").read_text() == "on"
        wish.over, notes.answer = True, None
        file.flush()
        assert (work / "ledger").read_text() == "one\n"


def append(fd: int, _work: Path) -> None:
    os.write(fd, b"two\n")


def append_twice(fd: int, _work: Path) -> None:
    os.write(fd, b"two\n")
    os.pwrite(fd, b"three\n", 8)


def write_over(fd: int, _work: Path) -> None:
    os.write(fd, b"two\n")
    os.pwrite(fd, b"ONE", 0)


def meet_another(fd: int, work: Path) -> None:
    os.write(fd, b"two\n")
    other = ORIGINAL.os_open(work / "ledger", os.O_WRONLY | os.O_APPEND)
    ORIGINAL.write(other, b"theirs\n")
    ORIGINAL.close(other)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (append, b"one\n"),
        (append_twice, b"one\n"),
        (write_over, b"ONE\ntwo\n"),
        (meet_another, b"one\ntwo\ntheirs\n"),
    ],
)
def test_a_failed_fsync_loses_what_was_added(
    notes: Notes, scratch: Path, change: Callable[[int, Path], None], left: bytes
) -> None:
    """And nothing else: neither what was synced before, nor what others wrote."""
    work, wish = scratch / "work", sight.Raise("io")
    (work / "ledger").touch()
    with sight.watched():
        fd = os.open(work / "ledger", os.O_RDWR)
        os.write(fd, b"one\n")
        os.fsync(fd)
        change(fd, work)
        notes.answer = ("write.before", wish)
        with pytest.raises(OSError, match="Input/output"):
            os.fsync(fd)
        notes.answer = None
        os.fsync(fd)
        os.close(fd)
    assert wish.fired
    assert (work / "ledger").read_bytes() == left


def test_uninstalling_gives_the_functions_back(scratch: Path) -> None:
    names = ("open", "close", "write", "fsync", "replace", "rename", "link")
    stock = [getattr(os, name) for name in names], builtins.open, io.open
    notes = Notes()
    sight.install(notes, scratch)
    file = (scratch / "ledger").open("w")
    with sight.watched():
        file.write("x")
        file.flush()
    sight.uninstall()
    assert ([getattr(os, name) for name in names], builtins.open, io.open) == stock
    file.close()
    assert notes.points == STATEMENT
    assert (scratch / "ledger").read_text() == "x"
