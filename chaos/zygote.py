"""The warm parent: imports the target once, then makes each node by fork.

A fork costs a few milliseconds where a fresh interpreter costs hundreds. What makes it honest:
no store is open and no second thread runs when it forks (both are checked and said), each node
is alone with its own descriptors, and all of them die with this process.

Started as ``python -m admitone.chaos.zygote FD TARGET FOLDER``; speaks over FD: one line of
greeting, then requests: the bare bytes ``fork`` (with the node's end of a socket as ancillary
data), ``reap``, and ``learn`` (from the nodes that live now, see ``hotpages.py``), each answered by
one line with the statuses of children that ended since.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from .channel import Channel
from .dense import fill_holes
from .hotpages import HotPages
from .probes import sight
from .stops import Stops

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_THP_DISABLE = 41


def main(arguments: list[str]) -> None:
    """Warm up, greet, then fork on request until the harness closes its end."""
    control = socket.socket(fileno=int(arguments[0]))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)  # a hot page of a huge one would have all of it copied
    greeting, target = _warm(arguments[1], Path(arguments[2]))
    _say(control, greeting)
    if target is None:
        return
    _settle(Path(arguments[2]))
    prctl(_PR_SET_PDEATHSIG, 0)  # the end of the control socket says it too, and leaves time:
    children: set[int] = set()
    _serve(control, target, prctl, children)
    for child in children:
        os.kill(child, signal.SIGKILL)
    _end_orphans(set())


def _settle(folder: Path) -> None:
    """Make what is here good to be shared with nodes that live for milliseconds."""
    from .rehearsal import rehearse

    rehearse(folder)
    sight.observe(_Nobody())
    gc.collect()
    fill_holes()
    gc.freeze()  # what is here already is never traversed, so never copied, in a node


class _Nobody:
    """The observer before there is a node."""

    def point(self, kind: str, side: str, text: str) -> None:
        """Nothing is watched in the warm parent."""


def _serve(control: socket.socket, target: Any, prctl: Any, children: set[int]) -> None:
    """Until the harness closes its end, or is gone."""
    hot = HotPages()
    while True:
        try:
            request, descriptors, _, _ = socket.recv_fds(control, 4096, 1)
        except OSError:
            return
        if not request:
            return
        report = _reap(children)
        if request == b"fork":
            here = os.getpid()
            pid = os.fork()
            if pid == 0:
                prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != here:
                    os._exit(70)  # it died before it could have taken us along
                hot.release()
                _become_node(control, descriptors[0], target)
            os.close(descriptors[0])
            children.add(pid)
            report["pid"] = pid
        elif request == b"learn":
            hot.learn(children)
            fill_holes()  # which learning has left
        _say(control, report)


def _become_node(control: socket.socket, descriptor: int, target: Any) -> None:
    from . import node

    code = 70
    try:
        control.close()
        channel = Channel(socket.socket(fileno=descriptor))
        stops = Stops(channel)
        sight.observe(stops)
        sight.watch(True)
        node.run(channel, stops, target)
        code = 0
    finally:
        os._exit(code)


def _reap(children: set[int]) -> dict[str, Any]:
    """Statuses of nodes that ended, and an end for whatever they left running."""
    ended: list[list[int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid == 0:
            break
        if pid in children:
            children.discard(pid)
            ended.append([pid, status])
    left = _end_orphans(children) if ended else 0
    return {"ended": ended, "left": left}


def _end_orphans(nodes: set[int]) -> int:
    """Kill every child that is no node, and theirs, which become ours; how many there were."""
    ended = 0
    while orphans := _children() - nodes:
        for orphan in orphans:
            try:
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, 0)
            except (ProcessLookupError, ChildProcessError):
                continue
            ended += 1
    return ended


def _children() -> set[int]:
    """Direct children, orphans of dead nodes included: this process adopts them."""
    try:
        listed = os.open(f"/proc/self/task/{threading.get_native_id()}/children", os.O_RDONLY)
    except OSError:  # kernels without that file
        import psutil  # its libraries would be mapped, and copied, for every node

        return {child.pid for child in psutil.Process().children()}
    text = b""
    while piece := os.read(listed, 65536):  # of bytes: opened as a text, it touches more pages
        text += piece
    os.close(listed)
    return {int(word) for word in text.split()}


def _warm(name: str, folder: Path) -> tuple[dict[str, Any], Any]:
    """Import the target, run its ``warm``, and look at what that left behind."""
    from ..targets import resolve
    from ..targets.values import encode
    from . import node  # imported before the fork, used after it

    sight.install(_Nobody(), folder)
    node.LOADED_BEFORE = frozenset(sys.modules)
    before = _stores_open()
    try:
        target = resolve.resolve(name)
        title, declaration = resolve.describe(target)
        if (warm := getattr(target, "warm", None)) is not None:
            sight.watch(True)  # whatever it runs, it runs as a node will
            warm()
            sight.watch(False)
    except resolve.TargetProblem as problem:
        return {"problem": str(problem)}, None
    except BaseException as raised:  # a broken target may raise anything here
        return {
            "problem": f"{name}: warm() raised {type(raised).__name__}: {raised}. "
            "warm() should only import modules; make stores and connections in open()."
        }, None
    sight.install(_Nobody(), folder)  # again: for layers that the target has imported since
    greeting = {
        "name": encode(title),
        "declaration": encode(declaration),
        "threads": len(os.listdir("/proc/self/task")),  # noqa: PTH208  # a count, no paths
        "stores": sorted(_stores_open() - before),
        "optional": [
            name
            for name in ("fresh", "discard", "work", "effects")
            if callable(getattr(target, name, None))
        ],
    }
    return greeting, target


def _stores_open() -> set[str]:
    """Regular files open for writing, libraries left out: an open store must not be forked."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            path = str(entry.readlink())
            flags = (
                Path(f"/proc/self/fdinfo/{entry.name}").read_text().split("flags:")[1].split()[0]
            )
        except (OSError, IndexError):
            continue
        device = path.startswith("/dev/") and not path.startswith("/dev/shm/")
        if path.startswith("/") and not device and int(flags, 8) & 3:
            found.add(path)
    return found


def _say(control: socket.socket, message: dict[str, Any]) -> None:
    control.sendall(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
