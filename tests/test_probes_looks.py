"""What a ledger in files looks at: each look, lock and made name, with the text of its points."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from admitone.chaos.probes import sight
from admitone.chaos.probes.open_files import ORIGINAL
from admitone.scenarios.placement import Step, Survey, held_points, places
from tests import probe_trial
from tests.probe_name_forms import FORMS
from tests.probe_trial import Found


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    """All forms, each in a folder of its own."""
    return probe_trial.tried("tests.probe_name_forms", tmp_path_factory.mktemp("forms"))


@pytest.mark.parametrize("name", FORMS)
def test_a_name_is_made_moved_or_removed_between_its_points(
    tried: dict[str, Found], name: str
) -> None:
    form, found = FORMS[name], tried[name]
    was, then = int(form.there), int(not form.there)
    assert found.points == form.points
    assert found.count == then
    assert (found.before, found.after) == ((9, was), (9, then))


@dataclass
class Texts:
    """Writes down what each point says; the two sides of a call must follow each other."""

    lines: list[str] = field(default_factory=list)
    wish: tuple[str, str, sight.Raise] | None = None
    standing: str = ""

    def point(self, kind: str, side: str, text: str) -> sight.Raise | None:
        if side == "before":
            assert not self.standing
            self.standing = f"{kind}: {text}"
            self.lines.append(self.standing)
        else:
            assert f"{kind}: {text}" == self.standing
            self.standing = ""
        if self.wish is not None and self.wish[:2] == (side, text):
            return self.wish[2]
        return None


@pytest.fixture
def texts(scratch: Path) -> Iterator[Texts]:
    taken = Texts()
    work = scratch / "work"
    work.mkdir()
    (work / "here").write_text("one\ntwo\n")
    (work / "folder").mkdir()
    sight.install(taken, work)
    yield taken
    sight.uninstall()


def by_number(work: Path) -> None:
    fd = os.open(work / "here", os.O_RDONLY)
    assert os.read(fd, 4) == b"one\n"
    assert os.pread(fd, 3, 4) == b"two"
    assert os.readv(fd, [bytearray(4)]) == os.preadv(fd, [bytearray(4)], 0) == 4
    os.close(fd)


def by_lines(work: Path) -> None:
    """The second read from the kernel finds the end."""
    with (work / "here").open() as file:
        assert list(file) == ["one\n", "two\n"]


def kept_open(work: Path) -> None:
    """Each time anew, also where the same object writes."""
    with (work / "here").open("r+") as file:
        for _ in range(2):
            file.seek(0)
            assert file.read() == "one\ntwo\n"


def unbuffered(work: Path) -> None:
    with (work / "here").open("rb", buffering=0) as file:
        assert isinstance(file, io.FileIO)
        assert file.read(4) + file.read() == b"one\ntwo\n"
        assert file.readinto(bytearray(4)) == 0


def nothing_there(work: Path) -> None:
    for missing in (
        (work / "none").read_bytes,
        lambda: os.open(work / "none", os.O_RDONLY),
        lambda: (work / "none").open("r+"),
    ):
        with pytest.raises(FileNotFoundError):
            missing()


def exists(work: Path) -> None:
    assert (work / "here").exists()
    assert os.path.isdir(work / "folder")  # noqa: PTH112
    assert not os.path.exists(f"{work}/none")  # noqa: PTH110
    assert os.access(work / "here", os.R_OK)
    assert os.stat(work / "folder" / ".." / "here").st_size == 8  # noqa: PTH116


def lists(work: Path) -> None:
    assert sorted(os.listdir(work)) == ["folder", "here"]  # noqa: PTH208
    with os.scandir(work / "folder") as found:
        assert next(found, None) is None
        assert next(found, None) is None
    before = Path.cwd()
    os.chdir(work)
    assert len(os.listdir()) == 2  # noqa: PTH208
    os.chdir(before)


def locks(work: Path) -> None:
    with (work / "here").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with (work / "here").open() as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
    with (work / "here").open("r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        os.lockf(file.fileno(), os.F_ULOCK, 0)
    fd = os.open(work, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    os.close(fd)


LOOKS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "os.read": (by_number, ["read here"] * 4),
    "read_text": (lambda work: len((work / "here").read_text()), ["read here"]),
    "read_bytes": (lambda work: len((work / "here").read_bytes()), ["read here"]),
    "lines": (by_lines, ["read here"] * 2),
    "kept open": (kept_open, ["read here"] * 2),
    "unbuffered": (unbuffered, ["read here"] * 3),
    "nothing there": (nothing_there, ["open none"] * 3),
    "exists": (exists, ["stat here", "stat folder", "stat none", "access here", "stat here"]),
    "lists": (lists, ["listdir .", "scandir folder", "listdir ."]),
    "locks": (
        locks,
        [
            "flock LOCK_EX here",
            "flock LOCK_SH|LOCK_NB here",
            "flock LOCK_UN here",
            "lockf LOCK_EX here",
            "lockf F_ULOCK here",
            "flock LOCK_SH .",
        ],
    ),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_look_is_a_statement(texts: Texts, scratch: Path, name: str) -> None:
    run, expected = LOOKS[name]
    with sight.watched():
        run(scratch / "work")
    assert texts.lines == [f"statement: {line}" for line in expected]


def test_a_file_that_is_read_is_of_the_stock_kinds(texts: Texts, scratch: Path) -> None:
    path = scratch / "work" / "here"
    with sight.watched():
        with path.open(encoding="latin-1", errors="replace", newline="") as file:
            assert type(file) is io.TextIOWrapper
            assert type(file.buffer) is io.BufferedReader
            assert isinstance(file.buffer.raw, io.FileIO)
            assert (file.mode, file.encoding, file.errors) == ("r", "latin-1", "replace")
            assert (file.name, file.line_buffering) == (path, False)
        assert file.buffer.raw.closed
        with pytest.raises(LookupError):
            path.open(encoding="no such one")
        with pytest.raises(ValueError, match="mode"):
            path.open("rU")
        with pytest.raises(IsADirectoryError):
            path.parent.open()
    assert texts.lines == []


def test_writes_say_what_they_do(texts: Texts, scratch: Path) -> None:
    work = scratch / "work"
    with sight.watched():
        with (work / "new").open("w") as file:
            json.dump({}, file)
        (work / "new").rename(work / "here")
        shutil.rmtree(work / "folder")
        fd = os.open(work, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
    writes = [line for line in texts.lines if line.startswith("write")]
    assert writes == [
        "write: create new",
        "write: close new",
        "write: rename new here",
        "write: rmdir folder",
        "write: fsync .",
    ]


def test_what_cannot_work_is_no_write(texts: Texts, scratch: Path) -> None:
    work = scratch / "work"
    with sight.watched():
        failing: tuple[tuple[type[Exception], Callable[..., object]], ...] = (
            (FileExistsError, lambda: (work / "here").open("x")),
            (FileExistsError, (work / "folder").mkdir),
            (FileExistsError, lambda: os.link(work / "here", work / "folder")),
            (FileNotFoundError, (work / "none" / "new").mkdir),
            (FileNotFoundError, (work / "none").unlink),
            (TypeError, os.mkdir),
            (TypeError, os.stat),
        )
        for error, action in failing:
            with pytest.raises(error):
                action()
    assert texts.lines == []


@pytest.mark.parametrize(("side", "there"), [("before", False), ("after", True)])
def test_a_file_is_made_before_an_io_error_or_not_at_all(
    texts: Texts, scratch: Path, side: str, there: bool
) -> None:
    """And the descriptor that nobody gets is closed."""
    work, free = scratch / "work", ORIGINAL.os_open(scratch, os.O_RDONLY)
    ORIGINAL.close(free)
    for name, make in (
        ("by-number", lambda path: os.open(path, os.O_CREAT | os.O_EXCL)),
        ("by-open", lambda path: path.open("x")),
    ):
        texts.wish = (side, f"create {name}", sight.Raise("io"))
        with sight.watched(), pytest.raises(OSError, match="Input/output") as caught:
            make(work / name)
        assert caught.value.errno == errno.EIO
        assert texts.wish[2].fired
        texts.standing = ""
        assert (work / name).exists() is there
        assert ORIGINAL.os_open(scratch, os.O_RDONLY) == free
        ORIGINAL.close(free)


def steps(*texts: tuple[str, str]) -> tuple[Step, ...]:
    """Both points of each call, numbered as a node does."""
    found, counts = [], {"begin": 0, "statement": 0, "write": 0}
    for kind, text in texts:
        counts[kind] += 1
        found += [Step(kind, side, counts[kind], text) for side in ("before", "after")]
    return tuple(found)


ATOMIC = steps(
    ("statement", "flock LOCK_EX|LOCK_NB lock"),
    ("statement", "read book"),
    ("write", "create book.new"),
    ("statement", "flush book.new"),
    ("write", "fsync book.new"),
    ("write", "replace book.new book"),
    ("write", "create mark"),
    ("statement", "flock LOCK_UN lock"),
)


def test_a_caller_is_held_where_it_knows_something() -> None:
    held = held_points(Survey(("prepare",), {"prepare": ATOMIC}), "prepare")
    assert [f"{p.kind}{p.nth}.{p.side}" for p in held] == [
        "statement2.after",
        "statement3.after",
        "write2.before",
        "write3.before",
        "write4.before",
        "statement4.after",
    ]


FLOCK, READ = ("statement", "flock LOCK_EX|LOCK_NB lock"), ("statement", "read book")
UNLOCK, MOVE = ("statement", "flock LOCK_UN lock"), ("write", "replace book.new book")
SET, UNSET = ("statement", "fcntl F_WRLCK lock"), ("statement", "fcntl F_UNLCK lock")
MADE, BEGIN = ("write", "create lock"), ("begin", "BEGIN IMMEDIATE")


@pytest.mark.parametrize(
    ("calls", "before"),
    [
        ((FLOCK, READ, MOVE), []),
        ((MADE, FLOCK, READ), []),
        ((READ, FLOCK, MOVE), []),  # held after the look, and nothing lies between
        ((FLOCK, READ, UNLOCK, FLOCK, MOVE), []),  # held after the unlock
        ((FLOCK, FLOCK, READ), []),
        ((FLOCK, READ, FLOCK, MOVE), ["statement3"]),
        ((SET, READ, SET, READ, UNSET, SET), ["statement3"]),
        ((FLOCK, READ, MOVE, FLOCK, READ, FLOCK), ["statement3", "statement5"]),
        ((MOVE, FLOCK, MOVE), ["statement1"]),
        ((BEGIN, READ, ("write", "COMMIT"), BEGIN, READ), ["begin2"]),
        ((("begin", "BEGIN"), ("write", "COMMIT"), ("begin", "BEGIN"), READ), []),
    ],
)
def test_a_caller_is_held_before_a_lock_where_what_it_knows_grows_old(
    calls: tuple[tuple[str, str], ...], before: list[str]
) -> None:
    held = held_points(Survey(("prepare",), {"prepare": steps(*calls)}), "prepare")
    found = [f"{p.kind}{p.nth}" for p in held if p.side == "before" and p.kind != "write"]
    assert found == before


def test_a_file_aside_is_no_place_of_its_own() -> None:
    found = places(Survey(("issue", "prepare", "commit"), {"prepare": ATOMIC}))
    assert [(p.token, p.shown) for p in found if p.name == "FP3"] == [
        ("write2", "fsync 2 of 4"),
        ("write3", "replace 3 of 4"),
        ("write4", "create 4 of 4"),
    ]
