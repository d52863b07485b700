"""Pages that nodes write to are copied at the fork, and belong to each node alone."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_SCRIPT = """
import json, mmap, os, resource
from admitone.chaos.hotpages import HotPages

HOT, ALL = 64, 256
memory = mmap.mmap(-1, ALL * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

def write(pages, value):
    for page in pages:
        memory[page * mmap.PAGESIZE] = value

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def node(hot):
    told, tell = os.pipe()
    if os.fork() == 0:
        if hot is not None:
            hot.release()
        links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
        rings = sum("io_uring" in os.readlink(link) for link in links if os.path.lexists(link))
        began = faults()
        write(range(HOT), 2)
        middle = faults()
        write(range(HOT, ALL), 2)
        seen = [middle - began, faults() - middle, rings]
        os.write(tell, json.dumps(seen).encode())
        os._exit(0)
    os.wait()
    return json.loads(os.read(told, 100))

write(range(ALL), 1)
before = node(None)
told, tell = os.pipe()
ready, go = os.pipe()
first = os.fork()
if first == 0:
    write(range(HOT), 3)
    os.write(tell, b"x")
    os.read(ready, 1)
    os._exit(0)
os.read(told, 1)
hot = HotPages()
hot.learn([first, 2**22 + 1])  # and one that is gone
os.write(go, b"x")
os.wait()
rings = len(hot._rings)
print(json.dumps([rings, before, node(hot), node(hot), sum(memory[::mmap.PAGESIZE])]))
"""


def test_a_node_has_its_own_copies_before_it_writes_where_others_wrote() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    rings, before, second, third, untouched = json.loads(ran.stdout)
    assert untouched == 256, "a node's write reached the memory of its parent"
    assert before[0] >= 64, "nothing was shared to begin with"
    if not rings:
        pytest.skip("this kernel or sandbox pins no pages; they are copied on demand")
    for hot, cold, left in (second, third):
        assert hot < 16, "what others wrote is still copied on demand"
        assert cold >= 192, "what nobody wrote was copied too"
        assert left == 0, "a node has a descriptor that is not its own"
