"""The rest of a survey: the operations that a first, undisturbed use does not need.

Recovery shows its steps only where something is left to recover, so here an executor dies with an
admission in its hand (or, of a guarded ledger, while its effect is on its way) and a second
process recovers. Revoke, Delegate, Close and Release are asked once each. Nothing is judged: what
goes wrong here is no step of the survey, and the ordinary schedules will show it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..chaos.events import Invoked, Point, Replied
from ..chaos.handle import NodeHandle
from ..chaos.servers import RunningServer
from ..targets.declaration import Facts
from ..targets.replies import Recovered
from .calls import PLAIN, Arm, Pending, Subject, Twist, told
from .client import Client, approve
from .moves import as_executor, child_of, close, delegate, release, revoke
from .placement import RAISES, Step, Survey
from .stage import Stage
from .within import failing_changes, inner_statements

LEASE_S: Final = 0.3
"""The lease that a ledger is told to keep here, seconds."""
BEYOND_S: Final = 0.1
"""How much later than its end a recovery is looked at once more, seconds."""


def steps_of(stage: Stage, node: NodeHandle) -> dict[str, tuple[Step, ...]]:
    """Traced points by operation; the first call of each, but for those that were told to come
    again, stands for it."""
    said = [line.event for line in stage.recorder.lines]
    busy = {e.call for e in said if isinstance(e, Replied) and e.outcome == "busy"}
    ops = {e.call: e.op for e in said if isinstance(e, Invoked) and e.call not in busy}
    first: dict[str, int] = {}
    found: dict[str, list[Step]] = {}
    for message in node.traced:
        call = message.get("call")
        op = ops.get(call) if isinstance(call, int) else None
        if op is None or call is None or first.setdefault(op, call) != call:
            continue
        kind, side, nth = message["trace"]
        found.setdefault(op, []).append(Step(kind, side, nth, str(message.get("text", ""))))
    return {op: tuple(steps) for op, steps in found.items()}


def survey_rest(survey: Survey, stage: Stage, facts: Facts) -> Survey:
    """The survey with what the other operations look like, whether threads may call, and how the
    store can fail.

    ``stage`` is a fresh one, with a store of its own; its nodes are ended here.
    """
    steps, resumes, awaits = dict(survey.steps), False, False
    if facts.lapse != "none":
        stage.setting = replace(stage.setting, lease_s=LEASE_S)
    try:
        if _left_behind(survey, stage, facts):
            found, answer, awaits = _recovering(stage, facts)
            steps |= found
            resumes = isinstance(answer, Recovered) and bool(answer.resume)
        for op in _ASKED:
            if op in survey.operations:
                steps |= _traced(stage, facts, op)[0]
        raises = frozenset(v for v in RAISES if _raises(survey, stage, facts, v))
        refuses = _refuses(survey, stage, facts)
        spoils = not refuses and _spoils(survey, stage, facts)
        # last: a client that serves one thread alone raises what nobody classifies
        threads = _serves_threads(survey, stage, facts)
    finally:
        for node in stage.nodes:
            stage.dismiss(node)
    return replace(
        survey,
        steps=steps,
        threads=threads,
        raises=raises,
        refuses=refuses,
        spoils=spoils,
        resumes=resumes,
        awaits=awaits,
    )


def _client(stage: Stage, facts: Facts, name: str, budget: int = 1) -> tuple[NodeHandle, Client]:
    rng = random.Random(f"survey {name}")  # reproducible, no secret
    client = approve(stage, facts, stage.setting.trust, rng, budget)
    node = stage.node()
    stage.open(node, client.executor)
    return node, client


def _left_behind(survey: Survey, stage: Stage, facts: Facts) -> bool:
    """An executor dies between its admission and the end of its effect."""
    if "recover" not in survey.operations:
        return False
    many = stage.parent.greeting.declaration.claims_that("multi_budget")
    # with a unit to spare, so that a recovery which wrongly takes another one shows its steps too
    node, client = _client(stage, facts, "left behind", 2 if many else 1)
    client.issue(node)
    if client.authorization is None:
        return False
    use = client.new_use()
    if survey.guarded:
        leaving = Point("execute", "effect", "before", 1)
        pending = told(lambda: client.execute(node, use, Twist(Arm("survey", leaving))))
    else:
        pending = told(lambda: client.prepare(node, use))
    stage.kill(node, pending)
    return True


def _recovering(stage: Stage, facts: Facts) -> tuple[dict[str, tuple[Step, ...]], object, bool]:
    """What a recovery does, and whether it waits for leases: where it leaves a unit alone while
    the dead has one of it, a recovery that comes too early would show nothing, and none would ever
    be hurt or raced."""
    found, answer = _traced(stage, facts, "recover")
    sends = any(step.kind == "effect" for step in found.get("recover", ()))
    if facts.lapse == "none" or sends or (isinstance(answer, Recovered) and answer != Recovered()):
        return found, answer, False
    time.sleep(LEASE_S + BEYOND_S + facts.clock_error_s)  # time itself must pass
    found, answer = _traced(stage, facts, "recover")
    return found, answer, True


def _traced(stage: Stage, facts: Facts, op: str) -> tuple[dict[str, tuple[Step, ...]], object]:
    """One undisturbed call of ``op``, in a process of its own; and what it answered."""
    node, client = _client(stage, facts, op)
    if op != "recover":
        client.issue(node)
    if not node.alive or (op != "recover" and client.authorization is None):
        return {}, None
    ask = _ASKED.get(op, _recover)(client, node)
    if ask is None:
        return {}, None
    stage.trace = True
    try:
        asked = told(ask)
    finally:
        stage.trace = False
    found = steps_of(stage, node)
    answer = asked.answer.value if asked.answer is not None else None
    return ({op: found[op]} if op in found else {}), answer


_Ask = Callable[[], Pending]


def _recover(client: Client, node: NodeHandle) -> _Ask:
    about = Subject(client.label)
    return lambda: client.stage.call(node, "recover", [[]], about, client.executor)


def _delegate(client: Client, node: NodeHandle) -> _Ask:
    return lambda: delegate(client, node, as_executor(client.approval.context, "executor-2"), 1)


def _close(client: Client, node: NodeHandle) -> _Ask | None:
    """Of a child that has not used anything. None: there is none."""
    context = as_executor(client.approval.context, "executor-2")
    child = child_of(client, delegate(client, node, context, 1), context)
    if child is None or child.authorization is None:
        return None
    born = child.authorization
    return lambda: close(client, node, born, context)


def _release(client: Client, node: NodeHandle) -> _Ask | None:
    """Of an admission whose effect never left: a definite non-effect. None: there is none."""
    use = client.new_use()
    if "prepare" in node.operations:
        told(lambda: client.prepare(node, use))
    held = use.admission
    if held is None:
        return None
    return lambda: release(client, node, held, request=use.request)


FAILED_S: Final = 10.0
"""So long an operation of the survey is waited for, after its store failed."""

_ASKED: Final[dict[str, Callable[[Client, NodeHandle], _Ask | None]]] = {
    "revoke": lambda client, node: lambda: revoke(client, node),
    "delegate": _delegate,
    "close": _close,
    "release": _release,
}
"""By operation: what makes ready for it, and then asks for it."""


def _serves_threads(survey: Survey, stage: Stage, facts: Facts) -> bool:
    """Whether another thread than the one that opened a client may call it."""
    if stage.harmed:
        return False
    node, client = _client(stage, facts, "threads")
    client.issue(node)
    if client.authorization is None:
        return False
    use, lane = client.new_use(), Twist(lane=1)
    admit = client.execute if survey.guarded else client.prepare
    pending = told(lambda: admit(node, use, lane))
    return pending.answer is not None and pending.answer.granted


def _raises(survey: Survey, stage: Stage, facts: Facts, variant: str) -> bool:
    """Whether the store really fails so at a durable write, of the first operation that has one."""
    side, error = RAISES[variant]
    op = next((op for op in ("issue", "prepare", "execute") if survey.writes(op)), None)
    point = None if op is None else Point(op, "write", side, 1)
    return _fails(stage, facts, variant, point, error)


def _refuses(survey: Survey, stage: Stage, facts: Facts) -> bool:
    """Whether the store really refuses a statement, of the first operation with a transaction."""
    for op in ("issue", "prepare", "execute"):
        for point in inner_statements(survey, op):
            return _fails(stage, facts, "refuses", point, "busy")
    return False


def _spoils(survey: Survey, stage: Stage, facts: Facts) -> bool:
    """Whether the store really loses a transaction at a change, or has no room for what goes out to
    a file, of the first operation with any."""
    for op in ("issue", "prepare", "execute"):
        for point in failing_changes(survey, op):
            return _fails(stage, facts, "spoils", point, "io")
    return False


def _fails(stage: Stage, facts: Facts, name: str, point: Point | None, error: str) -> bool:
    if point is None or stage.harmed:
        return False
    op = point.op
    node, client = _client(stage, facts, name)
    twist = Twist(Arm("survey", point))
    pending = told(lambda: client.issue(node, twist if op == "issue" else PLAIN))
    if op != "issue" and client.authorization is not None:
        use = client.new_use()
        admit = client.execute if op == "execute" else client.prepare
        pending = told(lambda: admit(node, use, twist))
    if pending is None or not pending.reached or pending.answer is not None:
        return False
    # an error in a thread of the library's may end that thread, and its caller waits for ever
    stage.go(pending, raised=error, patience_s=max(FAILED_S, 2 * facts.waits_s))
    return pending.fired


def with_servers(survey: Survey, servers: tuple[RunningServer, ...]) -> Survey:
    """What was found, with the servers that may be killed and the ways to all of them."""
    killable = tuple(server.endpoint for server in servers if server.ours)
    return replace(survey, servers=killable, links=tuple(server.endpoint for server in servers))
