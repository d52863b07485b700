"""Every way in which a Python program makes, moves or removes a name, and the points of each.

``python -m tests.probe_name_forms FOLDER`` tries them, see ``probe_trial``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from admitone.chaos.probes import sight
from tests.probe_trial import STATEMENT, WRITE, Form, answer


@dataclass(frozen=True, slots=True)
class NameForm:
    """``run`` makes the name ``ledger``; or, where it is ``there`` already, removes it. A process
    killed before its first write has done nothing, one killed after it has done all."""

    run: Callable[[Path], object]
    points: list[str]
    there: bool = False


def by_number(flags: int, folder: Path) -> None:
    os.close(os.open(folder / "ledger", os.O_CREAT | flags, 0o600))


def within(folder: Path) -> None:
    """By a name relative to the descriptor of its folder; then the folder is synced."""
    parent = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.close(os.open("ledger", os.O_CREAT | os.O_EXCL | os.O_WRONLY, dir_fd=parent))
    os.fsync(parent)
    os.close(parent)


def from_here(folder: Path) -> None:
    """By a name relative to the working directory."""
    before = Path.cwd()
    os.chdir(folder)
    Path("ledger").mkdir()
    os.chdir(before)


def folders(folder: Path) -> None:
    """The second call finds the folder there, and looks whether it is one."""
    for _ in range(2):
        (folder / "ledger").mkdir(exist_ok=True)


def moved(name: str, folder: Path) -> None:
    sight.watch(False)
    (folder / "new").mkdir()
    sight.watch(True)
    getattr(os, name)(folder / "new", folder / "ledger")


def linked(folder: Path) -> None:
    sight.watch(False)
    (folder / "new").touch()
    sight.watch(True)
    (folder / "ledger").hardlink_to(folder / "new")


def removed(make: str, remove: Callable[[Path], None], folder: Path) -> None:
    sight.watch(False)
    getattr(folder / "ledger", make)()
    sight.watch(True)
    remove(folder / "ledger")


def by_remove(path: Path) -> None:
    os.remove(path)  # noqa: PTH107  # the form under test


def taken(folder: Path) -> None:
    """The second caller is refused, and writes nothing."""
    for _ in range(2):
        try:
            by_number(os.O_EXCL | os.O_WRONLY, folder)
        except FileExistsError:
            (folder / "refused").mkdir()


FORMS: Final = {
    "O_CREAT": NameForm(partial(by_number, os.O_WRONLY), WRITE),
    "O_CREAT, O_EXCL": NameForm(partial(by_number, os.O_EXCL | os.O_WRONLY), WRITE),
    "O_CREAT, O_RDONLY": NameForm(partial(by_number, os.O_RDONLY), WRITE),
    "O_EXCL, twice": NameForm(taken, [*WRITE, *WRITE]),
    "w": NameForm(lambda folder: (folder / "ledger").open("w").close(), WRITE),
    "xb": NameForm(lambda folder: (folder / "ledger").open("xb").close(), WRITE),
    "ab, unbuffered": NameForm(lambda f: (f / "ledger").open("ab", buffering=0).close(), WRITE),
    "touch": NameForm(lambda folder: (folder / "ledger").touch(), WRITE),
    "text": NameForm(lambda folder: (folder / "ledger").write_text("x"), [*WRITE, *WRITE]),
    "within": NameForm(within, [*WRITE, *WRITE]),
    "from here": NameForm(from_here, WRITE),
    "mkdir": NameForm(folders, [*WRITE, *STATEMENT]),
    "symlink": NameForm(lambda folder: (folder / "ledger").symlink_to("nowhere"), WRITE),
    "link": NameForm(linked, WRITE),
    "replace": NameForm(partial(moved, "replace"), WRITE),
    "rename": NameForm(partial(moved, "rename"), WRITE),
    "unlink": NameForm(partial(removed, "touch", Path.unlink), WRITE, there=True),
    "remove": NameForm(partial(removed, "touch", by_remove), WRITE, there=True),
    "rmdir": NameForm(partial(removed, "mkdir", Path.rmdir), WRITE, there=True),
    "rmtree": NameForm(partial(removed, "mkdir", shutil.rmtree), WRITE, there=True),
}


def count(folder: Path) -> int:
    """Whether a process that comes later finds the name."""
    return int(os.path.lexists(folder / "ledger"))


def watched(form: NameForm, folder: Path) -> None:
    with sight.watched():
        form.run(folder)


if __name__ == "__main__":
    forms: dict[str, Form] = {name: (partial(watched, form), count) for name, form in FORMS.items()}
    answer(forms)
