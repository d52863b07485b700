"""The reference ledger on PostgreSQL: its locks and the traps between them, its sessions when they
are lost, and the target around it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import psutil
import psycopg
import pytest

from admitone.chaos.servers.postgres import PostgresServer
from admitone.targets import caplease
from admitone.targets.caplease import store as caplease_store
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.records import Record
from admitone.targets.caplease.server_ledger import ServerLedgerPostgres
from admitone.targets.caplease.store_postgres import PostgresStore
from admitone.targets.caplease.target_postgres import CapLeasePostgres
from admitone.targets.contract import (
    Admission,
    Authorization,
    Busy,
    Context,
    Refused,
    Revoked,
    Unknown,
)
from admitone.targets.registry import is_reference
from tests.caplease_world import (
    CALL,
    CHILD,
    END_S,
    audited,
    child_of,
    code,
    issue,
    issued,
    prepare,
    prepared,
    receipt_for,
)
from tests.served_world import ServedSite, Stand, in_thread

PATIENT = {"patience_s": 60.0}


@pytest.fixture
def site(scratch: Path, postgres: PostgresServer) -> Iterator[ServedSite]:
    made = ServedSite(CapLeasePostgres(), scratch, server=postgres)
    yield made
    made.shut()


@pytest.fixture
def ledger(site: ServedSite) -> CapLease:
    return site.client()[0]


def classified(site: ServedSite, operation: Callable[[], Any]) -> Any:
    """The answer, as a node would give it."""
    try:
        return operation()
    except Exception as raised:  # whatever it is, it is classified
        return site.target.classify(raised) or raised


# what is decided is decided under every lock -----------------------------------------------------


def waits_past_the_end(
    site: ServedSite, standing: Callable[[CapLease], Stand], asks: Callable[[CapLease], Any]
) -> Any:
    """The answer to one who came before t_e, waited for another, and went on at t_e."""
    other, _ = site.named("other")
    late, world = site.named("late", **PATIENT)
    stands = standing(other)
    waiting = in_thread(lambda: asks(late))
    site.await_blocked("late")
    world.clock_s = END_S
    stands.dies()
    return waiting.result()


def test_who_waits_for_the_tree_is_not_carried_past_the_end(site: ServedSite) -> None:
    granted = issued(site.client()[0])
    answer = waits_past_the_end(
        site,
        lambda other: Stand(other, "_now", lambda: prepare(other, granted, "a")),
        lambda late: prepare(late, granted, "b"),
    )
    assert code(answer) == "expired"


def test_who_waits_for_the_chain_is_not_carried_past_the_end(site: ServedSite) -> None:
    owner = site.client()[0]
    granted, another = issued(owner), issued(owner, event="another")
    answer = waits_past_the_end(
        site,
        lambda other: Stand(other, "_swap", lambda: prepare(other, another, "a")),
        lambda late: prepare(late, granted, "b"),
    )
    assert code(answer) == "expired"


def test_no_child_is_made_after_a_wait_past_the_end(site: ServedSite) -> None:
    granted = issued(site.client()[0])
    answer = waits_past_the_end(
        site,
        lambda other: Stand(other, "_now", lambda: prepare(other, granted, "a")),
        lambda late: late.delegate(granted, CHILD, 1),
    )
    assert code(answer) == "expired"


def test_issue_is_not_carried_past_the_end_by_one_that_dies(site: ServedSite) -> None:
    answer = waits_past_the_end(
        site, lambda other: Stand(other, "_append", lambda: issue(other)), issue
    )
    assert code(answer) == "expired"
    assert not site.look().known


def test_issue_answers_the_record_of_whom_it_waited_for(site: ServedSite) -> None:
    one, other = site.named("one")[0], site.named("other", **PATIENT)[0]
    first = Stand(one, "_append", lambda: issue(one, 2))
    second = in_thread(lambda: issue(other, 2))
    site.await_blocked("other")
    assert first.goes_on() == second.result()
    assert audited(one).count == 1


def test_a_child_sees_what_its_root_became_while_it_waited(site: ServedSite) -> None:
    owner, child = site.named("owner")[0], site.named("child", **PATIENT)[0]
    granted = issued(owner, 2)
    part = child_of(owner, granted, 1)
    revoking = Stand(owner, "_append", lambda: owner.revoke(granted))
    waiting = in_thread(lambda: child.prepare(part, CALL, CHILD, "a"))
    site.await_blocked("child")
    assert revoking.goes_on() == Revoked(stopped=("1", "2"), too_late=())
    assert code(waiting.result()) == "revoked"


def test_revoke_reaches_a_grandchild_that_was_being_made(site: ServedSite) -> None:
    owner, child = site.named("owner", **PATIENT)[0], site.named("child")[0]
    granted = issued(owner, 2)
    part = child_of(owner, granted, 1)
    narrower = Context("third", CHILD.session, f"{CHILD.task}/detail")
    making = Stand(child, "_append", lambda: child.delegate(part, narrower, 1))
    revoking = in_thread(lambda: owner.revoke(granted))
    site.await_blocked("owner")
    grandchild = making.goes_on()
    assert revoking.result() == Revoked(stopped=("1", "2"), too_late=())
    assert code(child.prepare(grandchild, CALL, narrower, "a")) == "revoked"


def test_commit_and_prepare_of_one_tree_wait_for_each_other(site: ServedSite) -> None:
    one, other = site.named("one")[0], site.named("other", **PATIENT)[0]
    granted = issued(one, 2)
    admission = prepared(one, granted, "a")
    taking = Stand(one, "_now", lambda: prepare(one, granted, "b"))
    receipt = receipt_for(admission)
    settling = in_thread(lambda: other.commit(admission, receipt))
    site.await_blocked("other")
    assert isinstance(taking.goes_on(), Admission)
    assert settling.result().receipt == receipt


def test_another_tree_nobody_waits_for(site: ServedSite) -> None:
    one, other = site.named("one")[0], site.named("other")[0]
    granted, another = issued(one), issued(one, event="another")
    taking = Stand(one, "_now", lambda: prepare(one, granted, "a"))
    assert isinstance(prepare(other, another, "b"), Admission)
    assert isinstance(classified(site, lambda: prepare(other, granted, "c")), Busy)
    assert isinstance(taking.goes_on(), Admission)


def test_readers_and_recovery_wait_for_nobody(site: ServedSite) -> None:
    one, other = site.named("one")[0], site.named("other")[0]
    granted = issued(one, 2)
    admission = prepared(one, granted, "a")
    taking = Stand(one, "_append", lambda: prepare(one, granted, "b"))
    assert audited(other).count == 2
    assert site.words(granted) == ["Prepared", "Issued"]
    assert cast(Any, other.recover(())).resume == (admission,)
    taking.goes_on()


# many at once ------------------------------------------------------------------------------------


def at_once(site: ServedSite, parts: list[Callable[[CapLease], Any]]) -> list[Any]:
    """Every part by a client of its own, all released together."""
    clients = [site.client(**PATIENT)[0] for _ in parts]
    gate = threading.Barrier(len(parts))

    def play(client: CapLease, part: Callable[[CapLease], Any]) -> Any:
        gate.wait()
        return classified(site, lambda: part(client))

    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(play, clients, parts))


@pytest.mark.parametrize("budget", [1, 5])
def test_of_eight_consumers_exactly_b_are_admitted(site: ServedSite, budget: int) -> None:
    granted = issued(site.client()[0], budget)
    answers = at_once(site, [lambda c, n=n: prepare(c, granted, f"a{n}") for n in range(8)])  # type: ignore[misc]
    admitted = [answer for answer in answers if isinstance(answer, Admission)]
    assert sorted(str(a.slot) for a in admitted) == [str(j + 1) for j in range(budget)]
    assert {code(answer) for answer in answers if answer not in admitted} == {"exhausted"}
    assert audited(site.client()[0]).chain_ok


def test_a_family_that_does_everything_at_once_meets_no_deadlock(site: ServedSite) -> None:
    """Locks are taken in one order, so a wait may be long, and never in a circle."""
    owner = site.client()[0]
    granted = issued(owner, 12)
    children = [child_of_task(owner, granted, n) for n in range(2)]

    def uses(who: Authorization, context: Context | None, name: str) -> Callable[[CapLease], Any]:
        def part(client: CapLease) -> list[Any]:
            answers: list[Any] = []
            for n in range(3):
                if context is None:
                    found = prepare(client, who, f"{name}{n}")
                else:
                    found = client.prepare(who, CALL, context, f"{name}{n}")
                answers.append(found)
                if isinstance(found, Admission):
                    answers.append(client.commit(found, receipt_for(found)))
            return answers

        return part

    parts: list[Callable[[CapLease], Any]] = [
        uses(granted, None, "root"),
        *(uses(child, context, context.task) for child, context in children),
        lambda client: [client.close(children[0][0]), client.revoke(children[1][0])],
        lambda client: [child_of_task(client, granted, 7), client.recover(())],
        lambda client: [issued(client, 2, f"event-{n}") for n in range(3)],
    ]
    answers = at_once(site, parts)
    assert [type(answer) for answer in answers] == [list] * len(parts), answers
    assert audited(owner).chain_ok
    assert len(site.words(granted)) == 12


def child_of_task(client: CapLease, parent: Authorization, n: int) -> tuple[Authorization, Context]:
    context = Context(f"helper-{n}", CHILD.session, f"task/{n}")
    child = client.delegate(parent, context, 3)
    assert isinstance(child, Authorization)
    return child, context


# sessions ----------------------------------------------------------------------------------------


def test_it_works_at_read_committed_and_synced(ledger: CapLease) -> None:
    store = ledger.store
    assert isinstance(store, PostgresStore)
    run = store._driver.execute

    def shown(setting: str) -> str:
        found: Any = run(f"SHOW {setting}".encode()).fetchone()
        return cast(str, found[0])

    with store.writing():
        assert shown("transaction_isolation") == "read committed"
        assert shown("transaction_read_only") == "off"
    with store.reading():
        assert shown("transaction_isolation") == "repeatable read"
        assert shown("transaction_read_only") == "on"
    assert shown("synchronous_commit") == "on"


@pytest.mark.parametrize(("patience_s", "lock_timeout"), [(0.0, "1ms"), (0.5, "250ms"), (9, "1s")])
def test_two_waits_fit_into_its_patience(
    site: ServedSite, patience_s: float, lock_timeout: str
) -> None:
    ledger = site.client(patience_s=patience_s)[0]
    assert isinstance(ledger.store, PostgresStore)
    assert ledger.store._driver.execute("SHOW lock_timeout").fetchone() == (lock_timeout,)


def test_a_commit_that_rolls_back_is_no_success(site: ServedSite, ledger: CapLease) -> None:
    """An error that somebody swallowed: the server answers COMMIT with ROLLBACK, and no error."""
    granted = issued(ledger)

    def swallows(*_: object) -> None:
        with pytest.raises(psycopg.Error):
            ledger.store._driver.execute("SELECT 1/0")  # type: ignore[attr-defined]

    ledger._append = swallows  # type: ignore[method-assign]
    answer = classified(site, lambda: prepare(ledger, granted, "a"))
    assert isinstance(answer, Busy)
    assert "ROLLBACK" in answer.detail
    assert site.words(granted) == ["Issued"]


def end_session(site: ServedSite, name: str) -> None:
    site.alter(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        f" WHERE application_name = '{name}'"
    )


def test_a_session_that_was_lost_in_between_is_replaced(site: ServedSite) -> None:
    ledger, _ = site.named("one")
    granted = issued(ledger)
    end_session(site, "one")
    assert not site.server.sessions("one")
    assert isinstance(prepare(ledger, granted, "a"), Admission)
    assert len(site.server.sessions("one")) == 1


def test_a_session_that_is_lost_in_an_operation_leaves_it_unknown(site: ServedSite) -> None:
    ledger, _ = site.named("one")
    granted = issued(ledger, 2)
    choose = ledger._choose

    def loses(record: Record, attempt: str) -> Any:
        end_session(site, "one")
        return choose(record, attempt)

    ledger._choose = loses  # type: ignore[method-assign]
    assert isinstance(classified(site, lambda: prepare(ledger, granted, "a")), Unknown)
    ledger._choose = choose  # type: ignore[method-assign]
    assert prepared(ledger, granted, "a").slot == "1"


def test_of_a_commit_whose_answer_is_lost_nobody_is_told_a_lie(site: ServedSite) -> None:
    ledger, _ = site.named("one")
    granted = issued(ledger, 2)
    assert isinstance(ledger.store, PostgresStore)
    begin = ledger.store._begin

    class AnswerLost:
        def __init__(self, transaction: Any) -> None:
            self.rollback, self._commit = transaction.rollback, transaction.commit

        def commit(self) -> None:
            self._commit()
            end_session(site, "one")
            ledger.store._driver.execute("SELECT 1")  # type: ignore[attr-defined]

    ledger.store._begin = lambda text: AnswerLost(begin(text))  # type: ignore[method-assign]
    assert isinstance(classified(site, lambda: prepare(ledger, granted, "a")), Unknown)
    ledger.store._begin = begin  # type: ignore[method-assign]
    assert site.words(granted) == ["Prepared", "Issued"]
    assert prepared(ledger, granted, "a").slot == "1"
    assert audited(ledger).count == 2


@pytest.mark.parametrize(
    ("raised", "meant"),
    [
        (psycopg.errors.LockNotAvailable(), Busy),
        (psycopg.errors.SerializationFailure(), Busy),
        (psycopg.errors.DeadlockDetected(), Busy),
        (psycopg.errors.AdminShutdown(), Unknown),
        (psycopg.errors.StatementCompletionUnknown(), Unknown),
        (psycopg.errors.IoError(), Unknown),
        (psycopg.errors.DiskFull(), Unknown),
        (psycopg.OperationalError("consuming input failed"), Unknown),
        (psycopg.errors.StringDataRightTruncation(), Refused),
        (psycopg.errors.ProgramLimitExceeded(), Refused),
        (psycopg.errors.UniqueViolation(), None),
        (psycopg.errors.UndefinedTable(), None),
        (psycopg.InterfaceError("the cursor is closed"), None),
        (ValueError("lock timeout"), None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_an_error_means(raised: Exception, meant: type | None) -> None:
    verdict = CapLeasePostgres().classify(raised)
    assert verdict is None if meant is None else isinstance(verdict, meant)


@pytest.mark.parametrize("name", ["a\0b", "x" * 3000 + "".join(map(chr, range(256, 3000)))])
def test_what_this_database_cannot_hold_is_refused(
    site: ServedSite, ledger: CapLease, name: str
) -> None:
    answer = classified(site, lambda: issue(ledger, event=name))
    assert code(answer) == "invalid"
    issued(ledger)


# the target --------------------------------------------------------------------------------------


def schemas(site: ServedSite) -> set[str]:
    with psycopg.connect(site.server.address("looks")) as connection:
        found = connection.execute("SELECT nspname FROM pg_namespace").fetchall()
    return {name for (name,) in found if name.startswith("admitone_")}


def test_a_store_is_a_schema_and_leaves_with_it(scratch: Path, postgres: PostgresServer) -> None:
    one = ServedSite(CapLeasePostgres(), scratch, server=postgres)
    before = schemas(one)
    other = ServedSite(CapLeasePostgres(), scratch, server=postgres)
    [made] = schemas(one) - before
    assert made == cast(Any, other.deployment.store)["schema"]
    issued(one.client()[0])
    assert issued(other.client()[0]) != issued(one.client()[0])
    other.shut()
    CapLeasePostgres().discard(cast(Any, other._addressed("steward")))
    assert schemas(one) == before
    one.shut()


def test_what_the_url_says_is_kept(site: ServedSite) -> None:
    store = site._addressed("one")
    url = f"{store['postgres']}&options=-c%20statement_timeout%3D7s"
    with PostgresSession(url, store["schema"]) as driver:
        assert driver.execute("SHOW statement_timeout").fetchone() == ("7s",)
        assert driver.execute("SHOW search_path").fetchone() == (store["schema"],)
        assert driver.execute("SHOW application_name").fetchone() == ("one",)


class PostgresSession:
    """The connection of a store, closed in the end."""

    def __init__(self, url: str, schema: str) -> None:
        self._store = PostgresStore(url, schema)

    def __enter__(self) -> psycopg.Connection[Any]:
        return self._store._driver

    def __exit__(self, *_: object) -> None:
        self._store.disconnect()


def test_warming_up_compiles_all_and_opens_nothing(site: ServedSite) -> None:
    process = psutil.Process()

    def left() -> tuple[set[str], int, int]:
        files = {file.path for file in process.open_files()}
        return files, threading.active_count(), len(process.net_connections())

    before = left()
    site.target.warm()
    assert left() == before
    known = len(caplease_store._COMPILED)
    ledger = site.client()[0]
    granted = issued(ledger, 4)
    issued(ledger, 4)
    child = child_of(ledger, granted, 2)
    admission = prepared(ledger, granted, "a")
    ledger.recover(())
    ledger.commit(admission, receipt_for(admission))
    ledger.close(child)
    ledger.revoke(granted)
    audited(ledger)
    assert len(caplease_store._COMPILED) == known


def test_every_claim_quotes_the_ledgers_own_page() -> None:
    page = " ".join((caplease.__doc__ or "").split())
    for name, sentence in CapLeasePostgres.declaration.claims.items():
        assert sentence in page, name


def test_both_are_references_of_their_own_names() -> None:
    assert is_reference("builtin:caplease-postgres")
    assert is_reference("builtin:server-ledger-postgres")
    assert ServerLedgerPostgres.declaration is CapLeasePostgres.declaration
    assert CapLeasePostgres.declaration.facts.reach == "network"


def test_naming_the_target_imports_no_database_library() -> None:
    program = (
        "import sys; from admitone.targets.resolve import describe, resolve;"
        "describe(resolve('caplease-postgres'));"
        "sys.exit(bool({'sqlalchemy', 'psycopg'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
