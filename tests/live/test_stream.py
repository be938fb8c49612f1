"""GET /v1/inbox/stream: order, resuming, gaps, filters, heartbeats, limits."""

from __future__ import annotations

from contextlib import ExitStack

from tests.chats.test_messages import post
from tests.harness.cast import Cast
from tests.harness.service import Starter
from tests.live.world import stream


def test_news_comes_as_it_happens(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    with stream(bob, after="latest") as live:
        headers = live.answer.headers
        assert headers["content-type"] == "text/event-stream"
        assert (headers["cache-control"], headers["x-accel-buffering"]) == ("no-store", "no")
        thread = alice.ask(bob)
        first = live.event()
        assert (first["data"]["type"], first["id"]) == ("thread.opened", str(first["data"]["seq"]))
        assert first["data"]["object"]["thread"]["id"] == thread["id"]
        message = post(alice, bob.number, "Hello")
        second = live.event()
        assert (second["data"]["type"], second["data"]["object"]["message"]["id"]) == (
            "message.created",
            message["id"],
        )
    # The same events, in the same form, as a long-poll reads them.
    assert bob.inbox(int(first["id"]) - 1)["events"] == [first["data"], second["data"]]


def test_it_resumes_after_the_last_event(quiet_cast: Cast) -> None:
    alice, bob = quiet_cast.friends
    with stream(bob, after="latest") as live:
        alice.ask(bob, "One")
        last = live.event()["id"]
    alice.ask(bob, "Two")
    alice.ask(bob, "Three")
    # A browser sends the address it first had, and the id it got to.
    with stream(bob, {"Last-Event-ID": last}, after="0") as live:
        texts = [live.event()["data"]["object"]["message"]["text"] for _ in range(2)]
    assert texts == ["Two", "Three"]
    assert bob.refused("GET", "/v1/inbox/stream", after="x") == "invalid"
    assert bob.refused("GET", "/v1/inbox/stream", nonsense="1") == "invalid"


def test_it_says_where_it_cannot_resume(fresh_server: Starter) -> None:
    service = fresh_server(jobs=True, RELAYGER_INBOX_EVENTS="2", RELAYGER_JOB_SECONDS="0.02")
    cast = Cast(service)
    alice, bob = cast.friends
    for number in range(4):
        alice.ask(bob, str(number))
    head = bob.inbox("latest")["next"]
    while bob.get("/v1/inbox", params={"after": head - 3}).status_code != 410:
        pass  # until retention has run; the test's own limit ends it
    with stream(bob, after=str(head - 3)) as live:
        gap = live.event()
        assert (gap["event"], gap["data"]) == ("gap", {"oldest": head - 2})
        assert [live.event()["id"] for _ in range(2)] == [str(head - 1), str(head)]
    with stream(bob, after=str(head + 1000)) as live:  # the service was restored from a backup
        assert live.event()["event"] == "gap"
    cast.close()


def test_only_the_wanted_types(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_HEARTBEAT_SECONDS="0.2"))
    alice, bob = cast.friends
    assert bob.refused("GET", "/v1/inbox/stream", types="thread.nonsense") == "invalid"
    with stream(bob, after="latest", types="message.created,message.edited") as live:
        alice.ask(bob)
        head = bob.inbox("latest")["next"]
        # The heartbeat moves a reader past what it did not want.
        while (beat := live.block()) != {"id": str(head), "": "still here"}:
            assert beat is not None
            assert beat.keys() == {"id", ""}
        post(alice, bob.number, "Hello")
        assert live.event()["data"]["type"] == "message.created"
    cast.close()


def test_it_ends_and_the_reader_comes_back(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_STREAM_SECONDS="0.5"))
    with stream(cast.alice) as live:
        live.rest()
    cast.close()


def test_it_is_never_compressed(quiet_cast: Cast) -> None:
    with stream(quiet_cast.bob, {"Accept-Encoding": "gzip, br"}) as live:
        assert "content-encoding" not in live.answer.headers


def test_head_and_other_methods(quiet_cast: Cast) -> None:
    bob = quiet_cast.bob
    answer = bob.http.head("/v1/inbox/stream")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")
    assert bob.refused("POST", "/v1/inbox/stream") == "method_not_allowed"
    assert bob.http.options("/v1/inbox/stream").status_code in (200, 405)
    assert quiet_cast.service.http.get("/v1/inbox/stream").status_code == 401


def test_streams_and_sockets_are_limited_together(fresh_server: Starter) -> None:
    cast = Cast(fresh_server(RELAYGER_MAX_SOCKETS="2"))
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(stream(cast.alice))
        refused = cast.alice.get("/v1/inbox/stream")
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_waits")
        with stream(cast.bob):
            pass
    cast.close()
