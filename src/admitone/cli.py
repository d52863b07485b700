"""The command line: parse, dispatch, one message for every mistake, and the exit codes.

0 passed; 1 violation; 2 usage, configuration or preflight; 3 incomplete; 4 the suite itself
failed; 130 interrupted by Ctrl-C, SIGTERM or a closed terminal, with a partial report; 141 whoever
read the output has left before the end (a run goes on all the same, and keeps its own code).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import platform
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from . import __version__


class UsageProblem(Exception):
    """A mistake of the user's: what, where and what to do. Exit code 2."""


class _Parser(argparse.ArgumentParser):
    """Says a wrong option in one line, and where the right ones stand. No abbreviations: what a
    script says today must not mean another option tomorrow."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**{**named, "allow_abbrev": False})

    def error(self, message: str) -> NoReturn:
        raise UsageProblem(f"{message}. See: {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a sign that it cannot carry becomes an escape
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options = _parser().parse_args(arguments)
        if platform.system() != "Linux":
            raise UsageProblem(
                f"admitone kills processes by pidfd and finds its stops through /proc, so it runs "
                f"on Linux only; this is {platform.system()}. Run it in a container or in CI."
            )
        command: Callable[[argparse.Namespace], int] = options.command
        with _interrupted_by(signal.SIGTERM, signal.SIGHUP):
            code = command(options)
        _flushed()
        return code
    except UsageProblem as problem:
        from .reports.text import clean_lines

        print(f"admitone: {clean_lines(problem)}", file=sys.stderr)  # it may quote a target
        return 2
    except KeyboardInterrupt:
        print("admitone: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _flushed()
        return 141
    except Exception as problem:
        print("admitone: the suite itself failed; this says nothing of the target", file=sys.stderr)
        _say_why(problem)
        return 4


def could_not_run(lacking: object) -> int:
    """Say what this machine lacks, with the command that brings it; the exit code."""
    from .reports.text import clean_lines

    print(f"admitone: could not run: {clean_lines(lacking)}", file=sys.stderr)
    return 3


def _say_why(problem: Exception) -> None:
    """A full disk in one line, for whoever has to free it; anything else whole, for its mender."""
    from .chaos.runfolder import no_room
    from .reports.text import clean_lines

    if full := no_room(problem):
        print(f"admitone: {clean_lines(full)}", file=sys.stderr)
    else:
        traceback.print_exc()


@contextlib.contextmanager
def _interrupted_by(*numbers: signal.Signals) -> Iterator[None]:
    """Take these like Ctrl-C: end what was started, and leave a partial report. One that the
    caller ignores (``nohup``) or handles stays his."""
    ours = threading.current_thread() is threading.main_thread()
    taken = [n for n in numbers if ours and signal.getsignal(n) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _flushed() -> None:
    """Write out what is left, or drop it: at exit Python would end with a code of its own."""
    try:
        sys.stdout.flush()
    except OSError:  # nobody reads it any more, or the disk is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="admitone",
        description="Fault injection and concurrency tests for authorization ledgers.",
    )
    parser.add_argument("--version", action="version", version=f"admitone {__version__}")
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", parser_class=_Parser, title="commands"
    )
    _add_run(commands.add_parser("run", help="test ledgers (default: the embedded reference)"))
    _add_replay(commands.add_parser("replay", help="repeat one schedule, from its id alone"))
    _add_explain(commands.add_parser("explain", help="what a code of a check means"))
    _add_list(commands.add_parser("list", help="what there is"))
    _add_doctor(commands.add_parser("doctor", help="what this machine and an adapter lack"))
    _add_install(commands.add_parser("install", help="build the proxy that network faults need"))
    _add_judge(commands.add_parser("judge", help="judge a recorded history, without a run"))
    _add_report(commands.add_parser("report", help="print again what a journal holds"))
    _add_sink(commands.add_parser("serve-sink", help="run the sink as a server of its own"))
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="builtin:NAME or py:package.module:Factory (default: builtin:caplease-sqlite)",
    )
    parser.add_argument("--family", action="append", metavar="NAME", help="only this family")
    parser.add_argument("--schedules", type=_count, metavar="N", help="schedules of each target")
    parser.add_argument(
        "--profile",
        choices=("quick", "ci", "deep"),
        default="quick",
        help="how much to run: about 20 s, 3 minutes or an hour, up to four times that where the "
        "required schedules take so long (default: quick)",
    )
    parser.add_argument(
        "--max-time", type=_seconds, metavar="S", help="end after S seconds, whatever is left"
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail also on claims not made or not exercised"
    )
    parser.add_argument("--seed", type=_number, metavar="N", help="default: 0, for equal runs")
    parser.add_argument(
        *("-n", "--workers"),
        type=_count,
        metavar="N",
        help="worker processes (default: one more than there are cores)",
    )
    _add_sink_home(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the summary there too")
    parser.add_argument("--report-dir", type=Path, default=Path("admitone-report"), metavar="DIR")
    parser.set_defaults(command=_run)


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a schedule's id, as a report shows it")
    parser.add_argument("--times", type=_count, default=1, metavar="N", help="how often")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the ledger's store there")
    _add_sink_home(parser)
    parser.set_defaults(command=_replay)


def _add_sink_home(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sink",
        choices=("embedded", "process"),
        default="embedded",
        help="where effects are applied: in the worker, or in a server of its own",
    )


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE", help="a check's code, such as AO104")
    parser.set_defaults(command=_explain)


def _add_list(parser: argparse.ArgumentParser) -> None:
    kinds = ("targets", "families", "checks", "points", "requirements")
    parser.add_argument("kind", choices=kinds, metavar="WHAT", help=f"one of {', '.join(kinds)}")
    parser.add_argument("--json", action="store_true", help="an array of objects")
    parser.set_defaults(command=_list)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="check these adapters too")
    parser.set_defaults(command=_doctor)


def _add_install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="+", choices=("toxiproxy", "etcd"), metavar="NAME", help="toxiproxy, etcd"
    )
    parser.set_defaults(command=_install)


def _add_judge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("history", type=Path, metavar="HISTORY", help="a file of histories/")
    parser.set_defaults(command=_judge)


def _add_report(parser: argparse.ArgumentParser) -> None:
    default = Path("admitone-report/journal.jsonl")
    parser.add_argument("journal", type=Path, nargs="?", default=default, metavar="JOURNAL")
    parser.set_defaults(command=_report)


def _add_sink(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", type=Path, required=True, metavar="FILE")
    parser.add_argument("--kind", choices=("idempotent", "control"), default="idempotent")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=_number, default=0, help="default: a free one")
    parser.set_defaults(command=_serve_sink)


def _count(text: str) -> int:
    return _at_least(1, text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number of seconds above 0")
    return value


def _number(text: str) -> int:
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and least <= int(digits[:20]) < 2**63):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no whole number from {least} upwards")
    return int(digits)


def _run(options: argparse.Namespace) -> int:
    from .command_run import run

    return run(options)


def _replay(options: argparse.Namespace) -> int:
    from .command_replay import replay

    return replay(options)


def _explain(options: argparse.Namespace) -> int:
    from .command_explain import explain

    return explain(options)


def _list(options: argparse.Namespace) -> int:
    from .command_list import show_list

    return show_list(options)


def _doctor(options: argparse.Namespace) -> int:
    from .command_doctor import doctor

    return doctor(options)


def _install(options: argparse.Namespace) -> int:
    from .command_install import install

    return install(options)


def _judge(options: argparse.Namespace) -> int:
    from .command_judge import judge

    return judge(options)


def _report(options: argparse.Namespace) -> int:
    from .command_judge import report

    return report(options)


def _serve_sink(options: argparse.Namespace) -> int:
    from .command_sink import serve_sink

    return serve_sink(options)
