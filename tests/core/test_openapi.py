"""The description of the API is complete."""

from __future__ import annotations

from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

BODYLESS = {
    "contacts_accept",
    "contacts_decline",
    "contacts_block",
    "contacts_unblock",
    "threads_cancel",
    "keys_retire",
    "me_restore",
    "chats_join",
    "chats_leave",
    "invites_accept",
    "invites_decline",
    "webhooks_test",
}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    described: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return described


def operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_call_says_what_it_does_and_how_it_fails(schema: dict[str, Any]) -> None:
    for path, method, operation in operations(schema):
        assert operation["summary"], path
        assert not operation["summary"].endswith("."), path
        answers = operation["responses"]
        assert {"400", "429", "503"} <= answers.keys(), path
        assert any(status.startswith("2") for status in answers), path
        assert all(answer["description"] for answer in answers.values()), path
        if "{" in path:
            assert "404" in answers, path
        if {"token": []} in operation["security"]:
            assert "401" in answers, path
        takes_body = method in ("post", "patch") and operation["operationId"] not in BODYLESS
        assert ("requestBody" in operation) is takes_body, path
        for status, answer in answers.items():
            if status >= "400":
                (media,) = answer["content"].items()
                assert media == ("application/json", {"schema": {"$ref": "#/components/schemas/ErrorBody"}})


def test_names_of_calls_are_unique(schema: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(schema)]
    assert len(set(names)) == len(names)
    assert schema["openapi"].startswith("3.1")
