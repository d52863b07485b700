"""What a statement does to a PostgreSQL transaction, read from its text before it is sent.

Quoted text and comments are blanked out first, character by character, so that a word inside a
literal never counts and a piece of a script is cut where the server would cut it. What a text
cannot tell is ``asked``: the probe then reads the server's own count of changed rows around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from .statements import TEXT_LIMIT

Verb = Literal[
    "begin",
    "commit",
    "prepare",  # PREPARE TRANSACTION
    "finish",  # COMMIT PREPARED
    "rollback_to",
    "savepoint",
    "release",
    "change",  # of as many rows as the server's answer says
    "schema",  # a change that is not counted in rows
    "asked",  # may have changed something, and the answer does not say
    "upkeep",  # the driver's own: no ledger sent it
    "other",
]

_TOKEN: Final = re.compile(
    r"""--[^\n]* | /\* | (?<![\w$])[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z) | '(?:[^']|'')*(?:'|\Z)
      | "(?:[^"]|"")*(?:"|\Z) | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE: Final = re.compile(r"/\*|\*/")
_CALL: Final = re.compile(r"([\w$.]+)\s*\(")
_CHANGES: Final = re.compile(r"\b(?:INSERT|UPDATE|DELETE|MERGE)\b")
_LOCKING: Final = re.compile(r"\bFOR\s+(?:NO\s+KEY\s+)?UPDATE\b|\bDO\s+UPDATE\b")
_CONDITIONAL: Final = re.compile(r"\bIF\s+(?:NOT\s+)?EXISTS\b")
_TEMPORARY: Final = re.compile(r"CREATE\s+(?:(?:GLOBAL|LOCAL)\s+)?TEMP(?:ORARY)?\b")
_NOT_IN_BLOCK: Final = re.compile(
    r"\bCONCURRENTLY\b|\A(?:CREATE|DROP|ALTER)\s+(?:DATABASE|TABLESPACE|SYSTEM|SUBSCRIPTION)\b"
)
_ENDS_ITSELF: Final = re.compile(r"\b(?:COMMIT|ROLLBACK|CALL|EXECUTE)\b", re.IGNORECASE)
_ATOMIC: Final = re.compile(r"\A\s*CREATE\b.*\bBEGIN\s+ATOMIC\b", re.DOTALL | re.IGNORECASE)
_ATOMIC_OPEN: Final = re.compile(r"\b(?:BEGIN\s+ATOMIC|CASE)\b", re.IGNORECASE)
_ATOMIC_END: Final = re.compile(r"\bEND\b", re.IGNORECASE)
_SAVEPOINT: Final = re.compile(r'("(?:[^"]|"")*"|[\w$]+)[\s;]*\Z')
_SPACE: Final = " \t\r\n\f;"

_VERBS: Final[dict[str, Verb]] = {
    **dict.fromkeys(("BEGIN", "START"), "begin"),
    **dict.fromkeys(("COMMIT", "END"), "commit"),
    "SAVEPOINT": "savepoint",
    "RELEASE": "release",
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "MERGE"), "change"),
    **dict.fromkeys(("CREATE", "DROP", "ALTER", "TRUNCATE", "GRANT", "REVOKE"), "schema"),
    **dict.fromkeys(("COMMENT", "SECURITY", "REASSIGN", "IMPORT", "REFRESH"), "schema"),
    **dict.fromkeys(("CALL", "DO", "EXECUTE"), "asked"),
    "DEALLOCATE": "upkeep",
}
_WORDS: Final = """
all and any array as between by case cast distinct else except exists extract filter from group
having in intersect interval is join lateral like limit materialized not null of offset on or over
overlay partition recursive row select set some substring table then trim union using values when
where with within bit char character decimal float numeric time timestamp timestamptz varbit
varchar varying"""
"""Words and types that may stand before a parenthesis and call nothing."""

_HARMLESS: Final = """
abs age array_agg array_length avg bool_and bool_or btrim cardinality ceil char_length
clock_timestamp coalesce concat convert_from convert_to count current_database current_schema
current_setting date_part date_trunc decode dense_rank digest encode every first_value floor
format gen_random_bytes gen_random_uuid generate_series greatest hashtext jsonb_agg
jsonb_build_array jsonb_build_object json_agg json_build_object lag lead last_value least left
length lower lpad ltrim make_interval max md5 min mod now nullif octet_length pg_advisory_lock
pg_advisory_unlock pg_advisory_xact_lock pg_backend_pid pg_is_in_recovery pg_sleep
pg_try_advisory_lock pg_try_advisory_xact_lock position quote_ident quote_literal random rank
regexp_replace repeat replace right round row_number row_to_json rpad rtrim sha256 split_part
statement_timestamp string_agg strpos substr sum to_char to_date to_json to_jsonb to_number
to_regtype to_timestamp transaction_timestamp trunc unnest upper version"""
"""Functions that change nothing: those that a ledger would call. Of others the server is asked."""

