"""Crash: the failure points, each with a killed process and with a reply that nobody gets.

One request is hurt at one placed point; then everything is healed: a fresh process looks at the
store, the client asks again (where the ledger knows attempts) and recovery runs, in either order
or recovery alone; a late original arrives after the resend; honest clients use what is left. Rows:
FI01, RC01-RC04, RC12-RC14, PR07, IS07, CM06, CM07, BU04 of the requirements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ...chaos.handle import NodeHandle
from ..calls import PLAIN, Arm, Pending, Twist
from ..client import Client, Use
from ..history import SinkKind
from ..placement import Place, places
from ..plan import Plan, PlanProblem
from ..scene import Scene
from . import Subjects, budgeted, budgets_of

VARIANTS: Final = ("kill", "drop")
ORDERS: Final = ("retry", "recover", "gone")
"""What comes first after the fault. *gone*: whoever was hurt never comes back, and nobody asks
again in its place, so that nothing but recovery brings its unit to an end."""

SINKS: Final[tuple[SinkKind, ...]] = ("idempotent", "control")


@dataclass(slots=True)
class Hurt:
    """How the schedule was hurt, and what still hangs in the air."""

    place: Place
    variant: str
    pending: Pending
    use: Use
    fired: bool


class CrashFamily:
    """See the module."""

    name = "crash"
    tries = "the twelve failure points, each with kill and dropped reply"
    points: tuple[str, ...] = ("FP1", "FP2", "FP3", "FP4", "FP5", "FP6", "FP8", "FP9", "FP10")
    replayable = True
    needs: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    topics: tuple[str, ...] = points
    rows: tuple[str, ...] = (
        "FI01",
        "FI03",
        "RC01",
        "RC02",
        "RC04",
        "RC12",
        "RC13",
        "RC14",
        "RC18",
        "PR06",
        "PR07",
        "IS07",
        "CM01",
        "CM06",
        "CM07",
        "BU04",
    )

    def placed(self, subject: Subjects) -> Iterator[Plan]:
        """Every place x variant x order x budget x sink."""
        budgets = budgets_of(subject.declaration)
        for place in places(subject.survey):
            tokens = (place.name, place.token) if place.token else (place.name,)
            for variant in VARIANTS:
                for order in ORDERS:
                    for sink in SINKS[:1] if order == "gone" else SINKS:
                        for budget in budgets:
                            yield Plan(
                                subject.target,
                                self.name,
                                (*tokens, variant, order),
                                budget,
                                sink,
                                0,
                            )

    def run(self, plan: Plan, scene: Scene) -> None:
        """Play one plan."""
        place, variant, order = self._parsed(plan, scene)
        client = scene.approve(plan.budget)
        victim = scene.victim(client.executor)
        scene.phase("hurt")
        hurt = self._hurt(scene, client, victim, place, variant, plan.budget)
        scene.phase("heal")
        if victim.alive and not hurt.fired:
            scene.stage.dismiss(victim)
        moment = "after_fault" if hurt.fired else None
        healer, view = scene.healer(client, moment)
        if hurt.fired:
            how = f"{variant} {place.shown}".strip()
            scene.stage.tally.fired.append((place.name, how))
            scene.check_durable(place, variant, len(client.uses) - 1, view)
        else:
            scene.idle = f"{place.name} was never reached"
        self._heal(scene, client, hurt, victim, healer, order)
        scene.stage.dismiss(victim)
        scene.drain(client, healer, plan.budget)
        scene.end(client, healer)

    def _parsed(self, plan: Plan, scene: Scene) -> tuple[Place, str, str]:
        budgeted(plan, scene.declaration)
        *tokens, variant, order = plan.params if len(plan.params) > 2 else ("", "", "")
        name, token = tokens[0], "".join(tokens[1:])
        for place in places(scene.survey):
            if (
                (place.name, place.token) == (name, token)
                and variant in VARIANTS
                and order in ORDERS
            ):
                return place, variant, order
        raise PlanProblem(
            f"{plan.id}: this target has no such place now. Its places are those that a fresh "
            "run shows; a changed target needs a fresh run."
        )

    # hurt ------------------------------------------------------------------------------------

    def _hurt(
        self,
        scene: Scene,
        client: Client,
        victim: NodeHandle,
        place: Place,
        variant: str,
        budget: int,
    ) -> Hurt:
        """Run the pipeline until the place is reached. Earlier uses are completed undisturbed."""
        earlier = 0 if place.op == "issue" else scene.draws.randrange(budget)
        twist = self._twist(place, variant)
        first = client.issue(victim, twist if place.op == "issue" else PLAIN)
        if place.op == "issue":
            assert first is not None
            return self._strike(scene, client, place, variant, first, client.new_use())
        for _ in range(earlier):
            client.finish(victim, client.new_use())
        use = client.new_use()
        if place.op == "execute":
            pending = client.execute(victim, use, twist)
            return self._strike(scene, client, place, variant, pending, use)
        pending = client.prepare(victim, use, twist if place.op == "prepare" else PLAIN)
        if place.op != "prepare" and use.admission is not None:
            in_effect = place.op == "effect"
            pending = client.send(victim, use, use.admission, twist if in_effect else PLAIN)
            if not in_effect:
                pending = client.commit(victim, use, use.admission, twist) or pending
        return self._strike(scene, client, place, variant, pending, use)

    def _twist(self, place: Place, variant: str) -> Twist:
        if variant == "drop" and place.name == "FP5":
            return Twist(transit=("FP5", "lost"))  # the request leaves, and never arrives
        if place.transit is not None:
            return Twist(transit=(place.name, place.transit))
        assert place.point is not None
        return Twist(Arm(place.name, place.point))

    def _strike(
        self, scene: Scene, client: Client, place: Place, variant: str, pending: Pending, use: Use
    ) -> Hurt:
        """The call stands at its place, or was answered without ever reaching it."""
        fired = pending.reached and pending.answer is None
        if not fired:
            return Hurt(place, variant, pending, use, fired=False)
        stage = scene.stage
        if variant == "kill":
            stage.kill(pending.node, pending)
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

    # heal ------------------------------------------------------------------------------------

    def _heal(
        self,
        scene: Scene,
        client: Client,
        hurt: Hurt,
        victim: NodeHandle,
        healer: NodeHandle,
        order: str,
    ) -> None:
        """Ask again and recover, in the plan's order; the late original arrives after that, or
        (one time in four) before."""
        letter = hurt.pending.letter if hurt.place.transit == "held" else None
        early = letter is not None and scene.draws.random() < 0.25
        if letter is not None and early:
            scene.stage.desk.deliver(letter)
        if client.authorization is None:
            client.issue(healer)
        asker = victim if victim.alive and scene.draws.random() < 0.5 else healer
        scene.phase("recover")
        if order == "retry":
            self._ask_again(scene, client, hurt, asker)
        finds = scene.declaration.claims_that("finds_unfinished")
        client.recover(healer, unaided=finds and scene.draws.random() < 0.5)
        if order == "recover":
            self._ask_again(scene, client, hurt, asker)
        if letter is not None and not early:
            scene.stage.desk.deliver(letter)
            client.recover(healer)

    def _ask_again(self, scene: Scene, client: Client, hurt: Hurt, asker: NodeHandle) -> None:
        """The benign retry of the hurt request: the same attempt, nothing invented."""
        use, attempts = hurt.use, scene.facts.attempt_identity
        if client.authorization is None or not asker.alive:
            return
        if use.receipt is not None and use.admission is not None and hurt.variant == "drop":
            client.commit(asker, use, use.admission)  # its client lives, and has the receipt
        elif use.admission is not None and hurt.variant == "drop":
            client.carry_out(asker, use, use.admission)
        elif attempts or not (use.unknown or use.done or use.admission):
            client.finish(asker, use)
