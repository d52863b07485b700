"""The probe for SQLAlchemy, where no driver probe sees into the connection.

``DefaultDialect`` hands every statement and every COMMIT to the driver through a few methods in
which every dialect ends (but for ``do_executemany``); they are wrapped at the class. Events at
``Engine`` would come too early for COMMIT, not at all after it, nor after a failed statement, and
they slow down every engine in the process (0.08 ms a transaction). Connections of a driver that has
a probe of its own are passed through.

Whether a transaction changed something is read from the statements and their ``rowcount``. In
AUTOCOMMIT a statement that may change something is announced as a write before it runs, for the
driver says only afterwards whether it did. Failures are not raised here: how a store fails is for
its driver's probe to know.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import update_wrapper
from typing import Any, Final

from . import sight
from .sight import around, report
from .statements import Statement, read

_CHANGED: Final = "admitone.changed"
_OPEN: Final = "admitone.open"
_WITHIN: Final = "admitone.within"

_replaced: list[tuple[type, str, Any]] = []
_seen: set[type] = set()


def install_after_import() -> None:
    """Wrap the dialects, if the target imported SQLAlchemy; else do nothing, and import nothing.

    The node calls it after ``warm()``; once more does no harm.
    """
    module = sys.modules.get("sqlalchemy.engine.default")
    if module is None or _replaced:
        return
    dialect: type = module.DefaultDialect
    _wrap(dialect, "do_begin", _begin)
    _wrap(dialect, "do_commit", _commit)
    _wrap(dialect, "do_rollback", _rollback)
    for name in ("do_execute", "do_executemany", "do_execute_no_params"):
        _wrap(dialect, name, _execute)


def uninstall() -> None:
    """Put the methods back."""
    while _replaced:
        owner, name, stock = _replaced.pop()
        setattr(owner, name, stock)
    _seen.clear()


def _wrap(owner: type, name: str, probe: Callable[..., Any]) -> None:
    stock = owner.__dict__[name]

    def method(self: Any, subject: Any, *args: Any, **named: Any) -> Any:
        if not sight.watching:
            return stock(self, subject, *args, **named)
        return probe(lambda: stock(self, subject, *args, **named), self, subject, *args, **named)

    setattr(owner, name, update_wrapper(method, stock))
    _replaced.append((owner, name, stock))


def _is_covered(fairy: Any) -> bool:
    driver = getattr(fairy, "driver_connection", None)
    if isinstance(driver, tuple(sight.covered)):
        return True
    inner = getattr(driver, "__dict__", {}).get("_connection")  # aiosqlite keeps sqlite3's there
    return isinstance(inner, tuple(sight.covered))


def _is_autocommit(dialect: Any, fairy: Any) -> bool:
    """Whether each statement commits by itself."""
    driver = fairy.dbapi_connection
    detect = getattr(dialect, "detect_autocommit_setting", None)  # not before SQLAlchemy 2.0.43
    if detect is not None:
        with suppress(NotImplementedError):  # a dialect without it: the driver is asked below
            return bool(detect(driver))
    return getattr(driver, "autocommit", None) is True


def _begin(stock: Callable[[], Any], dialect: Any, fairy: Any) -> Any:
    """Nothing is sent: the driver begins by itself, at the latest with the first statement."""
    _wrap_override(type(dialect))
    if _is_covered(fairy) or _is_autocommit(dialect, fairy):
        return stock()
    fairy.info[_CHANGED], fairy.info[_OPEN] = False, True
    return around("begin", "BEGIN", stock)


def _commit(stock: Callable[[], Any], dialect: Any, fairy: Any) -> Any:
    if _is_covered(fairy) or _is_autocommit(dialect, fairy):
        return stock()
    changed = fairy.info.pop(_CHANGED, False)
    fairy.info.pop(_OPEN, None)
    return around("statement", "COMMIT", lambda: _written("COMMIT", changed, stock))


def _rollback(stock: Callable[[], Any], _dialect: Any, fairy: Any) -> Any:
    try:
        opened = fairy.info.pop(_OPEN, False)
    except NotImplementedError:  # the stand-in by which an engine looks at its first connection
        return stock()
    if not opened:  # the pool's own, when a connection comes back
        return stock()
    fairy.info.pop(_CHANGED, None)
    return around("statement", "ROLLBACK", stock)


def _written(text: str, changed: bool, stock: Callable[[], Any]) -> Any:
    if changed:
        report("write", "before", text)
    result = stock()
    if changed:
        report("write", "after", text)
    return result


def _execute(
    stock: Callable[[], Any], _dialect: Any, cursor: Any, sql: str, *args: Any, **named: Any
) -> Any:
    context = named.get("context", args[-1] if args else None)
    fairy = context.root_connection.connection if context is not None else None
    if fairy is None or _is_covered(fairy) or fairy.info.get(_WITHIN):
        return stock()
    statement = read(sql)
    fairy.info[_WITHIN] = True  # a dialect's own method may call the one that it overrides
    try:
        return around(
            "statement", statement.text, lambda: _run(stock, cursor, context, fairy, statement)
        )
    finally:
        fairy.info.pop(_WITHIN, None)


def _run(
    stock: Callable[[], Any], cursor: Any, context: Any, fairy: Any, statement: Statement
) -> Any:
    """Run one statement inside its points, and note what it did to the transaction."""
    if statement.verb == "commit":
        return _written(statement.text, fairy.info.pop(_CHANGED, False), stock)
    if statement.verb not in ("change", "schema"):
        return stock()
    alone = _is_autocommit(context.dialect, fairy)
    if alone:
        report("write", "before", statement.text)
    result = stock()
    if statement.verb == "schema" or cursor.rowcount != 0:
        if alone:
            report("write", "after", statement.text)
        else:
            fairy.info[_CHANGED] = True
    return result


def _wrap_override(dialect: type) -> None:
    """Some drivers' dialects have a ``do_executemany`` of their own."""
    if dialect in _seen:
        return
    _seen.add(dialect)
    for owner in dialect.__mro__:
        own = owner.__dict__.get("do_executemany")
        wrapped = any(made[:2] == (owner, "do_executemany") for made in _replaced)
        if own is not None and not wrapped and not owner.__module__.endswith(".interfaces"):
            _wrap(owner, "do_executemany", _execute)
