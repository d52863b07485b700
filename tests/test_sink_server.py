"""The sink over HTTP: the same answers as in process, and the truth about what went wrong."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from admitone.idempotent_sink.client import HttpSink
from admitone.idempotent_sink.protocol import SINK_KINDS, Answer, Log, SinkKind, SinkLike
from admitone.idempotent_sink.server import SinkServer
from admitone.idempotent_sink.sink import Sink
from admitone.idempotent_sink.wire import MAX_BODY, Malformed, read_log, write_log
from admitone.targets.replies import EffectUnknown, NotApplied
from admitone.targets.values import encode

MARK = "ao:0123456789abcdef"
ARGS: dict[str, object] = {"amount": 5, "memo": MARK}
KEY = b"r" * 32


@pytest.fixture
def sink(scratch: Path) -> Iterator[Sink]:
    sink = Sink(scratch / "served", receipt_key=KEY)
    yield sink
    sink.close()


@pytest.fixture
def server(sink: Sink) -> Iterator[SinkServer]:
    with SinkServer(sink) as server:
        yield server


@pytest.fixture
def client(server: SinkServer) -> HttpSink:
    return HttpSink(server.url, timeout_s=60)


def script(sink: SinkLike) -> list[Answer]:
    """One of everything."""
    return [
        sink.request("k", "pay", ARGS, node="n1", call=7),
        sink.request("k", "pay", ARGS),
        sink.request("k", "pay", {"amount": 6}),
        sink.request(None, "pay", ARGS),
        sink.request("ключ\x00", "pay", {"v": [2**70, b"\xff", (1, 0.5), {"$": 1}]}),
        sink.request("ключ\x00", "pay", {"v": [2**70, b"\xff", (1, 0.5), {"$": 1}]}),
        sink.request(" padded ", "pay", {"text": "\U0001f600" * 1000}),
        sink.lookup("k", node="n2", call=8),
        sink.lookup("ключ\x00"),
        sink.lookup(" padded "),
        sink.lookup("padded"),
        sink.lookup("a&key=b+c%20d"),
    ]


def timeless(log: Log) -> Log:
    return Log(
        tuple(replace(request, t_ns=0) for request in log.requests),
        tuple(replace(application, t_ns=0) for application in log.applications),
    )


@pytest.mark.parametrize("kind", SINK_KINDS)
def test_both_sinks_answer_and_log_the_same(scratch: Path, kind: SinkKind) -> None:
    local, served = (Sink(scratch / name, kind, KEY) for name in ("local", "served"))
    with SinkServer(served) as server:
        remote = HttpSink(server.url, timeout_s=60)
        assert script(local) == script(remote)
        assert timeless(local.log()) == timeless(remote.log())
        assert remote.log() == served.log()
        assert remote.requests() == served.requests()
        assert remote.applications() == served.applications()
        assert remote.applications(MARK) == served.applications(MARK) != ()
    local.close()
    served.close()


def test_unfit_requests_are_refused_before_they_leave(client: HttpSink, sink: Sink) -> None:
    answer = client.request("k", "pay", {"memo": MARK, "bad": float("nan")})
    assert (answer.request_number, answer.how, answer.label) == (0, "refused", MARK)
    assert client.lookup("").how == "absent"
    assert sink.request_count() == 0


# --- what others may send


def send(
    server: SinkServer, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, dict[str, object]]:
    host, port = server.server_address[:2]
    connection = http.client.HTTPConnection(str(host), port, timeout=60)
    try:
        connection.putrequest(method, path)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            if value:
                connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(body)
        response = connection.getresponse()
        assert response.getheader("Content-Type") == "application/json"
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def post(server: SinkServer, body: object, **headers: str) -> tuple[int, dict[str, object]]:
    return send(server, "POST", "/effects", json.dumps(body).encode(), **headers)


def test_the_status_says_what_happened(server: SinkServer) -> None:
    effect = {"tool": "pay", "args": ARGS}
    other = {"tool": "pay", "args": {}}
    expected = [
        (post(server, effect, Idempotency_Key="k"), 200, "applied"),
        (post(server, effect, Idempotency_Key="k"), 200, "repeated"),
        (post(server, other, Idempotency_Key="k"), 422, "refused"),
        (post(server, {**other, "args": encode({"x": float("nan")})}), 422, "refused"),
        (send(server, "GET", "/effects?key=k"), 200, "found"),
        (send(server, "GET", "/effects?key=l"), 404, "absent"),
    ]
    for (status, answer), wanted, how in expected:
        assert (status, answer["how"]) == (wanted, how)


def test_the_control_sink_says_that_it_cannot_tell(scratch: Path) -> None:
    sink = Sink(scratch / "control", "control")
    with SinkServer(sink) as server:
        status, answer = send(server, "GET", "/effects?key=k")
        assert (status, answer["how"]) == (501, "cannot_tell")
    sink.close()


NESTED = b"[" * 200_000
FIT = b'{"tool": "pay", "args": {}}'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"null",
        b'{"tool": "pay"}',
        b'{"tool": 1, "args": {}}',
        b'{"tool": "pay", "args": {}, "key": 1}',
        b'{"tool": "pay", "args": {}, "more": 1}',
        b'{"tool": "pay", "args": {}, "call": true}',
        b'{"tool": "pay", "args": {}, "call": -1}',
        b'{"tool": "pay", "args": {}, "node": "a\\nb"}',
        b'{"tool": "pay", "tool": "pay", "args": {}}',
        b'{"tool": "pay", "args": {"a": 1, "a": 2}}',
        b'{"tool": "pay", "args": {"a": NaN}}',
        b'{"tool": "pay", "args": {"a": {"$": "nonsense"}}}',
        b'{"tool": "pay", "args": {"a": {"$": "int", "text": "' + b"9" * 9999 + b'"}}}',
        b'{"tool": "pay", "args": {"a": ' + b"9" * 9999 + b"}}",
        NESTED,
        b'{"tool": "pay", "args": {"a": ' + b'{"$": "tuple", "items": [' * 50_000,
        b'{"tool": "pay", "args": ' + b"[" * 700 + b"]" * 700 + b"}x",
    ],
)
def test_what_is_no_message_gets_one_sentence(server: SinkServer, sink: Sink, body: bytes) -> None:
    status, answer = send(server, "POST", "/effects", body)
    assert (status, list(answer)) == (400, ["problem"])
    assert "Traceback" not in str(answer)
    assert "\n" not in str(answer["problem"])
    assert sink.application_count() == 0
    assert send(server, "POST", "/effects", FIT)[0] == 200


@pytest.mark.parametrize(
    "args",
    [
        b"[" * 200 + b"]" * 200,
        b'"\\ud800"',
        b'{"a": 1e999}',
        b'{"a": {"$": "map", "items": [[1, 2]]}}',
        b'{"a": {"$": "Done"}}',
        b"7",
    ],
)
def test_a_message_with_unfit_arguments_is_refused_and_logged(
    server: SinkServer, sink: Sink, args: bytes
) -> None:
    status, answer = send(server, "POST", "/effects", b'{"tool": "pay", "args": ' + args + b"}")
    assert (status, answer["how"]) == (422, "refused")
    assert [request.problem for request in sink.requests()] == [answer["problem"]]
    assert sink.application_count() == 0


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ({"Content_Length": ""}, 411),
        ({"Content_Length": "", "Transfer_Encoding": "chunked"}, 411),
        ({"Content_Length": "-1"}, 400),
        ({"Content_Length": "1e3"}, 400),
        ({"Content_Length": str(MAX_BODY + 1)}, 413),
        ({"Content_Length": "9" * 5000}, 413),
    ],
)
def test_the_length_of_a_body_is_bounded(
    server: SinkServer, sink: Sink, headers: dict[str, str], wanted: int
) -> None:
    status, answer = send(server, "POST", "/effects", b"", **headers)
    assert (status, list(answer)) == (wanted, ["problem"])
    assert sink.request_count() == 0


def test_the_key_is_given_once(server: SinkServer, sink: Sink) -> None:
    body = {"tool": "pay", "args": {}, "key": "k"}
    assert post(server, body, Idempotency_Key="k")[0] == 400
    assert post(server, body, Idempotency_Key="l")[0] == 400
    assert sink.request_count() == 0
    assert [post(server, body)[1]["how"] for _ in "12"] == ["applied", "repeated"]


@pytest.mark.parametrize(
    "path",
    ["/effects", "/effects?key=a&key=b", "/effects?other=1", "/effects?key=%ff", "/effects?key"],
)
def test_a_lookup_needs_one_key(server: SinkServer, sink: Sink, path: str) -> None:
    status, answer = send(server, "GET", path)
    assert (status, list(answer)) == (400, ["problem"])
    assert sink.request_count() == 0


def test_there_is_nothing_else(server: SinkServer) -> None:
    assert send(server, "GET", "/")[0] == 404
    assert send(server, "POST", "/")[0] == 404
    assert send(server, "PUT", "/effects")[0] == 501


def test_a_sink_that_fails_says_so_without_detail(
    client: HttpSink, server: SinkServer, sink: Sink
) -> None:
    def crash(_: Answer) -> None:
        raise RuntimeError("secret")

    sink.gap = crash
    assert post(server, {"tool": "pay", "args": {}}) == (
        500,
        {"problem": "the sink failed: RuntimeError"},
    )
    with pytest.raises(EffectUnknown, match="the sink failed"):
        client.request("k", "pay", ARGS)


# --- what a client may conclude


def test_refused_connections_prove_that_nothing_was_sent() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # ours, and nobody listens
        client = HttpSink(f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(NotApplied):
            client.request("k", "pay", ARGS)
        with pytest.raises(EffectUnknown):
            client.lookup("k")
        with pytest.raises(EffectUnknown):
            client.log()


@contextmanager
def answering(reply: bytes | None) -> Iterator[str]:
    """Something that takes one connection, reads a message, and answers with these bytes.

    None: it says nothing until the client has gone.
    """

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            if reply is not None:
                connection.sendall(reply)
                connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def reply(status: str, body: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


APPLIED = json.dumps(
    {
        "request_number": 1,
        "how": "applied",
        "receipt": {
            "$": "Receipt",
            "key": "k",
            "tool": "pay",
            "digest": "d",
            "number": 1,
            "mac": "m",
        },
        "application": 1,
        "label": None,
        "problem": "",
    }
).encode()


def test_the_fake_answer_is_an_answer() -> None:
    with answering(reply("200 OK", APPLIED)) as url:
        assert HttpSink(url).request("k", "pay", ARGS).how == "applied"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200",
        b"SSH-2.0-nonsense\r\n",
        reply("200 OK", APPLIED)[:-1],
        reply("200 OK", b""),
        reply("200 OK", b"{}"),
        reply("200 OK", b"\xff"),
        reply("200 OK", NESTED),
        reply("200 OK", APPLIED.replace(b"applied", b"perhaps")),
        reply("200 OK", APPLIED.replace(b'"application": 1', b'"application": "1"')),
        reply("200 OK", APPLIED.replace(b'"Receipt"', b'"Done"')),
        reply("400 Bad Request", b"<h1>proxy</h1>"),
        reply("502 Bad Gateway", b""),
        reply("503 Unavailable", b'{"problem": "later"}'),
        reply("302 Found", b'{"problem": "elsewhere"}'),
    ],
)
def test_anything_but_an_answer_leaves_it_unknown(answer: bytes) -> None:
    with answering(answer) as url, pytest.raises(EffectUnknown):
        HttpSink(url).request("k", "pay", ARGS)
    with answering(answer) as url, pytest.raises(EffectUnknown):
        HttpSink(url).lookup("k")


def test_a_request_and_a_lookup_are_never_taken_for_each_other() -> None:
    with answering(reply("200 OK", APPLIED)) as url, pytest.raises(EffectUnknown):
        HttpSink(url).lookup("k")
    found = APPLIED.replace(b"applied", b"found")
    with answering(reply("200 OK", found)) as url, pytest.raises(EffectUnknown):
        HttpSink(url).request("k", "pay", ARGS)


def test_silence_leaves_it_unknown() -> None:
    with answering(None) as url, pytest.raises(EffectUnknown, match="did not answer"):
        HttpSink(url, timeout_s=0.05).request("k", "pay", ARGS)


def test_the_sinks_own_word_that_it_took_no_message_is_definite() -> None:
    problem = b'{"problem": "the body is no JSON in UTF-8"}'
    with answering(reply("400 Bad Request", problem)) as url, pytest.raises(NotApplied):
        HttpSink(url).request("k", "pay", ARGS)


def test_a_log_that_was_cut_is_no_log(sink: Sink) -> None:
    sink.request("k", "pay", ARGS)
    whole = write_log(sink.log())
    assert read_log(whole) == sink.log()
    lines = whole.splitlines(keepends=True)
    for cut in (b"", lines[0], b"".join(lines[:-1]), lines[0] + lines[2], whole[:-2], lines[2]):
        with pytest.raises(Malformed):
            read_log(cut)


@pytest.mark.parametrize("url", ["", "ftp://x/", "http:///", "http://h/path", "https://h"])
def test_an_address_must_be_one(url: str) -> None:
    with pytest.raises(ValueError, match="not the address"):
        HttpSink(url)
