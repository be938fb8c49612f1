"""Whose calls are counted together, how a limit tells of itself, and that it never fails a call."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import caches
from hypothesis import given
from hypothesis import strategies as st

from apps.core import ids, limits
from apps.core.errors import Code, DomainError
from apps.core.limits import client_address, hit, slot
from tests.harness.cast import Cast, a2a_path
from tests.harness.environment import SETUP


@pytest.fixture
def _three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.RELAYGER, "rate_register", "3/h")


@pytest.fixture
def _proxies(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.RELAYGER, "trusted_proxies", request.param)


def someone() -> str:
    """A key nobody else counts by."""
    return ids.new().hex


@pytest.mark.usefixtures("_three")
def test_past_the_rate_calls_are_refused_with_reason_and_time() -> None:
    key = someone()
    told = limits.counting()
    assert told() == []
    for left in (2, 1, 0):
        hit("register", key)
        assert dict(told())["RateLimit"].startswith(f'"register";r={left};t=')
    with pytest.raises(DomainError) as caught:
        hit("register", key)
    error = caught.value
    assert (error.code, error.status) == (Code.RATE_LIMITED, 429)
    seconds = int(error.headers()["Retry-After"])
    assert 1 <= seconds <= 3600
    assert dict(told()) == {
        "RateLimit": f'"register";r=0;t={seconds}',
        "RateLimit-Policy": '"register";q=3',
    }
    hit("register", someone())
    hit("write", key)  # another group counts for itself


@pytest.mark.usefixtures("_three")
def test_refused_tries_do_not_prolong_the_wait() -> None:
    key = someone()
    waits: list[int] = []
    for _ in range(20):
        try:
            hit("register", key)
        except DomainError as error:
            waits.append(error.retry_after or 0)
    assert waits == sorted(waits, reverse=True)
    assert len(waits) == 17


@pytest.mark.usefixtures("_three")
def test_a_failing_cache_counts_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def __getattr__(self, name: str) -> Any:
            raise ConnectionError("the cache is away")

    monkeypatch.setattr(limits, "_here_until", 0.0)  # and back to that in the end
    key = someone()
    monkeypatch.setattr(caches["limits"], "incr", Gone().__getattr__, raising=False)
    monkeypatch.setattr(caches["limits"], "add", lambda *_, **__: Gone().incr, raising=False)
    refused = 0
    for _ in range(5):
        try:
            hit("register", key)
        except DomainError:
            refused += 1
    assert refused == 2


@pytest.mark.parametrize("_proxies", [0], indirect=True)
@pytest.mark.usefixtures("_proxies")
def test_a_bare_header_is_never_believed() -> None:
    assert client_address("192.0.2.1", ["198.51.100.1"]) == "192.0.2.1"
    assert client_address("192.0.2.1", ["198.51.100.1, 203.0.113.9", "1.1.1.1"]) == "192.0.2.1"
    assert client_address(None, ["198.51.100.1"]) == ""
    assert client_address("", []) == ""


@pytest.mark.parametrize(
    ("_proxies", "forwarded", "address"),
    [
        (1, [], "192.0.2.1"),
        (1, ["198.51.100.1"], "198.51.100.1"),
        (1, ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),  # the first was the client's own idea
        (1, ["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
        (2, ["6.6.6.6, 198.51.100.1, 10.0.0.1"], "198.51.100.1"),
        (2, ["10.0.0.1"], "192.0.2.1"),  # fewer hops than proxies: it did not come through them
        (1, ["nonsense"], "192.0.2.1"),
        (1, [" , "], "192.0.2.1"),
        (1, ["6.6.6.6,\x00"], "192.0.2.1"),
        (1, ["2001:db8::1"], "2001:db8::/64"),
    ],
    indirect=["_proxies"],
)
@pytest.mark.usefixtures("_proxies")
def test_as_many_hops_as_there_are_proxies(forwarded: list[str], address: str) -> None:
    assert client_address("192.0.2.1", forwarded) == address


def test_an_ipv6_network_is_one_client() -> None:
    same = {client_address(f"2001:db8:0:1:{tail}", []) for tail in (":", ":1", ":ffff", "1:2:3:4")}
    assert same == {"2001:db8:0:1::/64"}
    assert client_address("2001:db8:0:2::1", []) not in same
    assert client_address("::ffff:192.0.2.1", []) == "192.0.2.1"
    assert client_address("::FFFF:C000:0201", []) == "192.0.2.1"
    assert client_address("fe80::1%eth0", []) == "fe80::/64"
    assert client_address("testclient", []) == "testclient"


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=3))
def test_no_address_is_an_error(peer: str, forwarded: list[str]) -> None:
    assert isinstance(client_address(peer, forwarded), str)


def test_slots_are_given_back() -> None:
    with slot("test", 1, 2), slot("test", 1, 2):
        with pytest.raises(DomainError) as caught, slot("test", 1, 2):
            pass
        assert caught.value.code is Code.TOO_MANY_WAITS
        assert caught.value.headers()["Retry-After"] == "1"
        with slot("test", 2, 2), slot("other", 1, 2):
            pass
    with pytest.raises(KeyError), slot("test", 1, 1):
        raise KeyError
    with slot("test", 1, 1):
        pass


def test_slots_hold_among_threads() -> None:
    most, taken, start = 5, [], threading.Barrier(20)
    full = threading.Semaphore(0)
    done = threading.Event()

    def take() -> None:
        start.wait(10)
        try:
            with slot("threads", 1, most):
                taken.append(1)
                full.release()
                done.wait(10)
        except DomainError:
            full.release()

    threads = [threading.Thread(target=take) for _ in range(20)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert full.acquire(timeout=10)
    assert len(taken) == most
    done.set()
    for thread in threads:
        thread.join(10)


def test_many_threads_count_as_one() -> None:
    cache = caches["limits"]
    key = f"count-{someone()}"

    def count() -> None:
        mine = caches["limits"]  # each thread has a cache of its own
        for _ in range(25):
            mine.add(key, 0, 60)
            mine.incr(key)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(count) for _ in range(8)]:
            done.result(20)
    assert cache.get(key) == 200


@pytest.mark.skipif(SETUP == "embedded", reason="the embedded service counts in its own memory")
def test_threads_share_their_connections_and_windows_end() -> None:
    cache: Any = caches["limits"]
    with ThreadPoolExecutor(1) as pool:
        theirs: Any = pool.submit(lambda: caches["limits"]).result(20)
        assert theirs is not cache
        assert theirs._cache is cache._cache
    key = f"count-{someone()}"
    assert (cache.add(key, 1, 60), cache.add(key, 1, 60)) == (True, False)
    assert cache.incr(key) == 2
    client = cache._cache.get_client(write=True)
    assert 0 < client.ttl(cache.make_key(key)) <= 60
    client.delete(cache.make_key(key))
    assert (cache.add(key, 1, 60), cache.incr(key)) == (False, 1), "one that expired starts anew"
    assert 0 < client.ttl(cache.make_key(key)) <= 60


def test_every_counted_answer_tells_what_is_left(cast: Cast) -> None:
    alice, bob = cast.alice, cast.bob
    for answer, groups in (
        (alice.get("/v1/me"), ["read"]),
        (alice.get("/v1/inbox"), ["read"]),
        (alice.get("/v1/me/nothing"), []),
        (alice.patch("/v1/me", json={"display_name": "Alice"}), ["write"]),
        (alice.post("/v1/contacts", json={"to": bob.number}), ["write", "contact"]),
        (alice.post(a2a_path(bob), json={"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}), None),
    ):
        told = answer.headers.get("RateLimit", "")
        found = re.findall(r'"(\w+)";r=\d+;t=\d+', told)
        assert found == re.findall(r'"(\w+)";q=\d+', answer.headers.get("RateLimit-Policy", ""))
        assert groups is None or found == groups, (answer.request.url, told)