_PURE: Final = frozenset(_WORDS.split()) | frozenset(_HARMLESS.split())


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as the probe needs it.

    ``text``       without white space around it, and bounded.
    ``savepoint``  its name, where the verb is about one.
    ``lifts``      outside a transaction it may be run in one of the probe's own.
    ``chains``     another transaction begins with its end.
    """

    text: str
    verb: Verb
    savepoint: str = ""
    lifts: bool = True
    chains: bool = False


@lru_cache(maxsize=1024)
def read(sent: bytes) -> Statement:
    """Say what one statement does, as it is sent."""
    sql = sent.decode("utf-8", "replace")
    bare = _blank(sql).strip(_SPACE).upper()
    found = re.match(r"[A-Z]*", bare)
    word = found.group() if found else ""
    verb = _verb(word, bare)
    name = ""
    if verb in ("savepoint", "release", "rollback_to"):
        last = _SAVEPOINT.search(sql)
        name = _folded(last.group(1)) if last else ""
    lifts = _NOT_IN_BLOCK.search(bare) is None and word != "CALL"
    if word == "DO":
        lifts = _ENDS_ITSELF.search(sql) is None  # a block may commit by itself
    return Statement(
        text=sql.strip()[:TEXT_LIMIT],
        verb=verb,
        savepoint=name,
        lifts=lifts,
        chains=re.search(r"\bAND\s+CHAIN\b", bare) is not None,
    )


def _verb(word: str, bare: str) -> Verb:
    verb = _VERBS.get(word, "other")
    if word in ("COMMIT", "PREPARE", "ROLLBACK", "ABORT"):
        return _control(word, bare)
    if word == "COPY":
        return "change" if re.match(r"COPY\s+[^(].*\bFROM\b", bare, re.DOTALL) else "other"
    if word in ("", "SELECT", "WITH", "VALUES"):
        return _query(bare)
    if word == "EXPLAIN":
        return "asked" if re.search(r"\bANALY[SZ]E\b", bare) else "other"
    if verb == "schema" and _TEMPORARY.match(bare):
        return "other"
    if verb == "schema" and _CONDITIONAL.search(bare):
        return "asked"
    return verb


def _control(word: str, bare: str) -> Verb:
    if word == "PREPARE":
        return "prepare" if re.match(r"PREPARE\s+TRANSACTION\b", bare) else "other"
    if word == "COMMIT":
        return "finish" if re.match(r"COMMIT\s+PREPARED\b", bare) else "commit"
    return "rollback_to" if re.search(r"\bTO\b", bare) else "other"


def _query(bare: str) -> Verb:
    """A query changes something by INTO, by a part of its WITH, or by a function."""
    if re.match(r"SELECT\b.*\bINTO\b", bare, re.DOTALL):
        return "schema"
    if _CHANGES.search(_LOCKING.sub(" ", bare)):
        return "asked"
    names = (name.lower().removeprefix("pg_catalog.") for name in _CALL.findall(bare))
    return "other" if all(name in _PURE for name in names) else "asked"


def _folded(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


@lru_cache(maxsize=256)
def split(sent: bytes) -> tuple[bytes, ...]:
    """Cut what is sent into its statements; blank ones are left out."""
    sql = sent.decode("utf-8", "surrogateescape")
    if ";" not in sql.rstrip(_SPACE):
        return (sent,)
    return tuple(piece.encode("utf-8", "surrogateescape") for piece in _pieces(sql))


def _pieces(sql: str) -> Iterator[str]:
    bare, start = _blank(sql), 0
    for end in [*(found.start() for found in re.finditer(";", bare)), len(sql)]:
        piece = bare[start:end]
        if end < len(sql) and _is_open(piece):
            continue
        if piece.strip(_SPACE):
            yield sql[start:end]
        start = end + 1


def _is_open(piece: str) -> bool:
    """Whether a semicolon after this ends no statement: in a rule's list, in a body."""
    if piece.count("(") > piece.count(")"):
        return True
    if _ATOMIC.match(piece) is None:
        return False
    return len(_ATOMIC_OPEN.findall(piece)) > len(_ATOMIC_END.findall(piece))


def _blank(sql: str) -> str:
    """The same text with comments and literals blanked, and quoted names made plain words."""
    parts, start = [], 0
    while (found := _TOKEN.search(sql, start)) is not None:
        parts.append(sql[start : found.start()])
        end = _end(sql, found)
        filler = "q" if found.group().startswith('"') else " "
        parts.append(filler * (end - found.start()))
        start = end
    return "".join([*parts, sql[start:]])


def _end(sql: str, found: re.Match[str]) -> int:
    if found.group() == "/*":
        return _comment_end(sql, found.end())
    if found.group("tag") is not None:
        closing = sql.find(found.group(), found.end())
        return len(sql) if closing < 0 else closing + len(found.group())
    return found.end()


def _comment_end(sql: str, start: int) -> int:
    """Comments of this kind nest."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(sql)
