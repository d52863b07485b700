"""The pytest plugin: ``pytest --admitone-target=STRING`` runs the families as test items.

pytest loads this module in every project of the environment, so it imports nothing of the suite
until somebody asks for it: by the option, or by overriding the fixture ``ledger_target``::

    @pytest.fixture(scope="session")
    def ledger_target():
        return "py:my_package.ledger_adapter:Target"

The items are in ``ledger_items.py``. A run in which no ledger item really judged anything never
ends with 0.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_ITEMS = Path(__file__).with_name("ledger_items.py")
_ASKED = pytest.StashKey[bool]()
MARK = "admitone_schedules"
"""User property by which an item says how many schedules it judged."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options; they mean nothing to tests that do not ask for them."""
    group = parser.getgroup("admitone", "authorization ledgers")
    group.addoption(
        "--admitone-target",
        metavar="TARGET",
        default=None,
        help="the ledger under test: builtin:NAME or py:package.module:Factory",
    )
    group.addoption(
        "--admitone-seed", metavar="N", type=int, default=0, help="seed of the plans (default: 0)"
    )


@pytest.fixture(scope="session")
def ledger_target(request: pytest.FixtureRequest) -> str:
    """The one fixture to override: the target string of the ledger under test."""
    target = request.config.getoption("--admitone-target")
    if target is None:
        pytest.fail(
            "no ledger to test: give --admitone-target, or override the fixture ledger_target in "
            "the conftest.py of the outermost folder that pytest collects",
            pytrace=False,
        )
    return str(target)


@pytest.fixture(scope="session")
def ledger_bench(ledger_target: str) -> Iterator[Any]:
    """The ledger, its adapter checked, ready to be tried by this process."""
    from .ledger_bench import LedgerBench, LedgerBenchProblem

    try:
        bench = LedgerBench(ledger_target)
    except LedgerBenchProblem as problem:
        # what it came from says the same: shown, it would only stand there twice for each item
        raise pytest.fail.Exception(str(problem), pytrace=False) from None
    yield bench
    bench.close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the ledger items before ``-k`` and ``--lf`` choose among all."""
    if config.getoption("--admitone-target") is None and not _overridden(config):
        return
    config.stash[_ASKED] = True
    module = pytest.Module.from_parent(_root(session, items), path=_ITEMS, nodeid="admitone")
    items.extend(session.genitems(module))


def _overridden(config: pytest.Config) -> bool:
    """Whether a conftest or a plugin defines ``ledger_target`` too."""
    others = (p for p in config.pluginmanager.get_plugins() if p is not sys.modules[__name__])
    return any(hasattr(plugin, "ledger_target") for plugin in others)


def _root(session: pytest.Session, items: list[pytest.Item]) -> pytest.Collector:
    """The outermost folder that was collected: where a project's conftest is in force."""
    for item in items:
        for node in item.listchain():
            if isinstance(node, pytest.Dir | pytest.Package):
                return node
    return session


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count what was judged; on the controller of xdist too, where reports arrive."""
    for name, value in report.user_properties:
        if name == MARK and report.when == "call":
            _count.judged += int(str(value))


class _count:  # noqa: N801  # a counter, not a kind of thing
    judged = 0


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Zero schedules judged is never a pass."""
    config = session.config
    if hasattr(config, "workerinput"):
        return  # a worker of xdist sees only its share
    asked = config.stash.get(_ASKED, False) or config.getoption("--admitone-target") is not None
    if asked and exitstatus == 0 and _count.judged == 0:
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
