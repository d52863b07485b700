"""``admitone judge HISTORY`` and ``admitone report JOURNAL``: a verdict without a run.

``judge`` puts one recorded history to every check. ``report`` folds a journal again and prints
what the run came to; a journal that was cut off says so, and is never a pass.
"""

from __future__ import annotations

import argparse
import sys

from .cli import UsageProblem
from .reports.closing import Closing
from .reports.journal import JournalProblem, RunEnd, read_journal
from .reports.lanes import lanes
from .reports.text import clean, put
from .scenarios.checks import JudgeProblem
from .scenarios.checks import judge as put_to_checks
from .scenarios.historyfile import HistoryProblem, read_history
from .scenarios.summary import RunTally


def judge(options: argparse.Namespace) -> int:
    """Judge one history file; 1 if a rule is broken, 3 if no check had anything to judge."""
    try:
        history = read_history(options.history)
        opportunities, findings = put_to_checks(history)
    except (HistoryProblem, JudgeProblem) as problem:
        raise UsageProblem(f"judge: {problem}") from None
    for finding in findings:
        put(sys.stdout, f"{lanes(history, finding)}\n\n")
    judged = {code: count for code, count in opportunities.items() if count}
    print(clean(history.header.schedule, 400))
    for code, count in judged.items():
        broken = sum(finding.code == code for finding in findings)
        print(f"  {code}  {count} opportunities, {broken} violations")
    idle = [code for code, count in opportunities.items() if not count]
    print(f"  not exercised by this history: {', '.join(idle) or 'nothing'}")
    if findings:
        return 1
    return 0 if judged else 3


def report(options: argparse.Namespace) -> int:
    """Fold a journal and print its closing block; the exit code that the run had."""
    path = options.journal / "journal.jsonl" if options.journal.is_dir() else options.journal
    try:
        journal = read_journal(path)
    except JournalProblem as problem:
        raise UsageProblem(
            f"report: {problem}; give the journal.jsonl of a report folder"
        ) from None
    tally = RunTally(journal.facts)
    for result in journal.results:
        tally.add(result)
    end = journal.end or RunEnd("interrupted", "", 0.0, 0)
    tally.stop(
        end.reason, duration_s=end.duration_s, detail=end.detail, required_left=end.required_left
    )
    Closing(sys.stdout, [str(path)]).end(tally)
    if journal.note:
        print(f"admitone: {journal.note}", file=sys.stderr)
    if journal.exit_code is None or journal.torn:
        return 130
    return journal.exit_code or tally.exit_code  # a 0 counts only where the results agree
