"""What is installed: built as a release is, and looked at from outside the checkout.

An sdist, the wheel *from that sdist*, and that wheel in an empty environment. The network is not
used: the build requirements and the dependencies are those of the environment that runs the
tests. A second wheel comes from a zip download, where the links of the checkout are lost.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from admitone import __version__

ROOT = Path(__file__).parent.parent
PARTS = ("targets", "idempotent_sink", "chaos", "scenarios", "reports")
BUILT_FROM = ("pyproject.toml", "setup.py", "MANIFEST.in", "LICENSE", "README.md", "CHANGELOG.md")

# All of it is one build and one installation: with -n, one worker has it.
pytestmark = pytest.mark.xdist_group("packaging")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a program as a stranger would: without this checkout on its path."""
    strange = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=strange,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def source_tree(to: Path, of: Path = ROOT) -> Path:
    """A copy of the checkout, so that building leaves nothing in the checkout itself."""
    skip = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*")
    for folder in (*PARTS, "src"):
        shutil.copytree(of / folder, to / folder, symlinks=True, ignore=skip)
    for name in BUILT_FROM:
        if (of / name).exists():
            shutil.copy(of / name, to / name)
    return to


def lose_the_links(tree: Path) -> None:
    """What a zip download, or a checkout without links, makes of them: a file with the path."""
    for part in PARTS:
        link = tree / "src" / "admitone" / part
        text = str(link.readlink())
        link.unlink()
        link.write_text(text)


def wheel_content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def only(found: Sequence[Path]) -> Path:
    [one] = found
    return one


@dataclass(frozen=True, slots=True)
class Release:
    """The built files, and an environment in which the wheel is installed."""

    tree: Path
    sdist: Path
    wheel: Path
    bin: Path
    elsewhere: Path


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    base = tmp_path_factory.mktemp("release")
    tree = source_tree(base / "checkout")
    # Without --sdist or --wheel, `build` makes the wheel from the sdist that it just made.
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", base / "dist", cwd=tree)
    wheel = only([*(base / "dist").glob("*.whl")])
    elsewhere = base / "elsewhere"
    elsewhere.mkdir()
    return Release(
        tree=tree,
        sdist=only([*(base / "dist").glob("*.tar.gz")]),
        wheel=wheel,
        bin=installed(wheel, base / "venv"),
        elsewhere=elsewhere,
    )


def installed(wheel: Path, venv: Path) -> Path:
    """A new environment with the wheel, and with a path to the dependencies installed here."""
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=wheel.parent)
    python = venv / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=wheel.parent)
    # A plain path entry: the .pth files over there are not followed, so neither is the link to
    # this checkout that an editable installation keeps.
    places = sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)})
    (Path(places) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv / "bin"


def test_the_sdist_holds_real_files(release: Release) -> None:
    with tarfile.open(release.sdist) as archive:
        members = archive.getmembers()
    names = {str(PurePosixPath(*PurePosixPath(member.name).parts[1:])) for member in members}
    assert not [member.name for member in members if member.issym()]
    assert names >= {"LICENSE", "pyproject.toml", "setup.py", "src/admitone/chaos/events.py"}


def test_the_wheel_has_one_top_level_name(release: Release) -> None:
    tops = {name.split("/")[0] for name in wheel_content(release.wheel)}
    assert tops == {"admitone", f"admitone-{__version__}.dist-info"}


def test_the_wheel_holds_the_whole_house(release: Release) -> None:
    """Also the folder without an __init__.py and the data file that nobody listed."""
    tree = release.tree
    house = {
        str(Path("admitone") / path.relative_to(base))
        for base, below in [(tree, f"{part}/**/*") for part in PARTS]
        + [(tree / "src/admitone", "*")]
        for path in base.glob(below)
        if path.is_file()
    }
    inside = {name for name in wheel_content(release.wheel) if name.startswith("admitone/")}
    assert inside == house
    assert "admitone/py.typed" in inside


def test_the_same_wheel_comes_from_a_tree_that_lost_its_links(
    release: Release, tmp_path: Path
) -> None:
    tree = source_tree(tmp_path / "download", of=release.tree)
    lose_the_links(tree)
    archive = shutil.make_archive(str(tmp_path / "download"), "zip", tmp_path, "download")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet")
    offline = ("--no-deps", "--no-index", "--no-build-isolation")
    run(*pip, *offline, "--wheel-dir", tmp_path / "dist", archive, cwd=tmp_path)
    second = wheel_content(only([*(tmp_path / "dist").glob("*.whl")]))
    first = wheel_content(release.wheel)
    assert {n: b for n, b in second.items() if n.startswith("admitone/")} == {
        n: b for n, b in first.items() if n.startswith("admitone/")
    }


def test_the_installed_package_is_the_only_name(release: Release) -> None:
    """The folders' own names are common words: they must not become imports of everybody."""
    look = f"""
import importlib.util
import admitone, admitone.targets.contract, admitone.chaos.events
print([name for name in {PARTS!r} if importlib.util.find_spec(name)], admitone.__file__)
"""
    said = run(release.bin / "python", "-c", look, cwd=release.elsewhere)
    assert said.startswith("[] ")
    assert str(release.bin.parent.resolve()) in str(Path(said.split()[1]).resolve())


@pytest.mark.parametrize("command", [("admitone",), ("python", "-m", "admitone")], ids=" ".join)
def test_the_command_runs(release: Release, command: tuple[str, ...]) -> None:
    said = run(release.bin / command[0], *command[1:], "--version", cwd=release.elsewhere)
    assert __version__ in said


def test_pytest_finds_the_plugin(release: Release) -> None:
    said = run(release.bin / "python", "-m", "pytest", "--help", cwd=release.elsewhere)
    assert "--admitone-target" in said


def test_the_plugin_imports_nothing_of_the_suite(release: Release) -> None:
    """It is loaded by every pytest run of every project in the environment."""
    look = """
import sys, admitone.pytest_plugin
print(sorted(name for name in sys.modules if name.split(".")[0] in
    {"admitone", "hypothesis", "psutil", "sqlalchemy", "psycopg", "toxiproxy"}))
"""
    said = run(release.bin / "python", "-c", look, cwd=release.elsewhere)
    assert said.strip() == "['admitone', 'admitone.pytest_plugin']"


def test_the_version_is_said_once(release: Release) -> None:
    look = "import admitone, importlib.metadata as m; print(m.version('admitone'))"
    assert run(release.bin / "python", "-c", look, cwd=release.elsewhere).strip() == __version__
