"""Each fault of a link, by what both its ends observe; then healing, and a good exchange."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from admitone.chaos.network.faults import (
    BOTH_LOST,
    DOWN,
    FIXED,
    LATE,
    NULL,
    REPLY_LOST,
    REQUEST_LOST,
    RESET,
    RESET_AFTER,
    SILENCE,
    Fault,
    cut,
    fault_named,
    late,
)
from admitone.chaos.network.link import Link
from admitone.chaos.network.toxiproxy import Toxiproxy
from tests.toxiproxy_world import EchoServer, Heard, Saw, ask, hear

LINE = b"hello\n"
ANSWER = b"answer:hello\n"
GIVING_UP_S = 0.2
"""How long a client waits that gives up: what it waits for never comes."""

AGES = ("standing", "new", "armed")


@pytest.fixture
def link(toxiproxy: Toxiproxy, echo: EchoServer) -> Iterator[Link]:
    link = toxiproxy.proxy("echo", echo.host, echo.port)
    yield link
    link.close()


def connect(link: Link) -> socket.socket:
    return socket.create_connection((link.host, link.port))


def fault_on(link: Link, fault: Fault, age: str) -> socket.socket:
    """A connection under the fault. ``standing``: made before and known to the server; ``armed``:
    besides, the link was armed before it was made."""
    if age == "armed":
        link.arm(fault)
    if age != "new":
        client = connect(link)
        assert ask(client, b"first\n").end == "answer"
        link.fault(fault)
    else:
        link.fault(fault)
        client = connect(link)
    return client


def at_the_server(echo: EchoServer, received: bytes, ended: str, age: str) -> None:
    """The first connection got just that, and ended so."""
    before = b"" if age == "new" else b"first\n"
    heard = echo.wait_for(0, lambda heard: bool(heard.ended) or not ended)
    assert heard == Heard(before + received, ended)


def heal_and_talk(link: Link, echo: EchoServer) -> None:
    link.heal()
    assert link.current is NULL
    with connect(link) as client:
        assert ask(client, b"again\n") == Saw(b"answer:again\n", "answer")
    echo.wait_for(len(echo.heard) - 1, lambda heard: heard.ended != "")


@pytest.mark.parametrize("age", AGES)
@pytest.mark.parametrize(
    ("fault", "client_got", "server_got"),
    [
        (REQUEST_LOST, b"", b""),
        (BOTH_LOST, b"", b""),
        (REPLY_LOST, b"", LINE),
        (cut(1), ANSWER[:1], LINE),
        (cut(len(ANSWER) - 1), ANSWER[:-1], LINE),
    ],
    ids=lambda value: value.token if isinstance(value, Fault) else "",
)
def test_a_closed_exchange(
    link: Link, echo: EchoServer, fault: Fault, client_got: bytes, server_got: bytes, age: str
) -> None:
    with fault_on(link, fault, age) as client:
        assert ask(client, LINE) == Saw(client_got, "closed")
        at_the_server(echo, server_got, "closed", age)
        heal_and_talk(link, echo)


@pytest.mark.parametrize("age", AGES)
@pytest.mark.parametrize(
    ("fault", "server_got"), [(RESET, b""), (RESET_AFTER, LINE)], ids=["reset", "reset-after"]
)
def test_a_reset_exchange(
    link: Link, echo: EchoServer, fault: Fault, server_got: bytes, age: str
) -> None:
    """By RST where Toxiproxy could prepare the connection, else closed at the same place."""
    end = "closed" if age == "standing" else "reset"
    with fault_on(link, fault, age) as client:
        assert ask(client, LINE) == Saw(b"", end)
        at_the_server(echo, server_got, end, age)
        heal_and_talk(link, echo)


@pytest.mark.parametrize("age", AGES)
def test_the_control_changes_nothing(link: Link, echo: EchoServer, age: str) -> None:
    with fault_on(link, NULL, age) as client:
        assert ask(client, LINE) == Saw(ANSWER, "answer")
        at_the_server(echo, LINE, "", age)
        link.heal()
        assert ask(client, LINE) == Saw(ANSWER, "answer")
    heal_and_talk(link, echo)


@pytest.mark.parametrize("age", AGES)
def test_a_cut_at_the_end_of_the_answer_is_none_for_it(
    link: Link, echo: EchoServer, age: str
) -> None:
    with fault_on(link, cut(len(ANSWER)), age) as client:
        assert ask(client, LINE) == Saw(ANSWER, "answer")
        assert client.recv(1) == b""
        at_the_server(echo, LINE, "closed", age)


@pytest.mark.parametrize("age", AGES)
def test_a_late_request_comes_after_its_sender_gave_up(
    link: Link, echo: EchoServer, age: str
) -> None:
    with fault_on(link, LATE, age) as client:
        assert ask(client, LINE, patience_s=GIVING_UP_S) == Saw(b"", "nothing")
        at_the_server(echo, b"", "", age)
    echo.answers = False
    link.heal()
    at_the_server(echo, LINE, "closed", age)
    echo.answers = True
    heal_and_talk(link, echo)


def test_a_late_request_whose_sender_waits_is_answered(link: Link, echo: EchoServer) -> None:
    with fault_on(link, LATE, "standing") as client:
        assert ask(client, LINE, patience_s=GIVING_UP_S) == Saw(b"", "nothing")
        link.heal()
        assert hear(client, LINE) == Saw(ANSWER, "answer")
        at_the_server(echo, LINE, "", "standing")


@pytest.mark.parametrize("age", ["standing", "new"])
def test_a_late_request_comes_after_its_sender_was_cut_off(
    link: Link, echo: EchoServer, age: str
) -> None:
    with fault_on(link, late(1000), age) as client:
        assert ask(client, LINE) == Saw(b"", "closed")
        at_the_server(echo, b"", "", age)
        echo.answers = False
        link.heal()
        at_the_server(echo, LINE, "closed", age)
        echo.answers = True
    heal_and_talk(link, echo)


@pytest.mark.parametrize("age", AGES)
def test_silence_is_ended_by_healing_and_nothing_of_it_arrives(
    link: Link, echo: EchoServer, age: str
) -> None:
    with fault_on(link, SILENCE, age) as client:
        assert ask(client, LINE, patience_s=GIVING_UP_S) == Saw(b"", "nothing")
        at_the_server(echo, b"", "", age)
        link.heal()
        assert hear(client, LINE) == Saw(b"", "closed")
        at_the_server(echo, b"", "closed", age)
    heal_and_talk(link, echo)


def test_while_it_is_down_nobody_listens(link: Link, echo: EchoServer) -> None:
    with fault_on(link, DOWN, "standing") as client:
        assert client.recv(1) == b""
        at_the_server(echo, b"", "closed", "standing")
        with pytest.raises(ConnectionRefusedError):
            connect(link)
        heal_and_talk(link, echo)


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (REQUEST_LOST, Saw(ANSWER, "answer")),
        (REPLY_LOST, Saw(b"", "closed")),
        (BOTH_LOST, Saw(b"", "closed")),
        (DOWN, Saw(b"", "closed")),
    ],
    ids=["request-lost", "reply-lost", "both-lost", "down"],
)
def test_an_answer_that_was_already_on_its_way(
    link: Link, echo: EchoServer, fault: Fault, seen: Saw
) -> None:
    """What tells both-lost from request-lost: the request was through before the fault came."""
    echo.may_answer.clear()
    with connect(link) as client:
        client.sendall(LINE)
        echo.wait_for(0, lambda heard: heard.received == LINE)
        link.fault(fault)
        echo.may_answer.set()
        assert hear(client, LINE) == seen
    heal_and_talk(link, echo)


def test_every_connection_that_stands_is_hurt(link: Link, echo: EchoServer) -> None:
    clients = [connect(link) for _ in range(5)]
    assert [ask(client, LINE).end for client in clients] == ["answer"] * 5
    link.fault(REPLY_LOST)
    assert [ask(client, LINE).end for client in clients] == ["closed"] * 5
    assert {heard.received for heard in echo.heard} == {LINE + LINE}
    for client in clients:
        client.close()


def test_only_this_link_is_hurt(toxiproxy: Toxiproxy, link: Link, echo: EchoServer) -> None:
    other = toxiproxy.proxy("echo", echo.host, echo.port)
    link.fault(REQUEST_LOST)
    with connect(other) as client:
        assert ask(client, LINE).end == "answer"
    other.close()


def test_another_fault_takes_the_place_of_the_first(link: Link, echo: EchoServer) -> None:
    with fault_on(link, LATE, "standing") as client:
        assert ask(client, LINE, patience_s=GIVING_UP_S).end == "nothing"
        link.fault(REQUEST_LOST)  # delivers what the first one held
        assert hear(client, LINE) == Saw(ANSWER, "answer")
        assert ask(client, LINE) == Saw(b"", "closed")
    at_the_server(echo, LINE, "closed", "standing")
    heal_and_talk(link, echo)


def test_healing_more_than_once_does_no_harm(link: Link, echo: EchoServer) -> None:
    link.heal()
    link.fault(BOTH_LOST)
    link.heal()
    heal_and_talk(link, echo)


@pytest.mark.parametrize("fault", [*FIXED, cut(0), cut(17), late(250)], ids=lambda f: f.token)
def test_a_token_names_its_fault(fault: Fault) -> None:
    assert fault_named(fault.token) == fault


@pytest.mark.parametrize(
    "token",
    ["", "lost", "cut", "cut-", "cut--1", "cut-01", "cut-1x", "cut-" + "9" * 10, "late-0", "NULL"],
)
def test_any_other_token_names_none(token: str) -> None:
    with pytest.raises(ValueError, match=r"no network fault|cut off"):
        fault_named(token)


def test_a_count_out_of_range_is_refused() -> None:
    for wrong in (-1, 10**9):
        with pytest.raises(ValueError, match="no answer"):
            cut(wrong)
        with pytest.raises(ValueError, match="cut off"):
            late(wrong)
