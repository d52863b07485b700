"""The check of the adapter, before anything is judged; and the survey of the ledger.

Every fault found here is one message with what to do, and exit code 2: an adapter that misreads
its library would otherwise be reported as a broken ledger, or worse, as a correct one. A ledger
that misbehaves (refuses a first use, grants one too many) passes here and is judged.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..chaos.channel import Message
from ..chaos.events import Harm, Read
from ..chaos.handle import NodeHandle, Said, unsaid
from ..chaos.parent import Greeting, TargetProblem, WarmParent
from ..chaos.recorder import Recorder
from ..chaos.runfolder import Template
from ..idempotent_sink.protocol import SinkLike
from ..targets.terms import Deployment, Trust
from ..targets.values import ValueProblem, decode
from .calls import told
from .checks import CHECKS
from .client import Client, approve
from .opening import must_be_open
from .placement import Survey
from .premises import Ground, Premises
from .scene import units
from .sinks import SinkHome, open_sink, sink_url
from .stage import Stage
from .survey import steps_of, survey_rest, with_servers

DEPLOY_DEADLINE_S: Final = 60.0

OPERATION_OF: Final = {
    "revoke": "revoke",
    "revoke_counts": "revoke",
    "delegate": "delegate",
    "audit": "audit",
}
"""Claims that promise an operation: where it is not there, each schedule that asks for it would
fail. ``recover`` and ``release`` are not among them, for a ledger may do either by itself."""

TRUST: Final = Trust(b"confirmation key of this suite", b"receipt key of this suite")
"""The trusted base of every run. Nothing secret: both ends of it are the suite's own."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """A target that can be tried: what it said, what its stores are made of, what an undisturbed
    use looks like.

    ``veterans``: a process of it can serve one store after another. ``deadline_s``: the longest
    wait for any of its replies. ``content``: a digest of the target's code, if it has files.
    """

    target: str
    greeting: Greeting
    ground: Ground
    survey: Survey
    veterans: bool
    deadline_s: float
    content: str = ""


def patient_deadline_s(greeting: Greeting) -> float:
    """Longest wait for any reply, seconds: far beyond what the target says it may wait."""
    return 10.0 + 4 * greeting.declaration.facts.waits_s


def fit(
    parent: WarmParent,
    folder: Path,
    *,
    deadline_s: float | None = None,
    sink: SinkHome = "embedded",
) -> Fitting:
    """Check the adapter of a warmed target. Raises ``TargetProblem``.

    ``deadline_s``: the longest wait for any reply, deploy included, here and in every schedule
    that is played with the fitting; None: far longer than the target says that it may wait.
    """
    facts = parent.greeting.declaration.facts
    if facts.reach == "thread":
        raise TargetProblem(
            f"{parent.target}: it declares reach='thread': its state lives in one process, so no "
            "process can be killed and another one recover. Give it a store, or wait for the "
            "families that run in one process."
        )
    for boundary in parent.greeting.declaration.boundaries:
        if strange := [code for code in boundary.codes if code not in CHECKS]:
            raise TargetProblem(
                f"{parent.target}: the boundary {boundary.what!r} names {', '.join(strange)}, and "
                "there is no such check. `admitone list checks` shows the codes."
            )
    ground, content = _deploy(parent, folder / "deployed", deadline_s or DEPLOY_DEADLINE_S)
    limit_s = deadline_s or patient_deadline_s(parent.greeting)
    premises = Premises(parent, ground, folder / "premises", TRUST)
    try:
        fitting = _Check(parent, ground, premises, folder, limit_s, sink).run()
        return replace(fitting, content=content)
    finally:
        premises.close()


def _deploy(parent: WarmParent, workspace: Path, deadline_s: float) -> tuple[Ground, str]:
    """What every store is made of, and the digest of the target's code."""
    workspace.mkdir(parents=True)
    message = _deployed(parent, workspace, deadline_s)
    name, optional = parent.target, parent.greeting.optional
    try:
        deployment = decode(message.get("value"))
    except (ValueProblem, RecursionError) as problem:
        raise TargetProblem(f"{name}: deploy(): {problem}; its store must be plain JSON") from None
    if not isinstance(deployment, Deployment):
        raise TargetProblem(f"{name}: deploy() must return Deployment(store=…), not {deployment!r}")
    if deployment.servers and not isinstance(deployment.store, dict):
        raise TargetProblem(
            f"{name}: deploy() names servers, so its store must be an object: the address of each "
            "is put into it under its endpoint"
        )
    if deployment.servers and "fresh" not in optional:
        raise TargetProblem(
            f"{name}: deploy() names servers, and the target has no fresh(store, n). Every "
            "schedule needs an empty store of its own: make a schema, prefix or tenant there."
        )
    try:
        stored = json.dumps(deployment.store)
    except (TypeError, ValueError):
        raise TargetProblem(
            f"{name}: deploy() returned the store {deployment.store!r}; it must be plain JSON"
        ) from None
    if str(workspace) in stored or str(workspace.resolve()) in stored:
        raise TargetProblem(
            f"{name}: the store that deploy() returned contains the workspace's own path. The "
            "workspace is copied for every use: give paths relative to it, and join them with "
            "env.workspace in open()."
        )
    try:
        template = Template.of(deployment.store, workspace)
        template.write(workspace.with_name("copied"))
    except OSError as problem:
        raise TargetProblem(
            f"{name}: the workspace that deploy() filled cannot be copied: {problem}. Leave only "
            "files and folders in it; make sockets and pipes in open()."
        ) from None
    ground = Ground(
        template,
        deployment.servers,
        deployment.endpoints,
        "fresh" in optional,
        "discard" in optional,
        workspace.with_name("kept"),
    )
    return ground, str(message.get("content", ""))[:80]


