"""The control port of one Toxiproxy, by way of toxiproxy-python.

That library keeps its address in one place for the whole process. So it is set for each request
and then set back, under a lock: two Toxiproxys do not mix, and a program that uses the library for
a Toxiproxy of its own keeps its address.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from toxiproxy import Toxiproxy as Library
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

from ..servers import ServerProblem
from .faults import Toxic

ANSWER_DEADLINE_S: Final = 20.0
"""Longest wait for an answer of the control port: it comes from this machine, seconds."""

_one_at_a_time = threading.Lock()


class Api:
    """Requests to the Toxiproxy at ``host:port``. All raise ``ServerProblem``."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port

    def version(self) -> str:
        """What it says of itself; ``git`` where its builder did not say."""
        return str(self._ask(APIConsumer.get, "/version").json().get("version"))

    def create(self, name: str, upstream: str) -> str:
        """Make a proxy on a free port; the answer is where it listens."""
        wanted = {"name": name, "upstream": upstream, "listen": "127.0.0.1:0"}
        return str(self._ask(APIConsumer.post, "/proxies", json=wanted).json()["listen"])

    def update(self, name: str, **changed: Any) -> None:
        """Change ``enabled`` or ``upstream``."""
        self._ask(APIConsumer.post, f"/proxies/{name}", json=changed)

    def delete(self, name: str) -> None:
        """Remove a proxy; its connections are closed."""
        self._ask(APIConsumer.delete, f"/proxies/{name}")

    def add(self, name: str, toxic: Toxic, called: str, toxicity: float = 1.0) -> None:
        """Put a toxic on a proxy; on return it is there for every connection that stands."""
        wanted = {
            "name": called,
            "type": toxic.kind,
            "stream": toxic.stream,
            "toxicity": toxicity,
            "attributes": {toxic.attribute: toxic.value},
        }
        self._ask(APIConsumer.post, f"/proxies/{name}/toxics", json=wanted)

    def remove(self, name: str, called: str) -> None:
        """Take a toxic away; what it held back is then on its way."""
        self._ask(APIConsumer.delete, f"/proxies/{name}/toxics/{called}")

    def _ask(self, method: Callable[..., Any], path: str, **named: Any) -> Any:
        with _one_at_a_time:
            before = (APIConsumer.host, APIConsumer.port)
            Library().update_api_consumer(self._host, self._port)
            try:
                # Its proxy is on this machine: never by way of one that the environment names.
                answer = method(
                    path, timeout=ANSWER_DEADLINE_S, proxies={"no_proxy": self._host}, **named
                )
            except (OSError, InvalidToxic, NotFound, ProxyExists) as problem:
                raise ServerProblem(
                    f"Toxiproxy at {self._host}:{self._port} did not do {path}: {problem}"
                ) from None
            finally:
                Library().update_api_consumer(*before)
        if not answer.ok:
            raise ServerProblem(
                f"Toxiproxy at {self._host}:{self._port} did not do {path}: "
                f"{answer.status_code} {answer.text[:200].strip()}"
            )
        return answer
