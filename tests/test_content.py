"""The digest of a target's code: the same for the same code, another for another."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from admitone.scenarios.campaign import check_adapters

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"


def digest(folder: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> str:
    monkeypatch.chdir(folder)
    place = folder / "run"
    place.mkdir()
    content = check_adapters([target], place)[0].content
    shutil.rmtree(place)
    return content


def test_a_changed_ledger_has_another_digest(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tickets_fixed.py", "tickets_target.py"):
        shutil.copy(EXAMPLES / name, scratch / name.replace("_fixed", ""))
    target = "py:tickets_target:TicketsTarget"
    first = digest(scratch, monkeypatch, target)
    assert first
    assert digest(scratch, monkeypatch, target) == first
    with (scratch / "tickets.py").open("a") as file:
        file.write("\n# another line\n")
    assert digest(scratch, monkeypatch, target) not in ("", first)


def test_a_target_that_ships_has_a_digest_of_its_own(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {digest(scratch, monkeypatch, f"correct/{name}") for name in ("plain", "counter")}
    assert len(found) == 2
    assert "" not in found
