"""The people of the tests, registered over HTTP like anybody else.

Alice asks, Bob is whom she knows, Charlie is a stranger, Mallory means harm, Ada is listed, with a skill.
"""

from __future__ import annotations

import re
import secrets
from typing import Any
from uuid import uuid4

import httpx

from tests.harness.service import Service

ADA = {
    "display_name": "Ada",
    "description": "Answers questions about engines",
    "skills": [{"slug": "engines", "name": "Engines", "description": "How they work", "tags": ["steam"]}],
    "listed": True,
}


class Person:
    """A registered identity with a client that sends its token."""

    def __init__(self, service: Service, me: dict[str, Any], token: str) -> None:
        self.service = service
        self.me = me
        self.token = token
        self.number: str = me["number"]
        self.handle: str = me["handle"]
        self.headers = {"Authorization": f"Bearer {token}"}
        self.http = httpx.Client(base_url=service.origin, headers=self.headers, timeout=40)
        service.clients.add(self.http)
        self.get, self.post, self.patch, self.delete = (
            self.http.get,
            self.http.post,
            self.http.patch,
            self.http.delete,
        )

    def async_http(self, timeout: float = 40) -> httpx.AsyncClient:
        """A new asynchronous client with this token; the caller closes it."""
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
        return httpx.AsyncClient(
            base_url=self.service.origin, headers=self.headers, timeout=timeout, limits=limits
        )

    def call(
        self, method: str, path: str, body: Any = None, *, status: int | None = None, **params: Any
    ) -> Any:
        """One /v1 call; returns its JSON. Fails unless it is answered with `status` (or any 2xx)."""
        response = self.http.request(method, path, json=body, params=params)
        good = response.is_success if status is None else response.status_code == status
        assert good, f"{method} {path}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    def refused(self, method: str, path: str, body: Any = None, **params: Any) -> str:
        """One /v1 call that must be refused; returns the error's code."""
        response = self.http.request(method, path, json=body, params=params)
        assert response.is_client_error, f"{method} {path}: {response.status_code} {response.text}"
        code: str = response.json()["error"]["code"]
        return code

    # Contacts

    def befriend(self, other: Person) -> None:
        """Ask `other` and let them accept."""
        self.call("POST", "/v1/contacts", {"to": other.number})
        other.call("POST", f"/v1/contacts/{self.number}/accept")

    def contact(self, other: Person) -> str | None:
        """How I see `other`: the contact's state, or None."""
        items = self.call("GET", "/v1/contacts", limit=100)["items"]
        return next((item["state"] for item in items if item["identity"]["number"] == other.number), None)

    # Threads

    def ask(self, other: Person, text: str = "How?", **fields: Any) -> dict[str, Any]:
        """Open a thread; returns the thread."""
        answer = self.call("POST", "/v1/threads", {"to": other.number, "text": text, **fields})
        thread: dict[str, Any] = answer["thread"]
        return thread

    def reply(self, thread: str, text: str = "So.", **fields: Any) -> dict[str, Any]:
        """Write on a thread; returns {"thread", "message", "duplicate"}."""
        answer: dict[str, Any] = self.call("POST", f"/v1/threads/{thread}/messages", {"text": text, **fields})
        return answer

    def thread(self, thread: str, **params: Any) -> dict[str, Any]:
        """A thread with its messages."""
        found: dict[str, Any] = self.call("GET", f"/v1/threads/{thread}", **params)
        return found

    def inbox(self, after: int | str = 0, **params: Any) -> dict[str, Any]:
        """{"events", "next"} after a seq."""
        page: dict[str, Any] = self.call("GET", "/v1/inbox", after=after, **params)
        return page

    # A2A

    def a2a(
        self, to: Person | str, method: str, params: Any = None, *, id: Any = 1, **headers: str
    ) -> httpx.Response:
        """One JSON-RPC call to an agent's endpoint; returns the HTTP response as it is."""
        body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {} if params is None else params}
        return self.http.post(a2a_path(to), json=body, headers={"A2A-Version": "1.0", **headers})

    def rpc(self, to: Person | str, method: str, params: Any = None) -> Any:
        """One JSON-RPC call that must succeed; returns its result."""
        response = self.a2a(to, method, params)
        body = response.json()
        assert response.status_code == 200, f"{method}: {response.text}"
        assert "result" in body, f"{method}: {response.text}"
        return body["result"]

    def rpc_error(self, to: Person | str, method: str, params: Any = None) -> tuple[int, str | None]:
        """One JSON-RPC call that must fail; returns the error's code and ErrorInfo's reason."""
        response = self.a2a(to, method, params)
        body = response.json()
        assert "error" in body, f"{method}: {response.text}"
        return body["error"]["code"], reason(body["error"])

    def send(
        self, to: Person | str, text: str = "How?", *, wait: bool = False, **message: Any
    ) -> dict[str, Any]:
        """SendMessage, immediate unless `wait`; `message` overrides its fields. Returns the task."""
        task: dict[str, Any] = self.rpc(to, "SendMessage", send_params(text, wait=wait, **message))["task"]
        return task

    def close(self) -> None:
        """Close the client."""
        self.http.close()
        self.service.clients.discard(self.http)


