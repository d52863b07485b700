"""The sink: applies effects, once per key if it is idempotent, and can prove what it did.

The *idempotent* kind takes a request in one atomic step: log it, look for its key, cause the
effect, remember the key with a signed receipt. A key that comes again with the same payload gets
the stored receipt; with another payload it is refused. A request without a key is applied and
cannot be recognized again.

The *control* kind causes the effect first and remembers it afterwards, in a transaction of its
own, and never looks at what it remembers. It exists to be wrong in a known way: a ledger that
resends must double effects here, or the suite is not measuring what it says.

Failure points of the sink are places between its methods:

* in flight (FP6): hold the arguments, or the ``Received`` of ``receive``, and ``apply`` it later;
* between effect and record (FP7): ``gap`` is called there, in the idempotent kind inside the
  transaction. To stop in it is to stop there, to raise in it is to crash there;
* applied, unacknowledged (FP8): drop the ``Answer``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from ..targets.identity import sign_receipt
from .payload import Payload, read_key, read_payload
from .protocol import Answer, Application, Log, Received, SinkKind
from .store import Store

Gap: TypeAlias = Callable[[Answer], None]
"""Called between effect and record, with the answer that will be given if all goes well."""


class Sink:
    """A sink in this process. Thread-safe. Whatever a request holds, it is answered.

    Only the store can raise (``sqlite3.Error``, ``StoreProblem``), and ``gap``.
    """

    def __init__(
        self,
        path: Path,
        kind: SinkKind = "idempotent",
        receipt_key: bytes | None = None,
        *,
        gap: Gap | None = None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._store = Store(path, kind, receipt_key)
        self._clock_ns = clock_ns
        self.gap = gap

    @property
    def kind(self) -> SinkKind:
        """Idempotent or control."""
        return self._store.kind

    @property
    def receipt_key(self) -> bytes:
        """What signs the receipts, and verifies them."""
        return self._store.receipt_key

    def request(
        self, key: str | None, tool: str, args: object, *, node: str = "", call: int | None = None
    ) -> Answer:
        """Receive and apply at once."""
        payload = read_payload(key, tool, args)
        with self._store.transaction():
            received = self._store.add_request(payload, self._clock_ns(), "effect", node, call)
            answer = self._take(received)
        return self._finish(answer)

    def receive(
        self, key: str | None, tool: str, args: object, *, node: str = "", call: int | None = None
    ) -> Received:
        """Log a request and decide nothing yet: the first half of ``request``."""
        payload = read_payload(key, tool, args)
        with self._store.transaction():
            return self._store.add_request(payload, self._clock_ns(), "effect", node, call)

    def apply(self, received: Received) -> Answer:
        """Deliver a request: the second half. Delivered twice it is taken twice, as a packet
        that a network doubled would be."""
        with self._store.transaction():
            answer = self._take(received)
        return self._finish(answer)

    def lookup(self, key: str, *, node: str = "", call: int | None = None) -> Answer:
        """What stands applied under a key. The control sink cannot tell."""
        safe_key, problem = read_key(key)
        payload = Payload(safe_key, "", problem=problem)
        with self._store.transaction():
            received = self._store.add_request(payload, self._clock_ns(), "lookup", node, call)
            if self.kind == "control":
                return Answer(received.number, "cannot_tell")
            receipt = None if safe_key is None else self._store.receipt_for(safe_key)
        if receipt is None:  # nothing can ever have been applied under a key that is unfit
            return Answer(received.number, "absent", problem=problem)
        return Answer(received.number, "found", receipt, receipt.number)

    def log(self) -> Log:
        """Requests and applications, read at one instant."""
        return self._store.log()

    def requests(self) -> tuple[Received, ...]:
        """Every request as it came, lookups too."""
        return self._store.requests()

    def applications(self, label: str | None = None) -> tuple[Application, ...]:
        """Every application, or those under one label."""
        return self._store.applications(label)

    def request_count(self) -> int:
        """How many requests and lookups came."""
        return self._store.count("request")

    def application_count(self) -> int:
        """N_effect over all labels."""
        return self._store.count("applied")

    def reset(self) -> None:
        """An empty world for the next schedule: same kind, same receipt key, numbers from 1."""
        self._store.reset()

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _take(self, received: Received) -> Answer:
        """Decide and cause the effect, inside the caller's transaction."""
        number, label = received.number, received.label
        if received.problem or received.digest is None:
            return Answer(number, "refused", label=label, problem=received.problem)
        if self.kind == "idempotent" and received.key is not None:
            known = self._store.receipt_for(received.key)
            if known is not None and known.digest == received.digest:
                return Answer(number, "repeated", known, known.number, label)
            if known is not None:
                problem = "the key stands applied with another payload"
                return Answer(number, "refused", label=label, problem=problem)
        application = self._store.add_application(received, received.digest, self._clock_ns())
        receipt = sign_receipt(
            self.receipt_key, received.key, received.tool, received.digest, application
        )
        answer = Answer(number, "applied", receipt, application, label)
        if self.kind == "idempotent":  # effect and record in one transaction: both or neither
            self._pass_gap(answer)
            self._store.add_record(application, receipt)
        return answer

    def _finish(self, answer: Answer) -> Answer:
        """What the control sink does after its effect is durable."""
        if self.kind == "control" and answer.receipt is not None:
            self._pass_gap(answer)
            with self._store.transaction():
                self._store.add_record(answer.receipt.number, answer.receipt)
        return answer

    def _pass_gap(self, answer: Answer) -> None:
        if self.gap is not None:
            self.gap(answer)
