"""One request goes through its pipeline, is struck at a placed point, and everything is healed.

Struck means: its process is killed; or the reply (of the ledger, or of the sink) reaches nobody;
or the durable write at which it stands raises, as its store would. Then a fresh process looks at
the store, the client asks again (where the ledger knows attempts) and recovery runs, in either
order or recovery alone; a late original arrives after the resend; honest clients use what is left.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Final

from ...chaos.handle import NodeHandle
from ..calls import PLAIN, Arm, Pending, Twist, told
from ..client import Client, Use
from ..placement import RAISES, Place
from ..plan import Plan
from ..scene import Scene

LEASE_S: Final = 0.3
"""The lease that a ledger is told to keep where recovery alone must end a unit, seconds."""
BEYOND_S: Final = 0.1
"""How much later than its end recovery runs once more, seconds."""


@dataclass(slots=True)
class Hurt:
    """How the schedule was hurt, and what still hangs in the air."""

    place: Place
    variant: str
    pending: Pending
    use: Use
    fired: bool

    @property
    def outcome(self) -> str:
        """What the client knows of the call that was struck."""
        return self.pending.answer.outcome if self.pending.answer is not None else "unknown"


def run(
    plan: Plan, scene: Scene, place: Place, variant: str, order: str, *, apart: bool = False
) -> None:
    """Play one plan. ``apart``: whoever heals has imported the target anew."""
    if order == "gone":
        shorten_lease(scene)
    client = scene.approve(plan.budget)
    victim = scene.victim(client.executor)
    scene.phase("hurt")
    # apart: so that a unit is left, to be used there
    earlier = 0 if place.op == "issue" or apart else scene.draws.randrange(plan.budget)
    pending, use = reach(client, victim, place, earlier, twist_of(place, variant))
    hurt = _strike(scene, client, place, variant, pending, use)
    scene.phase("heal")
    if victim.alive and not hurt.fired and variant not in RAISES:
        scene.stage.dismiss(victim)
    healer, view = scene.healer(client, "after_fault" if hurt.fired else None, apart=apart)
    if hurt.fired:
        how = f"{variant} {place.shown}".strip()
        scene.stage.tally.fired.append((place.name, how))
        scene.check_durable(place, variant, len(client.uses) - 1, view)
    elif variant in RAISES and pending.reached:
        scene.idle = f"no error could be raised at {place.name} ({place.shown})"
    else:
        scene.idle = f"{place.name} was never reached"
    _heal(scene, client, hurt, victim, healer, order)
    scene.stage.dismiss(victim)
    scene.drain(client, healer, plan.budget)
    scene.end(client, healer)


def twist_of(place: Place, variant: str) -> Twist:
    """What the plan does to the call that is struck."""
    if variant == "drop" and place.name == "FP5":
        return Twist(transit=("FP5", "lost"))  # the request leaves, and never arrives
    if place.transit is not None:
        return Twist(transit=(place.name, place.transit))
    assert place.point is not None
    return Twist(Arm(place.name, place.point))


def reach(
    client: Client, node: NodeHandle, place: Place, earlier: int, twist: Twist
) -> tuple[Pending, Use]:
    """Run the pipeline until the place is reached. Earlier uses are completed undisturbed."""
    first = told(lambda: client.issue(node, twist if place.op == "issue" else PLAIN))
    if place.op == "issue":
        assert first is not None
        return first, client.new_use()
    for _ in range(earlier):
        client.finish(node, client.new_use())
    use = client.new_use()
    return pursue(client, node, use, place, twist), use


def pursue(client: Client, node: NodeHandle, use: Use, place: Place, twist: Twist) -> Pending:
    """One use, as far as the place: the last call that was made."""
    if place.op == "work":
        told(lambda: client.execute(node, use))
        return client.stage.work(node, client.executor, twist)
    if place.op == "execute":
        return told(lambda: client.execute(node, use, twist))
    pending = told(lambda: client.prepare(node, use, twist if place.op == "prepare" else PLAIN))
    admission = use.admission
    if place.op != "prepare" and admission is not None:
        in_effect = place.op == "effect"
        pending = client.send(node, use, admission, twist if in_effect else PLAIN)
        if not in_effect:
            pending = told(lambda: client.commit(node, use, admission, twist)) or pending
    return pending


def stands(pending: Pending) -> bool:
    """The call stands at its place; else it was answered without ever reaching it."""
    return pending.reached and pending.answer is None


def _strike(
    scene: Scene, client: Client, place: Place, variant: str, pending: Pending, use: Use
) -> Hurt:
    if not stands(pending):
        return Hurt(place, variant, pending, use, fired=False)
    stage = scene.stage
    if variant == "kill":
        stage.kill(pending.node, pending)
    elif variant in RAISES:
        stage.go(pending, raised=RAISES[variant][1])
        learn(client, use, pending)
        return Hurt(place, variant, pending, use, fired=pending.fired)
    elif pending.letter is not None:
        stage.tally.drops += 1
        stage.desk.forsake(pending.letter, f"no answer from the sink ({place.shown})")
        stage.drive(pending)
    else:
        stage.lose_reply(pending)
        stage.go(pending)
    if place.op == "execute":
        client.executed(use, pending)
    elif place.op == "prepare":
        use.unknown = True
    return Hurt(place, variant, pending, use, fired=True)


def learn(client: Client, use: Use, pending: Pending) -> None:
    """What the client makes of the answer of whichever operation this was."""
    match pending.op:
        case "issue":
            client.issued(pending)
        case "prepare":
            client.prepared(use, pending)
        case "effect":
            client.sent(use, pending)
        case "commit":
            client.committed(use, pending)
        case "execute":
            client.executed(use, pending)


def _heal(
    scene: Scene, client: Client, hurt: Hurt, victim: NodeHandle, healer: NodeHandle, order: str
) -> None:
    """Ask again and recover, in the plan's order; the late original arrives after that, or
    (one time in four) before."""
    letter = hurt.pending.letter if hurt.place.transit == "held" else None
    early = letter is not None and scene.draws.random() < 0.25
    if letter is not None and early:
        scene.stage.desk.deliver(letter)
    if client.authorization is None:
        client.issue(healer)
    if order == "gone":
        scene.stage.dismiss(victim)  # before recovery, which then runs after the last fault
    lives = victim.alive and (hurt.variant in RAISES or scene.draws.random() < 0.5)
    asker = victim if lives else healer
    scene.phase("recover")
    waiting = order == "retry" and ask_again(scene, client, hurt, asker, brief=True)
    finds = scene.declaration.claims_that("finds_unfinished")
    client.recover(healer, unaided=finds and scene.draws.random() < 0.5)
    if order == "recover" or waiting:
        ask_again(scene, client, hurt, asker)
    if letter is not None and not early:
        scene.stage.desk.deliver(letter)
        if scene.draws.random() < 0.25:
            scene.stage.desk.deliver(letter)  # the network repeats what it had kept
        client.recover(healer)
    if order == "gone":
        recover_lapsed(scene, client, healer)


def shorten_lease(scene: Scene) -> None:
    """For a schedule that will wait until every lease has lapsed."""
    if scene.facts.lapse != "none":
        scene.stage.setting = replace(scene.stage.setting, lease_s=LEASE_S)


def recover_lapsed(scene: Scene, client: Client, healer: NodeHandle) -> None:
    """Whatever was leased to the dead is nobody's now: this recovery has no excuse."""
    if scene.facts.lapse != "none" and "recover" in healer.operations:
        await_lapse(scene)
        client.recover(healer)


def await_lapse(scene: Scene) -> None:
    """Until every lease of the dead has lapsed, where there are leases."""
    if scene.facts.lapse != "none":
        time.sleep(LEASE_S + BEYOND_S + scene.facts.clock_error_s)  # time itself must pass


def ask_again(
    scene: Scene, client: Client, hurt: Hurt, asker: NodeHandle, *, brief: bool = False
) -> bool:
    """The benign retry of the hurt request: the same attempt, nothing invented.

    True: it was told to wait (Busy), and is to be asked once more when recovery has run.
    """
    use, attempts = hurt.use, scene.facts.attempt_identity
    if client.authorization is None or not asker.alive:
        return False
    lives = hurt.variant != "kill"
    if use.receipt is not None and use.admission is not None and lives:
        client.commit(asker, use, use.admission)  # its client lives, and has the receipt
    elif use.admission is not None and lives:
        client.carry_out(asker, use, use.admission)
    elif hurt.variant in RAISES and hurt.outcome in ("refused", "replayed") and not use.unknown:
        return False  # it was told that nothing will come of it
    elif attempts or not (use.unknown or use.done or use.admission):
        return client.finish(asker, use, brief=brief).outcome == "busy"
    return False