def _deployed(parent: WarmParent, workspace: Path, deadline_s: float) -> Message:
    """What ``deploy`` answered, in a node that ends with it."""
    node = parent.fork("deploy")
    node.say({"do": "deploy", "id": 0, "workspace": str(workspace)})
    heard = node.hear(deadline_s)
    node.kill()
    parent.reap(node.pid)
    if not isinstance(heard, Said):
        raise TargetProblem(
            f"{parent.target}: deploy() {unsaid(heard)}. Let it make an empty store, and return "
            f"Deployment(store=…). Last output: {parent.printed()}"
        )
    if "unclassified" in heard.message:
        raised = f"{heard.message['unclassified']}\n{heard.message.get('raised', '')}"
        raise TargetProblem(f"{parent.target}: deploy() raised {raised}")
    return heard.message


class _Check:
    """One adapter check: an undisturbed use on a copy of the store, looked at from two nodes."""

    def __init__(
        self,
        parent: WarmParent,
        ground: Ground,
        premises: Premises,
        folder: Path,
        deadline_s: float,
        sink: SinkHome,
    ) -> None:
        self._parent = parent
        self._sink_home = sink
        self._deadline_s = deadline_s
        self._ground = ground
        self._premises = premises
        self._folder = folder
        self._facts = parent.greeting.declaration.facts

    def run(self) -> Fitting:
        stage, sink = self._stage("first")
        stage.trace = True
        try:
            node, client = self._client(stage, seed=1)
            operations = self._operations(node)
            self._use(stage, node, client)
            survey = Survey(operations, steps_of(stage, node))
            self._shared(stage, node, client)
        finally:
            sink.close()
        stage.dismiss(node)
        stage, sink = self._stage("rest")
        try:
            survey = survey_rest(survey, stage, self._facts)
            survey = with_servers(survey, self._premises.servers)
        finally:
            sink.close()
        return Fitting(
            self._parent.target,
            self._parent.greeting,
            self._ground,
            survey,
            self._serves_two_stores(),
            self._deadline_s,
        )

    def _stage(self, name: str) -> tuple[Stage, SinkLike]:
        path = self._folder / f"{name}.sink"
        sink = open_sink(self._sink_home, path, "idempotent", TRUST.receipt_key)
        workspace = self._folder / name
        setting = self._premises.setting(workspace, self._deadline_s, sink_url(sink))
        return Stage(self._parent, sink, setting, Recorder()), sink

    def _client(
        self, stage: Stage, seed: int, node: NodeHandle | None = None
    ) -> tuple[NodeHandle, Client]:
        rng = random.Random(f"adapter check {seed}")
        client = approve(stage, self._facts, TRUST, rng, 1)
        node = stage.node(node)
        self._opened(stage, node, client, "open")
        return node, client

    def _opened(self, stage: Stage, node: NodeHandle, client: Client, where: str) -> None:
        answer = stage.open(node, client.executor)
        self._complain(stage, where)
        must_be_open(answer, f"{self._parent.target}: {where}")

    def _operations(self, node: NodeHandle) -> tuple[str, ...]:
        have = node.operations
        if "execute" not in have and "prepare" not in have:
            raise TargetProblem(
                f"{self._parent.target}: the ledger that open() returned has neither prepare nor "
                f"execute (it has: {', '.join(have) or 'no operation'}). See SplitLedger and "
                "GuardedLedger in admitone.targets.contract."
            )
        if (
            "prepare" in have
            and "execute" not in have
            and self._facts.commits
            and ("commit" not in have)
        ):
            raise TargetProblem(
                f"{self._parent.target}: the ledger has prepare but no commit. Add commit, or "
                "declare Facts(commits=False) if an admission is final."
            )
        if "commit" in have and not self._facts.commits:
            raise TargetProblem(
                f"{self._parent.target}: it declares commits=False, and its ledger has a commit. "
                "Leave one of them out: without a commit step no check asks whether units that "
                "were admitted come to their end."
            )
        for claim, op in OPERATION_OF.items():
            if claim in self._parent.greeting.declaration.claims and op not in have:
                raise TargetProblem(
                    f"{self._parent.target}: it claims {claim}, and the ledger that open() "
                    f"returned has no {op}. Add {op}, or leave the claim out."
                )
        return have

    def _use(self, stage: Stage, node: NodeHandle, client: Client) -> None:
        """Issue, admit, effect, commit; after each, the reading agrees with the reply."""
        issued = client.issue(node)
        self._complain(stage, "issue")
        if issued is None or (issued.answer and issued.answer.granted):
            self._agree(stage, client, issued, "issue", 0, 0)
        use = client.new_use()
        if client.authorization is None:
            return  # refused a first use: that is for the ordinary schedules to judge
        if "execute" in node.operations:
            executed = told(lambda: client.execute(node, use))
            self._complain(stage, "execute")
            if executed.answer and executed.answer.granted:
                self._agree(stage, client, executed, "execute", 0, 1)
            elif executed.answer and executed.answer.left:
                client.work(node)
                self._complain(stage, "work")
            return
        prepared = told(lambda: client.prepare(node, use))
        self._complain(stage, "prepare")
        if (admission := use.admission) is None:
            return
        final = "commit" not in node.operations
        self._agree(stage, client, prepared, "prepare", int(not final), int(final))
        client.send(node, use, admission)
        committed = told(lambda: client.commit(node, use, admission))
        self._complain(stage, "commit")
        if committed is not None and committed.answer and committed.answer.granted:
            self._agree(stage, client, committed, "commit", 0, 1)

    def _agree(
        self,
        stage: Stage,
        client: Client,
        pending: object,
        op: str,
        prepared: int,
        committed: int,
    ) -> None:
        """A reading by a process of its own must show what was granted."""
        node = stage.node()
        view = stage.inspect(node, client.known, client.label, f"after {op}")
        stage.dismiss(node)
        self._complain(stage, f"inspect after {op}")
        if view is None or (pending is None and op == "issue"):
            return
        if not view.known and committed and self._facts.retention_s is not None:
            return  # it may have been forgotten already
        seen = units(view)
        if self._facts.issues != "stored" and op == "issue":
            if seen[0]:
                raise TargetProblem(
                    f"{self._parent.target}: it declares issues={self._facts.issues!r}, and "
                    "inspect() shows a record right after issue. Declare issues='stored', so that "
                    "a second record for the same confirmation is judged."
                )
            return
        admitted_somehow = seen[1] + seen[2] == prepared + committed
        if seen[0] and admitted_somehow and (op != "commit" or seen[2] == committed):
            return
        raise TargetProblem(
            f"{self._parent.target}: inspect() disagrees with the ledger. After {op} was granted "
            f"it shows known={seen[0]}, prepared={seen[1]}, committed={seen[2]}; expected "
            f"known=True, prepared={prepared}, committed={committed}. Either inspect() looks "
            "elsewhere than open() writes (it runs in a process of its own), or it misreads the "
            "ledger's words, or the state is kept in the client's memory, or the ledger "
            "acknowledged what it had not written (that would be AO701: what was acknowledged is "
            "gone)."
        )

    def _shared(self, stage: Stage, first: NodeHandle, client: Client) -> None:
        """What one process issued, another one can use, where the first one could use its own."""
        node = stage.node()
        self._opened(stage, node, client, "open in a second process, while a first one has it open")
        other = approve(stage, self._facts, TRUST, random.Random("adapter check shared"), 1)
        other.issue(first)
        self._complain(stage, "issue")
        if other.authorization is not None and any(use.done for use in client.uses):
            answer = other.finish(node, other.new_use())
            self._complain(stage, "a use in a second process")
            if answer.outcome == "refused":
                raise TargetProblem(
                    f"{self._parent.target}: what one process issued, and could use, a second "
                    f"process may not: {answer.value}. If the state is kept in a process's memory, "
                    "declare Facts(reach='thread'); else let open() connect to the store."
                )
        stage.inspect(node, other.known, other.label, "beside an open ledger")
        self._complain(stage, "inspect in a process that has the ledger open")
        stage.dismiss(node)

    def _serves_two_stores(self) -> bool:
        """Whether one process can open a second store and really work in that one."""
        stage, first_sink = self._stage("second")
        node, client = self._client(stage, seed=2)
        client.issue(node)
        other, second_sink = self._stage("third")
        try:
            _, moved = self._client(other, 3, node)
            moved.issue(node)
            if moved.authorization is not None:
                moved.finish(node, moved.new_use())
            view = other.inspect(other.node(), moved.known, moved.label, "second store")
            return view is not None and units(view)[2] == 1 and not other.harmed
        except TargetProblem:
            return False
        finally:
            for ended in (*other.nodes, *stage.nodes):
                other.dismiss(ended)
            first_sink.close()
            second_sink.close()

    def _complain(self, stage: Stage, where: str) -> None:
        """Turn the first harm of an undisturbed call into a message."""
        for line in stage.recorder.lines:
            if isinstance(line.event, Harm):
                more = f"\n{line.event.detail}" if line.event.detail else ""
                raise TargetProblem(
                    f"{self._parent.target}: {where}, undisturbed: {line.event.what}{more}"
                )
            if isinstance(line.event, Read) and line.event.problem:
                raise TargetProblem(f"{self._parent.target}: {where}: {line.event.problem}")
