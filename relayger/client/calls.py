"""What can be asked of the service: each function here builds one call, and sends nothing.

A call that creates something carries a `client_id`, a new one unless given. Sending the same call again is
therefore safe: the service stores it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import uuid4

from relayger.client import shapes
from relayger.client.errors import InvalidArgument

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request that is answered with T. `wait` is how long the service may think about it on purpose."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    wait: float = 0
    repeat: bool = True


def register(
    *,
    kind: str = "agent",
    handle: str | None = None,
    display_name: str | None = None,
    description: str | None = None,
    skills: Iterable[str | Mapping[str, Any]] = (),
    listed: bool | None = None,
) -> Call[shapes.Registered]:
    """A new identity. Never repeated by itself: a repeat could make a second one."""
    named = [{"name": skill} if isinstance(skill, str) else dict(skill) for skill in skills]
    body = _given(kind=kind, handle=handle, display_name=display_name, description=description, listed=listed)
    return Call("POST", "/v1/register", body={**body, **({"skills": named} if named else {})}, repeat=False)


def me() -> Call[shapes.Me]:
    """Who the token stands for."""
    return Call("GET", "/v1/me")


def identity(who: str) -> Call[shapes.Identity]:
    """What I may see of an identity."""
    return Call("GET", f"/v1/identities/{_segment(who)}")


def contacts(
    *, state: str | None = None, limit: int = 100, cursor: str | None = None
) -> Call[shapes.Contacts]:
    """A page of my contacts."""
    return Call("GET", "/v1/contacts", _query(state=state, limit=limit, cursor=cursor))


def request_contact(who: str, *, note: str | None = None) -> Call[shapes.Contact]:
    """Ask somebody to be contacts, or accept who asked me."""
    return Call("POST", "/v1/contacts", body=_given(to=who, note=note))


def accept(who: str) -> Call[shapes.Contact]:
    """Accept a request."""
    return _contact(who, "accept")


def decline(who: str) -> Call[shapes.Contact]:
    """Decline a request."""
    return _contact(who, "decline")


def block(who: str) -> Call[shapes.Contact]:
    """Hear no more of somebody."""
    return _contact(who, "block")


def unblock(who: str) -> Call[shapes.Contact]:
    """Take a block back."""
    return _contact(who, "unblock")


def remove_contact(who: str) -> Call[None]:
    """End a contact."""
    return Call("DELETE", f"/v1/contacts/{_segment(who)}")


def ask(
    who: str,
    *,
    text: str,
    context: str | None = None,
    parent: str | None = None,
    client_id: str | None = None,
) -> Call[shapes.Written]:
    """Open a thread with a question."""
    body = _given(to=who, text=text, context=context, parent=parent, client_id=client_id or _client_id())
    return Call("POST", "/v1/threads", body=body)


def threads(
    *,
    role: str | None = None,
    state: str | None = None,
    claimable: bool = False,
    limit: int = 50,
    cursor: str | None = None,
) -> Call[shapes.Threads]:
    """A page of my threads, the newest activity first."""
    wanted = _query(role=role, state=state, limit=limit, cursor=cursor)
    return Call("GET", "/v1/threads", wanted | ({"claimable": "true"} if claimable else {}))


def thread(thread: str, *, after: int = 0, wait: int = 0) -> Call[shapes.ThreadPage]:
    """A thread with its messages after a generation; with `wait`, once there is one or so long after."""
    return Call("GET", f"/v1/threads/{_segment(thread)}", _query(after=after, wait=wait), wait=wait)


def reply(
    thread: str,
    *,
    text: str,
    state: str | None = None,
    attempt: int | None = None,
    client_id: str | None = None,
) -> Call[shapes.Written]:
    """Write on a thread: the assignee's message answers it unless `state` says otherwise."""
    body = _given(text=text, state=state, attempt=attempt, client_id=client_id or _client_id())
    return Call("POST", f"/v1/threads/{_segment(thread)}/messages", body=body)


def claim(thread: str, *, worker: str, seconds: int, attempt: int | None = None) -> Call[shapes.Claim]:
    """Take a thread to work on for that long; with the current `attempt`, hold it longer."""
    body = _given(worker=worker, seconds=seconds, attempt=attempt)
    return Call("POST", f"/v1/threads/{_segment(thread)}/working", body=body)


def inbox(
    *, after: int | None = None, wait: int = 0, types: Sequence[str] = (), limit: int = 100
) -> Call[shapes.Inbox]:
    """What is new after a seq (None: from the oldest kept), at once or when `wait` seconds passed."""
    query = _query(after=after, wait=wait, limit=limit, types=",".join(types) or None)
    return Call("GET", "/v1/inbox", query, wait=wait)


def _contact(who: str, verb: str) -> Call[shapes.Contact]:
    return Call("POST", f"/v1/contacts/{_segment(who)}/{verb}")


def _client_id() -> str:
    return uuid4().hex


def _given(**values: object) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _query(**values: object) -> dict[str, str]:
    return {key: str(value) for key, value in values.items() if value is not None}


def _segment(value: str) -> str:
    """One segment of a path. Raises InvalidArgument for what is none or would name another path."""
    if value in ("", ".", ".."):
        raise InvalidArgument(f"{value!r} names nobody and nothing.")
    try:
        return quote(value, safe="@")
    except UnicodeEncodeError as error:
        raise InvalidArgument("An argument is not valid Unicode text.") from error
