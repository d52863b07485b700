"""The image: made once whoever comes first, whole or not there, and what is said of a full disk."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from admitone.chaos.servers import ServerProblem
from admitone.chaos.servers.image import Image
from admitone.chaos.servers.postgres import PostgresServer
from tests.postgres_world import connected

DEADLINE_S = 60.0

START = """
import sys
from pathlib import Path
from admitone.chaos.servers import ServerProblem
from admitone.chaos.servers.postgres import PostgresServer

try:
    PostgresServer.start(Path(sys.argv[1]), Path(sys.argv[2])).close()
except ServerProblem as problem:
    print(problem)
else:
    print("served")
"""
SMALL_DISK = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"'


def test_it_is_made_once_for_all(scratch: Path) -> None:
    kept = scratch / "kept"
    with ThreadPoolExecutor(2) as pool:
        images = list(pool.map(lambda _: Image.kept_in(kept), range(2)))
    assert images[0] == images[1]
    made = images[0].folder.stat().st_ino
    assert Image.kept_in(kept).folder.stat().st_ino == made
    assert [path.name for path in kept.iterdir() if path.is_dir()] == [images[0].folder.name]


def test_what_a_server_does_stays_out_of_it(server_folder: Path, postgres_image: Image) -> None:
    for name in ("one", "two"):
        with (
            PostgresServer.start(server_folder / name, postgres_image) as server,
            connected(server) as session,
        ):
            session.execute("CREATE TABLE t (n int)")


def test_it_holds_one_database_and_small_segments(postgres_image: Image) -> None:
    assert sum(path.stat().st_size for path in postgres_image.folder.rglob("*")) < 40 << 20
    segments = list((postgres_image.folder / "pg_wal").glob("0*"))
    assert {path.stat().st_size for path in segments} == {1 << 20}
    assert not (postgres_image.folder / "postmaster.pid").exists()


def test_an_initdb_that_fails_is_told_with_its_last_words(
    scratch: Path, postgres_image: Image
) -> None:
    folder = scratch / "bin"
    folder.mkdir()
    program = folder / "initdb"
    program.write_text("#!/bin/sh\necho 'initdb: the moon is in the way'\nexit 3\n")
    program.chmod(0o755)
    image = replace(
        postgres_image,
        folder=scratch / "image",
        installation=replace(postgres_image.installation, bin=folder),
    )
    with pytest.raises(ServerProblem, match=r"(?s)initdb failed \(3\).*the moon is in the way"):
        image.make()
    assert [path.name for path in scratch.iterdir()] == ["bin"]


def test_a_damaged_image_is_told_with_the_servers_words(
    scratch: Path, postgres_image: Image
) -> None:
    image = replace(postgres_image, folder=scratch / "image")
    postgres_image.copy_to(image.folder)
    (image.folder / "PG_VERSION").write_text("9.1\n")
    with pytest.raises(ServerProblem, match=r"(?s)ended by itself.*incompatible with server"):
        PostgresServer.start(scratch / "server", image)
    assert not (scratch / "server").exists()


@pytest.mark.parametrize("size", ["4m", "34m"])
def test_a_full_disk_is_told_with_what_to_do(scratch: Path, size: str) -> None:
    """The smaller has no room for the image, the larger none for a server beside it."""
    disk = scratch / "disk"
    disk.mkdir()
    started = [sys.executable, "-c", START, str(disk / "server"), str(disk / "kept")]
    tried = subprocess.run(
        [
            *("unshare", "--user", "--map-root-user", "--mount"),
            *("/bin/sh", "-c", SMALL_DISK, "sh", size, str(disk), *started),
        ],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert tried.returncode == 0, tried.stderr
    assert "MiB free, 40 needed" in tried.stdout
    assert "Free some there, or set TMPDIR" in tried.stdout


def test_a_place_that_cannot_be_written_is_told(scratch: Path) -> None:
    """A file where a folder is to be made: even root cannot write there."""
    (scratch / "file").touch()
    with pytest.raises(ServerProblem, match=r"could not be made in .*file/kept"):
        Image.kept_in(scratch / "file/kept")


def test_a_servers_folder_that_cannot_be_made_is_told(scratch: Path, postgres_image: Image) -> None:
    (scratch / "file").touch()
    with pytest.raises(ServerProblem, match=r"no PostgreSQL server can live in .*file/server"):
        PostgresServer.start(scratch / "file/server", postgres_image)
    assert [path.name for path in scratch.iterdir()] == ["file"]
