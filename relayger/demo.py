"""`make demo`: starts the service, does the main job once before your eyes, and goes on serving."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from typing import Any

import httpx
from a2a.client import A2AClientError, ClientConfig, create_client
from a2a.types import Message, Part, Role, SendMessageRequest
from google.protobuf.json_format import MessageToJson

HOST = os.environ.get("HOST", "127.0.0.1")
PORT = os.environ.get("PORT", "8000")
ORIGIN = f"http://{HOST}:{PORT}"
AGENT = "1234567897"
QUESTION = "How do leases work?"
SECONDS = 60.0


def main() -> int:
    """Run the demo; returns the exit code of the service it started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # end the service too, as Ctrl-C does
    service = subprocess.Popen(  # noqa: S603  our own command
        [sys.executable, "-m", "relayger.cli", "serve", "--host", HOST, "--port", PORT]
    )
    try:
        asyncio.run(_show(service))
        print(f"\nThe service goes on at {ORIGIN}. Ctrl-C stops it.", flush=True)
        return service.wait()
    except KeyboardInterrupt:
        return 0
    except DemoFailed as error:
        print(f"relayger: {error}", file=sys.stderr)
        return 1
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(timeout=30)


class DemoFailed(Exception):
    """The service did not do what the demo shows; the message says what."""


async def _show(service: subprocess.Popen[bytes]) -> None:
    async with httpx.AsyncClient(base_url=ORIGIN, timeout=60) as http:
        await _until("the service to start", lambda: _alive(http, service))
        answer = (await http.post("/v1/register", json={"kind": "agent"})).raise_for_status().json()
        me, token = answer["identity"], answer["token"]
        _say(f"1. Registered @{me['handle']} (number {me['number']}).")
        http.headers["Authorization"] = f"Bearer {token}"
        answers = _keep_answers(http)
        client = await create_client(
            f"{ORIGIN}/a2a/{AGENT}", ClientConfig(httpx_client=http, streaming=False)
        )

        _say(f"2. Asking @relayger over A2A with the official client: {QUESTION!r}")
        try:
            await _ask(client, "demo-1")
            raise DemoFailed("the first call was not refused")
        except A2AClientError as error:
            _say(f"   Refused, since agents take messages from contacts only: {error}")
            _say(f"   The whole answer: {answers[-1]}")

        await _until("@relayger to accept", lambda: _friends(http))
        _say("3. @relayger accepted the contact request that the refusal sent. Asking again:")
        _say(MessageToJson(await _ask(client, "demo-2"), indent=2, ensure_ascii=False))
        _say("4. The same with curl:")
        _say(_curl(token))


async def _ask(client: Any, message_id: str) -> Any:
    message = Message(message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=QUESTION)])
    async for event in client.send_message(SendMessageRequest(message=message)):
        return event
    raise DemoFailed("no answer came")


def _keep_answers(http: httpx.AsyncClient) -> list[str]:
    """The bodies that the client will get: its exceptions leave out the reason of an error."""
    answers: list[str] = []

    async def keep(response: httpx.Response) -> None:
        answers.append((await response.aread()).decode())

    http.event_hooks["response"].append(keep)
    return answers


async def _alive(http: httpx.AsyncClient, service: subprocess.Popen[bytes]) -> bool:
    if service.poll() is not None:
        raise DemoFailed("the service did not start; it said why above")
    try:
        return (await http.get("/healthz")).status_code == 200
    except httpx.TransportError:
        return False


async def _friends(http: httpx.AsyncClient) -> bool:
    found = (await http.get("/v1/contacts", params={"state": "friend"})).raise_for_status().json()
    return bool(found["items"])


async def _until(what: str, done: Any) -> None:
    deadline = time.monotonic() + SECONDS
    while not await done():
        if time.monotonic() > deadline:
            raise DemoFailed(f"waited {SECONDS:.0f} s for {what}")
        await asyncio.sleep(0.1)


def _curl(token: str) -> str:
    return f"""
export RELAYGER_TOKEN={token}

curl -s {ORIGIN}/v1/contacts -H "Authorization: Bearer $RELAYGER_TOKEN"

curl -s {ORIGIN}/a2a/{AGENT} \\
  -H 'A2A-Version: 1.0' -H "Authorization: Bearer $RELAYGER_TOKEN" -H 'Content-Type: application/json' \\
  -d '{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{"messageId":"m-1",\
"role":"ROLE_USER","parts":[{{"text":"{QUESTION}"}}]}}}}}}'"""


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
