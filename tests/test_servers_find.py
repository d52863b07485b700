"""Which PostgreSQL is taken, and what is said where there is none, on machines made of scripts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from admitone.chaos.servers import ServerMissing, ServerProblem, find
from admitone.chaos.servers.find import VARIABLE, find_postgres, installation
from admitone.cli import main


def programs(folder: Path, version: str, names: tuple[str, ...] = find.PROGRAMS) -> Path:
    """A folder of programs that say they are of this version."""
    folder.mkdir(parents=True)
    for name in names:
        program = folder / name
        program.write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n")
        program.chmod(0o755)
    return folder


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any, and without the wheel."""
    monkeypatch.setattr(find, "WHEEL", "no_such_wheel_of_postgres")
    (tmp_path / "machine").mkdir()
    return tmp_path / "machine"


def found_in(machine: Path, **environment: str) -> tuple[str, str]:
    it = find_postgres({"PATH": str(machine / "bin"), **environment}, machine)
    return str(it.bin.relative_to(machine)), it.version


def test_the_newest_of_the_usual_folders_is_taken(machine: Path) -> None:
    programs(machine / "usr/lib/postgresql/9.6/bin", "9.6.24")
    programs(machine / "usr/lib/postgresql/15/bin", "15.18 (Debian 15.18-0+deb12u1)")
    programs(machine / "usr/pgsql-17/bin", "17.2")
    programs(machine / "opt/homebrew/opt/postgresql@16/bin", "16.1")
    assert found_in(machine) == ("usr/pgsql-17/bin", "17.2")


def test_what_is_on_path_goes_before_what_is_newer(machine: Path) -> None:
    programs(machine / "usr/lib/postgresql/18/bin", "18.0")
    programs(machine / "bin", "16.3")
    assert found_in(machine) == ("bin", "16.3")


def test_a_link_on_path_leads_to_all_programs(machine: Path) -> None:
    whole = programs(machine / "elsewhere", "16.3")
    (machine / "bin").mkdir()
    (machine / "bin/postgres").symlink_to(whole / "postgres")
    assert found_in(machine) == ("elsewhere", "16.3")


def test_one_on_path_that_is_too_old_is_passed_over(machine: Path) -> None:
    programs(machine / "bin", "14.9")
    programs(machine / "usr/lib/postgresql/15/bin", "15.0")
    assert found_in(machine) == ("usr/lib/postgresql/15/bin", "15.0")


def test_a_version_in_the_making_counts(machine: Path) -> None:
    programs(machine / "bin", "19beta1")
    assert found_in(machine) == ("bin", "19beta1")


def test_the_named_folder_goes_before_all(machine: Path) -> None:
    programs(machine / "bin", "18.0")
    named = programs(machine / "named", "15.1")
    assert found_in(machine, **{VARIABLE: str(named)}) == ("named", "15.1")


def test_the_wheel_comes_last_and_is_never_run(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = machine / "site/fake_postgres_wheel"
    programs(package / "pginstall/bin", "18.6")
    (package / "__init__.py").write_text("raise SystemExit('its code was run')")
    monkeypatch.syspath_prepend(machine / "site")
    monkeypatch.setattr(find, "WHEEL", "fake_postgres_wheel")
    where = "site/fake_postgres_wheel/pginstall/bin"
    assert found_in(machine) == (where, "18.6")
    programs(machine / "usr/lib/postgresql/15/bin", "15.0")
    assert found_in(machine) == ("usr/lib/postgresql/15/bin", "15.0")


def test_none_at_all_is_told_with_the_command(machine: Path) -> None:
    with pytest.raises(ServerMissing) as told:
        found_in(machine)
    assert str(told.value).endswith(
        "pip install 'admitone[servers]'   (or: apt-get install postgresql)"
    )


def test_only_too_old_ones_are_told_with_place_and_version(machine: Path) -> None:
    old = programs(machine / "usr/lib/postgresql/14/bin", "14.9")
    with pytest.raises(ServerMissing) as told:
        found_in(machine)
    assert f"{old} has version 14.9, which is too old" in str(told.value)
    assert "pip install 'admitone[servers]'" in str(told.value)


def test_a_named_folder_without_the_programs_is_told(machine: Path) -> None:
    programs(machine / "bin", "18.0")
    half = programs(machine / "half", "15.1", ("postgres",))
    with pytest.raises(ServerMissing, match=f"{VARIABLE} names {half}, where no"):
        found_in(machine, **{VARIABLE: str(half)})


def test_a_named_folder_that_is_too_old_is_told(machine: Path) -> None:
    programs(machine / "bin", "18.0")
    old = programs(machine / "old", "13.2")
    with pytest.raises(ServerProblem, match=r"has PostgreSQL 13\.2: 15 or newer is needed"):
        found_in(machine, **{VARIABLE: str(old)})


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho ls 9.1\n", "no program"])
def test_what_is_no_postgres_is_none(tmp_path: Path, text: str) -> None:
    folder = programs(tmp_path / "bin", "15.0")
    (folder / "postgres").write_text(text)
    assert installation(folder, "here") is None


def test_this_machine_has_one() -> None:
    it = find_postgres()
    assert it.major >= find.OLDEST
    assert os.access(it.program("initdb"), os.X_OK)


def test_doctor_says_what_is_there_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    it = find_postgres()
    main(["doctor"])
    assert f"{it.version} of {it.source}: {it.bin}; started as " in capsys.readouterr().out
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    main(["doctor"])
    said = capsys.readouterr().out
    [line] = [line for line in said.splitlines() if line.startswith("postgresql")]
    assert "absent" in line
    assert "run: pip install 'admitone[servers]'" in said
