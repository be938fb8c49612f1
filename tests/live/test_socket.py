"""/ws: the handshake, what is pushed, what is watched, and every way it ends."""

from __future__ import annotations

import json
import socket as sockets
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.chats.test_messages import post
from tests.chats.test_rooms import bring, room
from tests.harness.cast import Cast, Person
from tests.harness.service import Starter
from tests.live.world import Socket, opened, socket

HELLO = {"v": 1, "token": "rgt_nobody"}


def test_news_is_pushed(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    with socket(bob) as live:
        thread = alice.ask(bob)
        frame = live.next()
        assert (frame["type"], frame["next"]) == ("inbox", frame["events"][-1]["seq"])
        assert [event["object"]["thread"]["id"] for event in frame["events"]] == [thread["id"]]
        post(alice, bob.number, "Hello")
        (event,) = live.events()
    assert bob.inbox(frame["next"] - 1)["events"] == [*frame["events"], event]


def test_who_asked_sees_that_somebody_works(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    thread = alice.ask(bob)
    with socket(alice) as live:
        bob.call("POST", f"/v1/threads/{thread['id']}/working", {"worker": "w", "seconds": 60})
        status = live.until("status")
    assert (status["thread"]["id"], status["thread"]["state"]) == (thread["id"], "working")


def test_it_resumes_and_tells_a_gap(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    before = bob.inbox("latest")["next"]
    alice.ask(bob, "One")
    alice.ask(bob, "Two")
    with socket(bob, after=before) as live:
        events = live.events()
        while len(events) < 2:
            events += live.events()
        assert [event["seq"] for event in events] == [before + 1, before + 2]
    with socket(bob, after=str(before + 1), types=["thread.opened"]) as live:
        assert [event["seq"] for event in live.events()] == [before + 2]
    with socket(bob, after=before + 5000) as live:
        assert live.next()["type"] == "gap"


@pytest.mark.parametrize(
    ("hello", "told"),
    [
        ("nonsense", ("invalid_hello", 4400)),
        ("[]", ("invalid_hello", 4400)),
        (b"\x00\x01", ("invalid_hello", 4400)),
        ('{"v": 1}', ("invalid_hello", 4400)),
        ('{"token": "rgt_x"}', ("invalid_hello", 4400)),
        ('{"v": 1, "token": 5}', ("invalid_hello", 4400)),
        ('{"v": 1, "token": "rgt_\\u0000"}', ("invalid_hello", 4400)),
        ('{"v": 1, "token": "rgt_\\ud800"}', ("invalid_hello", 4400)),
        ('{"v": 1, "token": "rgt_x", "more": 1}', ("invalid_hello", 4400)),
        ('{"v": 1, "token": "rgt_x", "after": true}', ("invalid_hello", 4400)),
        ('{"v": 1, "token": "rgt_x", "types": "thread.opened"}', ("invalid_hello", 4400)),
        ('{"v": 2, "token": "rgt_x"}', ("unsupported_version", 4400)),
        ('{"v": 1, "token": "rgt_nobody"}', ("unauthenticated", 4401)),
        ('{"v": 1, "token": ""}', ("unauthenticated", 4401)),
        ('{"v": 1, "token": "rgt_x", "types": ["nonsense"]}', ("invalid", 4400)),
    ],
)
def test_a_wrong_first_frame(quiet_cast: Cast, hello: str | bytes, told: tuple[str, int]) -> None:
    with opened(quiet_cast.service) as line:
        line.line.send(hello)
        assert line.ended() == told


def test_a_wrong_place_to_go_on_from(quiet_cast: Cast) -> None:
    with opened(quiet_cast.service) as line:
        line.send(token=quiet_cast.bob.token, after="nonsense")
        assert line.ended() == ("invalid", 4400)


def test_silence_is_not_waited_for(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_HELLO_SECONDS="0.2")
    with opened(service) as line:
        assert line.ended() == ("authentication_timeout", 4401)


def test_pages_of_other_sites_are_refused(quiet_cast: Cast) -> None:
    service = quiet_cast.service
    for origin in ("https://evil.example", "null", service.origin + "0"):
        with pytest.raises(InvalidStatus) as refused, opened(service, origin=origin):
            pass
        assert refused.value.response.status_code == 403
    with opened(service, origin=service.origin) as line:
        line.send(token=quiet_cast.bob.token)
        assert line.next()["type"] == "ready"


def test_it_is_a_websocket(quiet_cast: Cast) -> None:
    service = quiet_cast.service
    for path in ("/ws", "/ws/"):
        answer = service.http.get(path)
        assert answer.status_code in (426, 404)
    answer = service.http.get("/ws")
    assert (answer.status_code, answer.json()["error"]["code"]) == (426, "websocket_required")
    assert answer.headers["upgrade"] == "websocket"
    handshake = (
        f"GET /elsewhere HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with sockets.create_connection(("127.0.0.1", service.port), timeout=5) as line:
        line.sendall(handshake.encode())
        assert line.recv(1000).startswith(b"HTTP/1.1 404")


@pytest.mark.parametrize(
    "frame",
    [
        "nonsense",
        "5",
        b"\x00",
        '{"type": "watch", "chat": "con_1"}',
        '{"v": 1}',
        '{"v": 1, "type": "nonsense"}',
        '{"v": 1, "type": ["watch"]}',
        '{"v": 1, "type": "watch"}',
        '{"v": 1, "type": "watch", "chat": 5}',
        '{"v": 1, "type": "watch", "chat": "con_1", "more": 1}',
        '{"v": 1, "type": "watch", "chat": "con_1", "id": 5}',
        '{"v": 1, "type": "watch", "chat": "\\ud800"}',
        '{"v": 1, "v": 1, "type": "watch", "chat": "con_1"}',
        "[" * 5000,
    ],
)
def test_rubbish_is_told_and_the_socket_stays(quiet_cast: Cast, frame: str | bytes) -> None:
    alice, bob = quiet_cast.friends
    with socket(bob) as live:
        live.line.send(frame)
        error = live.next()
        assert (error["type"], error["error"]["code"]) == ("error", "invalid_frame")
        assert error["error"]["next"]
        post(alice, bob.number, "Hello")
        assert live.events()


def test_calls_and_versions(quiet_cast: Cast) -> None:
    with socket(quiet_cast.bob) as live:
        live.send(type="call", id="r1", tool="connect", arguments={})
        answer = live.next()
        assert (answer["id"], answer["error"]["code"]) == ("r1", "unknown_tool")
        live.line.send('{"v": 7, "type": "watch", "chat": "con_1"}')
        assert live.next()["error"]["code"] == "unsupported_version"


def test_too_much(quiet_cast: Cast) -> None:
    with socket(quiet_cast.bob) as live:
        for _ in range(200):
            live.line.send('{"v": 1, "type": "call", "tool": "x"}')
        assert live.ended() == ("rate_limited", 4429)
    with socket(quiet_cast.bob) as live:
        for _ in range(30):
            live.line.send("nonsense")
        assert live.ended() == ("invalid_frame", 4400)
    with socket(quiet_cast.bob) as live:
        live.line.send("x" * 70_000)
        assert live.ended() == (None, 1009)


def test_sockets_are_limited(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_MAX_SOCKETS="2"))
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(socket(cast.alice))
        with opened(cast.service) as line:
            line.send(token=cast.alice.token)
            assert line.ended() == ("too_many_waits", 4429)
        with socket(cast.bob):
            pass
    cast.close()


# -- who is there ------------------------------------------------------------------------------------------------


def watch(live: Socket, chat: str) -> Any:
    live.send(type="watch", id="w", chat=chat)
    answer = live.next()
    assert answer["id"] == "w"
    return answer["live"] if answer["type"] == "presence" else answer["error"]["code"]


def test_who_is_live(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_HEARTBEAT_SECONDS="0.2", RELAYGER_LIVE_SECONDS="1"))
    alice, bob = cast.friends
    id = room(alice)
    bring(alice, id, bob)
    with socket(alice) as live:
        assert watch(live, id) == [alice.number]
        with socket(bob):
            assert live.until("presence") == {
                "type": "presence",
                "chat": id,
                "live": sorted([alice.number, bob.number], key=int),
            }
        assert live.until("presence")["live"] == [alice.number]
        # A long-poll is being there, too.
        bob.call("GET", "/v1/inbox", after="latest", wait=1)
        assert bob.number in live.until("presence")["live"]
        live.send(type="unwatch", chat=id)
        assert live.until("unwatched")["chat"] == id
    cast.close()


def test_only_my_own_chats_are_watched(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    hidden = room(alice)
    with socket(bob) as live:
        for chat in (hidden, "con_" + "0" * 32, "nonsense", "thr_" + hidden[4:]):
            assert watch(live, chat) == "not_found"
        mine = [room(bob) for _ in range(33)]
        assert [watch(live, chat) for chat in mine[:32]] == [[bob.number]] * 32
        assert watch(live, mine[32]) == "invalid"


def test_a_stranger_is_not_seen(quiet_cast: Cast) -> None:
    """A request makes a chat; whether the other is live is for friends."""
    alice, mallory = quiet_cast.alice, quiet_cast.mallory
    mallory.call("POST", "/v1/contacts", {"to": alice.number})
    with socket(alice), socket(mallory) as live:
        for chat in mallory.call("GET", "/v1/chats")["items"]:
            if chat["with"] and chat["with"]["number"] == alice.number:
                assert watch(live, chat["id"]) == "not_found"


def test_access_to_a_watched_chat_is_lost(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    id = room(alice)
    bring(alice, id, bob)
    with socket(bob) as live:
        watch(live, id)
        alice.call("POST", f"/v1/chats/{id}/remove", {"who": bob.number})
        assert live.until("connection_closed") == {"type": "connection_closed", "chat": id}
        assert watch(live, id) == "not_found"


# -- how it ends -------------------------------------------------------------------------------------------------


def shake(person: Person) -> sockets.socket:
    """A socket that said who it is, read by nobody."""
    line = sockets.socket()
    line.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    line.settimeout(20)
    line.connect(("127.0.0.1", person.service.port))
    line.sendall(
        f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{person.service.port}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += line.recv(1)
    assert answer.startswith(b"HTTP/1.1 101")
    hello = json.dumps({"v": 1, "token": person.token, "after": "latest"}).encode()
    line.sendall(bytes([0x81, 0x80 | 126]) + len(hello).to_bytes(2, "big") + bytes(4) + hello)
    return line


def drained(line: sockets.socket) -> bytes:
    """Everything until the end, which must come."""
    found = b""
    try:
        while piece := line.recv(65536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def test_unanswered_pings(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_HEARTBEAT_SECONDS="0.3"))
    with shake(cast.alice) as line:
        heard = drained(line)
    assert b"heartbeat_timeout" in heard
    assert (4408).to_bytes(2, "big") in heard
    assert cast.service.log().count("Traceback") == 0
    cast.close()


def test_a_slow_reader_is_cut_off_and_costs_the_others_nothing(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_WRITE_SECONDS="1"))
    alice, bob = cast.friends
    text = "x" * 30_000
    before = cast.service.vitals()["tasks"]
    with shake(bob) as slow, socket(bob) as quick:
        seen = 0
        while cast.service.vitals()["tasks"] > before + 4 or seen < 20:
            post(alice, bob.number, text)
            seen += len(quick.events())
            if seen > 600:
                break
        heard = drained(slow)
    # Whether its reason still went through the full buffer is up to the reader; that it ended is not.
    assert heard
    assert seen >= 20
    assert len(bob.call("GET", "/v1/inbox", after="latest")["events"]) == 0
    cast.close()


def test_a_restart_is_told(fresh_server: Starter) -> None:
    service = fresh_server()
    cast = Cast(service)
    with socket(cast.alice) as live:
        service.terminate()
        assert live.ended()[1] == 1012
    cast.close()


def test_no_secret_and_no_query_in_the_log(quiet_cast: Cast) -> None:
    service, bob = quiet_cast.service, quiet_cast.bob
    mark = service.log_size
    with socket(bob):
        pass
    with pytest.raises(InvalidStatus), opened(service, origin="https://evil.example"):
        pass
    assert bob.token not in service.log(mark)
    assert "WebSocket" not in service.log(mark)
