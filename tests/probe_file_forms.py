"""Every way in which a Python ledger makes a file durable, and the points of each.

``python -m tests.probe_file_forms FOLDER`` tries them, see ``probe_trial``.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from admitone.chaos.probes import sight
from tests.probe_trial import STATEMENT, WRITE, Form, answer

FLUSHED: Final = [*STATEMENT, *WRITE]


@dataclass(frozen=True, slots=True)
class FileForm:
    """``run`` leaves the file ``ledger`` with one line. ``before``: the lines that a process
    killed before the first write leaves; 1 where the kernel had them already. ``there``: the file
    is there already, and empty; how files are made is tried by ``probe_name_forms``."""

    run: Callable[[Path], object]
    points: list[str]
    before: int = 0
    after: int = 1
    there: bool = True


def by_open(mode: str, data: Any, folder: Path, **named: Any) -> None:
    with open(folder / "ledger", mode, **named) as file:  # noqa: PTH123  # the form under test
        file.write(data)


def kinds(folder: Path) -> None:
    """All four are of the stock kinds, and only one of them is written to."""
    path = str(folder / "ledger")
    with (
        open(path, "a", encoding="utf-16", errors="replace", newline="") as text,  # noqa: PTH123
        io.open(path, "ab", buffering=64) as buffered,  # noqa: UP020
        Path(path).open("r+b") as random,
        Path(path).open("ab", buffering=0) as raw,
    ):
        assert isinstance(text, io.TextIOWrapper)
        assert (text.mode, text.encoding, text.errors) == ("a", "utf-16", "replace")
        assert (text.name, text.line_buffering) == (path, False)
        assert isinstance(buffered, io.BufferedWriter)
        assert isinstance(random, io.BufferedRandom)
        assert isinstance(raw, io.FileIO)
        buffered.write(b"line\n")
    assert buffered.closed


def by_print(folder: Path) -> None:
    with (folder / "ledger").open("a") as file:
        print("line", file=file)


def by_buffer(folder: Path) -> None:
    with (folder / "ledger").open("w") as file:
        file.buffer.write(b"line\n")


def detached(folder: Path) -> None:
    file = (folder / "ledger").open("w")
    file.write("line\n")
    file.detach().close()


def by_json(folder: Path) -> None:
    with (folder / "ledger").open("w") as file:
        json.dump({"n": 1}, file)
        file.writelines(["\n"])


def dropped(folder: Path) -> None:
    (folder / "ledger").open("w").write("line\n")


def flushed(folder: Path) -> None:
    with (folder / "ledger").open("a") as file:
        file.write("line\n")
        file.flush()
        file.flush()


def unbuffered(folder: Path) -> None:
    with (folder / "ledger").open("ab", buffering=0) as file:
        file.write(b"line\n")


def synced(folder: Path, sync: str, by_number: bool) -> None:
    with (folder / "ledger").open("a") as file:
        file.write("line\n")
        file.flush()
        getattr(os, sync)(file.fileno() if by_number else file)


def synced_without_flush(folder: Path) -> None:
    """The ledger's own mistake: only the close makes it durable."""
    with (folder / "ledger").open("a") as file:
        file.write("line\n")
        os.fsync(file.fileno())


