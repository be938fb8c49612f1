"""`GET /v1/directory` as a client meets it."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from tests.harness.cast import Cast
from tests.harness.service import Service
from tests.identities.test_http import raw


def test_finding_an_agent(cast: Cast, server: Service) -> None:
    word = secrets.token_hex(6)
    ada = cast.register(
        "ada", listed=True, description=f"Knows {word}", skills=[{"name": "Steam", "slug": f"s-{word}"}]
    )
    cast.register("hidden", description=word)
    cast.register("person", kind="human", description=word, listed=True)
    page = server.http.get("/v1/directory", params={"q": word.upper()}).json()
    assert page["next_cursor"] is None
    (item,) = page["items"]
    alone = server.http.get(f"/v1/identities/{ada.number}").json()
    assert alone == {**item, "keys": {"sign": None, "seal": None}}  # shown where one is, not in lists
    assert "contact" not in item
    seen = cast.alice.call("GET", "/v1/directory", q=f"@{ada.handle}")["items"]
    assert seen == [{**item, "contact": None}]
    for query in ({"skill": f"s-{word}"}, {"skill": f"S-{word}".upper()}, {"q": f"{word} steam"}):
        assert [one["number"] for one in server.http.get("/v1/directory", params=query).json()["items"]] == [
            ada.number
        ]
    for query in ({"skill": word}, {"q": f"{word} nothing"}, {"q": word, "active_within": "1", "skill": "x"}):
        assert server.http.get("/v1/directory", params=query).json() == {"items": [], "next_cursor": None}


def test_pages(cast: Cast, server: Service) -> None:
    word = secrets.token_hex(6)
    made = {cast.register("agent", listed=True, display_name=word).number for _ in range(5)}
    found: list[str] = []
    query: dict[str, Any] = {"q": word, "limit": 2}
    while True:
        page = server.http.get("/v1/directory", params=query).json()
        found += [one["number"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert len(found) == 5
    assert set(found) == made
    foreign = {"q": word, "skill": "x", "cursor": query["cursor"]}
    assert server.http.get("/v1/directory", params=foreign).json()["error"]["field"] == "cursor"
    # The same list, whoever looks at it.
    assert cast.alice.call("GET", "/v1/directory", **query)["next_cursor"] is None


@pytest.mark.parametrize(
    "query",
    [
        "",
        "q=",
        "q=%20",
        "q='",
        "q=a%20%26%20%7C%20!",
        "q=%5C",
        "q=%22",
        "q=%25%5F",
        "q=%01",
        "q=%F0%9F%8E%89" * 1,
        "q=" + "%F0%9F%8E%89" * 2_000,
        "q=" + "x" * 10_000,
        "q=" + "x+" * 5_000,
        "q=" + "+".join(f"w{place}" for place in range(1_200)),
        "q=a&q=b",
        "limit=1",
        "limit=100",
        "limit=050",
        "active_within=8760",
        "skill=nothing",
    ],
    ids=lambda query: f"{query:.30}, {len(query)}",
)
def test_queries_that_are_answered(server: Service, query: str) -> None:
    answer = server.http.get(f"/v1/directory?{query}")
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"items", "next_cursor"}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("q=%00", None),
        ("q=%ff", None),
        ("q=%ed%a0%80", None),
        ("q=" + "x" * 20_001, "q"),
        ("limit=", "limit"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=-1", "limit"),
        ("limit=+1", "limit"),
        ("limit=1.0", "limit"),
        ("limit=1e1", "limit"),
        ("limit=1_0", "limit"),
        ("limit=%D9%A1", "limit"),
        ("limit=%C2%B2", "limit"),
        ("limit=%EF%BC%91", "limit"),
        ("limit=99999999999999999999", "limit"),
        ("limit=" + "9" * 5_000, "limit"),
        ("limit=all", "limit"),
        ("active_within=0", "active_within"),
        ("active_within=-1", "active_within"),
        ("active_within=8761", "active_within"),
        ("active_within=1h", "active_within"),
        ("cursor=", "cursor"),
        ("cursor=x", "cursor"),
        ("cursor=%00", None),
        ("cursor=cD0A", "cursor"),
        ("cursor=" + "x" * 5_000, "cursor"),
        ("cursor=%C3%A9:%C3%A9:%C3%A9", "cursor"),
        ("skill=", "skill"),
        ("skill=" + "x" * 65, "skill"),
        ("since=1", "since"),
        ("token=rgt_x", "token"),
        ("&".join(f"a{place}=1" for place in range(60)), None),
        ("Q=a", "Q"),
        ("=a", ""),
        ("%ff=a", None),
    ],
    ids=lambda query: f"{query!s:.30}, {len(query or '')}",
)
def test_queries_that_are_refused(server: Service, query: str, field: str | None) -> None:
    answer = server.http.get(f"/v1/directory?{query}")
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert (error["code"], error["field"]) == ("invalid", field)


@pytest.mark.parametrize("bytes_", [b"\xff", b"\xed\xa0\x80", b"\xc3"])
def test_raw_bytes_in_a_query(server: Service, bytes_: bytes) -> None:
    head = b"GET /v1/directory?q=" + bytes_ + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    status, _ = raw(server, head)
    assert status == 400


def test_it_tells_nothing_of_the_hidden(cast: Cast, server: Service) -> None:
    """A search for a hidden agent is that for nobody, byte for byte."""
    hidden = cast.register("hidden", display_name="Secret")
    nobody = server.http.get("/v1/directory?q=nobody-has-this").content
    for viewer in (server.http, cast.mallory.http):
        assert viewer.get(f"/v1/directory?q={hidden.handle}").content == nobody
        assert viewer.get(f"/v1/directory?q={hidden.number}").content == nobody
