"""The codec of sealed messages: the published vectors, and that nothing but the very envelope opens."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relayger import sealed
from tests.sealed import vectors

PUBLISHED = json.loads(vectors.PATH.read_text())
BY_NUMBER = {one["number"]: one for one in PUBLISHED["people"]}
MESSAGES = {one["name"]: one for one in PUBLISHED["messages"]}
ROOM = MESSAGES["to a room"]


def open_as(number: str, message: dict[str, Any], envelope: Any = None, **changed: Any) -> bytes:
    """Open a published message, or another envelope in its place, with the published keys."""
    sender, reader = BY_NUMBER[message["sender"]], BY_NUMBER[number]
    given: dict[str, Any] = {
        "scope": message["scope"],
        "sender": message["sender"],
        "sender_keys": {sender["sign_key_id"]: bytes.fromhex(sender["ed25519_public"])},
        "reader": number,
        "reader_keys": {reader["seal_key_id"]: bytes.fromhex(reader["x25519_private"])},
    }
    return sealed.open_(message["envelope"] if envelope is None else envelope, **{**given, **changed})


def test_the_published_vectors_are_what_the_code_makes() -> None:
    assert vectors.PATH.read_text() == vectors.text()


@pytest.mark.parametrize("name", MESSAGES)
def test_every_member_opens_it(name: str) -> None:
    message = MESSAGES[name]
    for entry in message["envelope"]["keys"]:
        assert open_as(entry["to"], message).hex() == message["plaintext"]
    assert sealed.read(message["envelope"]).signed().hex() == message["signed"]
    assert sealed.read(message["envelope"]).show() == message["envelope"]


def test_the_order_of_entries_and_fields_is_no_part_of_it() -> None:
    turned = {name: ROOM["envelope"][name] for name in reversed(ROOM["envelope"])}
    turned["keys"] = list(reversed(turned["keys"]))
    assert open_as(vectors.PEOPLE[0], ROOM, turned).hex() == ROOM["plaintext"]


def flip(text: str, place: int) -> str:
    """Another letter in the same alphabet."""
    place %= len(text)
    return text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]


@given(
    st.sampled_from(["nonce", "ciphertext", "signature", "scope", "sender", "key_id"]),
    st.integers(min_value=0),
)
@settings(max_examples=150, deadline=None)
def test_a_changed_field_does_not_open(field: str, place: int) -> None:
    envelope = copy.deepcopy(ROOM["envelope"])
    envelope[field] = flip(envelope[field], place)
    with pytest.raises(sealed.SealedError):
        open_as(vectors.PEOPLE[0], ROOM, envelope)


@given(st.integers(0, 2), st.sampled_from(["to", "key_id", "sealed"]), st.integers(min_value=0))
@settings(max_examples=150, deadline=None)
def test_a_changed_entry_does_not_open_for_anybody(entry: int, field: str, place: int) -> None:
    envelope = copy.deepcopy(ROOM["envelope"])
    envelope["keys"][entry][field] = flip(envelope["keys"][entry][field], place)
    for number in vectors.PEOPLE:
        with pytest.raises(sealed.SealedError):
            open_as(number, ROOM, envelope)


def test_an_entry_taken_away_or_added_is_noticed() -> None:
    fewer = {**ROOM["envelope"], "keys": ROOM["envelope"]["keys"][:-1]}
    with pytest.raises(sealed.BadSignature):
        open_as(ROOM["envelope"]["keys"][0]["to"], ROOM, fewer)
    more = [*ROOM["envelope"]["keys"], {**ROOM["envelope"]["keys"][0], "to": "1000000009"}]
    with pytest.raises(sealed.BadSignature):
        open_as(vectors.PEOPLE[0], ROOM, {**ROOM["envelope"], "keys": more})


def test_it_opens_only_where_it_was_sent_and_for_whom() -> None:
    first, second, third = vectors.PEOPLE
    with pytest.raises(sealed.WrongScope):
        open_as(first, ROOM, scope="con_" + "0" * 32)
    with pytest.raises(sealed.WrongSender):
        open_as(first, ROOM, sender=second)
    with pytest.raises(sealed.NotForYou):
        open_as(third, MESSAGES["to a friend"])
    with pytest.raises(sealed.UnknownKey):
        open_as(first, ROOM, sender_keys={})
    with pytest.raises(sealed.UnknownKey):
        open_as(first, ROOM, reader_keys={})
    wrong = {BY_NUMBER[first]["seal_key_id"]: bytes(range(32))}
    with pytest.raises(sealed.Damaged):
        open_as(first, ROOM, reader_keys=wrong)
    mallory = {BY_NUMBER[third]["sign_key_id"]: bytes.fromhex(BY_NUMBER[first]["ed25519_public"])}
    with pytest.raises(sealed.BadSignature):
        open_as(first, ROOM, sender_keys=mallory)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
@settings(max_examples=200, deadline=None)
def test_no_json_is_taken_for_an_envelope(value: Any) -> None:
    with pytest.raises(sealed.Malformed):
        sealed.read(value)


@given(st.sampled_from(sorted(ROOM["envelope"])), json_values)
@settings(max_examples=200, deadline=None)
def test_no_other_value_is_taken_for_a_field(field: str, value: Any) -> None:
    if value == ROOM["envelope"][field] and not isinstance(value, bool):
        return
    with pytest.raises(sealed.Malformed) as refused:
        sealed.read({**ROOM["envelope"], field: value})
    assert refused.value.field.startswith(field)


@given(st.binary(max_size=2000))
@settings(max_examples=50, deadline=None)
def test_what_is_sealed_is_opened(plaintext: bytes) -> None:
    first, second, _ = vectors.PEOPLE
    envelope = sealed.seal(
        plaintext,
        scope=sealed.pair(first, second),
        sender=first,
        key_id=BY_NUMBER[first]["sign_key_id"],
        signing_key=vectors.seed(first),
        members=[
            sealed.Member(
                number, BY_NUMBER[number]["seal_key_id"], bytes.fromhex(BY_NUMBER[number]["x25519_public"])
            )
            for number in (first, second)
        ],
    )
    message = {"scope": sealed.pair(first, second), "sender": first, "envelope": envelope}
    assert open_as(second, message) == open_as(first, message) == plaintext
