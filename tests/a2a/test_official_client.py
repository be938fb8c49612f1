"""The official client, as its users write it, against the service with a worker behind it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest
from a2a.client import A2AClientError, Client, ClientConfig, create_client
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    PushNotificationNotSupportedError,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskNotCancelableError,
    TaskNotFoundError,
    TaskPushNotificationConfig,
    TaskState,
    UnsupportedOperationError,
)
from a2a.utils.errors import InvalidParamsError

from tests.a2a.wire import agent, echo
from tests.harness.cast import Cast, Person
from tests.harness.wait import until_async


@asynccontextmanager
async def client(person: Person, to: Person, *, streaming: bool = True, **http: Any) -> AsyncIterator[Client]:
    """The official client of `person`, made from the agent's address alone."""
    async with httpx.AsyncClient(headers=person.headers, **http) as session:
        config = ClientConfig(httpx_client=session, streaming=streaming)
        yield await create_client(f"{person.service.origin}/a2a/{to.number}", config)


def request(text: str = "Hello", *, immediate: bool = False, **fields: Any) -> SendMessageRequest:
    """A message as the client's users make it."""
    message = Message(message_id=str(uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], **fields)
    return SendMessageRequest(
        message=message, configuration=SendMessageConfiguration(return_immediately=immediate)
    )


async def send(to: Client, text: str = "Hello", *, immediate: bool = True, **fields: Any) -> Task:
    """The task that a message made; the last word of a call that does not stream."""
    events = [event async for event in to.send_message(request(text, immediate=immediate, **fields))]
    return events[-1].task


@pytest.fixture
def pair(cast: Cast) -> tuple[Person, Person]:
    """Alice and Bob, friends, so that Alice sees Bob's card."""
    return cast.friends


