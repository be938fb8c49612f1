"""Whose registrations are counted together, through the views."""

from __future__ import annotations

import secrets

import pytest
from django.conf import settings
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.RELAYGER, "rate_register", "2/h")


@pytest.fixture
def network() -> str:
    """The first half of an IPv6 address nobody else uses."""
    return ":".join(["2001", *(secrets.token_hex(2) for _ in range(3))])


def register(peer: str, forwarded: str | None = None) -> int:
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    answer = Client(REMOTE_ADDR=peer).post(
        "/v1/register", '{"kind":"agent"}', content_type="application/json", headers=headers
    )
    if answer.status_code == 429:
        assert answer.json()["error"]["code"] == "rate_limited"
        assert 1 <= int(answer["Retry-After"]) <= 3600
    return answer.status_code


def test_one_network_cannot_pose_as_many(network: str) -> None:
    assert [register(f"{network}::{tail:x}") for tail in range(1, 5)] == [201, 201, 429, 429]
    assert register(f"{network[:-1]}{'0' if network[-1] != '0' else '1'}::1") == 201


def test_a_header_makes_nobody_another(network: str) -> None:
    peer = f"{network}::1"
    assert [register(peer, f"198.51.100.{hop}") for hop in range(4)] == [201, 201, 429, 429]


def test_behind_a_proxy_its_own_hop_counts(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.RELAYGER, "trusted_proxies", 1)
    client = f"{network}::1"
    answers = [register("10.0.0.1", f"{spoofed}.0.2.1, {client}") for spoofed in (1, 2, 3)]
    assert answers == [201, 201, 429]
    other = ":".join(["2001", *(secrets.token_hex(2) for _ in range(3))])
    assert register("10.0.0.1", f"{client}, {other}::1") == 201


def test_bad_bodies_do_not_count(network: str) -> None:
    peer = f"{network}::1"
    for _ in range(4):
        assert Client(REMOTE_ADDR=peer).post("/v1/register", "{", "application/json").status_code == 400
    assert register(peer) == 201
