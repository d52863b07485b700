"""The test items that the plugin adds: one for each family and failure point or topic.

An item plays every placed plan of its topic and fails with the lane diagram of the first violated
rule and the command that replays it. What the ledger cannot have is skipped, with the reason; what
was never reached fails, because a point that never fired is not exercised and never passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from .ledger_bench import LedgerBench
from .pytest_plugin import MARK
from .reports.lanes import lanes
from .reports.text import clean
from .scenarios.conductor import Played
from .scenarios.families import FAMILIES, family
from .scenarios.results import Verdict

JUDGED: frozenset[Verdict] = frozenset({"passed", "not_claimed", "violation"})


def _topics() -> list[tuple[str, str]]:
    return [(name, topic) for name in FAMILIES for topic in family(name).topics]


@pytest.mark.parametrize(("name", "topic"), _topics(), ids=str)
def test_ledger(
    name: str,
    topic: str,
    ledger_bench: LedgerBench,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    """Every placed plan of this topic holds on the ledger under test."""
    if lacking := ledger_bench.lacking(name):
        pytest.skip(f"not applicable: {lacking}")
    seed: int = request.config.getoption("--admitone-seed")
    verdicts: Counter[Verdict] = Counter()
    reasons: list[str] = []
    for plan in ledger_bench.plans(name, topic, seed):
        played = ledger_bench.play(plan)
        verdicts[played.result.verdict] += 1
        if played.result.reason:
            reasons.append(f"{played.result.id}: {played.result.reason}")
        if played.result.findings:
            record_property(MARK, verdicts.total())
            pytest.fail(_told(played, ledger_bench), pytrace=False)
    if not verdicts and ledger_bench.unseen(name, topic):
        pytest.fail(
            f"not exercised: no durable write was seen where {topic} would stand; mark those of "
            "this ledger with env.at",
            pytrace=False,
        )
    if not verdicts:
        pytest.skip(f"not applicable: this ledger has no place for {topic}")
    judged = sum(verdicts[verdict] for verdict in JUDGED)
    record_property(MARK, judged)
    if verdicts["harness_error"] or not judged:
        pytest.fail("\n".join(clean(reason, 400) for reason in reasons[:5]), pytrace=False)
    if verdicts["not_claimed"] == judged:
        pytest.skip(f"not claimed: {clean(reasons[0], 400)}")


def _told(played: Played, bench: LedgerBench) -> str:
    drawn = [lanes(played.history, finding) for finding in played.result.findings[:2]]
    printed = bench.output().strip()
    if printed:
        drawn.append("output of the target:\n" + clean(printed[-1200:], 1200))
    return "\n\n".join(drawn)
