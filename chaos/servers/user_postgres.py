"""A PostgreSQL of the user's, named by a connection string: looked at and worked in, never hurt.

Whatever the string says besides the client's name is handed on as it is. Its password goes to the
ledger and to the server, and into no text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

from . import ServerProblem
from .find import OLDEST
from .ports import LOOPBACK
from .postgres import session_name
from .sessions import Control

_PLACE: Final = frozenset({"user", "password", "host", "hostaddr", "port", "dbname"})
"""What a URL says before its options."""

_ENVIRONMENT: Final = {"user": "PGUSER", "host": "PGHOST", "port": "PGPORT", "dbname": "PGDATABASE"}
_DEFAULT_PORT: Final = 5432
_SAFE: Final = "/"


class UserPostgres:
    """See ``RunningServer``. Made by a look at the server: raises ``ServerProblem`` where it does
    not answer, is too old, or gives no right to make a schema."""

    ours = False

    def __init__(self, dsn: str, endpoint: str = "postgres") -> None:
        self.endpoint = endpoint
        self._said = _parsed(dsn)
        self._secrets = [
            secret
            for secret in (self._said.get("password"), os.environ.get("PGPASSWORD"))
            if secret
        ]
        self.host = self._said.get("host") or self._said.get("hostaddr") or LOOPBACK
        self.port = _port(self._said)
        if "," in self.host:
            raise ServerProblem(
                f"the connection string names several servers ({self.host}): name one, so that it "
                "is known which is looked at, and so that a proxy can stand before it"
            )
        self.about = f"the PostgreSQL server at {self.host}, port {self.port}"
        self._control = Control(dsn, self.about, tell=self._told)
        try:
            self._examine()
        except BaseException:
            self._control.close()
            raise

    def address(self, client: str, at: tuple[str, int] | None = None) -> str:
        """The user's string as a URL, with the client's name. By way of ``at``, the host's name
        stays what the server's certificate is compared with."""
        said = {**self._said, "application_name": session_name(client)}
        if at is not None:
            said["port"] = str(at[1])
            if self.host.startswith("/") or self.host == said.get("hostaddr"):
                said["host"] = at[0]
                said.pop("hostaddr", None)
            else:
                said["hostaddr"] = at[0]
        return _url(said)

    def sessions(self, client: str) -> tuple[int, ...]:
        """See ``RunningServer``."""
        return self._control.sessions(session_name(client))

    def is_blocked(self, client: str) -> bool:
        """See ``RunningServer``."""
        return self._control.is_blocked(session_name(client))

    def is_inside(self, client: str) -> bool:
        """See ``RunningServer``."""
        return self._control.is_inside(session_name(client))

    def await_serving(self, deadline_s: float) -> None:
        """See ``RunningServer``."""
        self._control.await_serving(deadline_s)

    def kill_session(self, client: str) -> bool:
        """Never: it is not ours."""
        raise ServerProblem(self._not_ours())

    def kill(self) -> None:
        """Never: it is not ours."""
        raise ServerProblem(self._not_ours())

    def restart(self) -> None:
        """Never: it is not ours."""
        raise ServerProblem(self._not_ours())

    def close(self) -> None:
        """Leave it; the schemas in it are dropped by whoever made them."""
        self._control.close()

    def __enter__(self) -> UserPostgres:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _examine(self) -> None:
        [[number, version, database, user, may_create]] = self._control.ask_once(
            "SELECT current_setting('server_version_num')::int, current_setting('server_version'),"
            " current_database()::text, current_user::text,"
            " has_database_privilege(current_database(), 'CREATE')"
        )
        if number < OLDEST * 10_000:
            raise ServerProblem(
                f"{self.about} is of version {version}: {OLDEST} or newer is needed. Name another, "
                "or none: then the suite starts one of its own."
            )
        if not may_create:
            raise ServerProblem(
                f"{self.about} does not let {user} make a schema in the database {database}, and "
                "the suite works in schemas of its own only. As its owner: "
                f'GRANT CREATE ON DATABASE "{database}" TO "{user}"'
            )

    def _told(self, problem: BaseException) -> str:
        text = str(problem)
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return f"{text} (is the connection string right, and the server up?)"

    def _not_ours(self) -> str:
        return (
            f"{self.about} is yours, and is never killed or restarted. For these faults leave the "
            "connection string away: then the suite starts a server of its own."
        )


def _parsed(dsn: str) -> dict[str, str]:
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        said = conninfo_to_dict(dsn)
    except ProgrammingError:  # its text quotes the string, and what it quotes may be the password
        raise _unreadable() from None
    found = {name: str(value) for name, value in said.items() if value is not None}
    if "@" in found.get("host", "") or ("@" in found.get("dbname", "") and "user" not in found):
        raise _unreadable()  # a part of the password, where @ or / was written as it is
    if "service" not in found:
        for name, variable in _ENVIRONMENT.items():
            if name not in found and os.environ.get(variable):
                found[name] = os.environ[variable]
    return found


def _port(said: Mapping[str, str]) -> int:
    port = said.get("port", str(_DEFAULT_PORT)).split(",")[0]
    if not port.isdigit():
        raise _unreadable()
    return int(port)


def _unreadable() -> ServerProblem:
    return ServerProblem(
        "the connection string of PostgreSQL cannot be read (it is not shown, for it may hold a "
        "password). Write postgresql://user:password@host:port/database, with %40 for @ and %2F "
        "for / in a password, or host=… port=… user=… password=… dbname=…"
    )


def _url(said: Mapping[str, str]) -> str:
    """What libpq, psycopg and SQLAlchemy all read. A socket's folder goes among the options."""
    options = {name: value for name, value in said.items() if name not in _PLACE}
    host, port = said.get("host", ""), said.get("port", "")
    if "hostaddr" in said:
        options["hostaddr"] = said["hostaddr"]
    place = ""
    if host.startswith("/"):
        options["host"] = host
        if port:
            options["port"] = port
    else:
        place = f"[{host}]" if ":" in host else quote(host, safe="")
        place += f":{port}" if port else ""
    if "user" in said:
        password = f":{quote(said['password'], safe='')}" if "password" in said else ""
        place = f"{quote(said['user'], safe='')}{password}@{place}"
    elif "password" in said:
        options["password"] = said["password"]
    query = urlencode(options, quote_via=quote, safe=_SAFE)
    return f"postgresql://{place}/{quote(said.get('dbname', ''), safe='')}?{query}"
