"""``admitone install``: with a Go that is played, for what a real build would take minutes to show.

What really stands in the cache was built by `make test` before this; the last tests look at it.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from admitone import command_install
from admitone.chaos.network import build as builder
from admitone.chaos.network import programs
from admitone.chaos.network.build import Go, build, find_go
from admitone.chaos.network.programs import (
    ETCD,
    ETCDCTL,
    TOXIPROXY,
    Found,
    find_toxiproxy,
    module_text,
    seek_toxiproxy,
)
from admitone.chaos.servers import ServerMissing, ServerProblem
from admitone.cli import main
from tests.front_door import environment, until

GO = """#!/bin/sh
if [ "$1" = env ]; then echo "${PLAYED_GO_VERSION-go1.26.1}"; exit; fi
{ echo "$@"; env; pwd; cat go.mod; } >>"$PLAYED_GO_LOG"
while [ "$1" != -o ]; do shift; done
%s
"""
BUILDS = 'echo "#!/bin/sh" >"$2"; chmod 755 "$2"'


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a few tools of the system, and an empty cache."""
    for name in (programs.TOXIPROXY_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for folder in ("bin", "system"):
        (tmp_path / folder).mkdir()
    for tool in ("sh", "env", "cat", "chmod", "sleep", "yes", "head"):
        found = shutil.which(tool)
        assert found, tool
        (tmp_path / "system" / tool).symlink_to(found)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{tmp_path / 'system'}")
    monkeypatch.setenv(programs.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PLAYED_GO_LOG", str(tmp_path / "go.log"))
    monkeypatch.setattr(importlib.metadata, "distribution", no_distribution)
    return tmp_path


def no_distribution(name: str) -> None:
    raise importlib.metadata.PackageNotFoundError(name)


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def played_go(machine: Path, does: str = BUILDS) -> Path:
    return program(machine / "bin" / "go", GO % does)


def toxiproxy_saying(machine: Path, said: str) -> Path:
    return program(machine / "bin" / "toxiproxy-server", f"#!/bin/sh\necho '{said}'\n")


def kept(machine: Path) -> list[str]:
    return sorted(path.name for path in (machine / "cache").rglob("*") if path.is_file())


# --- what is on the machine


@pytest.mark.usefixtures("machine")
def test_nothing_here_names_the_command() -> None:
    with pytest.raises(ServerMissing, match=r"no Toxiproxy here\. Run: admitone install toxiproxy"):
        find_toxiproxy()


def test_the_one_that_the_user_names_goes_first(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toxiproxy_saying(machine, "toxiproxy-server version 2.9.0")
    named = program(machine / "mine", "#!/bin/sh\necho toxiproxy-server version git\n")
    monkeypatch.setenv(programs.TOXIPROXY_VARIABLE, str(named))
    assert find_toxiproxy() == Found(named, programs.TOXIPROXY_VARIABLE)
    monkeypatch.setenv(programs.TOXIPROXY_VARIABLE, str(machine / "other"))
    with pytest.raises(ServerMissing, match="other, which is no program"):
        seek_toxiproxy()


@pytest.mark.parametrize("said", ["toxiproxy-server version 2.4.0", "true (GNU coreutils) 9.1", ""])
def test_another_program_that_the_user_names_is_told(
    machine: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    named = program(machine / "mine", f"#!/bin/sh\necho '{said}'\n")
    monkeypatch.setenv(programs.TOXIPROXY_VARIABLE, str(named))
    with pytest.raises(ServerMissing, match=r"mine, which is no Toxiproxy .* Run: admitone inst"):
        seek_toxiproxy()


@pytest.mark.parametrize("said", ["toxiproxy-server version 2.5.0", "version 2.12.0", "2.99.1"])
def test_a_fitting_one_on_the_path_is_used(machine: Path, said: str) -> None:
    here = toxiproxy_saying(machine, said)
    assert find_toxiproxy() == Found(here, "on the PATH")


@pytest.mark.parametrize("said", ["version 2.4.0", "2.1.4", "3.0.0", "version git", ""])
def test_another_one_on_the_path_is_not(machine: Path, said: str) -> None:
    toxiproxy_saying(machine, said)
    with pytest.raises(ServerMissing, match="none of version 2"):
        find_toxiproxy()


@pytest.mark.usefixtures("machine")
def test_one_that_was_built_is_found_and_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    TOXIPROXY.built.parent.mkdir(parents=True)
    program(TOXIPROXY.built, "#!/bin/sh\n")
    assert main(["install", "toxiproxy"]) == 0
    said = capsys.readouterr().out
    assert said == f"toxiproxy: {TOXIPROXY.built} (version 2.12.0, built here)\n"


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"ADMITONE_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/admitone"),
        ({"HOME": "/h"}, "/h/.cache/admitone"),
    ],
)
def test_where_the_cache_is(
    variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ADMITONE_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert programs.cache_folder() == Path(folder)


# --- Go


@pytest.mark.usefixtures("machine")
def test_no_go_names_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "toxiproxy"]) == command_install.MISSING
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "admitone: toxiproxy: needs Go 1.25 or newer: there is none on the PATH. "
        "Run: pip install 'admitone[servers]'\n"
    )


