"""Fills the book of admissions of every label, event by event.

Split ledgers: ok replies of prepare, what recovery names, and what trusted readings show.
Guarded ledgers: entries into ``env.effect``. An unknown reply is nothing until one of these
proves it; a ``Replayed`` names an admission that existed before, and so is nothing new.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...chaos.events import SinkReplied, SinkRequested
from ...targets.replies import Recovered
from ...targets.terms import Admission, Authorization
from ..history import History
from .admissions import Admitted, Book, Evidence, Kind
from .calls import FOREVER, CallStory
from .labels import LabelStory
from .readings import Reading, is_admitted
from .sinklog import EffectStory, SinkLog


def fill_books(
    history: History,
    calls: Mapping[int, CallStory],
    sink: SinkLog,
    labels: Mapping[str, LabelStory],
) -> None:
    """Derive the book and the ``records`` of every label."""
    _learn_records(calls, labels)
    filler = _Filler(history, labels)
    begun = {c.began: c for c in calls.values()}
    ended = {c.ended: c for c in calls.values() if c.replied is not None}
    readings = {r.at: (label, r) for label in labels.values() for r in label.readings}
    for line in history.lines:
        seq, event = line.stamp.seq, line.event
        if seq in begun:
            filler.call_began(begun[seq])
        elif seq in ended:
            filler.call_ended(ended[seq])
        elif seq in readings:
            filler.reading(*readings[seq])
        elif isinstance(event, SinkRequested) and not event.lookup and history.header.guarded:
            filler.entry(sink.by_number[event.number], seq)
        elif isinstance(event, SinkReplied) and event.how == "refused":
            filler.sink_refused(sink.by_number.get(event.request), seq)


class _Filler:
    def __init__(self, history: History, labels: Mapping[str, LabelStory]) -> None:
        self.books = {label: story.book for label, story in labels.items()}
        self._labels = labels
        self._guarded = history.header.guarded
        facts = history.header.declaration.facts
        self._keys, self._takes_over = facts.key != "none", facts.lapse == "takeover"
        self._by_record = {r: label for label, s in labels.items() for r in s.records}
        # slots that only readings name cannot be matched with grants that name none
        self._slotted = {label: _names_slots(s) for label, s in labels.items()}
        self._by_effect: dict[EffectStory, Admitted] = {}

    def call_began(self, call: CallStory) -> None:
        """A release that is not refused may free its unit from the moment it was asked for, but
        only the holder gives back: what a stranger released is still in the holder's hand. So is
        what somebody has now, where one gives back once more what was his before."""
        about, label = call.invoked.admission, call.invoked.label
        if call.op != "release" or about is None or label not in self.books or call.took_nothing:
            return
        found = self.books[label].used_at(about, call.attempt, call.began)
        if found is None:
            return
        found.release_asked = True
        holders = {e.executor for e in found.evidence if e.executor is not None}
        if not holders or call.invoked.executor in holders:
            found.freed = min(found.freed, call.began)
            found.freed_until = call.ended if call.granted else FOREVER

    def call_ended(self, call: CallStory) -> None:
        said, label = call.said, call.invoked.label
        if isinstance(said, Recovered):
            self._recovered(call, said)
        elif label not in self.books:
            return
        elif call.op == "prepare" and isinstance(said, Admission):
            kind: Kind = "reply" if call.granted else "dropped"
            invoked = call.invoked
            attempt = said.attempt or invoked.attempt
            self.books[label].add(
                Evidence(
                    kind, call.ended, call.began, said,
                    call.owner, attempt, invoked.executor,
                )
            )  # fmt: skip
        elif call.op == "commit" and call.granted and call.invoked.admission is not None:
            found = self.books[label].find(call.invoked.admission, call.attempt)
            if found is not None:
                found.committed = min(found.committed, call.ended)

    def _recovered(self, call: CallStory, said: Recovered) -> None:
        for kind, items in (("resume", said.resume), ("settled", said.settled)):
            for item in items:
                label = self._label_of(item)
                if label is None:
                    continue
                evidence = Evidence(
                    "resume" if kind == "resume" else "settled",
                    call.ended, call.began, item, attempt=item.attempt,
                )  # fmt: skip
                named = bool(item.slot or item.key or item.attempt)
                fits = self._guarded or not named or self._comparable(label, item)
                may_be_new = named and not self._guarded and fits
                if may_be_new or self.books[label].find(item, item.attempt) is not None:
                    self.books[label].add(evidence, may_be_new=may_be_new)
                else:
                    self._labels[label].unnamed += 1

    def _comparable(self, label: str, item: Admission) -> bool:
        """A name tells admissions apart only if the others have one of this kind as well."""
        for other in self.books[label].admissions:
            names = (item.slot and other.slot, item.key and other.key)
            owners = {e.attempt for e in other.evidence} - {None}
            if not (any(names) or (item.attempt and owners)):
                return False
        return True

    def _label_of(self, item: Admission) -> str | None:
        """Recovery names units of anybody; which label one belongs to must be certain."""
        if item.record in self._by_record:
            return self._by_record[item.record]
        strangers = [label for label, story in self._labels.items() if not story.records]
        if len(strangers) == 1 and len(self._labels) == 1:
            return strangers[0]
        return None

    def reading(self, label: LabelStory, reading: Reading) -> None:
        slots = reading.view.slots
        if slots is None or self._guarded or not self._slotted[label.label]:
            return
        if not label.single or len(label.records) > 1:
            return  # slots of which record?
        record = next(iter(label.records), "")
        attempts = {c.invoked.attempt for c in label.uses()}
        for slot in slots:
            if not is_admitted(slot):
                continue
            admission = Admission(record, slot.slot, slot.key, attempt=slot.attempt)
            attempt = slot.attempt if slot.attempt in attempts else None
            self.books[label.label].add(
                Evidence("reading", reading.at, reading.began, admission, attempt, attempt)
            )

    def entry(self, effect: EffectStory, seq: int) -> None:
        """A guarded ledger entered ``env.effect``: it admitted this attempt, if not before."""
        event, call = effect.event, effect.call
        if event.label not in self.books or effect in self._by_effect:
            return  # a held request that is delivered is no second entry
        book = self.books[event.label]
        key = event.key if self._keys else None
        record = next(iter(self._labels[event.label].records), "")
        if call is not None and call.op == "execute":
            shared = self._is_shared(book, key, call.owner)
            admission = Admission(record, key=key if shared else None, attempt=call.owner)
            evidence = Evidence(
                "entry", seq, seq, admission,
                call.owner, call.owner, call.invoked.executor,
            )  # fmt: skip
            found = book.add(evidence)
            if found is not None and key is not None:
                found.evidence[-1] = replace(evidence, admission=replace(admission, key=key))
                book.name(found, found.evidence[-1])
        else:
            found = self._continued(book, key)
            if found is None:
                nobodys = Admission(record, key=key, attempt="work")
                found = book.add(Evidence("entry", seq, seq, nobodys))
        if found is not None:
            found.pending.add(event.number)
            self._by_effect[effect] = book.by_effect[event.number] = found

    def _is_shared(self, book: Book, key: str | None, owner: str) -> bool:
        """Whether this key is that of an admission which the owner may be continuing: recovery
        sent it before the owner did, or a lapsed holder's unit passes on under its key."""
        mine = {None, owner}
        return key is not None and any(
            self._takes_over or {e.owner for e in admission.evidence} <= mine
            for admission in book.admissions
            if admission.key == key
        )

    @staticmethod
    def _continued(book: Book, key: str | None) -> Admitted | None:
        """Recovery, or a worker, continues an admission: that of its key, else the last one."""
        for admission in reversed(book.admissions):
            if key is not None and any(e.admission.key == key for e in admission.evidence):
                return admission
        return book.admissions[-1] if book.admissions else None

    def sink_refused(self, effect: EffectStory | None, seq: int) -> None:
        """A definite non-effect frees a guarded admission, if it was its only chance."""
        found = self._by_effect.get(effect) if effect is not None else None
        if found is not None and effect is not None:
            found.pending.discard(effect.event.number)
            if not found.pending:
                found.freed = min(found.freed, seq)
                # the ledger learns of it before its call ends, if that came to its end
                over = effect.call is not None and effect.call.came_back
                found.freed_until = effect.call.ended if effect.call and over else FOREVER


def _learn_records(calls: Mapping[int, CallStory], labels: Mapping[str, LabelStory]) -> None:
    """Which record belongs to which label, by what Issue answered (or the approval says)."""
    for label in labels.values():
        for call in label.of("issue"):
            said = call.said
            if isinstance(said, Authorization):
                label.records.setdefault(said.record, (call.ended, said.budget))
    for call in calls.values():
        label_name, about = call.invoked.label, call.invoked.admission
        said = call.said
        record = said.record if isinstance(said, Admission) else None
        record = record or (about.record if about is not None else None)
        if label_name is None or label_name not in labels:
            continue
        if record and not labels[label_name].records:
            labels[label_name].records[record] = (call.ended, None)


def _names_slots(label: LabelStory) -> bool:
    grants = [c.said for c in label.of("prepare") if isinstance(c.said, Admission)]
    return all(g.slot for g in grants)