async def test_blocking(pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    with agent(bob, echo(bob)):
        async with client(alice, bob, streaming=False) as to:
            task = await send(to, immediate=False)
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert task.artifacts[0].parts[0].text == "You said: Hello"
    assert [said.role for said in task.history] == [Role.ROLE_USER, Role.ROLE_AGENT]


async def test_streaming(pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    with agent(bob, echo(bob)):
        async with client(alice, bob) as to:
            events = [event async for event in to.send_message(request())]
    assert [event.WhichOneof("payload") for event in events] == ["task", "artifact_update", "status_update"]
    assert events[1].artifact_update.artifact.parts[0].text == "You said: Hello"
    assert events[2].status_update.status.state == TaskState.TASK_STATE_COMPLETED


async def test_get_list_and_cancel(pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    async with client(alice, bob, streaming=False) as to:
        tasks = [await send(to, context_id="trip") for _ in range(3)]
        assert tasks[0].status.state == TaskState.TASK_STATE_SUBMITTED
        found = await to.get_task(GetTaskRequest(id=tasks[0].id, history_length=1))
        assert found == tasks[0]
        page = await to.list_tasks(ListTasksRequest(page_size=2, context_id="trip"))
        assert [task.id for task in page.tasks] == [tasks[2].id, tasks[1].id]
        assert (page.page_size, page.total_size) == (2, 3)
        rest = await to.list_tasks(
            ListTasksRequest(page_size=2, context_id="trip", page_token=page.next_page_token)
        )
        assert [task.id for task in rest.tasks] == [tasks[0].id]
        assert rest.next_page_token == ""
        canceled = await to.cancel_task(CancelTaskRequest(id=tasks[0].id))
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED
        page = await to.list_tasks(ListTasksRequest(status=TaskState.TASK_STATE_CANCELED))
        assert [task.id for task in page.tasks] == [tasks[0].id]


async def test_subscribe(pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    async with client(alice, bob, streaming=False) as plain, client(alice, bob) as to:
        task = await send(plain)
        events = to.subscribe(SubscribeToTaskRequest(id=task.id))
        assert (await anext(events)).task == task
        await asyncio.to_thread(bob.reply, task.id, "So.")
        rest = [event async for event in events]
    assert [event.WhichOneof("payload") for event in rest] == ["artifact_update", "status_update"]


async def test_two_turns(pair: tuple[Person, Person]) -> None:
    alice, bob = pair

    def script(thread: dict[str, Any], message: dict[str, Any]) -> None:
        first = thread["state"] == "open"
        bob.reply(
            thread["id"], "Which?" if first else "That.", **({"state": "input_required"} if first else {})
        )

    with agent(bob, script):
        async with client(alice, bob, streaming=False) as to:
            task = await send(to, immediate=False)
            assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
            assert task.status.message.parts[0].text == "Which?"
            task = await send(to, "This.", immediate=False, task_id=task.id)
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert len(task.history) == 4


async def test_errors_have_their_types(pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    async with client(alice, bob, streaming=False) as to:
        with pytest.raises(TaskNotFoundError):
            await to.get_task(GetTaskRequest(id="thr_" + "0" * 32))
        with pytest.raises(TaskNotFoundError):
            await send(to, task_id="unknown")
        with pytest.raises(InvalidParamsError):
            await to.list_tasks(ListTasksRequest(page_token="x"))
        task = await send(to)
        await to.cancel_task(CancelTaskRequest(id=task.id))
        with pytest.raises(TaskNotCancelableError):
            await to.cancel_task(CancelTaskRequest(id=task.id))
        with pytest.raises(UnsupportedOperationError):
            await send(to, task_id=task.id)
        with pytest.raises(PushNotificationNotSupportedError):
            await to.create_task_push_notification_config(
                TaskPushNotificationConfig(task_id=task.id, url="https://example.com")
            )
    async with client(alice, bob) as to:
        with pytest.raises(UnsupportedOperationError):
            async for _ in to.subscribe(SubscribeToTaskRequest(id=task.id)):
                pass
        # Without the capability the client answers this itself, with the card it has.
        assert (await to.get_extended_agent_card(GetExtendedAgentCardRequest())).name


async def test_contacts_first(cast: Cast) -> None:
    alice, ada = cast.register("alice"), cast.register("ada", listed=True)
    for streaming in (True, False):
        async with client(alice, ada, streaming=streaming) as to:
            with pytest.raises(A2AClientError, match="-32000"):
                await send(to)
    ada.call("POST", f"/v1/contacts/{alice.number}/accept")
    async with client(alice, ada, streaming=False) as to:
        assert (await send(to)).status.state == TaskState.TASK_STATE_SUBMITTED


async def test_a_worker_that_takes_longer_than_the_clients_patience(pair: tuple[Person, Person]) -> None:
    """The client's own timeout is five seconds of silence; the worker takes twelve, both ways at once."""
    alice, bob = pair
    timers: list[threading.Timer] = []

    def script(thread: dict[str, Any], message: dict[str, Any]) -> None:
        timers.append(threading.Timer(12, bob.reply, [thread["id"], "Late."]))
        timers[-1].start()

    async def stream(to: Client) -> list[str | None]:
        return [event.WhichOneof("payload") async for event in to.send_message(request("Stream"))]

    started = time.monotonic()
    with agent(bob, script):
        async with client(alice, bob, streaming=False) as blocking, client(alice, bob) as streaming:
            subscribed = await send(blocking, "Subscribe")

            async def subscribe() -> list[str | None]:
                events = streaming.subscribe(SubscribeToTaskRequest(id=subscribed.id))
                return [event.WhichOneof("payload") async for event in events]

            task, streamed, followed = await asyncio.gather(
                send(blocking, "Block", immediate=False), stream(streaming), subscribe()
            )
    for timer in timers:
        timer.join()
    assert time.monotonic() - started >= 12
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert task.artifacts[0].parts[0].text == "Late."
    assert streamed == followed == ["task", "artifact_update", "status_update"]


async def test_a_client_that_gives_up_leaves_the_task(pair: tuple[Person, Person]) -> None:
    alice, bob = pair
    async with client(alice, bob, streaming=False, timeout=0.5) as to:
        with pytest.raises(A2AClientError):
            await send(to, immediate=False)
    (task,) = alice.rpc(bob, "ListTasks")["tasks"]
    bob.reply(task["id"], "So.")

    async def answered() -> bool:
        async with client(alice, bob, streaming=False) as to:
            found = await to.get_task(GetTaskRequest(id=task["id"]))
        return bool(found.status.state == TaskState.TASK_STATE_COMPLETED)

    await until_async(answered)