class Cast:
    """Registers people on one service, each when first named, with handles nobody else has."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._people: dict[str, Person] = {}
        self._all: list[Person] = []

    def register(self, name: str, kind: str = "agent", **profile: Any) -> Person:
        """A new identity whose handle begins with `name`; `profile` is the rest of POST /v1/register."""
        body = {"kind": kind, "handle": f"{name}-{secrets.token_hex(4)}", **profile}
        response = self.service.http.post("/v1/register", json=body)
        assert response.status_code == 201, f"register: {response.status_code} {response.text}"
        answer = response.json()
        person = Person(self.service, answer["identity"], answer["token"])
        self._all.append(person)
        return person

    def _known(self, name: str, **profile: Any) -> Person:
        if name not in self._people:
            self._people[name] = self.register(name, **profile)
        return self._people[name]

    @property
    def alice(self) -> Person:
        """Asks."""
        return self._known("alice")

    @property
    def bob(self) -> Person:
        """Is asked."""
        return self._known("bob")

    @property
    def charlie(self) -> Person:
        """Knows nobody."""
        return self._known("charlie")

    @property
    def mallory(self) -> Person:
        """Means harm."""
        return self._known("mallory")

    @property
    def ada(self) -> Person:
        """Is listed, with a skill."""
        return self._known("ada", **ADA)

    @property
    def friends(self) -> tuple[Person, Person]:
        """Alice and Bob, once they are friends."""
        if self.alice.contact(self.bob) != "friend":
            self.alice.befriend(self.bob)
        return self.alice, self.bob

    def close(self) -> None:
        """Close all clients."""
        for person in self._all:
            person.close()


def a2a_path(to: Person | str) -> str:
    """The path of an agent's JSON-RPC endpoint."""
    return f"/a2a/{to.number if isinstance(to, Person) else to}"


def send_params(text: str = "How?", *, wait: bool = False, **message: Any) -> dict[str, Any]:
    """The params of SendMessage with a fresh messageId; `message` overrides the message's fields."""
    whole = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], **message}
    return {"message": whole, "configuration": {"returnImmediately": not wait}}


def reason(error: dict[str, Any]) -> str | None:
    """The reason of a JSON-RPC error's ErrorInfo, or None."""
    details = error.get("data") or []
    return next((one["reason"] for one in details if "reason" in one), None)


def lasting(response: httpx.Response) -> dict[str, str]:
    """An answer's headers, but for the time and what is left of a rate, which each call changes."""
    left = re.sub(r"[rt]=\d+", "", response.headers.get("ratelimit", ""))
    return {**response.headers, "date": "", "ratelimit": left}
