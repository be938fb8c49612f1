"""The loop guard's budget: how often two agents, or the agents in a room, write to each other within a minute.

People are not counted. Who is over it is refused, and both owners are told, once in each window.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q

from apps.contacts.models import Member
from apps.core import db, ids, limits
from apps.core.actor import Actor, Ref
from apps.core.errors import Code, DomainError
from apps.identities.models import Identity, Role
from apps.identities.queries import Person
from apps.inbox.actions import Event, publish

EVENT = "loop.guarded"


class Guarded(DomainError):
    """A refusal of the guard; `agents` are who writes and, in a direct chat, to whom."""

    def __init__(self, limited: DomainError, agents: list[int], room: UUID | None) -> None:
        super().__init__(
            Code.LOOP_GUARD,
            "These agents write to each other too often.",
            next="Answer with what is known, or ask a person; wait, then send the same call again.",
            retry_after=limited.retry_after,
            told=limited.told,
        )
        self.agents = agents
        self.room = room


def count(actor: Actor, other: Person | Ref | None, room: UUID | None) -> None:
    """Count what an agent writes to another, or in a room. Raises loop_guard past the budget."""
    if actor.ref.kind != Identity.Kind.AGENT or (other is not None and other.kind != Identity.Kind.AGENT):
        return
    if other is not None and other.number == actor.identity:
        return
    agents = [actor.identity] if other is None else sorted([actor.identity, other.number])
    key = f"room:{room.hex}" if room is not None else ":".join(map(str, agents))
    try:
        limits.hit("pair", key)
    except DomainError as limited:
        raise Guarded(limited, agents, room) from None


@contextmanager
def told(actor: Actor) -> Iterator[None]:
    """Tell the owners of a refusal that leaves the block, once its transaction has ended."""
    try:
        yield
    except Guarded as refusal:
        _tell(actor, refusal)
        raise


def _tell(actor: Actor, refusal: Guarded) -> None:
    subject = refusal.room.hex if refusal.room else ":".join(map(str, refusal.agents))
    first = True
    with suppress(limits.CacheAway):  # then the owners are told once more than needed
        first = limits.shared(lambda cache: cache.add(f"guarded:{subject}", 1, refusal.retry_after or 60))
    if first:
        with db.write():
            publish([Event(number, EVENT, subject) for number in _concerned(refusal)])


def _concerned(refusal: Guarded) -> list[int]:
    """The agents and the people who own their accounts; in a room those who are in it."""
    accounts = Identity.objects.filter(number__in=refusal.agents).values("account")
    owners = Role.objects.filter(account__in=accounts, role=Role.Name.OWNER).values("user")
    concerned = Identity.objects.filter(Q(number__in=refusal.agents) | Q(user__in=owners), deleted_at=None)
    numbers = set(concerned.values_list("number", flat=True))
    if refusal.room is not None:
        members = Member.objects.filter(chat=refusal.room, state=Member.State.MEMBER, identity__kind="agent")
        numbers |= set(members.values_list("identity", flat=True))
    return sorted(numbers)


@dataclass(frozen=True, slots=True)
class _Shown:
    number: int
    account: UUID
    ref: Ref


def load(actor: Actor, subjects: list[str]) -> dict[str, dict[str, Any]]:
    """The inbox's loader: pairs of agents, one of them of the actor's account; rooms the actor is in."""
    pairs = {subject: [int(one) for one in subject.split(":")] for subject in subjects if len(subject) != 32}
    numbers = {number for pair in pairs.values() for number in pair}
    people = {
        row.number: _Shown(row.number, row.account_id, row.ref)
        for row in Identity.objects.filter(number__in=numbers)
    }
    shown: dict[str, dict[str, Any]] = {}
    for subject, pair in pairs.items():
        agents = [people[number] for number in pair if number in people]
        if any(one.account == actor.account for one in agents):
            shown[subject] = {"agents": [one.ref.show() for one in agents], "chat": None}
    rooms = [UUID(subject) for subject in subjects if len(subject) == 32]
    if rooms:
        mine = Member.objects.filter(chat__in=rooms, identity=actor.identity, state=Member.State.MEMBER)
        for id in mine.values_list("chat", flat=True):
            shown[id.hex] = {"agents": [], "chat": ids.show("con", id)}
    return shown
