"""The nouns of the contract: small frozen values that an adapter receives and returns.

The names are the paper's: action identity sigma is made of a ``Call``, the
execution context chi is a ``Context``, the confirmation event e_u a ``Confirmation``, and an
authorization alpha = (sigma, e_u, b) is what ``issue`` answers with an ``Authorization``.

Every class here can travel over the wire (``values.py``), so that a ledger in another
language sees exactly the same nouns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
"""What JSON can carry. ``store``, ``credential`` and ``handle`` are of this kind."""

Budget: TypeAlias = object
"""A budget b travels unvalidated: the suite also tries 0, -1, 1.5, NaN, inf, True, "1", 2**70."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call c = (tool, args) as the user approved it: what sigma is made of.

    sigma = (P_u, h_c, h_a, R): ``principal`` is P_u, ``tool`` with ``tool_version`` gives h_c,
    ``args`` gives h_a and ``resource`` is R (the paper, equation 1).
    """

    tool: str
    args: Mapping[str, object]
    principal: str
    resource: str
    tool_version: str = "1"


@dataclass(frozen=True, slots=True)
class Context:
    """The execution context chi = (P_e, S, T, v_p, v_s): who acts, where, under which epochs.

    It restricts where an authorization may be used. It is never part of its identity: another
    context does not open a new budget (the paper, equation 2).
    """

    executor: str
    session: str
    task: str
    policy_epoch: int = 1
    schema_epoch: int = 1


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The confirmation event e_u: one decision of one user, bound to what was displayed.

    ``event`` is its stable identifier: a retry of the same challenge carries the same one.
    ``action`` is sigma of the displayed call as ``identity.action_identity`` gives it.
    ``mac`` authenticates the four other fields (``identity.confirmation_is_genuine``).
    """

    event: str
    principal: str
    action: str
    budget: Budget
    mac: str


@dataclass(frozen=True, slots=True)
class Validity:
    """The interval [t_i, t_e] in seconds of ``env.now()``. ``expires_s`` None: no expiry asked."""

    issued_s: float
    expires_s: float | None = None


@dataclass(frozen=True, slots=True)
class Authorization:
    """What ``issue`` grants: the record nu, the budget if the ledger says it, and a credential.

    ``record`` identifies the durable record; issuing the same (sigma, e_u) again must answer
    the same one. ``credential`` is whatever the client needs to use it (a manifest, a selector,
    a token): any JSON, handed back unchanged by the suite, also from other nodes.
    """

    record: str
    budget: Budget = None
    credential: Json = None


@dataclass(frozen=True, slots=True)
class Approval:
    """One user decision as the workload knows it, with the authorization once it was answered.

    ``inspect`` gets this and not an ``Authorization`` alone, because the reply of ``issue`` may
    have been lost: a ledger that keys its records by the confirmation can still be looked at.
    """

    call: Call
    confirmation: Confirmation
    budget: Budget
    context: Context
    validity: Validity
    authorization: Authorization | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """What ``prepare`` grants: one use of the budget, admitted for execution.

    Fill only what the ledger really gives; None means "this ledger has no such thing" and the
    suite then neither invents nor judges it.

    ``record``  the root authorization's record.
    ``slot``    j, if the ledger names slots: one name per unit of budget.
    ``key``     the idempotency key k for the sink. None: the suite makes one per attempt.
    ``handle``  whatever ``commit``, ``release`` or ``renew`` need, as JSON; it must work from
                another node too, so no object kept in memory.
    ``call``    the call that the ledger says is to be sent, if it says so: the workload sends
                this one and not its own, so that a ledger bound to less than the whole call shows.
    ``attempt`` the attempt that the ledger recorded, if it does.
    """

    record: str
    slot: str | None = None
    key: str | None = None
    handle: Json = None
    call: Call | None = None
    attempt: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The sink's authenticated answer: an effect with this key and digest stands applied.

    ``number`` is the sink's own number of the application. ``mac`` authenticates the rest
    (``identity.receipt_is_genuine``). ``key`` is None when the request carried none.
    """

    key: str | None
    tool: str
    digest: str
    number: int
    mac: str


SlotState = Literal["issued", "prepared", "committed", "revoked", "in_doubt"]
"""in_doubt: the manual state that a ledger may declare for outcomes it cannot settle."""


@dataclass(frozen=True, slots=True)
class SlotView:
    """One slot as ``inspect`` saw it. ``word`` is the ledger's own word for the state."""

    slot: str
    state: SlotState
    word: str
    attempt: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many units of the root budget stand in each state; what a view without slots gives."""

    issued: int = 0
    prepared: int = 0
    committed: int = 0
    revoked: int = 0
    in_doubt: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """What ``inspect`` read. Give ``slots`` where the ledger names them, else ``counts``.

    ``known`` False: there is no such record, and both are empty. ``linearizable`` True: the
    reading is right at the instant it is made, also while others work (one transaction on the
    ledger's own store); False: only right at rest. A ledger that materializes a unit only when
    it is used reports the unused rest of the budget as issued.
    """

    known: bool
    slots: tuple[SlotView, ...] | None = None
    counts: Counts | None = None
    linearizable: bool = False
    revoked: bool | None = None


@dataclass(frozen=True, slots=True)
class AuditView:
    """What ``audit`` answers: head of the chain, number of records, and whether it verifies.

    ``transitions``, where the ledger can give it, is (record, slot, operation) per record in order.
    """

    head: str
    count: int
    chain_ok: bool
    transitions: tuple[tuple[str, str | None, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """A process that the *harness* starts, kills and restarts for a target.

    ``argv`` may contain ``{port}``, and ``{folder}`` for what the server keeps: it is the same
    when the server is started again after a kill. It is ready when it accepts connections on its
    port of 127.0.0.1 and, if given, has printed a line that contains ``ready``. ``endpoint`` is
    the key in ``store`` where its address is put: ``host:port``, or a whole URL where the
    suite knows the kind of server (``postgres_server``).
    """

    argv: tuple[str, ...]
    endpoint: str
    ready: str | None = None


POSTGRES: Final = "admitone:postgres"
"""The program of a server that the suite finds, sets up and starts by itself."""


def postgres_server(endpoint: str = "postgres") -> Server:
    """A PostgreSQL of the suite's own, empty and thrown away afterwards (or the user's, where one
    was named). ``store[endpoint]`` is then a URL that libpq and psycopg understand; hand it on
    unchanged, for it names the client, and the suite tells by that whose session is whose."""
    return Server((POSTGRES,), endpoint)


@dataclass(frozen=True, slots=True)
class Deployment:
    """What ``deploy`` made. ``store`` is JSON that ``open`` and ``inspect`` get back.

    Paths in it are relative to the workspace, which is copied for every use. ``servers`` are
    started after it; ``deploy`` itself cannot talk to them, ``fresh`` can. ``endpoints`` names
    further keys of ``store`` that hold addresses (``host:port``) of servers that are not the
    suite's, so that the harness may put a proxy's there.
    """

    store: Json
    servers: tuple[Server, ...] = ()
    endpoints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Identity:
    """Who connects: the principal that this node's client acts as, with its secret key."""

    name: str
    key: bytes


@dataclass(frozen=True, slots=True)
class Trust:
    """The keys of the trusted base: they verify confirmations and receipts, and nothing else."""

    confirmation_key: bytes
    receipt_key: bytes


@dataclass(frozen=True, slots=True)
class TargetName:
    """What is under test. ``layer`` says which part of the library the adapter talks to."""

    library: str
    layer: str = ""
    version: str = "0"
