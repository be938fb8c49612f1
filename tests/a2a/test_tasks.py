"""Threads as the official types see them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import ParseDict

from apps.a2a import tasks
from apps.a2a.tasks import Seen
from apps.core.actor import Ref
from apps.threads.models import State
from apps.threads.sql import EntryRow, ThreadRow

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
ALICE, BOB = Ref(11, "alice", "agent", ""), Ref(22, "bob", "agent", "")
THREAD = "thr_" + UUID(int=1).hex


def entry(cursor: int, actor: Ref | None, *texts: str, **fields: Any) -> EntryRow:
    whole: dict[str, Any] = {
        "id": UUID(int=100 + cursor),
        "thread": UUID(int=1),
        "cursor": cursor,
        "actor": None if actor is None else actor.number,
        "kind": "message" if texts else "event",
        "of": None,
        "last": None,
        "parts": [{"text": text} for text in texts],
        "state": None,
        "metadata": None,
        "message_id": None,
        "created_at": START + timedelta(seconds=cursor),
        **fields,
    }
    return EntryRow(**whole)


def msg(cursor: int) -> str:
    return f"msg_{UUID(int=100 + cursor).hex}"


def seen(*entries: EntryRow) -> Seen:
    """A thread after these entries."""
    state, state_at = State.OPEN.value, START
    for one in entries:
        if one.state is not None:
            state, state_at = one.state, one.created_at
    thread = ThreadRow(
        id=UUID(int=1),
        chat=UUID(int=2),
        asker=ALICE,
        assignee=BOB,
        state=state,
        context="ctx",
        generation=entries[-1].cursor,
        messages=len(entries),
        size=0,
        parent=None,
        hops=0,
        lease_owner="",
        lease_until=None,
        attempt=0,
        created_at=START,
        state_at=state_at,
        activity_at=entries[-1].created_at,
        expires_at=START,
    )
    return Seen(thread, list(entries))


def task(one: Seen, history: int | None = None, **options: Any) -> dict[str, Any]:
    """The task, which the official type takes without a change."""
    shown = tasks.task(one, history, **options)
    official = ParseDict(shown, pb.Task())  # unknown keys are errors here
    validate_proto_required_fields(official)
    return shown


def updates(one: Seen) -> list[dict[str, Any]]:
    found = tasks.updates(one.thread, one.entries[-1])
    for update in found:
        ParseDict(update, pb.StreamResponse())
    return found


QUESTION = entry(1, ALICE, "How?", message_id="m-1", metadata={"n": 1.0})


def test_a_new_question() -> None:
    assert task(seen(QUESTION)) == {
        "id": THREAD,
        "contextId": "ctx",
        "status": {"state": "TASK_STATE_SUBMITTED", "timestamp": "2026-01-31T12:00:00.000Z"},
        "history": [
            {
                "messageId": "m-1",
                "contextId": "ctx",
                "taskId": THREAD,
                "role": "ROLE_USER",
                "parts": [{"text": "How?"}],
                "metadata": {"n": 1.0},
            }
        ],
    }


def test_an_answer_is_an_artifact_and_in_the_history() -> None:
    shown = task(seen(QUESTION, entry(2, BOB, "So.", state="answered", metadata={"a": 1})))
    assert shown["status"] == {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-31T12:00:02.000Z"}
    assert shown["artifacts"] == [{"artifactId": msg(2), "parts": [{"text": "So."}], "metadata": {"a": 1}}]
    assert [(said["role"], said["messageId"]) for said in shown["history"]] == [
        ("ROLE_USER", "m-1"),
        ("ROLE_AGENT", msg(2)),
    ]


@pytest.mark.parametrize("state", list(State))
def test_every_state_is_shown(state: State) -> None:
    shown = task(seen(QUESTION, entry(2, BOB, state=state.value)))
    assert shown["status"]["state"] == tasks.STATES[state]
    assert "message" not in shown["status"]


@pytest.mark.parametrize("state", ["input_required", "auth_required", "failed", "declined"])
def test_what_the_agent_said_explains_the_state(state: str) -> None:
    one = seen(QUESTION, entry(2, BOB, "Which?", state=state))
    said = task(one)["status"]["message"]
    assert (said["role"], said["messageId"], said["parts"]) == ("ROLE_AGENT", msg(2), [{"text": "Which?"}])
    assert updates(one)[-1]["statusUpdate"]["status"]["message"] == said


@pytest.mark.parametrize("state", ["answered", "working"])
def test_what_needs_no_explanation(state: str) -> None:
    one = seen(QUESTION, entry(2, BOB, "So.", state=state))
    assert "message" not in task(one)["status"]
    assert "message" not in updates(one)[-1]["statusUpdate"]["status"]


def test_a_growing_reply_is_one_artifact_and_one_message() -> None:
    first = entry(2, BOB, "a", state="working", last=False)
    more = entry(4, BOB, "b", of=first.id, last=False)
    end = entry(5, BOB, "c", "d", of=first.id, last=True, state="answered")
    one = seen(QUESTION, first, entry(3, ALICE, "Hurry."), more, end)
    shown = task(one)
    whole = [{"text": text} for text in "abcd"]
    assert shown["artifacts"] == [{"artifactId": msg(2), "parts": whole}]
    assert [(said["role"], said["parts"]) for said in shown["history"]] == [
        ("ROLE_USER", [{"text": "How?"}]),
        ("ROLE_AGENT", whole),
        ("ROLE_USER", [{"text": "Hurry."}]),
    ]

    def update(until: int) -> dict[str, Any]:
        found: dict[str, Any] = updates(seen(*one.entries[:until]))[0]["artifactUpdate"]
        return {key: found[key] for key in ("append", "lastChunk")} | {"id": found["artifact"]["artifactId"]}

    assert update(2) == {"append": False, "lastChunk": False, "id": msg(2)}
    assert update(4) == {"append": True, "lastChunk": False, "id": msg(2)}
    assert update(5) == {"append": True, "lastChunk": True, "id": msg(2)}


def test_a_whole_reply_is_its_own_last_chunk() -> None:
    artifact, status = updates(seen(QUESTION, entry(2, BOB, "So.", state="answered")))
    assert artifact["artifactUpdate"] == {
        "taskId": THREAD,
        "contextId": "ctx",
        "artifact": {"artifactId": msg(2), "parts": [{"text": "So."}]},
        "append": False,
        "lastChunk": True,
    }
    assert status["statusUpdate"] == {
        "taskId": THREAD,
        "contextId": "ctx",
        "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-31T12:00:02.000Z"},
    }


def test_changes_without_words() -> None:
    assert updates(seen(QUESTION, entry(2, ALICE, "And?"))) == [], "the asker knows what it said"
    (only,) = updates(seen(QUESTION, entry(2, ALICE, state="canceled")))
    assert only["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED"
    (only,) = updates(seen(QUESTION, entry(2, None, state="expired")))
    assert only["statusUpdate"]["status"]["state"] == "TASK_STATE_FAILED"
    (only,) = updates(seen(QUESTION, entry(2, ALICE, "Red.", state="working")))
    assert only["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING"


def test_history_has_the_length_asked_for() -> None:
    many = [QUESTION]
    for cursor in range(2, 300, 2):
        many += [entry(cursor, BOB, f"{cursor}", state="working"), entry(cursor + 1, ALICE, "More.")]
    one = seen(*many)
    assert len(task(one)["history"]) == 100
    assert "history" not in task(one, 0)
    assert [said["parts"] for said in task(one, 1)["history"]] == [[{"text": "More."}]]
    assert [said["parts"] for said in task(one, 2)["history"]] == [[{"text": "298"}], [{"text": "More."}]]
    assert len(task(one, 5000)["history"]) == len(many)
    assert len(task(one, 0)["artifacts"]) == 149


def test_artifacts_when_asked_for() -> None:
    bare, answered = seen(QUESTION), seen(QUESTION, entry(2, BOB, "So.", state="answered"))
    assert "artifacts" not in task(bare)
    assert task(bare, artifacts=True)["artifacts"] == []
    assert "artifacts" not in task(answered, artifacts=False)
    assert len(task(answered, artifacts=True)["artifacts"]) == 1


def test_parts_of_every_kind() -> None:
    parts = [
        {"text": "a", "media_type": "text/markdown", "filename": "a.md", "metadata": {"n": 1}},
        {"raw": "AP8="},
        {"url": "https://example.com"},
        {"data": {"v": 1}, "media_type": "application/vnd.relayger.sealed+json"},
        {"data": None},
    ]
    shown = task(seen(entry(1, ALICE, "", parts=parts)))["history"][0]["parts"]
    assert shown == [
        {"text": "a", "mediaType": "text/markdown", "filename": "a.md", "metadata": {"n": 1}},
        {"raw": "AP8="},
        {"url": "https://example.com"},
        {"data": {"v": 1}, "mediaType": "application/vnd.relayger.sealed+json"},
        {"data": None},
    ]


def test_the_agents_own_message_id_is_not_shown_as_its_message() -> None:
    said = task(seen(QUESTION, entry(2, BOB, "So.", state="answered", message_id="m-1")))["history"][1]
    assert said["messageId"] == msg(2)


def test_entries_read_after_the_thread_are_left_out() -> None:
    late = entry(2, BOB, "So.", state="answered")
    one = Seen.of(seen(QUESTION).thread, [QUESTION, late])
    assert one.entries == [QUESTION]
    assert task(one)["status"]["state"] == "TASK_STATE_SUBMITTED"
