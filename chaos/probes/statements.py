"""What a statement does to a transaction, read from its text.

The probes must know this *before* the statement runs, and the drivers do not say. Quoted text and
comments are cut out first, so that a word inside a literal never counts. A statement is read once
and remembered, since a ledger sends the same few over and over.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

Verb = Literal[
    "begin",
    "commit",
    "rollback",
    "rollback_to",
    "savepoint",
    "release",
    "change",  # of rows: the connection counts them
    "schema",  # of anything that is not counted in rows
    "other",
]

TEXT_LIMIT: Final = 500
"""Longest piece of a statement or path that travels with a point, characters."""

_COMMENT: Final = r"--[^\n]*|/\*.*?(?:\*/|\Z)"
_NOISE: Final = re.compile(
    rf"{_COMMENT}|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]", re.DOTALL
)
_COMMENTS: Final = re.compile(_COMMENT, re.DOTALL)
_CHANGE_IN_WITH: Final = re.compile(
    r"\b(?:(?:INSERT|REPLACE|MERGE)\s+(?:OR\s+\w+\s+)?INTO|UPDATE|DELETE\s+FROM)\b"
)
_TEMPORARY: Final = re.compile(r"CREATE\s+TEMP(?:ORARY)?\b")
_STORED_PRAGMA: Final = re.compile(r"PRAGMA\s+(?:\w+\.)?(?:USER_VERSION|APPLICATION_ID)\s*[=(]")
_SAVEPOINT: Final = re.compile(
    r"\s*(?:SAVEPOINT|RELEASE(?:\s+SAVEPOINT)?"
    r"|ROLLBACK(?:\s+TRANSACTION)?\s+TO(?:\s+SAVEPOINT)?)\s+(.+?)[\s;]*\Z",
    re.IGNORECASE | re.DOTALL,
)
_DRIVER_BEGINS: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE")
_VERBS: Final[dict[str, Verb]] = {
    "BEGIN": "begin",
    "START": "begin",
    "COMMIT": "commit",
    "END": "commit",
    "SAVEPOINT": "savepoint",
    "RELEASE": "release",
    **dict.fromkeys((*_DRIVER_BEGINS, "MERGE"), "change"),
    **dict.fromkeys(("CREATE", "DROP", "ALTER", "REINDEX", "ANALYZE", "TRUNCATE"), "schema"),
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as the probes need it.

    ``text``           without white space around it, and bounded; ``sql``: all of it.
    ``savepoint``      its name, where the verb is about one.
    ``returning``      it hands back the rows that it changed, one by one.
    ``conditional``    it changes the schema only IF (NOT) EXISTS.
    ``plain``          inside a transaction it needs no further look.
    ``driver_begins``  the ``sqlite3`` module opens a transaction before it, in its legacy mode.
    """

    text: str
    verb: Verb
    savepoint: str = ""
    returning: bool = False
    conditional: bool = False
    driver_begins: bool = False
    plain: bool = False
    sql: str = ""


@lru_cache(maxsize=1024)
def read(sql: str) -> Statement:
    """Say what ``sql``, one statement, does."""
    bare = _NOISE.sub(" ", sql).strip(" \t\r\n\f;").upper()
    word = re.match(r"[A-Z]*", bare)
    first = word.group() if word else ""
    verb = _verb(first, bare)
    name = ""
    if verb in ("savepoint", "release", "rollback_to"):
        found = _SAVEPOINT.match(_COMMENTS.sub(" ", sql))
        name = found.group(1).strip("\"'`[]").casefold() if found else ""
    return Statement(
        text=sql.strip()[:TEXT_LIMIT],
        verb=verb,
        savepoint=name,
        returning=verb == "change" and re.search(r"\bRETURNING\b", bare) is not None,
        conditional=verb == "schema" and re.search(r"\bIF\b.*\bEXISTS\b", bare) is not None,
        driver_begins=first in _DRIVER_BEGINS,
        plain=verb in ("change", "other", "rollback"),
        sql=sql,
    )


def _verb(first: str, bare: str) -> Verb:
    if first == "ROLLBACK":
        return "rollback_to" if re.search(r"\bTO\b", bare) else "rollback"
    if first == "WITH":
        return "change" if _CHANGE_IN_WITH.search(bare) else "other"
    if first == "PRAGMA":
        return "schema" if _STORED_PRAGMA.match(bare) else "other"
    if first == "CREATE" and _TEMPORARY.match(bare):
        return "other"
    return _VERBS.get(first, "other")


def split(script: str) -> Iterator[str]:
    """Cut a script into its statements, the way SQLite's own shell does."""
    start, end = 0, script.find(";")
    while end >= 0:
        piece = script[start : end + 1]
        if sqlite3.complete_statement(piece):
            if not _is_blank(piece):
                yield piece
            start = end + 1
        end = script.find(";", end + 1)
    if not _is_blank(script[start:]):
        yield script[start:]


def _is_blank(piece: str) -> bool:
    return not _COMMENTS.sub("", piece).strip(" \t\r\n\f;")
