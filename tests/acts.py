"""What a misbehaving target does where a method is called: acts by name, for ``misbehaving.py``.

An act is called with the right method and its arguments. It may do something else, or answer
something else, and whatever it does must not reach further than its own node.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import signal
import socket
import sqlite3
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from admitone.chaos.channel import Channel
from admitone.targets import contract as c

Act: TypeAlias = Callable[..., Any]


# time and death ----------------------------------------------------------------------------------


def hangs(*_: object) -> Any:
    threading.Event().wait()


async def hangs_in_a_loop(*_: object) -> Any:
    await asyncio.Event().wait()


def exits(*_: object) -> Any:
    os._exit(0)


def kills_itself(*_: object) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def segfaults(*_: object) -> Any:
    ctypes.string_at(0)


def closes_everything(*_: object) -> Any:
    """As a library does that makes a daemon of itself."""
    os.closerange(3, 1024)


def raises(*_: object) -> Any:
    raise KeyError("a bug of the library")


def asks_to_exit(*_: object) -> Any:
    sys.exit("no more")


# the protocol ------------------------------------------------------------------------------------


def streams() -> list[socket.socket]:
    """Every stream socket that this process has, the protocol's among them."""
    found = []
    for path in list(Path("/proc/self/fd").iterdir()):
        name = path.name
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                found.append(socket.socket(fileno=os.dup(int(name))))
        except OSError:
            continue
    return found


def floods(data: bytes) -> Act:
    """Write into the protocol, without end."""

    def act(*_: object) -> Any:
        found = streams()
        while True:
            for stream in found:
                stream.sendall(data)

    return act


def says(line: bytes) -> Act:
    """Write one line into the protocol, then do the right thing."""

    def act(right: Act, *args: object) -> Any:
        for stream in streams():
            stream.sendall(line + b"\n")
        return right(*args)

    return act


def finds_the_channel(*_: object) -> Any:
    """Digs the node's own end of the protocol out of memory, and claims to stand at a stop."""
    gc.unfreeze()
    channel = next(thing for thing in gc.get_objects() if isinstance(thing, Channel))
    return channel.ask({"at": ["write", "before", 1], "name": "FP3", "call": 1, "text": ""})


def prints(right: Act, *args: object) -> Any:
    """What looks like the protocol, and what is no text, where a library may print."""
    sys.stdout.write('{"reply": 1, "value": null} printed\n')
    sys.stdout.flush()
    sys.stderr.write("complained\n")
    os.write(1, b"\xff\xfe raw\n")
    return right(*args)


# warm --------------------------------------------------------------------------------------------


def starts_a_thread(*_: object) -> None:
    threading.Thread(target=hangs, daemon=True).start()


def opens_a_store(*_: object) -> None:
    path = Path(f"/dev/shm/admitone-test-warm-{os.getpid()}")
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version")
    path.unlink()
    KEPT.append(database)


KEPT: list[object] = []


# answers -----------------------------------------------------------------------------------------


def _any(value: Any) -> Any:
    """A value that is of the wrong type on purpose."""
    return value


def _cycle() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


ANSWERS: dict[str, Any] = {
    "nothing": None,
    "number": 7,
    "text": "granted",
    "cycle": _cycle(),
    "receipt": c.Receipt("k", "t", "d", 1, "m"),
    "done": c.Done(),
    "done_5": c.Done(_any(5)),
    "replayed_5": c.Replayed(_any(5)),
    "admission": c.Admission("r"),
    "record_0": c.Admission(_any(0)),
    "slot_0": c.Admission("r", slot=_any(0)),
    "call_7": c.Admission("r", call=_any(7)),
    "call_of_nothing": c.Admission("r", call=_any(c.Call(*[_any(None)] * 4))),
    "authorization_0": c.Authorization(_any(0)),
    "live_credential": c.Authorization("r", credential=_any(object())),
    "huge": c.Authorization("r", credential="x" * 2_000_000),
    "exhausted": c.Refused("exhausted"),
    "code_7": c.Refused(_any(7)),
    "busy_nan": c.Busy(retry_after_s=float("nan")),
    "busy_text": c.Busy(retry_after_s=_any("soon")),
    "revoked_text": c.Revoked(_any("all")),
    "resume_7": c.Recovered(_any(7)),
    "resume_of_numbers": c.Recovered(_any((7,))),
    "view_bare": c.View(True),
    "view_7": c.View(True, slots=_any(7)),
    "view_of_numbers": c.View(True, slots=_any((7,))),
    "counts_text": c.View(True, counts=c.Counts(prepared=_any("1"))),
    "counts_7": c.View(True, counts=_any(7)),
    "known_text": c.View(_any("yes"), counts=c.Counts()),
    "other_counts": c.View(True, counts=c.Counts(issued=1)),
    "store_bytes": c.Deployment(_any(b"bytes")),
    "store_path": c.Deployment(_any(Path("x"))),
}


def answers(value: Any) -> Act:
    return lambda *_: value


ACTS: dict[str, Act] = {
    "hangs": hangs,
    "hangs_in_a_loop": hangs_in_a_loop,
    "exits": exits,
    "kills_itself": kills_itself,
    "segfaults": segfaults,
    "closes_everything": closes_everything,
    "raises": raises,
    "asks_to_exit": asks_to_exit,
    "never_reads": floods(b'{"lookup":"' + b"k" * 5000 + b'","call":1,"ask":1}\n'),
    "floods_garbage": floods(b"\x00\xffnonsense\n" * 1000),
    "floods_one_line": floods(b"x" * 65536),
    "floods_traces": floods(b'{"trace":[],"call":1}\n' * 4000),
    "says_garbage": says(b"garbage"),
    "says_half_a_stop": says(b'{"at":["write","before",1]}'),
    "says_a_stop_nowhere": says(b'{"at":7,"ask":1}'),
    "says_no_object": says(b"[1,2,3]"),
    "says_hello": says(b'{"hello":1}'),
    "says_no_effect": says(b'{"effect":{"tool":7},"ask":1}'),
    "says_deep": says(b'{"reply":' + b"[" * 400 + b"]" * 400 + b"}"),
    "finds_the_channel": finds_the_channel,
    "prints": prints,
    "starts_a_thread": starts_a_thread,
    "opens_a_store": opens_a_store,
    **{f"answers_{name}": answers(value) for name, value in ANSWERS.items()},
}
