"""AO6xx, the sink: one key, one effect. On a recorded history this judges the sink of its user;
in a run the sink is the suite's own, and a finding here means that the suite is broken."""

from __future__ import annotations

from ..story import EffectStory, Story
from ..story.calls import FOREVER
from ..story.sinklog import Application
from .identity import same
from .ruling import Check, Docket, Ruling


def _once(story: Story) -> Ruling:
    docket = Docket()
    if not story.idempotent:
        return docket.ruling()
    asked: dict[str, list[EffectStory]] = {}
    for effect in story.sink.effects:
        if effect.event.key is not None and effect.received < FOREVER:
            asked.setdefault(effect.event.key, []).append(effect)
    applied: dict[str, list[Application]] = {}
    for application in story.sink.applications:
        if application.event.key is not None:
            applied.setdefault(application.event.key, []).append(application)
    for key, effects in asked.items():
        docket.tried(len(effects) - 1)
        times = applied.get(key, [])
        if len(times) > 1:
            docket.breach(
                effects[0].event.label or "(none)",
                f"applications under the key {key[:16]} = {len(times)} > 1",
                "an idempotent sink applies each key once",
                f"the sink applied the key {len(times)} times",
                tuple(a.at for a in times),
            )
    return docket.ruling()


def _other_payload(story: Story) -> Ruling:
    docket = Docket()
    if not story.idempotent:
        return docket.ruling()
    first: dict[str, EffectStory] = {}
    for effect in sorted(story.sink.effects, key=lambda e: e.received):
        key = effect.event.key
        if key is None or effect.received == FOREVER:
            continue
        if key not in first:
            if effect.applied:
                first[key] = effect
            continue
        if _same_payload(first[key], effect):
            continue
        docket.tried()
        if effect.applied or effect.repeated < FOREVER:
            docket.breach(
                effect.event.label or "(none)",
                f"payloads accepted under the key {key[:16]} = 2 > 1",
                "a key that comes again with another payload is refused",
                "the sink had applied the first payload, and did not refuse the second one",
                (first[key].received, effect.received),
            )
    return docket.ruling()


def _same_payload(one: EffectStory, other: EffectStory) -> bool:
    return one.event.tool == other.event.tool and same(one.event.args, other.event.args)


CHECKS = (
    Check(
        "AO601",
        "the sink applied one key twice",
        None,
        "the paper, sink contract: one key, one effect",
        "The sink is said to know keys, and applied two requests under the same one. The ledger "
        "did what it must: it kept its key.",
        "The sink looks the key up and stores it in two steps, or forgets it too early.",
        "Store key, payload digest and receipt in the transaction that applies the effect, and "
        "keep them for longer than any recovery can take.",
        _once,
    ),
    Check(
        "AO602",
        "the sink took another payload under a used key",
        None,
        "the paper, sink contract: k does not contain the arguments, so the sink compares them",
        "A key came a second time with other arguments, and the sink applied them, or answered "
        "with the receipt of the first, as if that had been done.",
        "The sink compares keys and not payloads.",
        "Store a digest of the payload with the key, and refuse another one.",
        _other_payload,
    ),
)
