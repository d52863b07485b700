"""The shape of the house: links, sizes, docstrings, and nothing of the machine it was built on."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PARTS = ("targets", "idempotent_sink", "chaos", "scenarios", "reports")
CODE = (*PARTS, "src/admitone", "tests", "benchmarks")
SHIPPED = (*PARTS, "src/admitone")

FILE_LINES = 400
FUNCTION_LINES = 60
COLUMNS = 100


def sources(folders: tuple[str, ...] = CODE) -> list[Path]:
    """Every Python file, once: the links below src/admitone are not followed."""
    return [
        path
        for folder in folders
        for path in sorted((ROOT / folder).glob("*.py" if folder.startswith("src") else "**/*.py"))
    ]


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def in_git(*command: str) -> list[str]:
    git = subprocess.run(
        ["git", "-C", str(ROOT), *command], capture_output=True, text=True, check=True
    )
    return git.stdout.splitlines()


def belongs() -> Iterator[Path]:
    """Every file of the project: what git tracks, or in a source archive whatever is there."""
    if (ROOT / ".git").exists():
        yield from (ROOT / name for name in in_git("ls-files"))
        return
    for folder in (*PARTS, "src", "tests", "docs", "benchmarks", "requirements", ".ci"):
        yield from (ROOT / folder).rglob("*")
    yield from ROOT.glob("*.*")


@pytest.mark.parametrize("part", PARTS)
def test_the_package_reaches_each_folder_by_a_link(part: str) -> None:
    name = f"src/admitone/{part}"
    assert (ROOT / name).readlink() == Path("../..") / part
    if (ROOT / ".git").exists():
        [entry] = in_git("ls-files", "--stage", name)
        assert entry.startswith("120000 "), "git must keep it as a link"


def test_every_folder_of_code_is_a_package() -> None:
    """A folder without __init__.py is left out of the wheel in silence."""
    folders = {path.parent for path in sources(SHIPPED)}
    assert [shown(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_no_file_is_long() -> None:
    lengths = {shown(path): len(path.read_text().splitlines()) for path in sources()}
    assert {name: lines for name, lines in lengths.items() if lines > FILE_LINES} == {}


def test_no_line_is_wide() -> None:
    files = [*sources(), ROOT / "setup.py", ROOT / "Makefile", ROOT / ".ci/run"]
    assert [
        f"{shown(path)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > COLUMNS
    ] == []


def long_functions(text: str) -> list[str]:
    return [
        f"{node.name}: {lines} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) >= FUNCTION_LINES
    ]


def test_no_function_is_long() -> None:
    assert [f"{shown(p)} {f}" for p in sources() for f in long_functions(p.read_text())] == []


def test_a_long_function_is_found() -> None:
    body = "    pass\n"
    assert long_functions("def f():\n" + body * (FUNCTION_LINES - 2)) == []
    assert long_functions("async def f():\n" + body * (FUNCTION_LINES - 1)) == ["f: 60 lines"]


def test_every_module_says_what_it_is() -> None:
    silent = [shown(p) for p in sources() if not ast.get_docstring(ast.parse(p.read_text()))]
    assert silent == []


def prints(text: str) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]


def test_only_the_output_layer_prints() -> None:
    """Anything else on stdout would be in the way of the node's protocol, or of a report."""
    speakers = ("reports/", "src/admitone/cli.py", "src/admitone/command_")
    quiet = [p for p in sources(SHIPPED) if not shown(p).startswith(speakers)]
    assert [f"{shown(p)}:{line}" for p in quiet for line in prints(p.read_text())] == []
    assert prints("def f():\n    print('heard')") == [2]


# A home or work folder of some machine, in any text of the project. Not: a path of a web address.
MACHINE_PATH = re.compile(r"(?<![\w.:/*{}~-])/(?:root|home/\w+|Users/\w+|work|workspace)/\w")


def test_nothing_names_a_path_of_one_machine() -> None:
    found = []
    for path in belongs():
        if path.is_file() and not path.is_symlink():
            text = path.read_bytes().decode("utf-8", errors="ignore")
            found += [f"{shown(path)}: {hit.group()}" for hit in MACHINE_PATH.finditer(text)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "guilty"),
    [
        ("see " + "/home" + "/ann/src", True),
        ('"/work' + '/main"', True),
        ("https://host/work/items", False),
        ("./work/items, ~/work/x", False),
    ],
)
def test_a_path_of_one_machine_is_recognised(text: str, guilty: bool) -> None:
    assert bool(MACHINE_PATH.search(text)) is guilty


@pytest.mark.parametrize("name", ["lock.txt", "dev.txt", "servers.txt"])
def test_a_lock_pins_by_hash_and_names_no_host(name: str) -> None:
    """So that it installs from whatever index a machine is set up with, and only these bytes."""
    text = (ROOT / "requirements" / name).read_text()
    pins = re.findall(
        r"^[a-z][^\n]*==[^\n]*(?:\n    --hash=sha256:[0-9a-f]{64}[^\n]*)+", text, re.M
    )
    names = re.findall(r"^[a-z0-9]", text, re.M)
    assert len(pins) == len(names) > 20
    assert "://" not in text
    assert not re.search(r"^-", text, re.M), "an option of pip, such as an index"
