"""What one would use instead: the official SDK's server with its database store, in its best set-up.

`python -m benchmarks.peer --port N --database URL` serves two agents: /echo answers in the process itself, /relay
hands each question to an agent that polls GET /agent/questions and answers at POST /agent/answers.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

os.environ["OTEL_INSTRUMENTATION_A2A_SDK_ENABLED"] = "false"  # its tracing costs half of its speed

import orjson
import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Artifact,
    Message,
    Part,
    Task,
    TaskState,
    TaskStatus,
)
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

CARD = AgentCard(
    name="Echo",
    description="Answers with the question",
    version="1",
    supported_interfaces=[
        AgentInterface(url="http://127.0.0.1/", protocol_binding="JSONRPC", protocol_version="1.0")
    ],
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="echo", name="Echo", description="Answers with the question", tags=["echo"])],
)


class Agent(AgentExecutor):
    """Makes one task with one artifact and completes it.

    Every event is a write to the store, so that a call which is not a stream gets its task in one event; a stream
    gets the task, the artifact and the completion, as one would send them to have a stream at all.
    """

    async def answer(self, text: str) -> str:
        """The answer to `text`."""
        return text

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task_id, context_id = str(context.task_id), str(context.context_id)
        message, text = context.message or Message(), context.get_user_input()
        if context.call_context.state.get("method") == "SendStreamingMessage":
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            await event_queue.enqueue_event(
                Task(id=task_id, context_id=context_id, status=status, history=[message])
            )
            updater = TaskUpdater(event_queue, task_id, context_id)
            await updater.add_artifact([Part(text=await self.answer(text))])
            await updater.complete()
            return
        artifact = Artifact(artifact_id=task_id, parts=[Part(text=await self.answer(text))])
        status = TaskStatus(state=TaskState.TASK_STATE_COMPLETED)
        status.timestamp.GetCurrentTime()
        await event_queue.enqueue_event(
            Task(id=task_id, context_id=context_id, status=status, history=[message], artifacts=[artifact])
        )

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, str(context.task_id), str(context.context_id)).cancel()


class Relay(Agent):
    """Answers what an agent in another process answers; that agent polls."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._questions: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._answers: dict[int, asyncio.Future[str]] = {}

    async def answer(self, text: str) -> str:
        """Put the question in the queue and wait for the agent."""
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        self._questions.put_nowait({"id": number, "text": text})
        return await self._answers[number]

    async def questions(self, request: Request) -> Response:
        """A long-poll: all questions that nobody has taken, at most 25 seconds later an empty list."""
        taken = []
        try:
            async with asyncio.timeout(25):
                taken.append(await self._questions.get())
        except TimeoutError:
            pass
        while not self._questions.empty():
            taken.append(self._questions.get_nowait())
        return Response(orjson.dumps({"questions": taken}), media_type="application/json")

    async def answered(self, request: Request) -> Response:
        """Takes {"id", "text"}: the answer to a question taken before."""
        body = orjson.loads(await request.body())
        self._answers.pop(body["id"]).set_result(body["text"])
        return Response(b"{}", media_type="application/json")


def application(engine: AsyncEngine) -> Starlette:
    """Both agents, on one store."""
    store, relay = DatabaseTaskStore(engine), Relay()
    handlers = {
        path: DefaultRequestHandler(agent_executor=executor, task_store=store, agent_card=CARD)
        for path, executor in (("/echo", Agent()), ("/relay", relay))
    }
    routes = [route for path, handler in handlers.items() for route in create_jsonrpc_routes(handler, path)]
    routes += [
        Route("/agent/questions", relay.questions),
        Route("/agent/answers", relay.answered, methods=["POST"]),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await store.initialize()
        yield
        for handler in handlers.values():
            await handler.aclose()
        await engine.dispose()

    return Starlette(routes=routes, lifespan=lifespan)


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--database", required=True, help="an SQLAlchemy URL")
    parser.add_argument("--pool", type=int, default=16, help="connections to the database")
    arguments = parser.parse_args()
    pool = {} if arguments.database.startswith("sqlite") else {"pool_size": arguments.pool, "max_overflow": 0}
    uvicorn.run(
        application(create_async_engine(arguments.database, **pool)),
        host="127.0.0.1",
        port=arguments.port,
        loop="uvloop",
        http="httptools",
        ws="none",
        access_log=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
