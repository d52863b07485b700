"""CapLease: the reference ledger, one durable record for one approval (the paper).

An approval is a confirmation event e_u for one action sigma with a budget b. Issue opens one record
nu with b slots; every use of the budget takes one slot from Issued to Prepared to Committed. What
this ledger promises, each sentence the source of a claim in ``declaration.py``:

Budgets. A budget of b is served by b slots, and each of them is admitted exactly once.
Asking for the same admission again, with the same attempt, answers the same slot and the same key.

Revoke. After an acknowledged Revoke no slot of the record or of its descendants is admitted.
Revoke names the slots that it stopped and those that it came too late for.

Delegate. A child reserves slots of its parent in the transaction that makes it, and they are the
same slots under another holder. Delegating the same context and budget again answers the same child
while it lives. What a child did not use goes back to its parent when the child is closed.

Recover. Every Prepared slot is handed out again under its key until it is Committed, whoever held
it, and expiry or revocation do not stop that. Recover finds those slots by itself, also those of
records unknown to its caller.

Commit. Committing again with the same receipt is answered as done.

Expiry. At t_e and after it nothing is admitted. The clock is read once every lock is held. t_i is
recorded and authenticated, it is not a gate.

Refusals. A refusal's code names a cause that held when it was given. Every refusal says whether
asking again may help, and what to do next.

Audit. Every transition appends one record to a hash chain that cannot be altered, reordered or cut
in the middle without being seen; a cut tail shows against a head and count kept elsewhere.

Durability. An acknowledged transition survives the death of any process. An acknowledged transition
survives a power cut, because the log is synced before the reply.

Every operation is one transaction. Over SQLite a writer holds the ledger's one write lock from its
first statement. Over PostgreSQL it locks the row of its tree's root before it reads what decides,
and the chain's head last; recovery reads one snapshot and locks nothing, for what is admitted
stays so until it is committed under its own key. Operations live one a file (``issue.py``,
``prepare.py``, ...) over ``base.py``; a realization is a ``Store`` (which database) and a
``Credential`` (what the client carries), and nothing else differs between them.
"""