def by_number(folder: Path, synced: bool = False) -> None:
    fd = os.open(folder / "ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    assert os.write(fd, b"line\n") == 5
    if synced:
        os.fsync(fd)
    os.close(fd)


def moved(folder: Path, owner: Any, name: str) -> None:
    """The functions are looked up when they are called, as attributes of a module are."""
    sight.watch(False)
    (folder / "new").write_text("line\n")
    sight.watch(True)
    getattr(owner, name)(folder / "new", folder / "ledger")


def moved_by_number(folder: Path) -> None:
    sight.watch(False)
    (folder / "new").write_text("line\n")
    sight.watch(True)
    parent = os.open(folder, os.O_RDONLY)
    os.replace("new", "ledger", src_dir_fd=parent, dst_dir_fd=parent)
    os.close(parent)


def replaced_durably(folder: Path) -> None:
    """The whole dance: a temporary file, fsync, close, replace, fsync of the folder."""
    fd, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(fd, "w") as file:
        file.write("line\n")
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(folder / "ledger")
    parent = os.open(folder, os.O_RDONLY)
    os.fsync(parent)
    os.close(parent)


def copied(folder: Path) -> None:
    """The kernel copies, as for ``shutil``; the last call finds nothing left."""
    sight.watch(False)
    (folder / "new").write_text("line\n")
    sight.watch(True)
    with (folder / "ledger").open("wb") as copy:
        source = os.open(folder / "new", os.O_RDONLY)
        while os.sendfile(copy.fileno(), source, None, 100):
            pass
        os.close(source)


def through_a_link(folder: Path) -> None:
    sight.watch(False)
    (folder / "link").symlink_to(folder, target_is_directory=True)
    sight.watch(True)
    by_open("w", "line\n", folder / "link")


FORMS: Final = {
    "text": FileForm(partial(by_open, "w", "line\n"), WRITE),
    "binary": FileForm(partial(by_open, "wb", b"line\n"), WRITE),
    "append": FileForm(partial(by_open, "ab", b"line\n", buffering=100), WRITE),
    "new": FileForm(partial(by_open, "x", "line\n"), [*WRITE, *WRITE], after=0, there=False),
    "read and write": FileForm(partial(by_open, "w+b", b"line\n"), WRITE),
    "kinds": FileForm(kinds, WRITE),
    "print": FileForm(by_print, WRITE),
    "buffer": FileForm(by_buffer, WRITE),
    "detached": FileForm(detached, FLUSHED, before=1),
    "json": FileForm(by_json, WRITE),
    "write_text": FileForm(lambda folder: (folder / "ledger").write_text("line\n"), WRITE),
    "dropped": FileForm(dropped, WRITE),
    "flush": FileForm(flushed, FLUSHED, before=1),
    "unbuffered": FileForm(unbuffered, FLUSHED, before=1),
    "fsync": FileForm(partial(synced, sync="fsync", by_number=False), FLUSHED, 1),
    "fdatasync": FileForm(partial(synced, sync="fdatasync", by_number=True), FLUSHED, 1),
    "fsync without flush": FileForm(synced_without_flush, [*WRITE, *WRITE], after=0),
    "os.write": FileForm(by_number, FLUSHED, before=1),
    "os.write, fsync": FileForm(partial(by_number, synced=True), FLUSHED, before=1),
    "os.replace": FileForm(partial(moved, owner=os, name="replace"), WRITE),
    "os.rename": FileForm(partial(moved, owner=os, name="rename"), WRITE),
    "os.link": FileForm(partial(moved, owner=os, name="link"), WRITE, there=False),
    "Path.rename": FileForm(partial(moved, owner=Path, name="rename"), WRITE),
    "shutil.move": FileForm(partial(moved, owner=shutil, name="move"), [*STATEMENT, *WRITE]),
    "replace by number": FileForm(moved_by_number, WRITE),
    "replaced durably": FileForm(
        replaced_durably, [*WRITE, *FLUSHED, *WRITE, *WRITE], after=0, there=False
    ),
    "copied": FileForm(copied, [*STATEMENT, *FLUSHED], before=1),
    "through a link": FileForm(through_a_link, WRITE),
}


def lines(folder: Path) -> int:
    """How many lines a process that comes later finds."""
    try:
        return (folder / "ledger").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def watched(form: FileForm, folder: Path) -> None:
    if form.there:
        (folder / "ledger").touch()
    with sight.watched():
        form.run(folder)


if __name__ == "__main__":
    forms: dict[str, Form] = {name: (partial(watched, form), lines) for name, form in FORMS.items()}
    answer(forms)
