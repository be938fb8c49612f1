"""The A2A calls that are measured, as bytes, and the check of each answer: A2A's errors are HTTP 200 too."""

from __future__ import annotations

from typing import Any

import orjson

from benchmarks.wire import BenchmarkError, Reply, bearer, request

COMPLETED = "TASK_STATE_COMPLETED"


class Caller:
    """One client of one A2A agent: who asks, and where."""

    def __init__(self, path: str, token: str | None, name: str) -> None:
        self._path = path
        self._headers = {"A2A-Version": "1.0", **bearer(token)}
        self._name = name
        self._count = 0

    def _rpc(self, method: str, params: dict[str, Any]) -> bytes:
        body = orjson.dumps({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        return request("POST", self._path, self._headers, body)

    def _message(self) -> tuple[str, dict[str, Any]]:
        self._count += 1
        text = f"How do public rooms work? ({self._name}, {self._count})"
        message_id = f"{self._name}-{self._count}"
        return text, {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}

    def send(self) -> tuple[str, bytes]:
        """SendMessage that does not wait: the question's text and the request."""
        text, message = self._message()
        configuration = {"returnImmediately": True}
        return text, self._rpc("SendMessage", {"message": message, "configuration": configuration})

    def exchange(self) -> tuple[str, bytes]:
        """SendMessage that waits for the answer."""
        text, message = self._message()
        return text, self._rpc("SendMessage", {"message": message})

    def stream(self) -> tuple[str, bytes]:
        """SendStreamingMessage."""
        text, message = self._message()
        return text, self._rpc("SendStreamingMessage", {"message": message})

    def get(self, task: str) -> bytes:
        """GetTask."""
        self._count += 1
        return self._rpc("GetTask", {"id": task})

    def subscribe(self, task: str) -> bytes:
        """SubscribeToTask."""
        return self._rpc("SubscribeToTask", {"id": task})


def result(reply: Reply) -> Any:
    """The result of a JSON-RPC answer. Raises BenchmarkError for an error of any kind."""
    if reply.status == 200:
        body = orjson.loads(reply.body)
        if "result" in body:
            return body["result"]
    raise BenchmarkError(f"HTTP {reply.status}: {reply.body[:500].decode(errors='replace')}")


def sent(reply: Reply) -> str:
    """Check that a message made a task; returns the task's id."""
    task: dict[str, Any] = result(reply)["task"]
    return str(task["id"])


def answered(reply: Reply, text: str) -> str:
    """Check that a message was answered with its own text; returns the task's id."""
    return _completed(result(reply)["task"], text)


def got(reply: Reply, task: str) -> None:
    """Check that the task asked for came, completed and with its answer."""
    shown = result(reply)
    if _completed(shown, None) != task:
        raise BenchmarkError(f"another task: {shown['id']}")


def streamed(reply: Reply, text: str) -> str:
    """Check that a stream ended completed, with the question's text as answer; returns the task's id."""
    task, answers, state = "", [], ""
    for line in reply.body.splitlines():
        if not line.startswith(b"data:"):
            continue
        event = orjson.loads(line[5:]).get("result")
        if event is None:
            raise BenchmarkError(line.decode(errors="replace"))
        if "task" in event:
            task, state = event["task"]["id"], event["task"]["status"]["state"]
            answers += [_text(artifact) for artifact in event["task"].get("artifacts", ())]
        elif "artifactUpdate" in event:
            answers.append(_text(event["artifactUpdate"]["artifact"]))
        elif "statusUpdate" in event:
            state = event["statusUpdate"]["status"]["state"]
    if state != COMPLETED or answers != [text]:
        raise BenchmarkError(f"a stream ended {state or reply.status} with {answers}, not {text!r}")
    return task


def _completed(task: dict[str, Any], text: str | None) -> str:
    if task["status"]["state"] != COMPLETED:
        raise BenchmarkError(f"a task came back {task['status']['state']}")
    answers = [_text(artifact) for artifact in task.get("artifacts", ())]
    if len(answers) != 1 or text not in (None, answers[0]):
        raise BenchmarkError(f"a task came back with {answers}, not {text!r}")
    return str(task["id"])


def _text(artifact: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in artifact["parts"])
