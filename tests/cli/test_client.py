"""The client: what is repeated, with which body, and what an error becomes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from relayger.client import APIError, AsyncClient, Client, InvalidArgument, NetworkError, Retry, calls
from relayger.client.retry import backoff
from relayger.client.shapes import Written

Handler = Callable[[httpx.Request], httpx.Response]


def ok() -> httpx.Response:
    return httpx.Response(201, json={"thread": {}, "message": {}, "duplicate": False})


def error(status: int, headers: dict[str, str] | None = None, **fields: object) -> httpx.Response:
    body = {"error": {"code": "x", "message": "No.", "field": None, "next": None, **fields}}
    return httpx.Response(status, json=body, headers=headers)


class Script:
    """A service that answers, or fails, in a given order, and remembers what it was sent."""

    def __init__(self, *steps: httpx.Response | type[Exception]) -> None:
        self.steps: Iterator[httpx.Response | type[Exception]] = iter(steps)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = next(self.steps)
        if isinstance(step, httpx.Response):
            return step
        raise step("gone")

    @property
    def bodies(self) -> list[dict[str, object]]:
        return [json.loads(request.content) for request in self.requests]


def client(script: Handler, **options: float) -> Client:
    retry = Retry(**{"first": 0.0, **options})  # type: ignore[arg-type]
    return Client("http://service.test", "rgt_x", retry=retry, transport=httpx.MockTransport(script))


def test_an_uncertain_call_is_repeated_with_the_same_client_id() -> None:
    script = Script(httpx.ReadTimeout, error(503), error(429, {"Retry-After": "0"}), ok())
    with client(script) as service:
        service.send(calls.ask("@bob", text="How?"))
    first, *others = script.bodies
    assert first["client_id"]
    assert others == [first] * 3


def test_two_calls_have_two_client_ids() -> None:
    script = Script(ok(), ok())
    with client(script) as service:
        service.send(calls.ask("@bob", text="How?"))
        service.send(calls.ask("@bob", text="How?"))
    assert script.bodies[0]["client_id"] != script.bodies[1]["client_id"]


def test_the_number_of_tries_is_bounded() -> None:
    script = Script(*[httpx.ConnectError] * 9)
    with client(script, tries=3) as service, pytest.raises(NetworkError, match=r"service\.test"):
        service.send(calls.me())
    assert len(script.requests) == 3


def test_a_refusal_is_not_repeated() -> None:
    script = Script(error(409, code="leased", until="2030-01-01T00:00:00.000Z", field="a", next="b"))
    with client(script) as service, pytest.raises(APIError) as refused:
        service.send(calls.claim("thr_1", worker="w", seconds=30))
    told = refused.value
    assert (told.code, told.status, told.field, told.next) == ("leased", 409, "a", "b")
    assert told.data["until"] == "2030-01-01T00:00:00.000Z"


def test_a_registration_is_never_repeated() -> None:
    script = Script(httpx.ReadTimeout)
    with client(script) as service, pytest.raises(NetworkError):
        service.send(calls.register(handle="bob"))
    assert len(script.requests) == 1


def test_retry_after_is_honored_up_to_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    script = Script(error(429, {"Retry-After": "7"}), ok())
    with client(script) as service:
        service.send(calls.me())
    assert slept == [7.0]
    script = Script(error(429, {"Retry-After": "3600"}))
    with client(script) as service, pytest.raises(APIError) as refused:
        service.send(calls.me())
    assert refused.value.retry_after == 3600


def test_pauses_double_up_to_a_cap_with_jitter() -> None:
    for tried, most in ((1, 1.0), (2, 2.0), (3, 4.0), (9, 8.0), (10_000, 8.0)):
        pauses = [backoff(tried, first=1.0, cap=8.0) for _ in range(50)]
        assert all(most / 2 <= pause <= most for pause in pauses)
        assert len(set(pauses)) > 1


def test_a_redirect_is_not_followed_with_the_token() -> None:
    script = Script(httpx.Response(307, headers={"Location": "https://evil.example/v1/me"}))
    with client(script) as service, pytest.raises(APIError) as refused:
        service.send(calls.me())
    assert refused.value.code == "unexpected"
    assert len(script.requests) == 1


def test_a_wait_has_a_timeout_of_its_own() -> None:
    script = Script(httpx.Response(200, json={"events": [], "next": 0}))
    with client(script) as service:
        service.send(calls.inbox(after=3, wait=25, types=("thread.opened", "thread.state")))
    request = script.requests[0]
    assert request.extensions["timeout"]["read"] == 35
    assert dict(request.url.params) == {
        "after": "3",
        "wait": "25",
        "limit": "100",
        "types": "thread.opened,thread.state",
    }


@pytest.mark.parametrize("who", ["", ".", "..", "\ud800"])
def test_what_would_name_another_path_is_refused(who: str) -> None:
    with pytest.raises(InvalidArgument):
        calls.identity(who)


def test_a_path_is_quoted() -> None:
    assert calls.accept("@bob").path == "/v1/contacts/@bob/accept"
    assert calls.identity("../me?x#y").path == "/v1/identities/..%2Fme%3Fx%23y"


def test_text_that_is_none_is_refused() -> None:
    with client(Script()) as service, pytest.raises(InvalidArgument):
        service.send(calls.ask("@bob", text="\ud800"))


def test_the_asynchronous_client_does_the_same() -> None:
    script = Script(httpx.ConnectError, error(503), ok())
    call = calls.ask("@bob", text="How?")

    async def send() -> Written:
        transport = httpx.MockTransport(script)
        async with AsyncClient("http://service.test", retry=Retry(first=0.0), transport=transport) as service:
            return await service.send(call)

    assert asyncio.run(send())["duplicate"] is False
    assert script.bodies == [call.body] * 3
    assert "Authorization" not in script.requests[0].headers
