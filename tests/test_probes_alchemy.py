"""The SQLAlchemy probe: points and kills over a driver nobody sees into, silence over others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine.default import DefaultDialect

from admitone.chaos.probes import alchemy, sight
from tests import probe_alchemy_forms, probe_trial
from tests.probe_alchemy_forms import FORMS, QUIET
from tests.probe_trial import BEGIN, STATEMENT, WRITING, Found, Notes


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    """All forms, where the probes were installed before SQLAlchemy was imported."""
    return probe_trial.tried("tests.probe_alchemy_forms", tmp_path_factory.mktemp("forms"))


@pytest.mark.parametrize("name", FORMS | QUIET)
def test_a_form_has_exactly_these_points(tried: dict[str, Found], name: str) -> None:
    form = (FORMS | QUIET)[name]
    assert tried[name].points == form.points
    assert tried[name].count == form.rows


@pytest.mark.parametrize("name", FORMS)
def test_a_kill_at_a_write_leaves_what_its_side_says(tried: dict[str, Found], name: str) -> None:
    assert tried[name].before == (9, 0)
    assert tried[name].after == (9, FORMS[name].rows)


@pytest.fixture
def notes() -> Iterator[Notes]:
    taken = Notes()
    sight.install(taken)
    yield taken
    sight.uninstall()


def made(folder: Path, covered: bool) -> Engine:
    engine = probe_alchemy_forms.engine_on(folder, covered)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE uses (n)")
    return engine


def test_silent_over_a_probed_driver(notes: Notes, scratch: Path) -> None:
    """Everything is reported once, by the driver's own probe."""
    engine = made(scratch, covered=True)
    with sight.watched():
        probe_alchemy_forms.begun(engine)
    assert notes.points == [*BEGIN, *STATEMENT, *WRITING]


@pytest.mark.usefixtures("notes")
def test_an_engine_may_connect_for_the_first_time_while_watched() -> None:
    """SQLAlchemy looks at its first connection through a stand-in that has no ``info``."""
    engine = create_engine("sqlite://")
    with sight.watched(), engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    engine.dispose()


def test_a_wish_to_fail_is_not_granted(notes: Notes, scratch: Path) -> None:
    """How this store would fail is not known here."""
    engine = made(scratch, covered=False)
    wish = sight.Raise("io")
    notes.answer = ("write.before", wish)
    with sight.watched():
        probe_alchemy_forms.begun(engine)
    assert not wish.fired
    assert probe_alchemy_forms.rows(scratch) == 1


def test_nothing_is_said_while_nobody_watches(notes: Notes, scratch: Path) -> None:
    engine = made(scratch, covered=False)
    probe_alchemy_forms.begun(engine)
    assert notes.points == []


def test_a_dialect_that_sends_batches_by_itself_is_seen_once(notes: Notes, scratch: Path) -> None:
    """As those of psycopg2, mysqlclient, pyodbc and oracledb do, which may call super(), too."""
    engine = made(scratch, covered=False)
    stock: Any = type(engine.dialect)
    sent: list[object] = []

    def do_executemany(self: Any, *args: Any) -> None:
        sent.append(args[1])
        stock.do_executemany(self, *args)

    own = type("OwnDialect", (stock,), {"do_executemany": do_executemany})
    engine.dialect.__class__ = own
    with sight.watched():
        probe_alchemy_forms.many(engine)
    assert sent
    assert notes.points == [*BEGIN, *STATEMENT, *WRITING]


def test_uninstalling_gives_the_methods_back() -> None:
    names = ("do_begin", "do_commit", "do_rollback", "do_execute", "do_executemany")
    stock = [DefaultDialect.__dict__[name] for name in names]
    sight.install(Notes())
    alchemy.install_after_import()  # twice is once
    assert DefaultDialect.__dict__["do_commit"] is not stock[1]
    sight.uninstall()
    assert [DefaultDialect.__dict__[name] for name in names] == stock
