"""What else a workload can ask of a ledger: revocation, delegation, release, and attacks.

An *attack* presents something that was not approved: another call, another context, a larger
budget, a forged credential. Its requests are named ``x1``, ``x2`` …, never ``r…``: refusing them is
right, so no liveness check counts them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..chaos.handle import NodeHandle
from ..targets.terms import (
    Admission,
    Authorization,
    Budget,
    Call,
    Confirmation,
    Context,
    Validity,
)
from .calls import PLAIN, Pending, Subject, Twist
from .client import Client


def revoke(
    client: Client,
    node: NodeHandle,
    twist: Twist = PLAIN,
    authorization: Authorization | None = None,
    context: Context | None = None,
    *,
    named: bool = False,
) -> Pending:
    """Withdraw the authorization, or a given one: ``context`` says whose child that is. ``named``:
    the history says which record that was, where the same action was confirmed more than once."""
    about = authorization or client.authorization
    record = Admission(about.record) if named and about is not None else None
    subject = Subject(client.label, context=context, admission=record)
    return client.stage.call(node, "revoke", [about], subject, client.executor, twist)


def delegate(
    client: Client,
    node: NodeHandle,
    context: Context,
    budget: Budget,
    twist: Twist = PLAIN,
    authorization: Authorization | None = None,
) -> Pending:
    """Make a child for another context, with a part of the budget."""
    about = authorization or client.authorization
    subject = Subject(client.label, context=context, budget=budget)  # the parent is its executor
    return client.stage.call(
        node, "delegate", [about, context, budget], subject, client.executor, twist
    )


def child_of(client: Client, delegated: Pending, context: Context) -> Client | None:
    """The child's client, of the same uses; None: it was not granted."""
    value = delegated.answer.value if delegated.answer is not None else None
    if not isinstance(value, Authorization):
        return None
    approval = replace(client.approval, context=context)
    return replace(client, approval=approval, authorization=value, acting=context)


def close(
    client: Client,
    node: NodeHandle,
    child: Authorization,
    context: Context | None = None,
    twist: Twist = PLAIN,
) -> Pending:
    """A child gives back what it did not use; ``context`` says whose child it is."""
    subject = Subject(client.label, context=context)
    return client.stage.call(node, "close", [child], subject, client.executor, twist)


def release(
    client: Client,
    node: NodeHandle,
    admission: Admission,
    *,
    request: str,
    executor: str | None = None,
    twist: Twist = PLAIN,
) -> Pending:
    """Give a unit back after a definite non-effect; by somebody else: an attack."""
    subject = Subject(client.label, request, admission=admission)
    return client.stage.call(
        node,
        "release",
        [admission, "the sink did not apply it"],
        subject,
        executor or client.executor,
        twist,
    )


def renew(client: Client, node: NodeHandle, admission: Admission, request: str) -> Pending:
    """A holder's heartbeat."""
    subject = Subject(client.label, request, admission=admission)
    return client.stage.call(node, "renew", [admission], subject, client.executor)


def present(
    client: Client,
    node: NodeHandle,
    request: str,
    *,
    call: Call | None = None,
    context: Context | None = None,
    authorization: Authorization | None = None,
    forged: str = "",
    attempt: str | None = None,
) -> Pending:
    """Ask for admission with something that differs from what was approved; under an attempt of
    its own, or under a given one."""
    asked = client.approval
    op = "execute" if "execute" in node.operations else "prepare"
    args: list[Any] = [
        authorization or client.authorization,
        call or asked.call,
        context or asked.context,
        attempt or f"{request}-{client.label[3:11]}",
    ]
    subject = Subject(
        client.label, request, args[3], presented=call, context=context, forged=forged
    )
    executor = (context or asked.context).executor
    return client.stage.call(node, op, args, subject, executor)


def reissue(  # noqa: PLR0913  # each is one thing that may be changed
    client: Client,
    node: NodeHandle,
    *,
    call: Call | None = None,
    context: Context | None = None,
    budget: Budget = None,
    confirmation: Confirmation | None = None,
    validity: Validity | None = None,
    forged: str = "",
    twist: Twist = PLAIN,
) -> Pending:
    """Present the confirmation again: as it was, or with one thing changed."""
    asked = client.approval
    args: list[Any] = [
        call or asked.call,
        confirmation or asked.confirmation,
        asked.budget if budget is None else budget,
        context or asked.context,
        validity or asked.validity,
    ]
    changed = any(item is not None for item in (call, budget, validity)) or bool(forged)
    subject = Subject(
        client.label,
        "x-issue" if changed else None,
        presented=call,
        context=context,
        forged=forged,
        budget=budget,
    )
    return client.stage.call(node, "issue", args, subject, client.executor, twist)


def as_executor(context: Context, executor: str) -> Context:
    """The same context, presented by somebody else."""
    return replace(context, executor=executor)
