"""Who gets which card, and how it is cached."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import ParseDict

from tests.harness.cast import ADA, Cast, Person, lasting
from tests.harness.service import Service, Starter


def path(to: Person | str, name: str = "agent-card.json") -> str:
    return f"/a2a/{to.number if isinstance(to, Person) else to}/.well-known/{name}"


def same(first: httpx.Response, second: httpx.Response) -> bool:
    """Whether nothing but the clock tells two answers apart."""
    return (first.status_code, first.content, lasting(first)) == (
        second.status_code,
        second.content,
        lasting(second),
    )


def test_a_listed_agents_card_is_public(server: Service, cast: Cast) -> None:
    ada = cast.ada
    response = server.http.get(path(ada))
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "public, max-age=300"
    assert response.headers["vary"] == "Authorization"
    assert response.headers["access-control-allow-origin"] == "*"
    card = response.json()
    validate_proto_required_fields(ParseDict(card, pb.AgentCard()))
    assert (card["name"], card["description"]) == (ADA["display_name"], ADA["description"])
    assert card["supportedInterfaces"][0]["url"] == f"{server.origin}/a2a/{ada.number}" == ada.me["a2a_url"]
    assert [skill["id"] for skill in card["skills"]] == ["engines"]
    assert card["securitySchemes"]
    assert card["securityRequirements"]
    for other in (path(ada, "agent.json"), path(ada) + "/", path(ada.handle), path(f"@{ada.handle}")):
        assert server.http.get(other).content == response.content
    assert cast.charlie.get(path(ada)).content == response.content


def test_addresses_come_from_the_setting_and_never_from_a_header(server: Service, cast: Cast) -> None:
    headers = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}
    response = server.http.get(path(cast.ada), headers=headers)
    assert "evil" not in response.text
    assert server.origin in response.text


def test_an_agent_that_says_nothing_has_one_skill(cast: Cast) -> None:
    alice, bob = cast.friends
    card = alice.get(path(bob)).json()
    assert card["name"] == f"@{bob.handle}"
    assert [skill["id"] for skill in card["skills"]] == ["chat"]


def test_an_unlisted_agents_card_is_for_its_contacts(server: Service, cast: Cast) -> None:
    alice, bob = cast.register("alice"), cast.register("bob")

    def seen() -> bool:
        status = alice.get(path(bob)).status_code
        assert status in (200, 404)
        return status == 200

    assert not seen()
    alice.call("POST", "/v1/contacts", {"to": bob.number})
    assert not seen(), "asking is not enough"
    bob.call("POST", f"/v1/contacts/{alice.number}/accept")
    assert seen()
    response = alice.get(path(bob))
    assert response.headers["cache-control"].startswith("private")
    assert response.headers["vary"] == "Authorization"
    assert server.http.get(path(bob)).status_code == 404
    assert bob.get(path(bob)).status_code == 200, "one's own"
    bob.call("DELETE", f"/v1/contacts/{alice.number}")
    assert not seen()


def test_hidden_absent_and_human_are_the_same_bytes(server: Service, cast: Cast) -> None:
    hidden, human = cast.register("hidden"), cast.register("person", kind="human", listed=False)
    absent = "1234567800"
    for get in (server.http.get, cast.charlie.get):
        expected = get(path(absent))
        assert expected.status_code == 404
        assert expected.json()["error"]["code"] == "not_found"
        for who in (hidden, hidden.handle, human, human.handle, "nobody-here", "%00", "x" * 2000):
            assert same(get(path(who)), expected)


def test_hidden_and_absent_are_the_same_statements(quiet_server: Service, quiet_cast: Cast) -> None:
    hidden, charlie = quiet_cast.register("hidden"), quiet_cast.charlie
    charlie.get(path(hidden))
    for get, most in ((quiet_server.http.get, 1), (charlie.get, 2)):
        with quiet_server.counting() as for_hidden:
            get(path(hidden))
        with quiet_server.counting() as for_absent:
            get(path("1234567897"))
        assert for_hidden.sql == for_absent.sql
        assert len(for_hidden) == most


@pytest.mark.parametrize("header", ["Bearer rgt_nobody", "Bearer", "Basic YTpi", ""])
def test_a_token_that_is_no_good_is_401_not_a_stranger(server: Service, cast: Cast, header: str) -> None:
    response = server.http.get(path(cast.ada), headers={"Authorization": header})
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.json()["error"]["code"] == "unauthenticated"


def test_what_has_not_changed_is_not_sent_again(server: Service, cast: Cast) -> None:
    ada = cast.register("ada", listed=True, description="One")
    first = server.http.get(path(ada))
    tag, date = first.headers["etag"], first.headers["last-modified"]

    def again(**headers: str) -> httpx.Response:
        return server.http.get(
            path(ada), headers={name.replace("_", "-"): value for name, value in headers.items()}
        )

    for response in (
        again(If_None_Match=tag),
        again(If_None_Match=f"W/{tag}"),
        again(If_Modified_Since=date),
    ):
        assert (response.status_code, response.content) == (304, b"")
        kept = ("etag", "last-modified", "cache-control", "vary", "access-control-allow-origin")
        assert {name: response.headers[name] for name in kept} == {name: first.headers[name] for name in kept}
    assert again(If_None_Match='"other"', If_Modified_Since=date).status_code == 200
    ada.call("PATCH", "/v1/me", {"description": "Two"})
    changed = again(If_None_Match=tag)
    assert (changed.status_code, changed.json()["description"]) == (200, "Two")
    assert changed.headers["etag"] != tag
    ada.call("PATCH", "/v1/me", {"skills": [{"name": "Sums"}]})
    assert again(If_None_Match=changed.headers["etag"]).json()["skills"][0]["name"] == "Sums"


def test_head_is_get_without_a_body(server: Service, cast: Cast) -> None:
    get, head = server.http.get(path(cast.ada)), server.http.head(path(cast.ada))
    assert head.content == b""
    assert lasting(head) == lasting(get)
    assert server.http.head(path("nobody-here")).status_code == 404


def test_every_other_method_is_405(server: Service, cast: Cast) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        response = server.http.request(method, path(cast.ada))
        assert response.status_code == 405
        assert response.headers["allow"] == "GET, HEAD, OPTIONS"
        assert response.json()["error"]["code"] == "method_not_allowed"


def test_the_card_one_address_too_high_says_where_to_look(server: Service) -> None:
    for get in (server.http.get, server.http.head):
        assert get("/a2a/.well-known/agent-card.json").status_code == 404
    error = server.http.get("/a2a/.well-known/agent-card.json").json()["error"]
    assert "/a2a/{number}/" in error["next"]


def test_names_that_are_markup_stay_text(server: Service, cast: Cast) -> None:
    name = '<a href=//e>"\\ 👋'
    ada = cast.register("ada", listed=True, display_name=name)
    response = server.http.get(path(ada))
    assert response.json()["name"] == name
    assert response.headers["content-type"] == "application/json"


def test_strangers_are_limited_by_address(fresh_server: Starter) -> None:
    service = fresh_server(RELAYGER_RATE_PUBLIC="3/h")
    statuses: list[Any] = [service.http.get(path("nobody-here")).status_code for _ in range(5)]
    assert statuses == [404, 404, 404, 429, 429]
    assert int(service.http.get(path("nobody-here")).headers["retry-after"]) > 0
