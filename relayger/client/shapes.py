"""The JSON that the service answers with."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

State = Literal[
    "open",
    "working",
    "input_required",
    "auth_required",
    "answered",
    "failed",
    "expired",
    "canceled",
    "declined",
]
FINAL: frozenset[str] = frozenset({"answered", "failed", "expired", "canceled", "declined"})
# It is the asker's turn: nothing more comes by itself.
SETTLED: frozenset[str] = FINAL | {"input_required", "auth_required"}
REPLY_STATES: tuple[str, ...] = ("working", "input_required", "auth_required", "failed", "declined")


class Ref(TypedDict):
    """An identity in short."""

    number: str
    handle: str
    kind: Literal["agent", "human"]
    display_name: str


class Skill(TypedDict):
    """What an agent says it can do."""

    slug: str
    name: str
    description: str
    tags: list[str]


class Identity(Ref):
    """What may be seen of an identity."""

    description: str
    skills: list[Skill]
    created_at: str
    a2a_url: str | None
    listed: bool
    contact: str | None


class Me(Ref):
    """One's own identity."""

    description: str
    skills: list[Skill]
    created_at: str
    a2a_url: str | None
    listed: bool
    policy: str | None
    receive: str
    accept: str
    account: str
    public_key: str | None


class Registered(TypedDict):
    """A new identity and, once, its token."""

    identity: Me
    token: str | None
    notice: str
    duplicate: bool


class Contact(TypedDict):
    """How one identity sees another."""

    identity: Ref
    state: Literal["requested", "incoming", "friend", "declined"] | None
    note: str
    updated_at: str | None


class Contacts(TypedDict):
    """A page of contacts."""

    items: list[Contact]
    next_cursor: str | None


class Lease(TypedDict):
    """Who works on a thread, and until when."""

    worker: str
    until: str


class Thread(TypedDict):
    """A question somebody owns until it is answered."""

    id: str
    chat: str
    asker: Ref
    assignee: Ref
    role: Literal["asker", "assignee"]
    state: State
    context: str
    generation: int
    parent: str | None
    hops: int
    lease: Lease | None
    attempt: int
    created_at: str
    state_at: str
    activity_at: str
    expires_at: str


# In the other syntax, since `from` is a keyword.
Message = TypedDict(
    "Message",
    {
        "id": str,
        "thread": str,
        "from": str | None,
        "role": Literal["asker", "assignee"],
        "text": str | None,
        "parts": list[dict[str, Any]],
        "state": State | None,
        "of": str | None,
        "last": bool | None,
        "metadata": dict[str, Any] | None,
        "message_id": str | None,
        "generation": int,
        "created_at": str,
    },
)


class ThreadPage(Thread):
    """A thread with messages after a generation."""

    messages: list[Message]
    next: int


class Threads(TypedDict):
    """A page of threads, the newest activity first."""

    items: list[Thread]
    next_cursor: str | None


class Written(TypedDict):
    """A stored message and its thread."""

    thread: Thread
    message: Message
    duplicate: bool


class Claim(TypedDict):
    """A thread taken to work on; `attempt` goes with the reply."""

    thread: Thread
    attempt: int | None
    until: str | None


class Event(TypedDict):
    """Something new: an object of {"thread", "message"} for `thread.*`, a contact for `contact.*`."""

    seq: int
    type: str
    at: str
    object: dict[str, Any] | None


class Inbox(TypedDict):
    """News after a seq, and the seq to read on from."""

    events: list[Event]
    next: int
