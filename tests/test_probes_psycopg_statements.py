"""How the psycopg probe reads statements before they are sent."""

from __future__ import annotations

import pytest

from admitone.chaos.probes.psycopg_statements import read, split
from admitone.chaos.probes.statements import TEXT_LIMIT

VERBS = {
    "begin": ("BEGIN", "begin isolation level serializable", "START TRANSACTION READ ONLY"),
    "commit": ("COMMIT", "end;", "/* a /* b */ */ COMMIT AND CHAIN", "COMMIT WORK -- PREPARED"),
    "prepare": ("PREPARE TRANSACTION 'x'",),
    "finish": ("COMMIT PREPARED 'x'",),
    "rollback_to": ("ROLLBACK TO a", "rollback transaction to savepoint a", "ABORT TO a"),
    "savepoint": ("SAVEPOINT a",),
    "release": ("RELEASE a", "RELEASE SAVEPOINT a"),
    "change": (
        "INSERT INTO t VALUES ($1) ON CONFLICT DO NOTHING",
        "update t set n = f(n)",
        "DELETE FROM t",
        "MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE",
        "COPY t (n) FROM STDIN",
    ),
    "schema": (
        "CREATE TABLE t (n int)",
        "DROP TABLE t",
        "TRUNCATE t",
        "GRANT SELECT ON t TO u",
        "SELECT 1 INTO t",
        "REFRESH MATERIALIZED VIEW m",
    ),
    "asked": (
        "SELECT f()",
        "SELECT (SELECT s.f(1))",
        'SELECT "F"(1)',
        "WITH x AS (DELETE FROM t RETURNING n) SELECT n FROM x",
        "WITH x AS (SELECT 1) INSERT INTO t SELECT 1",
        "CREATE TABLE IF NOT EXISTS t (n int)",
        "DROP TABLE IF EXISTS t",
        "EXPLAIN (ANALYZE) DELETE FROM t",
        "DO $$ BEGIN END $$",
        "CALL p()",
        "EXECUTE s",
    ),
    "upkeep": ("DEALLOCATE _pg3_0",),
    "other": (
        "",
        "SELECT * FROM t WHERE n IN (SELECT count(*) FROM s) FOR NO KEY UPDATE",
        "SELECT 'f()', $q$ f() $q$, E'\\'; f()' -- f()",
        "select pg_catalog.now(), coalesce(max(n), 0)::numeric(3, 1) from t",
        "WITH x AS (SELECT 1 AS n) SELECT n FROM x FOR UPDATE",
        "COPY (SELECT n FROM t) TO STDOUT",
        "COPY t TO STDOUT",
        "CREATE TEMP TABLE t (n int)",
        "create local temporary table t (n int)",
        "EXPLAIN DELETE FROM t",
        "ROLLBACK",
        "ROLLBACK PREPARED 'x'",
        "PREPARE s AS DELETE FROM t",
        "SET x = 1",
        "LOCK TABLE t",
        "FETCH FORWARD 1 FROM c",
    ),
}


@pytest.mark.parametrize(("verb", "sql"), [(v, s) for v, texts in VERBS.items() for s in texts])
def test_a_statement_is_read_as_what_it_does(verb: str, sql: str) -> None:
    assert read(sql.encode()).verb == verb


@pytest.mark.parametrize(
    ("sql", "lifts"),
    [
        ("INSERT INTO t VALUES (1)", True),
        ("CREATE INDEX ON t (n)", True),
        ("CREATE INDEX CONCURRENTLY ON t (n)", False),
        ("CREATE DATABASE d", False),
        ("alter system set x = 1", False),
        ("CALL p()", False),
        ("DO $$ BEGIN INSERT INTO t VALUES (1); END $$", True),
        ("DO $$ BEGIN commit; END $$", False),
        ("DO $$ BEGIN CALL p(); END $$", False),
    ],
)
def test_what_ends_a_transaction_by_itself_is_not_lifted(sql: str, lifts: bool) -> None:
    assert read(sql.encode()).lifts is lifts


@pytest.mark.parametrize(
    ("sql", "name"),
    [("SAVEPOINT Ab", "ab"), ('ROLLBACK TO "A ""b"', 'A "b'), ("release savepoint a$1 ; ", "a$1")],
)
def test_a_savepoint_has_its_folded_name(sql: str, name: str) -> None:
    assert read(sql.encode()).savepoint == name


SCRIPTS: dict[str, list[str]] = {
    "SELECT 1": ["SELECT 1"],
    "SELECT 1;": ["SELECT 1;"],
    "BEGIN; INSERT INTO t VALUES (';') ; ; COMMIT": [
        "BEGIN",
        " INSERT INTO t VALUES (';') ",
        " COMMIT",
    ],
    "SELECT $a$;$b$;$a$; SELECT 2": ["SELECT $a$;$b$;$a$", " SELECT 2"],
    'SELECT a$1$ FROM t; SELECT ";"; /* ; */ -- ;': ["SELECT a$1$ FROM t", ' SELECT ";"'],
    "SELECT E'\\';'; SELECT '\\'; SELECT 3": ["SELECT E'\\';'", " SELECT '\\'", " SELECT 3"],
    "CREATE RULE r AS ON INSERT TO t DO (DELETE FROM a; DELETE FROM b); SELECT 1": [
        "CREATE RULE r AS ON INSERT TO t DO (DELETE FROM a; DELETE FROM b)",
        " SELECT 1",
    ],
    "CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3": [
        "CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END",
        " SELECT 3",
    ],
    " ; /* nothing */ ; SELECT 1": [" SELECT 1"],
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_cut_where_the_server_cuts_it(script: str) -> None:
    assert [piece.decode() for piece in split(script.encode())] == SCRIPTS[script]


@pytest.mark.parametrize("tail", ["'", "$a$", '"', "/* /* */", "E'\\", "--"])
def test_an_unfinished_literal_reaches_to_the_end(tail: str) -> None:
    """The server will refuse it; reading it must end, and cut nothing."""
    assert len(split(f"SELECT 1; SELECT {tail} ; COMMIT".encode())) == 2


def test_a_text_is_bounded_and_any_bytes_are_read() -> None:
    assert len(read(b"SELECT '" + b"x" * 9000 + b"'").text) == TEXT_LIMIT
    assert read(b"SELECT '\xe9'").text == "SELECT '\ufffd'"
    assert split(b"SELECT '\xe9'; SELECT 2") == (b"SELECT '\xe9'", b" SELECT 2")
