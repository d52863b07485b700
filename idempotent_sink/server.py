"""The sink as a process of its own, over HTTP on the loopback interface.

    python -m admitone.idempotent_sink.server --store FILE --kind idempotent

It prints one JSON line with its ``url`` when it is ready. A ledger in any language can send
effects to it, and it can be killed like anything else.

=============================  ===================================================================
``POST /effects``              body ``{"tool": …, "args": tagged JSON}``, header
                               ``Idempotency-Key``. 200 applied or repeated; 422 refused.
``GET /effects?key=…``         200 found, 404 absent, 501 cannot tell.
``GET /log``                   requests, then applications, then an end line, as JSON lines.
``POST /reset``                an empty world, numbers from 1. Only with ``--resettable``: else
                               whoever can reach the sink could destroy the evidence.
=============================  ===================================================================

Everything but the log answers with one JSON object: an ``Answer``, or ``{"problem": sentence}``
for what is no message of this protocol (4xx: nothing was applied) and for a sink that failed
(500: nobody knows). 422 for a reused key is what the IETF draft on the Idempotency-Key header
asks; its 409, "still being worked on", cannot occur where applying is one atomic step.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

from .protocol import SINK_KINDS, Answer, How, SinkKind
from .sink import Gap, Sink
from .store import StoreProblem
from .wire import MAX_BODY, EffectMessage, Malformed, read_effect, read_lookup, to_json, write_log

RECEIPT_KEY_VARIABLE: Final = "ADMITONE_RECEIPT_KEY"
"""Environment: the key that signs receipts, in hex. Without it the one in the store is used."""

STATUS: Final[dict[How, HTTPStatus]] = {
    "applied": HTTPStatus.OK,
    "repeated": HTTPStatus.OK,
    "refused": HTTPStatus.UNPROCESSABLE_ENTITY,
    "found": HTTPStatus.OK,
    "absent": HTTPStatus.NOT_FOUND,
    "cannot_tell": HTTPStatus.NOT_IMPLEMENTED,
}


class SinkServer(ThreadingHTTPServer):
    """Serves one sink. As a context manager it serves in a thread of its own until left."""

    daemon_threads = True

    def __init__(
        self, sink: Sink, host: str = "127.0.0.1", port: int = 0, *, resettable: bool = False
    ) -> None:
        super().__init__((host, port), _Handler)
        self.sink = sink
        self.resettable = resettable
        self.url = f"http://{host}:{self.server_address[1]}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> SinkServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: SinkServer
    protocol_version = "HTTP/1.1"
    timeout = 30  # a silent client may not keep its thread for ever
    wbufsize = -1  # head and body leave together
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_GET(self) -> None:
        self._answer(self._get)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the base says of a message that is no HTTP, or of another method."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._problem(status, explain or message or status.description or status.phrase)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base's name
        """The sink's log is the log."""

    def _answer(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Malformed as problem:
            self.close_connection = True  # what follows in the stream cannot be trusted
            self._problem(HTTPStatus.BAD_REQUEST, str(problem))
        except OSError:
            raise  # the connection is gone, or the server is left: there is no one to answer
        except Exception as failure:
            self._problem(
                HTTPStatus.INTERNAL_SERVER_ERROR, f"the sink failed: {type(failure).__name__}"
            )

    def _post(self) -> None:
        path = urlsplit(self.path).path
        if path == "/reset" and self.server.resettable:
            self.close_connection = True  # whatever body came with it is not read
            self.server.sink.reset()
            self._send(HTTPStatus.OK, "application/json", b'{"reset": true}')
            return
        if path != "/effects":
            self.close_connection = True
            self._problem(HTTPStatus.NOT_FOUND, "there is nothing here; POST /effects")
            return
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Transfer-Encoding") or not length:
            self.close_connection = True
            self._problem(HTTPStatus.LENGTH_REQUIRED, "a body needs its Content-Length")
            return
        if not (length.isascii() and length.isdigit()):
            raise Malformed("Content-Length is no number")
        if len(length) > 12 or int(length) > MAX_BODY:
            self.close_connection = True
            self._problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {MAX_BODY} bytes")
            return
        body = self.rfile.read(int(length))
        if len(body) != int(length):
            raise Malformed("the body ended early")
        message = read_effect(body)
        self._give(
            self.server.sink.request(
                self._key(message), message.tool, message.args, node=message.node, call=message.call
            )
        )

    def _key(self, message: EffectMessage) -> str | None:
        keys = self.headers.get_all("Idempotency-Key", [])
        if len(keys) + (message.key is not None) > 1:
            raise Malformed("the key is given more than once")
        return keys[0] if keys else message.key

    def _get(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/log":
            log = write_log(self.server.sink.log())
            self._send(HTTPStatus.OK, "application/x-ndjson", log)
            return
        if url.path != "/effects":
            self._problem(HTTPStatus.NOT_FOUND, "there is nothing here; GET /effects?key= or /log")
            return
        asked = read_lookup(url.query)
        self._give(self.server.sink.lookup(asked.key, node=asked.node, call=asked.call))

    def _give(self, answer: Answer) -> None:
        body = json.dumps(to_json(answer)).encode()
        self._send(STATUS[answer.how], "application/json", body)

    def _problem(self, status: HTTPStatus, sentence: str) -> None:
        self._send(status, "application/json", json.dumps({"problem": sentence}).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


def serve(  # noqa: PLR0913  # each is one option of the command line
    store: Path,
    kind: SinkKind,
    host: str = "127.0.0.1",
    port: int = 0,
    ready: Callable[[str], None] | None = None,
    *,
    receipt_key: bytes | None = None,
    until_eof: IO[str] | None = None,
    at_gap: Gap | None = None,
    resettable: bool = False,
) -> None:
    """Serve a store until interrupted, or until ``until_eof`` ends. ``ready`` gets the url.

    ``at_gap`` is called between effect and record; the request then stands there (FP7) until the
    server is killed or left. Raises ``StoreProblem`` or ``OSError`` if the store or the port
    cannot be had.
    """
    left = threading.Event()

    def stand(answer: Answer) -> None:
        if at_gap is not None:
            at_gap(answer)
            left.wait()
            raise InterruptedError("the server was left while this request stood in the gap")

    sink = Sink(store, kind, receipt_key, gap=stand)
    try:
        with SinkServer(sink, host, port, resettable=resettable) as server:
            if ready is not None:
                ready(server.url)
            if until_eof is None:
                threading.Event().wait()
            else:
                for _ in until_eof:
                    pass
    except KeyboardInterrupt:
        pass
    finally:
        left.set()  # who stands in the gap of an atomic sink holds the store
        sink.close()


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Exit code 2: usage, or a store or port that cannot be had."""
    parser = argparse.ArgumentParser(prog="admitone-sink", description="Serve a sink over HTTP.")
    parser.add_argument("--store", type=Path, required=True, help="its file, made if not there")
    parser.add_argument("--kind", choices=SINK_KINDS, default="idempotent")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--until-eof", action="store_true", help="leave when stdin is closed")
    parser.add_argument("--resettable", action="store_true", help="serve POST /reset")
    parser.add_argument(
        "--hold-gap",
        action="store_true",
        help="say so between effect and record, and stand there until killed",
    )
    options = parser.parse_args(argv)
    try:
        key = os.environ.get(RECEIPT_KEY_VARIABLE)
        serve(
            options.store,
            options.kind,
            port=options.port,
            ready=lambda url: _say({"url": url, "kind": options.kind}),
            receipt_key=bytes.fromhex(key) if key else None,
            until_eof=sys.stdin if options.until_eof else None,
            at_gap=_say_gap if options.hold_gap else None,
            resettable=options.resettable,
        )
    except (StoreProblem, OSError, OverflowError, ValueError) as problem:
        sys.stderr.write(f"admitone-sink: {problem}\n")
        return 2
    return 0


def _say_gap(answer: Answer) -> None:
    _say({"at": "sink.gap", "request": answer.request_number, "application": answer.application})


def _say(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