@pytest.mark.parametrize("version", ["go1.24.9", "go1.9", "", "devel"])
def test_an_old_go_is_said_to_be_too_old(
    machine: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And never replaces itself by a download."""
    monkeypatch.setenv("PLAYED_GO_VERSION", version)
    go = played_go(machine)
    with pytest.raises(ServerMissing, match=rf"needs Go 1\.25 or newer: {go} is "):
        find_go((1, 25))
    assert not (machine / "go.log").exists()


@pytest.mark.parametrize("version", ["go1.25", "go1.25rc1", "go1.26.8", "go1.100.1", "go2.0"])
def test_a_new_one_is_taken(machine: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYED_GO_VERSION", version)
    go = played_go(machine)
    assert find_go((1, 25)) == Go(go, version)


def test_the_one_of_the_wheel_is_taken_where_the_path_has_an_old_one(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(machine / "bin" / "go", "#!/bin/sh\necho go1.19\n")
    brought = machine / "go/bin/go"
    brought.parent.mkdir(parents=True)
    program(brought, "#!/bin/sh\necho go1.27.3\n")

    class GoBin:
        def locate_file(self, path: str) -> Path:
            return machine / path

    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: GoBin())
    assert find_go((1, 25)) == Go(brought, "go1.27.3")


# --- building


def test_a_build_is_pinned_and_kept(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    played_go(machine)
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    monkeypatch.setenv("GOTOOLCHAIN", "auto")
    monkeypatch.setenv("GOOS", "plan9")
    monkeypatch.setenv("GOPROXY", "http://proxy.test")
    assert main(["install", "toxiproxy"]) == 0
    log = (machine / "go.log").read_text()
    assert log.startswith("build -trimpath -mod=readonly ")
    assert log.splitlines()[0].endswith(TOXIPROXY.package)
    assert {"GOTOOLCHAIN=local", "GOPROXY=http://proxy.test", "GOFLAGS=-mod=mod"} <= {
        *log.splitlines()
    }
    assert "GOOS" not in log
    assert log.endswith(module_text("toxiproxy", "go.mod"))
    [folder] = re.findall(r"^/.*admitone-go-.*$", log, re.M)
    assert not Path(folder).exists()
    assert capsys.readouterr().out.splitlines() == [
        f"building toxiproxy-server 2.12.0 with go1.26.1: {machine / 'bin/go'}",
        f"toxiproxy-server: {TOXIPROXY.built} (version 2.12.0, built here)",
    ]
    assert kept(machine) == [TOXIPROXY.built.name, f"{TOXIPROXY.built.name}.lock"]
    assert find_toxiproxy().path == TOXIPROXY.built


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (
            "echo first; echo 'go: dial tcp: lookup proxy.test: no such host'; exit 1",
            "go: dial tcp: lookup proxy.test: no such host",
        ),
        ("yes | head -c 3000000; echo; echo the end; echo; exit 2", "the end"),
        ("echo 'go: downloading x'; exit 7", "go ended with 7"),
        ("exit 0", "programs cannot run in"),
    ],
    ids=["no network", "a flood", "no word", "no program"],
)
def test_a_build_that_fails_is_one_message(
    machine: Path, does: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    played_go(machine, f'echo part >"$2"; {does}')
    assert main(["install", "toxiproxy"]) == command_install.MISSING
    error = capsys.readouterr().err
    assert error.startswith("admitone: toxiproxy: ")
    assert error.count("\n") == 1
    assert said in error
    assert "GOPROXY" in error or programs.CACHE_VARIABLE in error, "what to do"
    assert kept(machine) == [f"{TOXIPROXY.built.name}.lock"], "half a program was left"


def test_a_build_that_hangs_is_ended(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played_go(machine, f'sh -c "echo \\$\\$ >{machine}/pid; exec sleep 600" & wait')
    monkeypatch.setattr(builder, "BUILD_DEADLINE_S", 2.0)
    with pytest.raises(ServerProblem, match="took longer"):
        build(TOXIPROXY, lambda _: None)
    pid = int((machine / "pid").read_text())
    until(lambda: not Path(f"/proc/{pid}").exists(), "the end of what go had started")


def test_two_at_once_build_once(machine: Path) -> None:
    played_go(machine, f"while [ ! -e {machine}/go-on ]; do sleep 0.01; done; {BUILDS}")
    said: list[str] = []
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(build(TOXIPROXY, said.append)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    until(lambda: len(said) == 2, "one that builds and one that waits")
    assert sorted(line.split()[0] for line in said) == ["building", "waiting"]
    (machine / "go-on").touch()
    for thread in threads:
        thread.join()
    assert found == [TOXIPROXY.built] * 2
    assert (machine / "go.log").read_text().count("build -trimpath") == 1


def test_a_cache_that_cannot_be_written_is_said(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played_go(machine)
    (machine / "file").touch()
    monkeypatch.setenv(programs.CACHE_VARIABLE, str(machine / "file"))
    with pytest.raises(ServerProblem, match=r"Not a directory.*ADMITONE_CACHE=DIR"):
        build(TOXIPROXY, lambda _: None)


def test_etcd_has_a_server_and_a_client(machine: Path) -> None:
    played_go(machine)
    assert main(["install", "etcd"]) == 0
    assert {ETCD.built.name, ETCDCTL.built.name} <= {*kept(machine)}
    assert ETCD.version == ETCDCTL.version
    assert ETCD.version.startswith("3.6.")


def test_what_cannot_be_installed_is_a_mistake_of_use(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in (["install"], ["install", "redis"], ["install", "toxiproxy", "redis"]):
        assert main(wrong) == 2
    assert not (machine / "cache").exists()
    capsys.readouterr()


# --- the modules


@pytest.mark.parametrize("one", [TOXIPROXY, ETCD, ETCDCTL], ids=lambda one: one.name)
def test_every_module_is_pinned_by_its_checksum(one: programs.Program) -> None:
    sums = module_text(one.module, "go.sum")
    required = re.findall(r"^\t?(?:require )?(\S+ v\S+)", module_text(one.module, "go.mod"), re.M)
    assert len(required) > 10
    for pin in required:
        assert f"{pin} h1:" in sums or f"{pin}/go.mod h1:" in sums, pin
    assert f"{one.pinned} v{one.version} h1:" in sums
    assert one.oldest_go >= (1, 25)


def test_the_real_one_says_its_version() -> None:
    """What `admitone install toxiproxy` has built on this machine, or what it brought along."""
    found = find_toxiproxy()
    said = programs.version_said(str(found.path))
    assert re.search(r"version 2\.\d+", said), f"{found.path}: {said!r}"


def test_a_second_installation_calls_no_go(tmp_path: Path) -> None:
    """As `make test` does each time."""
    if find_toxiproxy().path != TOXIPROXY.built:
        pytest.skip("this machine has brought one along")
    done = subprocess.run(
        [sys.executable, "-m", "admitone", "install", "toxiproxy"],
        env=environment(PATH=str(tmp_path), **{programs.CACHE_VARIABLE: str(_cache())}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert str(TOXIPROXY.built) in done.stdout


def _cache() -> Path:
    assert os.access(TOXIPROXY.built, os.X_OK)
    return programs.cache_folder()
